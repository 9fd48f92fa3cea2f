/** Limits the memory that all requests and answers of the process take together. What exceeds it is refused. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerGone, unavailable } from './problem';

/** 6 MB; the service takes workbooks of up to 5 MB. */
export const MAX_BODY_BYTES = 6 * 1024 * 1024;

/** Bodies that are being read or processed, and answers that were not taken yet, of all requests. */
const MEMORY_BYTES = 64 * 1024 * 1024;

/** Smaller ones are not counted, because they fit for as many connections as are allowed. */
const SMALL_BYTES = 16 * 1024;

/** One token takes at most half of the total, so that others are served. */
export function createMemoryRoom(total = MEMORY_BYTES) {
  const taken = new Map<string, number>();
  let takenInAll = 0;

  function take({ headers: { authorization = '' } }: FastifyRequest, reply: FastifyReply, bytes: number): void {
    if (bytes <= SMALL_BYTES) return;
    // Its `close` event was already emitted, and would not release the memory.
    if (reply.raw.destroyed) throw callerGone();
    const ofToken = taken.get(authorization) ?? 0;
    if (takenInAll + bytes > total || ofToken + bytes > total / 2) {
      throw unavailable('busy', 'Too many large requests are under way. Repeat the request.', { retryAfterS: 2 });
    }
    takenInAll += bytes;
    taken.set(authorization, ofToken + bytes);
    reply.raw.once('close', () => {
      takenInAll -= bytes;
      const bytesLeft = (taken.get(authorization) ?? 0) - bytes;
      if (bytesLeft > 0) taken.set(authorization, bytesLeft);
      else taken.delete(authorization);
    });
  }

  return {
    /** Reserves memory for a request's body before it is read, until it is answered. @throws Problem 503 */
    takeBody(request: FastifyRequest, reply: FastifyReply): void {
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
      // A chunked body does not declare its length, so it counts as the largest.
      take(request, reply, encoding === undefined ? Math.min(Number(length), MAX_BODY_BYTES) : MAX_BODY_BYTES);
    },
    /** Reserves memory for an answer until its reader has taken it. @throws Problem 503 */
    takeAnswer(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
      if (reply.statusCode >= 400) return;
      if (typeof payload === 'string' || Buffer.isBuffer(payload)) take(request, reply, payload.length);
    },
  };
}
