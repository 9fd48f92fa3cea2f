import { Readable, pipeline, type Transform } from 'node:stream';
import { Client, Pool, type Dispatcher } from 'undici';
import { createConnector, createSingleUseConnector, createWriteMarker } from './connector';
import { elapsedMs, thisMoment } from '../../budget/timing';
import { codeOf } from '../errors/redact';
import { TransportError } from '../errors/api-error';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

type Headers = TransportAnswer['headers'];

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/**
 * A body before a proxy compressed it, though calls ask for `identity`: an unreadable acknowledgement would be an
 * unknown outcome. An unknown coding is left as it is.
 */
function decoded(body: Readable, headers: Headers): { body: Readable; headers: Headers } {
  const coding = headers['content-encoding'];
  const decoder = typeof coding === 'string' ? DECODERS.get(coding.trim().toLowerCase())?.() : undefined;
  if (!decoder) return { body, headers };
  const { 'content-encoding': _coding, 'content-length': _length, ...others } = headers;
  // What breaks the body off, or the coding, reaches the reader of the decoded one.
  return { body: pipeline(body, decoder, () => undefined), headers: others };
}

/** Time-outs of one call, in ms. `totalMs` bounds everything from the start of the connection to the last byte. */
export interface Timeouts {
  connectMs: number;
  headersMs: number;
  /** Longest pause between two pieces of a body. */
  bodyMs: number;
  totalMs: number;
}

interface TransportRequest {
  method: 'GET' | 'POST' | 'PATCH';
  /** From the root of the host, query included. */
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
  timeouts: Timeouts;
  signal?: AbortSignal;
  /** Longest body that is read, in bytes. */
  maxBytes: number;
  /** A connection of its own: no failure of other calls reaches it, and it is never one the service has just closed. */
  ownConnection?: { beforeWrite: () => Promise<void> };
  /** Called when the first byte is handed to the socket; must not throw. */
  onWritten: () => void;
}

export interface TransportAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
}

/** Shorter than in common servers and proxies, so that they rarely close an idle connection first. */
const KEEP_ALIVE_MS = 4_000;

/** `origin` is scheme, host and port. One transport talks to one host. */
export function createTransport(options: { origin: string; connectTimeoutMs: number; ca?: string }) {
  const { origin } = options;
  const connect = createConnector(options);
  // The number of connections is not limited: the rate budgets limit the calls, and a pool with a queue would hide the
  // moment of the write.
  const pool = new Pool(origin, { connect, connections: null, pipelining: 1, keepAliveTimeout: KEEP_ALIVE_MS });
  const marker = createWriteMarker();
  const underWay = new Set<Exchange>();
  let closed = false;

  return {
    /**
     * One attempt. `consume` must read the body, under the same time-outs. Rejects with {@link TransportError}, or with
     * what `consume` threw if the body is not the cause.
     */
    async exchange<T>(request: TransportRequest, consume: (answer: TransportAnswer) => Promise<T>): Promise<T> {
      const run = new Exchange(request);
      underWay.add(run);
      if (closed) run.cancel();
      const own = request.ownConnection;
      const dispatcher = own
        ? new Client(origin, {
            connect: createSingleUseConnector(connect, () => run.prepare(own), run.isInTime),
            pipelining: 0,
          })
        : pool;
      try {
        return await run.perform(
          (options) => marker.watch(() => dispatcher.request(options), run.markWritten),
          consume,
        );
      } finally {
        underWay.delete(run);
        // A request that is still in progress has been given up: nothing of it may be written any more.
        if (dispatcher instanceof Client) void dispatcher.destroy().catch(() => undefined);
      }
    },
    async close(): Promise<void> {
      closed = true;
      // Before the marker goes: a request that is written without it would count as not sent.
      for (const run of underWay) run.cancel();
      marker.close();
      await pool.destroy();
    },
  };
}

/** Milliseconds since now, by the clock that went further: the monotonic one stops while a machine sleeps. */
export function startStopwatch(): () => number {
  const startedAt = thisMoment();
  return () => elapsedMs(startedAt);
}

class Exchange {
  private readonly elapsedMs = startStopwatch();
  private readonly stop = new AbortController();
  private written = false;
  private beforeWriteError: { thrown: unknown } | null = null;
  private bodyError: { thrown: unknown } | null = null;

  constructor(private readonly request: TransportRequest) {}

  readonly markWritten = (): void => {
    this.written = true;
    this.request.onWritten();
  };

  readonly cancel = (): void =>
    this.stop.abort(new TransportError('cancelled', this.written, 'the call was cancelled.'));

