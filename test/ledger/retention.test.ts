/** What is removed with time, and what never is: everything that a gate reads. */
import { DAY_MS } from '../../src/domain/dates';
import { removeOldRows } from '../../src/ledger/retention';
import { useTestDatabase } from '../support/postgres';
import { EXPORTER, knowExporter, open, rowsOf } from './filing-support';
import { saveInput } from '../../src/ledger/filings/filing-inputs';

const ledger = useTestDatabase(knowExporter);

const NOW = Date.now();
const PARTY = `(SELECT party_id FROM exporters WHERE exporter_id = '${EXPORTER}')`;
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
  certificate_windows: {
    column: 'read_at',
    made: `INSERT INTO certificate_windows SELECT ${PARTY}, at, at, at FROM made`,
    ages: [1, 729, 731],
    left: [1, 729],
  },
  acknowledgement_times: {
    column: 'at',
    made: `INSERT INTO acknowledgement_times (filing_id, submission, mode, took_ms, at) SELECT at, 1, 'test', 1, at FROM made`,
    ages: [1, 399, 401],
    left: [1, 399],
  },
  steps_under_way: {
    column: 'since',
    made: `INSERT INTO steps_under_way (workflow_id, step, what, try_id, since, set_aside)
      SELECT 'w' || nth, 's', 'what', gen_random_uuid(), at, nth = 1 FROM made`,
    // The first one is set aside.
    ages: [300, 29, 31],
    left: [29, 300],
  },
  events: {
    column: 'at',
    made: `INSERT INTO events (mode, type, at, subject, data, position) SELECT 'test', 't', at, 's', '{}', 100 - nth FROM made`,
    ages: [1, 399, 401, 500],
    left: [1, 399],
  },
};

it.each(Object.entries(KINDS))(
  '%s are removed when they are as old as the table of the operations says',
  async (...kind) => {
    const [table, { column, made, ages: all, left }] = kind;
    await ledger.pool.query('DELETE FROM events');
    await ledger.pool.query(
      `WITH made AS (SELECT nth, $1::timestamptz - days * interval '1 day' AS at FROM unnest($2::int[]) WITH ORDINALITY AS a (days, nth)) ${made}`,
      [new Date(NOW), all],
    );
    await removeOldRows(ledger.pool, NOW);
    expect(await ages(table, column)).toEqual(left);
  },
);

it('closed questions are removed, and open ones never', async () => {
  await ledger.pool.query(
    `INSERT INTO questions (mode, party_id, key, kind, first_seen_at, last_seen_at, closed_at)
     SELECT 'test', ${PARTY}, 'k' || days, 'k', $1::timestamptz - 3000 * interval '1 day', $1, CASE WHEN days > 0 THEN $1 - days * interval '1 day' END
       FROM unnest('{0,729,731}'::int[]) AS days`,
    [new Date(NOW)],
  );
  expect(await removeOldRows(ledger.pool, NOW)).toMatchObject({ findings: 1 });
  expect(await ledger.select('SELECT key FROM questions ORDER BY key')).toEqual([{ key: 'k0' }, { key: 'k729' }]);
});

it('inputs that no filing was made of are removed, unless they were handed in again', async () => {
  const input = (row: number) => ({ rows: rowsOf({ mappedIRMAmountFCC: row }), sourceKind: 'json' as const });
  const filed = await open(ledger, 'INPUT', rowsOf({ mappedIRMAmountFCC: 7, sbCumInvoiceNumber: '77' }));
  await saveInput(ledger.pool, input(8));
  await saveInput(ledger.pool, input(9));
  await ledger.pool.query('UPDATE filing_inputs SET created_at = $1', [new Date(NOW - 91 * DAY_MS)]);
  await saveInput(ledger.pool, input(9));
  expect(await removeOldRows(ledger.pool, NOW)).toMatchObject({ inputs: 1 });
  expect(
    await ledger.select(`SELECT (rows -> 0 -> 'mapping' ->> 'mappedIRMAmountFCC')::float8 AS amount FROM filing_inputs i
      WHERE NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = i.input_ref)`),
  ).toEqual([{ amount: 9 }]);
  expect((await ledger.pool.query('SELECT FROM filings WHERE filing_id = $1', [filed])).rowCount).toBe(1);
});
