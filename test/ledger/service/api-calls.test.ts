import type { Queryable } from '../../../src/ledger/pool';
import { createApiCallAudit } from '../../../src/ledger/service/api-calls';
import type { ApiCall } from '../../../src/domain/service/operations';
import { useTestDatabase } from '../../support/postgres';

const database = useTestDatabase();

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
