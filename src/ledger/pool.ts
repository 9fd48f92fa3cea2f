import pg from 'pg';
import { NO_TRACES, type SpanAttributes, type Tracer } from '../telemetry/tracer';
import { asLedgerError, connectFailure, LedgerUnavailableError } from './unavailable';

/** What runs a statement: a pool, or a client inside a transaction. An undefined value becomes NULL. */
export type Queryable = Pick<pg.Pool, 'query'>;

/** SQL: our own words, such as states, for `IN (…)`; never text from outside. */
export const sqlWords = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ');

/** In ms; 0: none. A step has 30 s in all. The server's time-outs are shorter, so that the reason is known. */
const POOL_TIMEOUTS = {
  /** From asking for a connection to having one, new or kept. */
  connectMs: 10_000,
  /** One statement, at the server. */
  statementMs: 20_000,
  /** A statement's wait for a lock, at the server. */
  lockMs: 10_000,
  /** After this the server ends a transaction that sends nothing, because its process is stopped or cut off. */
  idleInTransactionMs: 15_000,
  /** One statement, measured by the client: the only limit if the network swallows the server's answer. */
  queryMs: 25_000,
};

/** An idle connection is probed after this, so that a lost peer is noticed before the connection is needed. */
const KEEP_ALIVE_MS = 10_000;

/**
 * Creates a pool. `date` stays `YYYY-MM-DD`, `numeric` and `bigint` stay text (money is never a float). Statements and
 * waits have time-outs, and temporary failures reject with {@link LedgerUnavailableError}.
 */
export function createPool(args: {
  url: string;
  /** Shown in `pg_stat_activity`; default `ebrc`. */
  applicationName?: string;
  /** The most connections that this process opens; default 10. */
  max?: number;
  /** Connections that are kept while unused; default none. */
  min?: number;
  timeouts?: Partial<typeof POOL_TIMEOUTS>;
  /** Traces statements inside of spans. Default: no traces. */
  tracer?: Tracer;
  /** Called for connections that broke while idle, as after a restart of the server; the pool replaces them. */
  onIdleError?: (error: Error) => void;
}): pg.Pool {
  const { url, applicationName = 'ebrc', max = 10, min = 0, onIdleError, ...options } = args;
  const { tracer = NO_TRACES } = options;
  const timeouts = { ...POOL_TIMEOUTS, ...options.timeouts };
  // Set by a statement, because PgBouncer refuses connections with these startup parameters.
  const bounds = `SET statement_timeout = ${timeouts.statementMs}; SET lock_timeout = ${timeouts.lockMs};
    SET idle_in_transaction_session_timeout = ${timeouts.idleInTransactionMs}`;
  const setBounds = (client: pg.ClientBase): unknown => client.query(bounds);
  const pool = new LedgerPool({
    connectionString: url,
    application_name: applicationName,
    max,
    min,
    connectionTimeoutMillis: timeouts.connectMs,
    query_timeout: timeouts.queryMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: { getTypeParser },
    // The pool awaits the result, and closes the connection if it fails; its type does not say so.
    onConnect: setBounds,
    Client: class extends LedgerClient {
      constructor(config?: pg.ClientConfig) {
        super(config, tracer);
      }
    },
  });
  // Without a listener, a restart of PostgreSQL would end the worker with an uncaught exception.
  pool.on('error', (error) => onIdleError?.(error));
  return pool;
}

/** The OID of type `date`, the same in every server. */
const DATE_OID = 1082;

const asText = (value: string) => value;

function getTypeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (oid === DATE_OID && format !== 'binary') return asText;
  return pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text');
}

/** One signature for the many of the driver's `query`. */
type AnyQuery = (...args: unknown[]) => Promise<unknown>;

/** A connection whose loss, even between two statements of a transaction, is never an uncaught exception. */
class LedgerClient extends pg.Client {
  readonly openedAt = performance.now();

  constructor(config?: pg.ClientConfig, tracer: Tracer = NO_TRACES) {
    super(config);
    // The pool listens to idle connections only; the holder of this one sees the loss at its next statement.
    this.on('error', () => undefined);
    const query = this.query.bind(this) as AnyQuery;
    this.query = ((...args: unknown[]) => {
      const pending = inStatementSpan(tracer, args, () => query(...prepared(args)));
      return pending instanceof Promise ? pending.catch(rethrowTranslated) : pending;
    }) as pg.Client['query'];
  }
}

