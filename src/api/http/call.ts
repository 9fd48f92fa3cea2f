import type { ErrorKind } from '../../domain/service/error-kinds';
import { OPERATIONS, callTimeoutMs, type Operation, type ApiCall } from '../../domain/service/operations';
import { type Budget, type BudgetSlot, BudgetStoppedError } from '../../budget/slot';
import { ApiError } from '../errors/api-error';
import { failureOf, refusalOf } from '../errors/failure';
import { NO_TRACES, type Span, type Tracer } from '../../telemetry/tracer';
import { createRedactor } from '../errors/redact';
import { createTransport, type Timeouts, type TransportAnswer } from './transport';

export interface CallerOptions {
  baseUrl: string;
  apiKey: string;
  /** Time-out of one request in ms; an operation may use a multiple of it (`callTimeoutMs`). */
  httpTimeoutMs: number;
  budget?: Budget;
  /** Stores a call. Its failure is logged and does not affect the call. */
  audit?: (call: ApiCall) => void | Promise<void>;
  logger?: Logger;
  tracer?: Tracer;
  /** Overrides time-outs that are derived from `httpTimeoutMs`. */
  timeouts?: Partial<Timeouts>;
  /** The certificate authority to trust, PEM. */
  ca?: string;
}

export interface CallContext {
  /** Cancels the wait for a slot, and the call. A submission that is being written becomes `outcome_unknown`. */
  signal?: AbortSignal;
  /** For the audit; never sent. */
  exporterId?: string;
  /** The caller's attempt number, for the audit. */
  attempt?: number;
  /** Called repeatedly with the number of callers ahead while the call waits for its slot. */
  onWaiting?: (position: number) => void;
  /** Called when the call got its slot and starts; it ends within `withinMs`. */
  onStarted?: (withinMs: number) => void;
}

/**
 * `beforeWrite` runs when the connection is up and nothing is written, to commit the attempt's mark. If it throws,
 * nothing is sent: the call rejects with its `ApiError`, or with one of kind `attempt_closed` and the error as cause.
 */
export interface SubmitContext extends CallContext {
  beforeWrite: () => Promise<void>;
}

export interface CallRequest {
  operation: Operation;
  /** Path parameters and query; undefined values are left out. */
  params?: Record<string, string>;
  query?: Record<string, string | number | undefined>;
  headers?: Record<string, string>;
  body?: string | Buffer;
  accept?: string;
  /** Secrets besides the API key that must never appear in an error. */
  secrets?: (string | undefined)[];
  /** Reads a refusal from the body of an answer outside 2xx; null if it has none. */
  readRefusal?: (body: string, status: number) => ApiError | null;
  /** Only for a submission; see {@link SubmitContext}. */
  beforeWrite?: () => Promise<void>;
}

export type Caller = ReturnType<typeof createCaller>;

const CONNECT_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;

/** Makes calls to one host with one API key. */
export function createCaller(options: CallerOptions) {
  const root = new URL(options.baseUrl);
  const connectMs = options.timeouts?.connectMs ?? Math.min(CONNECT_TIMEOUT_MS, options.httpTimeoutMs);
  const transport = createTransport({ origin: root.origin, connectTimeoutMs: connectMs, ca: options.ca });
  const bookkeeper = createBookkeeper(options);
  const deps = { ...options, transport, bookkeeper, prefix: root.pathname.replace(/(?<!\/)\/+$/u, ''), connectMs };
  return {
    /** Passes a 2xx answer to `consume`. Rejects with {@link ApiError}, or with what `consume` threw. */
    call: <T>(request: CallRequest, context: CallContext, consume: (answer: TransportAnswer) => Promise<T>) =>
      new Call(deps, request, context).make(consume),
    /** Logs how many entries of an answer were unreadable or on no page, if any. */
    noteUnread: (operation: Operation, count: number): void => {
      if (count > 0)
        options.logger?.warn(
          { operation, count },
          'Entries of an answer that cannot be read, or were not shown, are left out',
        );
    },
    close: async (): Promise<void> => {
      await transport.close();
      await bookkeeper.settled();
    },
  };
}

class Call {
  private readonly redact;
  private slot: BudgetSlot | null = null;
  private written = false;
  private status: number | null = null;

  constructor(
    private readonly deps: CallerOptions & {
      transport: ReturnType<typeof createTransport>;
      bookkeeper: ReturnType<typeof createBookkeeper>;
      prefix: string;
      connectMs: number;
    },
    private readonly request: CallRequest,
    private readonly context: CallContext,
  ) {
    this.redact = createRedactor([deps.apiKey, ...(request.secrets ?? [])]);
  }

  async make<T>(consume: (answer: TransportAnswer) => Promise<T>): Promise<T> {
    if (this.context.signal?.aborted) throw this.ownError('cancelled', 'The call was cancelled before it was made.');
    const { operation } = this.request;
    const { tracer = NO_TRACES } = this.deps;
    const { method, path, rateClass } = OPERATIONS[operation];
    const about = { 'ebrc.operation': operation, 'ebrc.rate_class': rateClass ?? undefined };
    this.slot = await tracer.span('wait for a slot', about, () => this.acquireSlot());
    const { hostname } = new URL(this.deps.baseUrl);
    const call = { ...about, 'http.request.method': method, 'url.template': path, 'server.address': hostname };
    return tracer.span(`${method} ${path}`, call, (span) => this.perform(consume, span));
  }

