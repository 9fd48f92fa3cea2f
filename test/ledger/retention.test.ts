/** What is removed with time, and what never is: everything that decides about a send. */
import { DAY_MS } from '../../src/domain/dates';
import { removeOldRows } from '../../src/ledger/retention';
import { useTestDatabase } from '../support/postgres';
import { IEC, knowExporter, rowsOf, tell } from './filed';
import { saveInput } from '../../src/ledger/filings/inputs';
import type { Queryable } from '../../src/ledger/pool';
import { createApiCallAudit } from '../../src/ledger/service/api-calls';
import type { ApiCall } from '../../src/domain/service/operations';

const ledger = useTestDatabase(knowExporter);

const NOW = Date.now();
/** The ages in days of what is left of a kind, youngest first. */
async function ages(table: string, column: string): Promise<number[]> {
  const { rows } = await ledger.pool.query<{ age: number }>(
    `SELECT round(extract(epoch FROM $1::timestamptz - ${column}) / 86400)::int AS age FROM ${table} ORDER BY 1`,
    [new Date(NOW)],
  );
  return rows.map(({ age }) => age);
}

/** Each kind: how its rows of these ages are made, and which ages stay. */
const KINDS: Record<string, { column: string; made: string; ages: number[]; left: number[] }> = {
  api_calls: {
    column: 'at',
    made: `INSERT INTO api_calls (mode, at, operation, latency_ms) SELECT 'test', at, 'status', 1 FROM made`,
    ages: [1, 179, 181],
    left: [1, 179],
  },
  reconciliation_runs: {
    column: 'started_at',
    made: `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, from_date, to_date, started_at) SELECT at, 'test', 'w', at, at, at FROM made`,
    ages: [1, 729, 731],
    left: [1, 729],
  },
  readings: {
    column: 'began_at',
    made: `INSERT INTO readings (mode, iec, exporter_id, began_at, ended_at, to_date, whole) SELECT 'test', '${IEC}', 'e', at, at, at, nth <> 1 FROM made`,
    // The last whole one stays, however old it is, and what came after it.
    ages: [61, 62, 63],
    left: [61, 62],
  },
};

it.each(Object.entries(KINDS))(
  '%s are removed when they are as old as the table of the operations says',
  async (...kind) => {
    const [table, { column, made, ages: all, left }] = kind;
    await ledger.pool.query(
      `WITH made AS (SELECT nth, $1::timestamptz - days * interval '1 day' AS at FROM unnest($2::int[]) WITH ORDINALITY AS a (days, nth)) ${made}`,
      [new Date(NOW), all],
    );
    await removeOldRows(ledger.pool);
    expect(await ages(table, column)).toEqual(left);
  },
);

it('events leave the feed, and stay', async () => {
  await ledger.pool.query(
    `INSERT INTO events (mode, type, at, subject, position) SELECT 'test', 't', $1::timestamptz - days * interval '1 day', 's', 1000 - days
       FROM unnest('{500,401,399,1}'::int[]) AS days`,
    [new Date(NOW)],
  );
  expect(await removeOldRows(ledger.pool)).toMatchObject({ events: 2 });
  expect(await ledger.select('SELECT feed_removed AS n FROM ledger')).toEqual([{ n: '599' }]);
  expect((await ledger.select('SELECT FROM events WHERE position IS NOT NULL')).length).toBe(4);
});

it('closed findings are removed, and open ones never', async () => {
  await ledger.pool.query(
    `INSERT INTO findings (mode, iec, key, kind, first_seen_at, last_seen_at, closed_at)
     SELECT 'test', '${IEC}', 'k' || days, 'k', $1::timestamptz - 3000 * interval '1 day', $1, CASE WHEN days > 0 THEN $1 - days * interval '1 day' END
       FROM unnest('{0,729,731}'::int[]) AS days`,
    [new Date(NOW)],
  );
  expect(await removeOldRows(ledger.pool)).toMatchObject({ findings: 1 });
  expect(await ledger.select('SELECT key FROM findings ORDER BY key')).toEqual([{ key: 'k0' }, { key: 'k729' }]);
});

