import { isEnd, mayFollow, needsAttention, type FilingState } from '../domain/filing-states';
import type { Queryable } from './pool';

export interface ProgressNote {
  filingId: string;
  /** Rises by one with every note of a filing; a note with a number already passed changes nothing. */
  seq: number;
  state: FilingState;
  /** What a person should know or do; null when nothing. */
  attention: string | null;
  /** For states that need nobody as such, but do now. */
  needsAttention?: boolean;
  at: Date;
  event: { kind: string; text: string; who?: string; data?: unknown };
}

/**
 * Writes where a filing stands, with one line of its story. Idempotent: accepted only with a higher sequence number, so
 * that a retried activity, a late worker or a replay changes nothing twice or backwards.
 * @throws RangeError when the state does not follow from the recorded one: that is a defect of the workflow.
 */
export async function recordProgress(db: Queryable, note: ProgressNote): Promise<{ accepted: boolean }> {
  const { rows } = await db.query<{ state: FilingState; seq: number }>(
    'SELECT state, seq::int AS seq FROM filings WHERE filing_id = $1',
    [note.filingId],
  );
  const current = rows[0];
  if (!current) throw new Error(`Filing ${note.filingId} is not in this ledger.`);
  if (note.seq <= current.seq) return { accepted: false };
  if (!mayFollow(current.state, note.state)) {
    throw new RangeError(`Filing ${note.filingId}: ${note.state} does not follow ${current.state}.`);
  }
  const updated = await db.query(
    `UPDATE filings SET state = $3, seq = $2, attention = $4, needs_attention = $5, changed_at = $6,
        closed_at = CASE WHEN $7 THEN $6 ELSE closed_at END
      WHERE filing_id = $1 AND seq < $2`,
    [
      note.filingId,
      note.seq,
      note.state,
      note.attention,
      note.needsAttention ?? needsAttention(note.state),
      note.at,
      isEnd(note.state),
    ],
  );
  if (updated.rowCount === 0) return { accepted: false };
  await addEvent(db, { filingId: note.filingId, seq: note.seq, at: note.at, ...note.event });
  return { accepted: true };
}

export interface FilingEvent {
  filingId: string;
  seq?: number;
  at: Date;
  kind: string;
  text: string;
  who?: string;
  data?: unknown;
}

/** Adds a line to a filing's story; with a `seq` it is written once. */
export async function addEvent(db: Queryable, event: FilingEvent): Promise<void> {
  await db.query(
    `INSERT INTO filing_events (filing_id, seq, at, kind, who, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (filing_id, seq) DO NOTHING`,
    [
      event.filingId,
      event.seq ?? null,
      event.at,
      event.kind,
      event.who ?? null,
      event.text,
      event.data === undefined ? null : JSON.stringify(event.data),
    ],
  );
}

/** As {@link addEvent}, for a step that may be repeated: the same line by the same person is written once. */
export async function addEventOnce(db: Queryable, event: FilingEvent): Promise<void> {
  const { rowCount } = await db.query(
    `SELECT FROM filing_events WHERE filing_id = $1 AND kind = $2 AND text = $3 AND who IS NOT DISTINCT FROM $4 LIMIT 1`,
    [event.filingId, event.kind, event.text, event.who ?? null],
  );
  if (!rowCount) await addEvent(db, event);
}