/** Statement names by text. The texts are constants of this program. */
const NAMES = new Map<string, string>();
/** A limit, because texts that differ at every call would fill the memory of every connection. */
const MAX_NAMES = 1_000;

/** Names a statement with parameters, so that the server plans it once per connection and not at every call. */
function prepared(args: unknown[]): unknown[] {
  const [text, values, ...others] = args;
  if (typeof text !== 'string' || !Array.isArray(values)) return args;
  let name = NAMES.get(text);
  if (name === undefined) {
    if (NAMES.size >= MAX_NAMES) return args;
    name = `ebrc_${NAMES.size + 1}`;
    NAMES.set(text, name);
  }
  return [{ name, text, values: values as unknown[] }, ...others];
}

function rethrowTranslated(error: unknown): never {
  throw asLedgerError(error);
}

class LedgerPool extends pg.Pool {
  /** Connections opened before this lead to a server that has become read-only. */
  private staleBefore = 0;

  constructor(config: pg.PoolConfig) {
    super(config);
    const checkOut = this.connect.bind(this) as () => Promise<pg.PoolClient>;
    this.connect = (() => this.freshClient(checkOut)) as pg.Pool['connect'];
    this.query = ((...args: unknown[]) => this.queryOnce(args)) as pg.Pool['query'];
    this.on('release', (error: unknown) => {
      if (error instanceof LedgerUnavailableError && error.code === READ_ONLY) this.staleBefore = performance.now();
    });
  }

  /** After a failover all connections lead to the old server, so they are replaced instead of tried one by one. */
  private async freshClient(checkOut: () => Promise<pg.PoolClient>): Promise<pg.PoolClient> {
    for (;;) {
      const client = await checkOut().catch((error: unknown) => {
        throw connectFailure(error);
      });
      if (!(client instanceof LedgerClient) || client.openedAt > this.staleBefore) return client;
      client.release(true);
    }
  }

  private async queryOnce(args: unknown[]): Promise<unknown> {
    return withConnection(this, (client) => (client.query as AnyQuery)(...args));
  }
}

/** SQLSTATE `read_only_sql_transaction`. */
const READ_ONLY = '25006';

/** The error, if the connection must not be used after it. */
function brokenBy(error: unknown): Error | undefined {
  return error instanceof LedgerUnavailableError && !error.connectionUsable ? error : undefined;
}

/** Runs `work` on one connection, which is discarded if it is lost, unusable, or cannot be rolled back. */
async function withConnection<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient, discard: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    return await work(client, (error) => (broken = error));
  } catch (error) {
    broken ??= brokenBy(error);
    throw error;
  } finally {
    client.release(broken);
  }
}

/** Runs `work` in one transaction, committed when it returns and rolled back when it throws. */
export function withTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return withConnection(pool, async (client, discard) => {
    try {
      await client.query('BEGIN');
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      // On a broken connection a ROLLBACK would wait for its own time-out; closing the connection rolls back too.
      if (!brokenBy(error)) await client.query('ROLLBACK').catch(discard);
      throw error;
    }
  });
}

/** The name of a statement in a trace: its verb and table. Text and values are not sent. */
function spanOf(text: string): { name: string; attributes: SpanAttributes } {
  const verb = /[A-Z]+/iu.exec(text)?.[0].toUpperCase() ?? 'SQL';
  const table = /\b(?:FROM|INTO|UPDATE|TABLE)\s+([a-z_]+)/iu.exec(text)?.[1];
  return {
    name: table === undefined ? verb : `${verb} ${table}`,
    attributes: { 'db.system.name': 'postgresql', 'db.operation.name': verb, 'db.collection.name': table },
  };
}

/** Runs a statement in its own span if the caller has a span; otherwise it is not traced. */
function inStatementSpan(tracer: Tracer, args: readonly unknown[], run: () => unknown): unknown {
  const [first] = args;
  const text = typeof first === 'string' ? first : (first as { text?: unknown } | null)?.text;
  // With a callback there is no promise to wait for.
  if (tracer.current() === null || typeof text !== 'string' || typeof args.at(-1) === 'function') return run();
  const { name, attributes } = spanOf(text);
  return tracer.span(name, attributes, () => Promise.resolve(run()));
}
