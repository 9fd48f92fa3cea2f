/** What requests and answers may hold of this process's memory together; what is beyond is refused. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerGone, unavailable } from './problem';

/** 6 MB: a workbook of the service has 5 MB at most. */
export const MAX_BODY_BYTES = 6 * 1024 * 1024;

/** Bodies that are being read or worked on, and answers that nobody has taken yet, of all requests together. */
const MEMORY_BYTES = 64 * 1024 * 1024;

/** Smaller ones are not counted: as many as there may be connections fit. */
const SMALL_BYTES = 16 * 1024;

export type MemoryRoom = ReturnType<typeof createMemoryRoom>;

/** One token takes half of it at most, so that others are served. */
export function createMemoryRoom(total = MEMORY_BYTES) {
  const taken = new Map<string, number>();
  let all = 0;

  function take({ headers: { authorization = '' } }: FastifyRequest, reply: FastifyReply, bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    // Its end has been told already, and would never give the room back.
    if (reply.raw.destroyed) throw callerGone();
    const own = taken.get(authorization) ?? 0;
    if (all + bytes > total || own + bytes > total / 2) {
      throw unavailable('busy', 'Too many large requests are under way. Repeat the request.', { retryAfterS: 2 });
    }
    all += bytes;
    taken.set(authorization, own + bytes);
    reply.raw.once('close', () => {
      all -= bytes;
      const left = (taken.get(authorization) ?? 0) - bytes;
      if (left > 0) taken.set(authorization, left);
      else taken.delete(authorization);
    });
  }

  return {
    /** Makes room for the body of a request before it is read, until it is answered. @throws Problem 503 */
    takeBody(request: FastifyRequest, reply: FastifyReply): void {
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
      // One that does not say how long it is may have as much as any.
      take(request, reply, encoding === undefined ? Math.min(Number(length), MAX_BODY_BYTES) : MAX_BODY_BYTES);
    },
    /** Makes room for an answer until its reader has taken it. @throws Problem 503 */
    takeAnswer(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
      if (reply.statusCode >= 400) return;
      if (typeof payload === 'string' || Buffer.isBuffer(payload)) take(request, reply, payload.length);
    },
  };
}
