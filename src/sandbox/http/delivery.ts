import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Fault } from '../faults/fault-schema';
import { asNoPdf, asOddPdf, withHostileTexts, withOddEmpties } from '../faults/odd-words';
import type { Rendered } from './rendered';
import { type Answer, type Problem, envelope, portalProblem, problem, tooManyRequests } from './problem';

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

export interface Delivery {
  request: FastifyRequest;
  reply: FastifyReply;
  now: number;
  /** Ends waits of slow answers when the sandbox closes. */
  stop: AbortSignal;
}

/**
 * Runs a call and sends its answer as the fault, if any, has it. `run` is the call itself and never throws a Problem.
 * Resolves with what was sent, or with null when nothing was.
 */
export async function deliver(
  fault: Fault | null,
  run: () => Promise<Rendered>,
  { request, reply, now, stop }: Delivery,
): Promise<Rendered | null> {
  const send = (rendered: Rendered): Rendered => {
    void reply.code(rendered.status).headers(rendered.headers).send(rendered.body);
    return rendered;
  };
  const processed = async (replacement: Rendered, unlessTold: boolean): Promise<Rendered> => {
    if (fault?.process ?? unlessTold) await run();
    return send(replacement);
  };

  switch (fault?.kind) {
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
    case 'status-429':
      return processed(renderProblem(tooManyRequests()), false);
    case '502-with-code':
      return processed(renderProblem(portalProblem('DGFT_PORTAL_UNAVAILABLE', request.url, now)), false);
    case '502-bare':
      return processed(renderProblem(problem(502, 'Bad Gateway')), false);
    case '500':
      return processed(renderProblem(problem(500, 'Internal server error')), false);
    case 'html-body':
      return processed(html(fault.status ?? 502), true);
    case 'empty-body':
      return processed({ status: fault.status ?? 200, headers: {}, body: Buffer.alloc(0), errorCode: null }, true);
    case 'truncated-json':
    case 'truncated-pdf': {
      const rendered = await run();
      const half = rendered.body.subarray(0, Math.floor(rendered.body.length / 2));
      return fault.cutConnection ? cut(rendered, half, reply) : send({ ...rendered, body: half });
    }
    case 'hostile-texts':
      return send(withHostileTexts(await run()));
    case 'odd-empties':
      return send(withOddEmpties(await run()));
    case 'odd-pdf':
      return send(asOddPdf(await run()));
    case 'not-a-pdf':
      return send(asNoPdf(await run()));
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

/** Takes the connection away without sending a byte; `reset` sends an RST where an ordinary end sends a FIN. */
export function drop(request: FastifyRequest, reply: FastifyReply, how?: 'reset'): null {
  reply.hijack();
  if (how === 'reset') request.raw.socket.resetAndDestroy();
  else request.raw.socket.destroy();
  return null;
}

/** Announces the whole length, sends the first half and takes the connection away. */
function cut(rendered: Rendered, half: Buffer, reply: FastifyReply): Rendered {
  reply.hijack();
  reply.raw.writeHead(rendered.status, { ...rendered.headers, 'content-length': rendered.body.length });
  reply.raw.write(half, () => reply.raw.socket?.destroySoon());
  return rendered;
}

function html(status: number): Rendered {
  return { status, headers: { 'content-type': 'text/html' }, body: Buffer.from(PROXY_PAGE), errorCode: null };
}
