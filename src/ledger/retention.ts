/** How long rows are kept that only time makes useless (docs/operations.md). Nothing that a gate reads is here. */
import { DAY_MS } from '../domain/dates';
import { pruneEvents } from './events/feed';
import type { Queryable } from './pool';

/** Followers of the feed that were away find what happened within this time. */
export const EVENT_DAYS = 400;
/** Calls are kept for audits and disputes. */
export const API_CALL_DAYS = 180;
/** A financial year and the audit after it. */
export const RECONCILIATION_DAYS = 730;

/** Rows deleted by one statement: each is a short transaction of its own. */
const BATCH = 10_000;

interface OldRows {
  what: string;
  table: string;
  days: number;
  /** Which rows of before the time $1 are removed. */
  old: string;
}

const OLD_ROWS: readonly OldRows[] = [
  { what: 'calls', table: 'api_calls', days: API_CALL_DAYS, old: 'at < $1' },
  { what: 'findings', table: 'questions', days: RECONCILIATION_DAYS, old: 'closed_at < $1' },
  { what: 'runs', table: 'reconciliation_runs', days: RECONCILIATION_DAYS, old: 'started_at < $1' },
  { what: 'windows', table: 'certificate_windows', days: RECONCILIATION_DAYS, old: 'read_at < $1' },
  // The cadence of polls takes the newest.
  { what: 'answerTimes', table: 'acknowledgement_times', days: 400, old: `mode IN ('test', 'live') AND at < $1` },
  {
    what: 'inputs',
    table: 'filing_inputs',
    days: 90,
    // Older ones were looked at a month ago, and have their filing.
    old: `created_at BETWEEN $1::timestamptz - interval '30 days' AND $1
      AND NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = filing_inputs.input_ref)`,
  },
  // One that is set aside waits for a person.
  { what: 'steps', table: 'steps_under_way', days: 30, old: 'since < $1 AND NOT set_aside' },
];

/** Removes what is older than it is kept, in small batches. @returns how many rows, by what they were */
export async function removeOldRows(db: Queryable, at: number): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (const { what, table, days, old } of OLD_ROWS) {
    const batch = `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${old} LIMIT ${BATCH}))`;
    const before = new Date(at - days * DAY_MS);
    removed[what] = await inBatches(async () => (await db.query(batch, [before])).rowCount ?? 0);
  }
  const before = new Date(at - EVENT_DAYS * DAY_MS);
  removed['events'] = await inBatches(() => pruneEvents(db, before, BATCH));
  return removed;
}

async function inBatches(remove: () => Promise<number>): Promise<number> {
  for (let all = 0; ;) {
    const removed = await remove();
    all += removed;
    if (removed < BATCH) return all;
  }
}