  private async perform<T>(consume: (answer: TransportAnswer) => Promise<T>, span: Span): Promise<T> {
    this.context.onStarted?.(this.timeouts().totalMs);
    const startedAt = performance.now();
    try {
      const result = await this.exchange(consume);
      this.audit(startedAt, null);
      return result;
    } catch (error) {
      if (!this.written) this.deps.bookkeeper.note(this.slot, 'unused');
      const failure = failureOf(error, {
        operation: this.request.operation,
        status: this.status,
        written: this.written,
        redact: this.redact,
      });
      this.audit(startedAt, failure instanceof ApiError ? failure : null);
      throw failure;
    } finally {
      span.set({ 'http.response.status_code': this.status ?? undefined });
    }
  }

  private async acquireSlot(): Promise<BudgetSlot | null> {
    const { rateClass } = OPERATIONS[this.request.operation];
    const { signal, onWaiting } = this.context;
    if (rateClass === null || this.deps.budget === undefined) return null;
    try {
      return await this.deps.budget.acquire(rateClass, { signal, onWaiting });
    } catch (cause) {
      if (signal?.aborted)
        throw this.ownError('cancelled', 'The call was cancelled while it waited for its turn.', cause);
      if (cause instanceof BudgetStoppedError) throw this.ownError('not_sent', cause.message, cause);
      const message = 'The ledger did not grant a place within the rate limit, so the call was not made.';
      throw this.ownError('ledger_unavailable', message, cause);
    }
  }

  private async exchange<T>(consume: (answer: TransportAnswer) => Promise<T>): Promise<T> {
    const { request, deps } = this;
    const { method, submits } = OPERATIONS[request.operation];
    const outcome = await deps.transport.exchange<{ taken: true; result: T } | { taken: false; refusal: ApiError }>(
      {
        method,
        path: this.path(),
        headers: {
          'x-api-key': deps.apiKey,
          accept: request.accept ?? 'application/json',
          'accept-encoding': 'identity',
          'user-agent': 'ebrc-worker',
          ...request.headers,
        },
        body: request.body,
        timeouts: this.timeouts(),
        signal: this.context.signal,
        maxBytes: OPERATIONS[request.operation].answerBytes,
        ownConnection: submits ? { beforeWrite: request.beforeWrite ?? (() => Promise.resolve()) } : undefined,
        onWritten: () => {
          this.written = true;
          deps.bookkeeper.note(this.slot, 'written');
        },
      },
      async (answer) => {
        this.status = answer.status;
        deps.bookkeeper.note(this.slot, answer.status === 429 ? 'refused' : 'answered');
        if (answer.status >= 200 && answer.status < 300) return { taken: true, result: await consume(answer) };
        // Return instead of throwing; otherwise the transport would report a broken body instead of the status.
        return { taken: false, refusal: await refusalOf(answer, { ...request, redact: this.redact }) };
      },
    );
    if (!outcome.taken) throw outcome.refusal;
    return outcome.result;
  }

  private path(): string {
    const { params = {}, query = {} } = this.request;
    const path = OPERATIONS[this.request.operation].path.replace(/\{(\w+)\}/gu, (_match, name: string) =>
      encodeURIComponent(params[name] ?? ''),
    );
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
    return `${this.deps.prefix}${path}${search.size > 0 ? `?${search.toString()}` : ''}`;
  }

  private timeouts(): Timeouts {
    const totalMs = callTimeoutMs(this.request.operation, this.deps.httpTimeoutMs);
    return {
      headersMs: totalMs,
      bodyMs: Math.min(BODY_TIMEOUT_MS, totalMs),
      totalMs,
      ...this.deps.timeouts,
      connectMs: this.deps.connectMs,
    };
  }

  private ownError(kind: ErrorKind, message: string, cause?: unknown): ApiError {
    return new ApiError({ kind, operation: this.request.operation, message, cause });
  }

  private audit(startedAt: number, error: ApiError | null): void {
    this.deps.bookkeeper.audit({
      operation: this.request.operation,
      exporterId: this.context.exporterId ?? null,
      status: this.status,
      kind: error?.kind ?? null,
      errorCode: error?.errorCode ?? null,
      requestId: error?.requestId ?? null,
      latencyMs: Math.round(performance.now() - startedAt),
      attempt: this.context.attempt ?? null,
    });
  }
}

/** The part of a pino logger that the client uses. */
export interface Logger {
  warn(details: object, message: string): void;
}

/** Reports calls to budget and audit in the background; calls neither wait for that nor fail because of it. */
function createBookkeeper({ audit, logger }: Pick<CallerOptions, 'audit' | 'logger'>) {
  const pending = new Set<Promise<void>>();
  const lastOf = new WeakMap<BudgetSlot, Promise<void>>();

  function keep(work: Promise<void>, what: string): Promise<void> {
    const kept = work
      .catch((error: unknown) => logger?.warn({ what, err: error }, 'a call could not be recorded'))
      .finally(() => pending.delete(kept));
    pending.add(kept);
    return kept;
  }

  return {
    /** Reports to the budget, in order for each slot. */
    note: (slot: BudgetSlot | null, event: keyof BudgetSlot): void => {
      if (slot === null) return;
      const before = lastOf.get(slot);
      // Start the first report in this turn of the event loop: the time of the write must not be recorded late.
      const work = before === undefined ? attempt(() => slot[event]()) : before.then(() => slot[event]());
      lastOf.set(slot, keep(work, `The budget event ${event}`));
    },
    audit: (row: Omit<ApiCall, 'at'>): void => {
      if (audit === undefined) return;
      void keep(
        attempt(async () => audit({ at: new Date(), ...row })),
        'An API call',
      );
    },
    /** Resolves when all reports so far are stored or have failed. */
    settled: async (): Promise<void> => {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}

/** Turns a synchronous error of a port into a rejection, so that it does not affect the call. */
function attempt(work: () => Promise<void>): Promise<void> {
  try {
    return work();
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }
}
