import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../faults/fault-schema';
import { envelope, portalProblem, problem, tooManyRequests, type Answer, type Problem, type Rendered } from './problem';

/** Characters that a client has to remove; without them a text is as it was. */
const HOSTILE = '\u0000\ud800';
const MEGABYTE = 1024 * 1024;

/** The answer with NUL and half a surrogate pair behind every text, and a remark of a megabyte. */
function withHostileTexts(rendered: Rendered): Rendered {
  return changed(rendered, (answer) => {
    const hostile = eachPart(answer, (part) => (typeof part === 'string' ? `${part}${HOSTILE}` : part));
    const record = recordOf(hostile);
    if (record) record['remark'] = 'x'.repeat(MEGABYTE);
    return hostile;
  });
}

/** The answer as written by a system without null: `NA`, `-` and `""` instead, and lists with an empty place. */
function withOddEmpties(rendered: Rendered): Rendered {
  const words = ['NA', '-', ''];
  let next = 0;
  return changed(rendered, (answer) =>
    eachPart(answer, (part) => {
      if (part === null) return words[(next += 1) % words.length];
      if (!Array.isArray(part)) return typeof part === 'number' ? String(part) : part;
      return part.length === 0 ? '' : [null, ...(part as unknown[])];
    }),
  );
}

/** A PDF behind a byte order mark and an empty line, followed by a comment of 4 KB as a proxy might add it. */
function asOddPdf(rendered: Rendered): Rendered {
  const remark = `\n<!-- ${'scanned '.repeat(512)}-->\n`;
  return { ...rendered, body: Buffer.concat([Buffer.from('\ufeff\r\n'), rendered.body, Buffer.from(remark)]) };
}

/** A line of text in place of the PDF, with the PDF's name and content type. */
function asTextInsteadOfPdf(rendered: Rendered): Rendered {
  return { ...rendered, body: Buffer.from('The certificate is being prepared.') };
}

function changed(rendered: Rendered, change: (answer: unknown) => unknown): Rendered {
  if (rendered.status >= 300 || !rendered.headers['content-type']?.startsWith('application/json')) return rendered;
  const answer = change(JSON.parse(rendered.body.toString('utf8')));
  return { ...rendered, body: Buffer.from(JSON.stringify(answer)) };
}

/** Changes every value of an answer, the innermost first, except the fields of the envelope. */
function eachPart(part: unknown, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(part)) return change(part.map((item) => eachPart(item, change)));
  if (typeof part !== 'object' || part === null) return change(part);
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === 'statusCode' || name === 'success' ? (value as unknown) : eachPart(value, change),
    ]),
  );
}

/** The record in the answer's envelope; null for a list. */
function recordOf(answer: unknown): Record<string, unknown> | null {
  const data = (answer as { data?: unknown } | null)?.data;
  return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Record<string, unknown>) : null;
}

export function renderAnswer(answer: Answer, now: number): Rendered {
  if (answer.kind === 'json') return renderJson(answer.status, envelope(answer.data, answer.status, now));
  if (answer.kind === 'bare') return renderJson(answer.status, answer.body);
  return {
    status: answer.status,
    headers: {
      'content-type': answer.contentType,
      'content-disposition': `attachment; filename="${answer.fileName}"`,
    },
    body: answer.body,
    errorCode: null,
  };
}

export function renderProblem({ status, body }: Problem): Rendered {
  return renderJson(status, body);
}

export function renderJson(status: number, body: Record<string, unknown>): Rendered {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: Buffer.from(JSON.stringify(body)),
    errorCode: typeof body['errorCode'] === 'string' ? body['errorCode'] : null,
  };
}

const PROXY_PAGE =
  '<!DOCTYPE html>\n<html><head><title>502 Bad Gateway</title></head>\n' +
  '<body><center><h1>502 Bad Gateway</h1></center><hr><center>nginx</center></body></html>\n';

/** Faults that answer with something else; the call itself is made only where `process` says so. */
const REPLACEMENTS: Partial<
  Record<Fault['kind'], { process: boolean; answer: (fault: Fault, path: string, now: number) => Rendered }>
