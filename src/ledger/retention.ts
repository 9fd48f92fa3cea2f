/** How long rows are kept that become useless with time (docs/operations.md). Nothing that decides is removed. */
import { DAY_MS } from '../domain/dates';
import { pruneEvents } from './events';
import type { Queryable } from './pool';

/** How far back readers of the feed can catch up. The events themselves are kept with their filings. */
export const EVENT_DAYS = 400;
/** Calls are kept for audits and disputes. */
export const API_CALL_DAYS = 180;
/** A financial year and the audit after it. */
const RECONCILIATION_DAYS = 730;

/** Decisions name the readings that they were judged by for some weeks; filings use the last ones alone. */
export const READING_DAYS = 60;

/** What endpoints were told, for who looks for a missing event. */
export const DELIVERY_DAYS = 30;

/** Rows per DELETE; each is a short transaction. */
const BATCH = 10_000;

/** `old`: the rows to remove, where $1 is the time up to which they are not kept. */
const OLD_ROWS: readonly { what: string; days: number; remove: `DELETE FROM ${string}`; old: string }[] = [
  { what: 'calls', days: API_CALL_DAYS, remove: 'DELETE FROM api_calls', old: 'at < $1' },
  { what: 'findings', days: RECONCILIATION_DAYS, remove: 'DELETE FROM findings', old: 'closed_at < $1' },
  { what: 'runs', days: RECONCILIATION_DAYS, remove: 'DELETE FROM reconciliation_runs', old: 'started_at < $1' },
  {
    what: 'deliveries',
    days: DELIVERY_DAYS,
    remove: 'DELETE FROM webhook_deliveries',
    old: `last_at < $1 AND state <> 'waiting'`,
  },
  {
    what: 'readings',
    days: READING_DAYS,
    remove: 'DELETE FROM readings',
    // The next reading begins where the last whole one ended, however old that is.
    old: `began_at < $1 AND EXISTS (SELECT FROM readings later WHERE later.mode = readings.mode AND later.iec = readings.iec
      AND later.whole AND later.began_at > readings.began_at)`,
  },
  {
    what: 'inputs',
    days: 90,
    remove: 'DELETE FROM filing_inputs',
    // Older inputs were checked a month ago and have a filing.
    old: `created_at BETWEEN $1::timestamptz - interval '30 days' AND $1
      AND NOT EXISTS (SELECT FROM filings f WHERE f.input_ref = filing_inputs.input_ref)`,
  },
];

/** Removes expired rows in small batches. @returns how many, by kind */
export async function removeOldRows(db: Queryable, at: number): Promise<Record<string, number>> {
  const removed: Record<string, number> = {};
  for (const { what, days, remove, old } of OLD_ROWS) {
    const table = remove.slice('DELETE FROM '.length);
    const batch = `${remove} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${old} LIMIT ${BATCH}))`;
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
