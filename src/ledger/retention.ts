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
  days: number;
  /** The rows of before the time $1 that are removed. */
  old: string;
  remove: string;
}

const OLD_ROWS: readonly OldRows[] = [
  {
    what: 'calls',
    days: API_CALL_DAYS,
    old: 'SELECT ctid FROM api_calls WHERE at < $1',
    remove: 'DELETE FROM api_calls',
  },
  {
    what: 'findings',
    days: RECONCILIATION_DAYS,
    old: 'SELECT ctid FROM questions WHERE closed_at < $1',
    remove: 'DELETE FROM questions',
  },
  {
    what: 'runs',
    days: RECONCILIATION_DAYS,
    old: 'SELECT ctid FROM reconciliation_runs WHERE started_at < $1',
    remove: 'DELETE FROM reconciliation_runs',
  },
  {
    what: 'windows',
    days: RECONCILIATION_DAYS,
    old: 'SELECT ctid FROM certificate_windows WHERE read_at < $1',
    remove: 'DELETE FROM certificate_windows',
  },
  {
    what: 'answerTimes',
    days: 400,
    // The cadence of polls takes the newest.
    old: `SELECT ctid FROM acknowledgement_times WHERE mode IN ('test', 'live') AND at < $1`,
    remove: 'DELETE FROM acknowledgement_times',
  },
  {
    what: 'inputs',
    days: 90,
    // Older ones were looked at a month ago, and have their filing.
    old: `SELECT ctid FROM filing_inputs WHERE created_at BETWEEN $1::timestamptz - interval '30 days' AND $1
      AND NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = filing_inputs.input_ref)`,
    remove: 'DELETE FROM filing_inputs',
  },
  {
    what: 'steps',
    days: 30,
    // One that is set aside waits for a person.
    old: 'SELECT ctid FROM steps_under_way WHERE since < $1 AND NOT set_aside',
    remove: 'DELETE FROM steps_under_way',
  },
];

/** Removes what is older than it is kept, in small batches. @returns how many rows, by what they were */
export async function removeOldRows(db: Queryable, at: number): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (const { what, days, ...rows } of OLD_ROWS)
    removed[what] = await inBatches((limit) => removeSome(db, rows, new Date(at - days * DAY_MS), limit));
  removed['events'] = await inBatches((limit) => pruneEvents(db, new Date(at - EVENT_DAYS * DAY_MS), limit));
  return removed;
}

async function removeSome(
  db: Queryable,
  { old, remove }: Pick<OldRows, 'old' | 'remove'>,
  before: Date,
  limit: number,
): Promise<number> {
  const { rowCount } = await db.query(`${remove} WHERE ctid = ANY(ARRAY(${old} LIMIT ${limit}))`, [before]);
  return rowCount ?? 0;
}

async function inBatches(remove: (limit: number) => Promise<number>): Promise<number> {
  for (let all = 0; ;) {
    const removed = await remove(BATCH);
    all += removed;
    if (removed < BATCH) return all;
  }
}
