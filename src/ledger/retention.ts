/**
 * How long rows are kept that only time makes useless (docs/operations.md has the whole table). Nothing is here that a
 * gate reads: filings with their rows, attempts, requests, words, releases, snapshots and sends stay for ever.
 */
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
  /** What is removed, of rows before the time $1. */
  where: string;
}

const OLD_ROWS: readonly OldRows[] = [
  { what: 'calls', table: 'api_calls', days: API_CALL_DAYS, where: 'at < $1' },
  { what: 'findings', table: 'questions', days: RECONCILIATION_DAYS, where: 'closed_at < $1' },
  { what: 'runs', table: 'reconciliation_runs', days: RECONCILIATION_DAYS, where: 'started_at < $1' },
  { what: 'windows', table: 'certificate_windows', days: RECONCILIATION_DAYS, where: 'read_at < $1' },
  {
    what: 'looks',
    table: 'looks',
    days: RECONCILIATION_DAYS,
    // A release stands on its look, and a party's newest whole one proves what is asked about now.
    where: `began_at < $1 AND NOT EXISTS (SELECT FROM releases r WHERE r.look_id = looks.look_id)
      AND EXISTS (SELECT FROM looks n WHERE n.party_id = looks.party_id AND n.complete AND n.began_at > looks.began_at)`,
  },
  // The cadence of polls takes the newest.
  { what: 'answerTimes', table: 'acknowledgement_times', days: 400, where: `mode IN ('test', 'live') AND at < $1` },
  {
    what: 'inputs',
    table: 'filing_inputs',
    days: 90,
    // Older ones were looked at a month ago, and have their filing.
    where: `created_at BETWEEN $1::timestamptz - interval '30 days' AND $1
      AND NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = filing_inputs.input_ref)`,
  },
  // One that is set aside waits for a person.
  { what: 'steps', table: 'steps_under_way', days: 30, where: 'since < $1 AND NOT set_aside' },
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
  { table, where }: Pick<OldRows, 'table' | 'where'>,
  before: Date,
  limit: number,
): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${where} LIMIT ${limit})) AND ${where}`,
    [before],
  );
  return rowCount ?? 0;
}

async function inBatches(remove: (limit: number) => Promise<number>): Promise<number> {
  for (let all = 0; ;) {
    const removed = await remove(BATCH);
    all += removed;
    if (removed < BATCH) return all;
  }
}
