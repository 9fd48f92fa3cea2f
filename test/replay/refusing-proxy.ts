import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A push with this invoice reference is refused at once. Nothing that the checks before a filing let through would
 * be.
 */
export const REFUSED_BILL = 'REFUSED-AT-ONCE';

export interface RefusingProxy {
  /** The root of the service, as the worker is told it. */
  url: string;
  passOnTo(sandboxUrl: string): void;
  close(): Promise<void>;
}

/** The sandbox behind an address of its own, but for pushes that are refused with the documented 400. */
export async function startRefusingProxy(): Promise<RefusingProxy> {
  let host = '';
  const server = createServer((incoming, outgoing) => {
    void bodyOf(incoming).then((body) => {
      if (body.includes(REFUSED_BILL)) {
        const errors = ['ebrcBulkGenDtos.0.billNo: billNo is not known'];
        outgoing.writeHead(400, { 'content-type': 'application/json' });
        outgoing.end(JSON.stringify({ statusCode: 400, message: 'Validation failed', errors }));
        return;
      }
      const { method, url, headers } = incoming;
      const passedOn = request(`http://${host}${url ?? ''}`, { method, headers, agent: false }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      passedOn.on('error', () => outgoing.destroy());
      passedOn.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
    passOnTo: (sandboxUrl) => {
      ({ host } = new URL(sandboxUrl));
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}
