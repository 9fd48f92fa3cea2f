/** Keeps the process able to answer: what it refuses while it is saturated, and what one caller may hold of it. */
import type { Socket } from 'node:net';
import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerGone, unavailable } from './problem';
import { MAX_BODY_BYTES } from './body';

export interface LoadBounds {
  /** An answer must be taken within this time of its start, or the connection is closed. */
  takenWithinMs: number;
  /** Mean delay of the event loop, over a second, from which requests are refused; 0: not checked. */
  eventLoopDelayMs: number;
  /** Memory from which requests are refused; 0: not checked. */
  heapBytes: number;
  residentBytes: number;
}

/** A container's limit counts, because the process is killed at it. */
const memoryLimit = Math.min(process.constrainedMemory() || Infinity, totalmem());

export const LOAD_BOUNDS: LoadBounds = {
  takenWithinMs: 60_000,
  eventLoopDelayMs: 3_000,
  heapBytes: getHeapStatistics().heap_size_limit * 0.85,
  residentBytes: memoryLimit * 0.9,
};

/** Refuses requests of this scope while the process is saturated. @returns whether it is, for readiness */
export async function refuseWhileSaturated(api: FastifyInstance, bounds: LoadBounds): Promise<() => boolean> {
  await api.register(underPressure, {
    maxEventLoopDelay: bounds.eventLoopDelayMs,
    maxHeapUsedBytes: bounds.heapBytes,
    maxRssBytes: bounds.residentBytes,
    pressureHandler: () => Promise.reject(busy('The server is saturated. Repeat the request.')),
  });
  return () => api.isUnderPressure();
}

const busy = (detail: string) => unavailable('busy', detail, { retryAfterS: 2 });

/**
 * Lets a connection have one request at a time, and an answer a limited time to be taken.
 *
 * Node keeps the answers of pipelined requests in memory until the first is taken, and tells nobody when the connection
 * ends before. No client in use pipelines, so such a connection is closed.
 */
export function boundConnections(app: FastifyInstance, { takenWithinMs }: LoadBounds): void {
  /** Connections with a request, and when its answer began. */
  const answering = new Map<Socket, number>();
  app.addHook('onRequest', (request, reply, done) => {
    const { socket } = request.raw;
    if (answering.has(socket)) return void socket.destroy();
    answering.set(socket, Infinity);
    reply.raw.once('close', () => answering.delete(socket));
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const { socket } = request.raw;
    if (answering.has(socket)) answering.set(socket, performance.now());
    done();
  });
  const look = setInterval(() => {
    const late = performance.now() - takenWithinMs;
    for (const [socket, begun] of answering) if (begun < late) socket.destroy();
  }, takenWithinMs / 4);
  look.unref();
  app.addHook('onClose', (_app, done) => {
    clearInterval(look);
    done();
  });
}

/** What the large requests of one principal may take at a time, so that others are served. */
const ALLOWANCE_BYTES = 32 * 1024 * 1024;

/** Smaller ones are not counted: as many as there may be connections fit. */
const SMALL_BYTES = 16 * 1024;

/** Limits the bodies under way and the answers that were not taken yet, of each principal. */
export function createAllowance() {
  const held = new Map<string, number>();

  function hold({ principal }: FastifyRequest, reply: FastifyReply, bytes: number, refuse = true): void {
    if (bytes <= SMALL_BYTES || !principal) return;
    // Its `close` event was already emitted, and would give nothing back.
    if (reply.raw.destroyed) throw callerGone();
    const { principalId } = principal;
    const before = held.get(principalId) ?? 0;
    // One alone is never refused, or a large bundle could not be had at all.
    if (refuse && before > 0 && before + bytes > ALLOWANCE_BYTES) {
      throw busy('Too many large requests of this principal are under way. Repeat the request.');
    }
    held.set(principalId, before + bytes);
    reply.raw.once('close', () => {
      const left = (held.get(principalId) ?? 0) - bytes;
      if (left > 0) held.set(principalId, left);
      else held.delete(principalId);
    });
  }

  return {
    /** Counts a body before it is read, until it is answered. @throws Problem 503 */
    holdBody(request: FastifyRequest, reply: FastifyReply): void {
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
      // A chunked body does not declare its length, so it counts as the largest.
      const most = request.routeOptions.bodyLimit ?? MAX_BODY_BYTES;
      hold(request, reply, encoding === undefined ? Math.min(Number(length), most) : most);
    },
    /** Counts an answer until its reader has taken it. @throws Problem 503, but for the answer of an error */
    holdAnswer(request: FastifyRequest, reply: FastifyReply, payload: unknown): void {
      if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return;
      hold(request, reply, payload.length, reply.statusCode < 400);
    },
  };
}
