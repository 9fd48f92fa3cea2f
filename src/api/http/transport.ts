import { Readable, pipeline, type Transform } from 'node:stream';
import { Client, Pool, type Dispatcher } from 'undici';
import { createConnector, createSingleUseConnector, createWriteMarker } from './connector';
import { elapsedMs, thisMoment } from '../../budget/timing';
import { codeOf } from '../errors/redact';
import { TransportError } from '../errors/api-error';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['deflate', () => createInflate()],
  ['br', () => createBrotliDecompress()],
]);

/**
 * Decompresses a body, because a proxy may compress it although calls ask for `identity`, and an unreadable
 * acknowledgement would be an unknown outcome. An unknown coding is left as it is.
 */
function decoded(body: Readable, headers: TransportAnswer['headers']): Pick<TransportAnswer, 'body' | 'headers'> {
  const coding = headers['content-encoding'];
  const decoder = typeof coding === 'string' ? DECODERS.get(coding.trim().toLowerCase())?.() : undefined;
  if (!decoder) return { body, headers };
  const { 'content-encoding': _coding, 'content-length': _length, ...others } = headers;
  // Errors of the body or the decoder reach the reader of the decoded body.
  return { body: pipeline(body, decoder, () => undefined), headers: others };
}

/** Time-outs of one call, in ms. `totalMs` bounds everything from the start of the connection to the last byte. */
export interface Timeouts {
  connectMs: number;
  headersMs: number;
  /** The longest pause between two chunks of a body. */
  bodyMs: number;
  totalMs: number;
}

interface TransportRequest {
  method: 'GET' | 'POST' | 'PATCH';
  /** From the root of the host, with the query. */
  path: string;
  headers: Record<string, string>;
  body?: string | Buffer;
  timeouts: Timeouts;
  signal?: AbortSignal;
  /** The most bytes of a body. */
  maxBytes: number;
  /** Use a new connection: no other call's failure affects it, and the service cannot have just closed it. */
  ownConnection?: { beforeWrite: () => Promise<void> };
  /** Called when the first byte is handed to the socket; must not throw. */
  onWritten: () => void;
}

export interface TransportAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: Readable;
}

/** Shorter than the usual time of servers and proxies, so that they rarely close an idle connection first. */
const KEEP_ALIVE_MS = 4_000;

/** HTTP transport to one host. `origin`: scheme, host and port. */
export function createTransport(options: { origin: string; connectTimeoutMs: number; ca?: string }) {
  const { origin } = options;
  const connect = createConnector(options);
  // No limit on connections: the budgets limit the calls, and a queue in the pool would hide the time of the write.
  const pool = new Pool(origin, { connect, connections: null, pipelining: 1, keepAliveTimeout: KEEP_ALIVE_MS });
  const marker = createWriteMarker();
  const underWay = new Set<Exchange>();
  let closed = false;

  return {
    /**
     * Makes one attempt. `consume` must read the body, under the same time-outs. Rejects with {@link TransportError},
     * or with what `consume` threw if the body is not the cause.
     */
    async exchange<T>(request: TransportRequest, consume: (answer: TransportAnswer) => Promise<T>): Promise<T> {
      const run = new Exchange(request);
      underWay.add(run);
      if (closed) run.cancel();
      const { ownConnection } = request;
      const dispatcher = ownConnection
        ? new Client(origin, {
            connect: createSingleUseConnector(connect, () => run.prepare(ownConnection), run.isInTime),
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
        // A request that is still in progress was given up, so nothing more of it may be written.
        if (dispatcher instanceof Client) void dispatcher.destroy().catch(() => undefined);
      }
    },
    async close(): Promise<void> {
      closed = true;
      // Cancel before closing the marker: a request that is written without it would count as not sent.
      for (const run of underWay) run.cancel();
      marker.close();
      await pool.destroy();
    },
  };
}

/** Returns the milliseconds since now, by the clock that advanced more: the monotonic one stops during sleep. */
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

  /** Runs `beforeWrite`, and keeps its error. */
  async prepare({ beforeWrite }: { beforeWrite: () => Promise<void> }): Promise<void> {
    try {
      await beforeWrite();
    } catch (error) {
      this.beforeWriteError = { thrown: error };
      throw error;
    }
  }

  /** Whether the request may still be written: not given up, and within `totalMs`. */
  readonly isInTime = (): boolean => {
    // Check the clocks here, because a process that was suspended runs this before its timers.
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
      // The body may fail before it is read; its reader still gets the error.
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

  /** The body, up to `maxBytes`. Keeps its error, which tells a broken connection from a failure of the reader. */
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

  /** Rejects at once when stopped, because undici notices a signal only once a request has its connection. */
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
    // The abort reason has the write state at the time of the abort; undici writes nothing after it.
    if (this.stop.signal.aborted) return this.stop.signal.reason;
    // After the headers an error is the reader's, unless the body broke off.
    if (answered && this.bodyError === null) return error;
    const cause = this.bodyError?.thrown ?? error;
    if (cause instanceof TransportError) return cause;
    const code = codeOf(cause);
    // A request that undici refuses to send is a defect of ours; a retry does not help.
    if (code === 'UND_ERR_INVALID_ARG') return cause;
    const timedOut = code !== null && TIMEOUT_CODES.has(code);
    const what = timedOut ? 'the service was silent for too long' : 'the connection failed';
    const when = answered ? 'in the middle of the answer' : `${written ? 'after' : 'before'} the request was written`;
    const message = `${what} ${when}${code === null || timedOut ? '' : ` (${CODES[code] ?? code})`}.`;
    return new TransportError(timedOut ? 'timeout' : 'network', written, message, { cause });
  }
}

/** Texts for error codes; other codes, such as those of TLS, are shown as they are. */
const CODES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens at the address',
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
