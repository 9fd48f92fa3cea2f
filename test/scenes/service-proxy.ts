/** A service between the worker and the sandbox: passes calls on, or answers in its own words, as a test scripts. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

export interface Script {
  /** The last part of the path, such as `push-irm`, `status`, `fetch-details`. */
  operation: string;
  /** Only calls whose body or query contains this text, such as an exporter's id. */
  about?: string;
  /** How often it applies; default: once. */
  times?: number;
  /** Answers instead of the service, which is not asked. */
  answer?: { status: number; body: unknown };
  /** Answers instead of the service, which takes the call in all the same. */
  replace?: { status: number; body: unknown };
  /** Changes the content (`data`) of the service's answer. */
  change?: (data: Record<string, unknown>) => unknown;
  /** Waits before the call is passed on. */
  before?: () => Promise<void>;
  /** Cuts the connection after the service answered. */
  cut?: boolean;
}

export async function startServiceProxy(target: string) {
  const scripts: (Script & { left: number })[] = [];
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const path = request.url ?? '';
    const text = `${path} ${body.toString('latin1')}`;
    const script = scripts.find(
      ({ operation, about, left }) =>
        left > 0 && path.includes(`/${operation}`) && (about === undefined || text.includes(about)),
    );
    if (script) script.left -= 1;
    await script?.before?.();
    if (script?.answer) return send(response, script.answer.status, JSON.stringify(script.answer.body));
    const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers;
    const answer = await fetch(new URL(path, new URL(target).origin), {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(body.length > 0 && { body }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (script?.cut) return void response.destroy();
    if (script?.replace) return send(response, script.replace.status, JSON.stringify(script.replace.body));
    if (!script?.change || !answer.ok) {
      const type = answer.headers.get('content-type') ?? 'application/json';
      const disposition = answer.headers.get('content-disposition');
      response.writeHead(answer.status, {
        'content-type': type,
        ...(disposition && { 'content-disposition': disposition }),
      });
      response.end(bytes);
      return;
    }
    const envelope = JSON.parse(bytes.toString()) as { data: Record<string, unknown> };
    send(response, answer.status, JSON.stringify({ ...envelope, data: script.change(envelope.data) }));
  }

  function send(response: ServerResponse, status: number, body: string): void {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(body);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { pathname } = new URL(target);
  return {
    url: `http://127.0.0.1:${port}${pathname}`,
    script: (script: Script) => void scripts.push({ ...script, left: script.times ?? 1 }),
    clear: () => void scripts.splice(0),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