> = {
  'status-429': { process: false, answer: () => renderProblem(tooManyRequests()) },
  '502-with-code': {
    process: false,
    answer: (_fault, path, now) => renderProblem(portalProblem('DGFT_PORTAL_UNAVAILABLE', path, now)),
  },
  '502-bare': { process: false, answer: () => renderProblem(problem(502, 'Bad Gateway')) },
  '500': { process: false, answer: () => renderProblem(problem(500, 'Internal server error')) },
  'html-body': { process: true, answer: ({ status = 502 }) => html(status) },
  'empty-body': {
    process: true,
    answer: ({ status = 200 }) => ({ status, headers: {}, body: Buffer.alloc(0), errorCode: null }),
  },
};

/** Faults that change the call's own answer. */
const CHANGES: Partial<Record<Fault['kind'], (rendered: Rendered) => Rendered>> = {
  'hostile-texts': withHostileTexts,
  'odd-empties': withOddEmpties,
  'odd-pdf': asOddPdf,
  'not-a-pdf': asTextInsteadOfPdf,
};

interface Delivery {
  request: FastifyRequest;
  reply: FastifyReply;
  path: string;
  now: number;
  stop: AbortSignal;
}

/** Runs a call and sends its answer, changed by a fault. `stop` ends slow answers. Null: nothing was sent. */
export async function deliver(
  fault: Fault | undefined,
  run: () => Promise<Rendered>,
  { request, reply, path, now, stop }: Delivery,
): Promise<Rendered | null> {
  const send = (rendered: Rendered): Rendered => {
    void reply.code(rendered.status).headers(rendered.headers).send(rendered.body);
    return rendered;
  };
  if (!fault) return send(await run());
  const replacement = REPLACEMENTS[fault.kind];
  if (replacement) {
    if (fault.process ?? replacement.process) await run();
    return send(replacement.answer(fault, path, now));
  }
  const change = CHANGES[fault.kind];
  if (change) return send(change(await run()));

  switch (fault.kind) {
    case 'drop-before-accept':
    case 'close-keep-alive':
      return drop(request, reply);
    case 'reset-before-accept':
      return drop(request, reply, 'reset');
    case 'accept-then-drop':
      await run();
      return drop(request, reply);
    case 'accept-then-reset':
      await run();
      return drop(request, reply, 'reset');
    case 'hang':
      if (fault.process) await run();
      reply.hijack();
      return null;
    case 'slow': {
      const wait = () => sleep(fault.delayMs ?? 1_000, undefined, { signal: stop }).catch(() => undefined);
      if (fault.wait === 'before') await wait();
      const rendered = await run();
      if (fault.wait === 'after') await wait();
      return send(rendered);
    }
    case 'truncated-json':
    case 'truncated-pdf': {
      const rendered = await run();
      const half = rendered.body.subarray(0, Math.floor(rendered.body.length / 2));
      return fault.cutConnection ? cut(rendered, half, reply) : send({ ...rendered, body: half });
    }
    case 'close-after-answer': {
      const { socket } = request.raw;
      // After the answer's last byte, and not announced in the headers: the caller notices it at its next request.
      reply.raw.once('finish', () => setImmediate(() => socket.destroySoon()));
      return send(await run());
    }
    default:
      return send(await run());
  }
}

/** Closes the connection without sending a byte, with a FIN, or with an RST for `reset`. */
export function drop(request: FastifyRequest, reply: FastifyReply, how?: 'reset'): null {
  reply.hijack();
  if (how === 'reset') request.raw.socket.resetAndDestroy();
  else request.raw.socket.destroy();
  return null;
}

/** Announces the full length, sends the first half and closes the connection. */
function cut(rendered: Rendered, half: Buffer, reply: FastifyReply): Rendered {
  reply.hijack();
  reply.raw.writeHead(rendered.status, { ...rendered.headers, 'content-length': rendered.body.length });
  reply.raw.write(half, () => reply.raw.socket?.destroySoon());
  return rendered;
}

function html(status: number): Rendered {
  return { status, headers: { 'content-type': 'text/html' }, body: Buffer.from(PROXY_PAGE), errorCode: null };
}
