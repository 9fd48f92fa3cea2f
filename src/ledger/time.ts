/**
 * The ledger's time: an epoch, which changes when the server was restored or promoted, and a beat that workers raise.
 * Another epoch, or a lower beat, than somebody saw before means that the ledger may have gone back.
 */
import type { LedgerTime } from '../domain/filing/facts';
import { MINUTE_MS } from '../domain/dates';
import type { Mode } from '../domain/names';
import { openFinding } from './findings';
import { MS } from './paging';
import type { Queryable } from './pool';

/** The kind of the findings that say that the ledger went back. While one of its mode is open, nothing is sent. */
export const WENT_BACK = 'ledger_went_back';

/**
 * SQL: whether Temporal knows the ledger `l` for a mode, so that it may send: it was compared in this epoch, and
 * nothing is known to be missing.
 */
export const LEDGER_IS_WHOLE = (
  mode: string,
): string => `(l.epoch = server_epoch() AND NOT EXISTS (SELECT FROM findings w
  WHERE w.mode = ${mode} AND w.kind = '${WENT_BACK}' AND w.closed_at IS NULL))`;

export interface LedgerNow extends LedgerHistory {
  /** Whether it may send. */
  whole: boolean;
}

/** The highest beat that a process saw in each epoch. */
export interface SeenTime {
  note(time: LedgerTime): void;
  /** Null: none was seen in the epoch. */
  of(epoch: string): LedgerTime | null;
}

export function createSeenTime(): SeenTime {
  const seen = new Map<string, LedgerTime>();
  const of = (epoch: string) => seen.get(epoch) ?? null;
  return {
    of,
    note({ epoch, beat, at }) {
      if (beat > (of(epoch)?.beat ?? 0)) seen.set(epoch, { epoch, beat, at });
    },
  };
}

/** What tells whether the ledger went back since a time: its time now, and when no beat was raised. */
export interface LedgerHistory extends LedgerTime {
  gaps: readonly (readonly [from: number, to: number])[];
}

/** Whether the ledger has another epoch than it had, a lower beat, or lacks the beat of that time. */
export function wentBackSince(time: LedgerTime, now: LedgerHistory): boolean {
  if (time.epoch !== now.epoch || now.beat < time.beat) return true;
  const { at } = time;
  if (at === undefined) return false;
  return (now.beat === time.beat && now.at !== at) || now.gaps.some(([from, to]) => from < at && at < to);
}

/** Doubts the ledger where it went back since one of these times of its epoch. @returns whether this call did */
export async function doubtIfLost(
  db: Queryable,
  times: readonly (LedgerTime | null)[],
  now: LedgerHistory,
): Promise<boolean> {
  const lost = times.some((time) => time?.epoch === now.epoch && wentBackSince(time, now));
  return lost && doubtLedger(db, now.epoch);
}

/** SQL: the columns of a {@link LedgerHistory}, of the ledger `l`. */
export const LEDGER_HISTORY = `server_epoch() AS epoch, l.beat::float8 AS beat, ${MS('l.beat_at')} AS at, l.gaps`;

/** The ledger's time now. */
export async function readLedgerTime(db: Queryable, mode: Mode): Promise<LedgerNow> {
  const { rows } = await db.query<LedgerNow>(
    `SELECT ${LEDGER_HISTORY}, ${LEDGER_IS_WHOLE('$1')} AS whole FROM ledger l`,
    [mode],
  );
  return oneRow(rows);
}

/** The id of the ledger, by which a document store knows it. */
export async function readLedgerId(db: Queryable): Promise<string> {
  const { rows } = await db.query<{ id: string }>('SELECT ledger_id AS id FROM ledger');
  return oneRow(rows).id;
}

/** How often the beat is raised, so that a settle time has at least four beats. */
export const beatEveryMs = (settleAfterMs: number): number => Math.min(MINUTE_MS, settleAfterMs / 4);

/** A beat is raised a little earlier than it is due, because the timers of workers are not exact. */
const EARLY = 0.95;
/** A beat that is raised this much later than it is due leaves a gap. */
const LATE = 1.2;
const MAX_GAPS = 50;

