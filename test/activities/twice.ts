/** Repeating an activity, as a worker does that takes over from another one. */
import type { Info } from '@temporalio/activity';
import type { Activities } from '../../src/activities/create-activities';
import type { TestDatabase } from '../support/postgres';
import type { ActivityDoor } from './door';

let steps = 0;

const TABLES = [
  'filings',
  'submissions',
  'filing_rows',
  'held_mappings',
  'attempts',
  'requests',
  'releases',
  'words',
  '(SELECT filing_id, j.* FROM word_judgements j JOIN words USING (word_id))',
  'filing_events',
];

/** Everything that the ledger holds of a filing; a reservation may be renewed, and a snapshot taken again. */
export async function heldOf({ pool }: TestDatabase, filingId: string) {
  const held = TABLES.map(async (table) => {
    const { rows } = await pool.query<{ row: object }>(
      `SELECT to_jsonb(t) - 'reserved_at' - 'checked' - 'snapshot_id' AS row FROM ${table} t WHERE filing_id = $1 ORDER BY to_jsonb(t)::text`,
      [filingId],
    );
    return [table, rows.map(({ row }) => row)];
  });
  return Object.fromEntries(await Promise.all(held)) as Record<string, { kind: string; state: string }[]>;
}

/** Makes a step and repeats it: it returns the same and writes nothing more. @returns what it returned */
export async function makeTwice<K extends keyof Activities>(
  { ledger, door }: { ledger: TestDatabase; door: ActivityDoor },
  filingId: string,
  { name, args, info: more }: { name: K; args: Parameters<Activities[K]>[0]; info?: Partial<Info> },
) {
  steps += 1;
  const info = { activityId: String(steps), workflowExecution: { workflowId: 'file/test/T', runId: 'run' }, ...more };
  const first = await door.run(name, args, info);
  const after = await heldOf(ledger, filingId);
  await new Promise((resolve) => setTimeout(resolve, 2));
  expect(await door.run(name, args, info)).toEqual(first);
  expect(await heldOf(ledger, filingId)).toEqual(after);
  return { returned: first, story: after.filing_events?.map(({ kind }) => kind), filing: after.filings?.[0] };
}