it('inputs that no filing was made of are removed, unless they were handed in again', async () => {
  const input = (row: number) => ({ rows: rowsOf({ mappedIRMAmountFCC: row }), sourceKind: 'json' as const });
  const filed = await tell(ledger, { reference: 'INPUT', madeAt: new Date(NOW), rows: [{ mappedIRMAmountFCC: 7 }] });
  await saveInput(ledger.pool, input(8));
  await saveInput(ledger.pool, input(9));
  await ledger.pool.query('UPDATE filing_inputs SET created_at = $1', [new Date(NOW - 91 * DAY_MS)]);
  await saveInput(ledger.pool, input(9));
  expect(await removeOldRows(ledger.pool)).toMatchObject({ inputs: 1 });
  expect(
    await ledger.select(`SELECT (rows -> 0 -> 'mapping' ->> 'mappedIRMAmountFCC')::float8 AS amount FROM filing_inputs i
      WHERE NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = i.input_ref)`),
  ).toEqual([{ amount: 9 }]);
  expect((await ledger.pool.query('SELECT FROM filings WHERE filing_id = $1', [filed])).rowCount).toBe(1);
});

describe('the audit of calls', () => {
  const database = ledger;

  beforeEach(() => database.select('TRUNCATE api_calls'));

  const row: ApiCall = {
    at: new Date('2026-11-21T06:00:00Z'),
    operation: 'pushIrm',
    exporterId: 'exporter-1',
    status: 409,
    kind: 'credentials_invalid',
    errorCode: 'DGFT_CREDENTIALS_INVALID',
    requestId: 'request-1',
    latencyMs: 812.4,
    attempt: 2,
  };

  const stored = () => database.select('SELECT * FROM api_calls ORDER BY call_id');

  /** The pool, refusing everything while `away` is set. */
  function fragilePool() {
    const state = { away: false };
    const pool = {
      query: (...args: unknown[]) =>
        state.away
          ? Promise.reject(new Error('connection terminated'))
          : (database.pool.query as (...all: unknown[]) => unknown).apply(database.pool, args),
    } as unknown as Queryable;
    return { pool, state };
  }

  test('a call leaves one row, nulls where nothing is known', async () => {
    const audit = createApiCallAudit({ pool: database.pool, mode: 'test' });
    audit.recordApiCall(row);
    audit.recordApiCall({
      ...row,
      exporterId: null,
      status: null,
      kind: null,
      errorCode: null,
      requestId: null,
      attempt: null,
    });
    await audit.close();
    expect(await stored()).toMatchObject([
      {
        at: row.at,
        operation: 'pushIrm',
        exporter_id: 'exporter-1',
        status: 409,
        kind: 'credentials_invalid',
        error_code: 'DGFT_CREDENTIALS_INVALID',
        request_id: 'request-1',
        latency_ms: 812,
        attempt: 2,
      },
      { exporter_id: null, status: null, kind: null, error_code: null, request_id: null, attempt: null },
    ]);
  });

  test('rows are written by themselves, and close writes those that came while a write was under way', async () => {
    const audit = createApiCallAudit({ pool: database.pool, mode: 'test', flushMs: 5 });
    for (let nth = 0; nth < 2_500; nth += 1) audit.recordApiCall({ ...row, requestId: `request-${nth}` });
    while ((await stored()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    audit.recordApiCall({ ...row, requestId: 'the last' });
    await audit.close();
    const ids = (await stored()).map((call) => call['request_id']);
    expect(ids).toHaveLength(2_501);
    expect(ids.at(-1)).toBe('the last');
    expect(new Set(ids).size).toBe(2_501);
  });

  test('rows that cannot be written now are kept and written once PostgreSQL is back', async () => {
    const { pool, state } = fragilePool();
    const audit = createApiCallAudit({ pool, mode: 'test', flushMs: 5 });
    state.away = true;
    audit.recordApiCall(row);
    await expect(audit.flush()).rejects.toThrow('connection terminated');
    state.away = false;
    while ((await stored()).length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await audit.close();
    expect(await stored()).toHaveLength(1);
  });

  test('dropped rows are reported: those beyond the capacity, and those left when PostgreSQL stays unavailable', async () => {
    const { pool, state } = fragilePool();
    const lost: number[] = [];
    const audit = createApiCallAudit({ pool, mode: 'test', capacity: 2, onLost: (rows) => lost.push(rows) });
    state.away = true;
    for (const requestId of ['1', '2', '3']) audit.recordApiCall({ ...row, requestId });
    await audit.close();
    expect(lost).toEqual([1, 2]);
  });

  test('text of the service that PostgreSQL cannot hold does not keep other rows from being written', async () => {
    const audit = createApiCallAudit({ pool: database.pool, mode: 'test' });
    audit.recordApiCall({ ...row, requestId: `a\0b${'x'.repeat(5_000)}` });
    audit.recordApiCall(row);
    await audit.close();
    const rows = await stored();
    expect(rows).toHaveLength(2);
    expect(String(rows[0]!['request_id'])).toMatch(/^abx{198}$/);
  });
});
