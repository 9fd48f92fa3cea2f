/** The only writer of a filing's state and events. */
import { isEnd, type FilingState } from '../../domain/filing/states';
import type { Mode } from '../../domain/names';
import { closeDelay } from '../findings';
import type { Queryable } from '../pool';
import type { LockedFiling } from './lock';

/** A line of a filing's story, for people. `detail` is shown with the filing alone, never in the feed. */
export interface EventText {
  kind: string;
  text: string;
  who?: string | null;
  detail?: unknown;
}

/** What an event is about. */
export interface EventSubject {
  filingId: string;
  mode: Mode;
  exporterId: string;
  reference: string;
  n: number;
  state: FilingState;
  moves: number;
}

/** Inserts an event of a filing. `entered`: it entered its state, so the event is in the feed too. */
export async function insertFilingEvent(
  client: Queryable,
  filing: EventSubject,
  { kind, text, who = null, detail = null }: EventText,
  entered: boolean,
): Promise<void> {
  const { filingId, mode, exporterId, reference, n, state, moves } = filing;
  await client.query(
    `INSERT INTO events (mode, type, exporter_id, filing_id, subject, kind, state, who, text, data, detail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[mode, entered ? `ebrc.filing.${state}` : null, exporterId, filingId, reference, kind, entered ? state : null],
      ...[who, text, entered ? { filingId, exporterId, n, state, sequence: moves } : {}],
      detail === null ? null : JSON.stringify(detail),
    ],
  );
  // The relay also looks by the clock. A notification for each move would make commits wait for one another.
  if (entered && (moves === 1 || isEnd(state))) await client.query(`SELECT pg_notify('ebrc_events', '')`);
}

/** Adds a line to a filing's story that changes no state. */
export const addEvent = (client: Queryable, filing: EventSubject, event: EventText): Promise<void> =>
  insertFilingEvent(client, filing, event, false);

/** A change of a filing; what is left out stays as it is. */
export interface Change {
  state?: FilingState;
  attention?: string | null;
  asked?: boolean;
  /** Progress: overdue this long (ms) from now; null: nobody waits for it any more. */
  dueInMs?: number | null;
  /** Written if the state changes, or `always`. */
  event: EventText & { always?: boolean };
}

/** Changes a filing under its lock, with its event. Ends it, or opens it again, by its state. Updates `filing` too. */
export async function moveFiling(client: Queryable, filing: LockedFiling, change: Change): Promise<void> {
  const { state = filing.state, attention = filing.attention, asked = filing.asked, dueInMs, event } = change;
  const entered = state !== filing.state;
  const closed = isEnd(state);
  const unchanged = !entered && attention === filing.attention && asked === filing.asked && dueInMs === undefined;
  if (!unchanged) {
    const { rows } = await client.query<{ since: number; dueAt: number | null; moves: number }>(
      `UPDATE filings SET state = $2, attention = $3, asked = $4,
          since = CASE WHEN state = $2 THEN since ELSE clock_timestamp() END,
          moves = CASE WHEN state = $2 THEN moves ELSE moves + 1 END,
          due_at = CASE WHEN $5 THEN clock_timestamp() + $6::float8 * interval '1 ms' ELSE due_at END,
          closed_at = CASE WHEN $7 THEN coalesce(closed_at, clock_timestamp()) END
        WHERE filing_id = $1
        RETURNING floor(extract(epoch FROM since) * 1000)::float8 AS since,
          floor(extract(epoch FROM due_at) * 1000)::float8 AS "dueAt", moves`,
      [filing.filingId, state, attention, asked, dueInMs !== undefined, dueInMs ?? null, closed],
    );
    Object.assign(filing, { state, attention, asked, closed }, rows[0]);
  }
  if (entered || event.always) await insertFilingEvent(client, filing, event, entered);
  // Otherwise it would ask for somebody until the next reconciliation, though nothing is left to do.
  if (entered && closed) await closeDelay(client, filing);
}