  /** Runs `beforeWrite`; rejects if the exchange must not write any more. */
  async prepare(own: { beforeWrite: () => Promise<void> }): Promise<void> {
    try {
      await own.beforeWrite();
    } catch (error) {
      this.beforeWriteError = { thrown: error };
      throw error;
    }
  }

  /** Whether it may still be written: not given up, and within the time-out of connection, marks and exchange. */
  readonly isInTime = (): boolean => {
    // A process that was suspended and resumed runs this before its timers, so the clocks are checked here.
    if (this.elapsedMs() >= this.request.timeouts.totalMs) this.stop.abort(this.timeoutError());
    return !this.stop.signal.aborted;
  };

  async perform<T>(
    dispatch: (options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>,
    consume: (answer: TransportAnswer) => Promise<T>,
  ): Promise<T> {
    const { request } = this;
    const timer = setTimeout(() => this.stop.abort(this.timeoutError()), request.timeouts.totalMs);
    if (request.signal?.aborted) this.cancel();
    request.signal?.addEventListener('abort', this.cancel, { once: true });
    let received: Dispatcher.ResponseData['body'] | null = null;
    try {
      this.stop.signal.throwIfAborted();
      const pending = dispatch({
        method: request.method,
        path: request.path,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.timeouts.headersMs,
        bodyTimeout: request.timeouts.bodyMs,
        signal: this.stop.signal,
      });
      const answer = await this.orStopped(pending);
      received = answer.body;
      // A body may break off before it is read; its reader still gets the error.
      received.on('error', () => undefined);
      const plain = decoded(received, answer.headers);
      const body = Readable.from(this.guarded(plain.body), { objectMode: false });
      return await this.orStopped(consume({ status: answer.statusCode, headers: plain.headers, body }));
    } catch (error) {
      throw this.explain(error, received !== null);
    } finally {
      clearTimeout(timer);
      request.signal?.removeEventListener('abort', this.cancel);
      if (received !== null && !received.readableEnded) received.destroy();
    }
  }

  /** The body for its reader. One that fails is kept apart: a full disk is not mistaken for a broken connection. */
  private async *guarded(received: Readable): AsyncGenerator<Buffer> {
    let bytes = 0;
    try {
      for await (const piece of received as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > this.request.maxBytes) {
          const message = `the answer is longer than ${this.request.maxBytes} bytes.`;
          throw new TransportError('too_large', this.written, message);
        }
        yield piece;
      }
    } catch (error) {
      this.bodyError = { thrown: error };
      throw error;
    }
  }

  /** undici notices a signal only once a request has its connection; the caller is notified at once. */
  private orStopped<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.stop;
    return new Promise<T>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    });
  }

  private timeoutError(): TransportError {
    const message = `no complete answer within ${this.request.timeouts.totalMs / 1_000} seconds.`;
    return new TransportError('timeout', this.written, message);
  }

  private explain(error: unknown, answered: boolean): unknown {
    const { written } = this;
    if (this.beforeWriteError !== null) {
      const cause = this.beforeWriteError.thrown;
      return new TransportError('before_write', written, 'the call was stopped before it was written.', { cause });
    }
    // The error is created when the time-out or the cancellation occurs, with the write state at that moment: undici
    // writes nothing of a request whose signal is aborted.
    if (this.stop.signal.aborted) return this.stop.signal.reason;
    // After the headers an error is the reader's own, unless the body itself broke off.
    if (answered && this.bodyError === null) return error;
    const cause = this.bodyError?.thrown ?? error;
    if (cause instanceof TransportError) return cause;
    const code = codeOf(cause);
    // A request that the HTTP library refuses to send is a defect of ours; a repeat does not help.
    if (code === 'UND_ERR_INVALID_ARG') return cause;
    const timedOut = code !== null && TIMEOUT_CODES.has(code);
    const what = timedOut ? 'the service was silent for too long' : 'the connection failed';
    const when = answered ? 'in the middle of the answer' : `${written ? 'after' : 'before'} the request was written`;
    const message = `${what} ${when}${code === null || timedOut ? '' : ` (${CODES[code] ?? code})`}.`;
    return new TransportError(timedOut ? 'timeout' : 'network', written, message, { cause });
  }
}

/** What people read; other codes, such as those of TLS, say more than words of ours. */
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody answers at the address',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'the host name cannot be looked up',
  ECONNRESET: 'the other side closed it',
  EPIPE: 'the other side closed it',
  UND_ERR_SOCKET: 'the other side closed it',
};

const TIMEOUT_CODES = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
]);
