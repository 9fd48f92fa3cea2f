import type { Mode } from '../../domain/names';
import type { ApiCall } from '../../domain/service/operations';
import type { Queryable } from '../pool';

/** Rows per INSERT: ten minutes of calls at the service's limits. */
const BATCH = 1_000;

/** The audit of API calls. Rows are written in batches with retries; `close` writes the rest. */
export function createApiCallAudit(args: {
  pool: Queryable;
  mode: Mode;
  /** How long rows may wait for their batch, in milliseconds. */
  flushMs?: number;
  /** Rows kept while PostgreSQL is unavailable; beyond that the oldest are dropped and `onLost` is called. */
  capacity?: number;
  onLost?: (rows: number, cause: unknown) => void;
}) {
  const { pool, mode, flushMs = 500, capacity = 10_000, onLost } = args;
  const rows: ApiCall[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;
  let lastError: unknown;

  async function writeAll(): Promise<void> {
    while (rows.length > 0) {
      const batch = rows.slice(0, BATCH);
      await insertApiCalls(pool, mode, batch);
      const written = new Set(batch);
      // Rows of the batch may have been dropped meanwhile, so they are not simply the first ones.
      rows.splice(0, rows.length, ...rows.filter((row) => !written.has(row)));
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => (writing = undefined));
    try {
      await writing;
    } catch (error) {
      lastError = error;
      later();
      throw error;
    }
  }

  function later(): void {
    // Rows of a failed write are kept, and flush has already scheduled the next try.
    timer ??= setTimeout(() => void flush().catch(() => undefined), flushMs);
    // The timer must not keep a finished process alive; close() writes the rest.
    timer.unref();
  }

  return {
    /** Stores a row; never throws and never waits. */
    recordApiCall(row: ApiCall): void {
      rows.push(row);
      const excess = rows.length - capacity;
      if (excess > 0) {
        rows.splice(0, excess);
        onLost?.(excess, lastError);
      }
      later();
    },

    /** Writes the waiting rows. If PostgreSQL refuses them, it throws and keeps them. */
    flush,

    /** Writes the rest at shutdown, and reports rows that could not be written through `onLost`. */
    async close(): Promise<void> {
      try {
        // Twice, because the first flush may join a write that began before the last rows were added.
        await flush();
        await flush();
      } catch (error) {
        onLost?.(rows.length, error);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

async function insertApiCalls(pool: Queryable, mode: Mode, rows: ApiCall[]): Promise<void> {
  const column = (name: keyof ApiCall) => rows.map((row) => storable(row[name]));
  await pool.query(
    `INSERT INTO api_calls (mode, at, operation, exporter_id, status, kind, error_code, request_id, latency_ms, attempt)
     SELECT $10, * FROM unnest($1::timestamptz[], $2::text[], $3::text[], $4::smallint[], $5::text[], $6::text[], $7::text[],
                          $8::integer[], $9::integer[])`,
    [
      column('at'),
      column('operation'),
      column('exporterId'),
      column('status'),
      column('kind'),
      column('errorCode'),
      column('requestId'),
      rows.map((row) => Math.round(row.latencyMs)),
      column('attempt'),
      mode,
    ],
  );
}

const LONGEST = 200;

/** PostgreSQL refuses NUL characters, and one such row would fail its whole batch. */
function storable(value: ApiCall[keyof ApiCall]): ApiCall[keyof ApiCall] {
  return typeof value === 'string' ? value.replaceAll('\0', '').slice(0, LONGEST) : value;
}