/**
 * Raises the beat if it is due by PostgreSQL's clock, so that of all workers one raises it. A clock that was set back
 * does not stop it. @returns the ledger's time after it, whoever raised it
 */
export async function raiseBeat(db: Queryable, everyMs: number): Promise<LedgerTime> {
  const { rows } = await db.query<LedgerTime>(
    `WITH raised AS (
       UPDATE ledger SET beat = beat + 1, beat_at = clock_timestamp(),
          gaps = CASE WHEN beat_at > clock_timestamp() - $2::float8 * interval '1 ms' THEN gaps ELSE jsonb_path_query_array(
            jsonb_build_array(jsonb_build_array(${MS('beat_at')}, ${MS('clock_timestamp()')})) || gaps, '$[0 to ${MAX_GAPS - 1}]') END
        WHERE beat_at <= clock_timestamp() - $1::float8 * interval '1 ms' OR beat_at > clock_timestamp()
       RETURNING beat, beat_at)
     SELECT server_epoch() AS epoch, coalesce(r.beat, l.beat)::float8 AS beat, ${MS('coalesce(r.beat_at, l.beat_at)')} AS at
       FROM ledger l LEFT JOIN raised r ON true`,
    [everyMs * EARLY, everyMs * LATE],
  );
  return oneRow(rows);
}

/**
 * Says that the ledger went back in this epoch: a copy was brought back unsaid. The ledger gets another epoch, so that
 * nothing is sent before it is compared with Temporal, and every run learns of it.
 */
export async function doubtLedger(db: Queryable, epoch: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE ledger SET branch = '/' || left(gen_random_uuid()::text, 8) WHERE server_epoch() = $1`,
    [epoch],
  );
  return rowCount === 1;
}

/**
 * Says that the ledger was compared with Temporal in this epoch. Workers of other modes have not compared theirs, so
 * each of these gets a finding that its own comparison closes. In a new epoch the feed's positions may name other
 * events, so that cursors of before are refused.
 * @param comparedMs when the comparison began; null: it was not compared, a person says that nothing was lost
 * @returns false: the epoch is another one meanwhile
 */
export async function renewEpoch(
  client: Queryable,
  mode: Mode,
  { epoch, comparedMs }: { epoch: string; comparedMs: number | null },
): Promise<boolean> {
  const { rows } = await client.query<{ before: string; here: boolean }>(
    'SELECT epoch AS before, server_epoch() = $1 AS here FROM ledger FOR UPDATE',
    [epoch],
  );
  const { before, here } = oneRow(rows);
  if (!here) return false;
  if (before !== epoch) {
    const { rows: others } = await client.query<{ mode: Mode }>(
      `SELECT m AS mode FROM unnest(ARRAY['test', 'live']) AS m WHERE m <> $1 AND EXISTS (SELECT FROM filings f WHERE f.mode = m)`,
      [mode],
    );
    for (const other of others)
      await openFinding(client, { ...NOT_COMPARED, mode: other.mode, text: NOT_COMPARED_TEXT });
  }
  await client.query(
    `UPDATE ledger SET epoch = $2, feed_epoch = CASE WHEN epoch = $2 THEN feed_epoch ELSE gen_random_uuid() END,
        compared = CASE WHEN $3::float8 IS NULL THEN compared ELSE compared || jsonb_build_object($1::text, $3::float8) END`,
    [mode, epoch, comparedMs],
  );
  return true;
}

/** The finding that says that the ledger has not been compared since its epoch changed. */
export const NOT_COMPARED = { kind: WENT_BACK, iec: null, subject: 'not-compared' } as const;
export const NOT_COMPARED_TEXT =
  'The ledger may have gone back, and has not been compared with Temporal yet: nothing is sent. A worker compares it; see `ebrc ledger status`.';

function oneRow<T>(rows: T[]): T {
  const [row] = rows;
  if (!row) throw new Error('The ledger has no row of its own: its migration did not finish.');
  return row;
}
