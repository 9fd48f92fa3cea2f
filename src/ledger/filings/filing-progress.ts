import { questionOfMove } from '../../domain/filing/questions';
import { isEnd, mayFollow, type FilingState } from '../../domain/filing/states';
import type { Queryable } from '../pool';
import { lockFiling, type LockedFiling } from './filing-lock';
import { FilingMissing } from './filing-missing';

/**
 * The number of a move that brings lost sends back exceeds the last number by this much: a run may know of moves that
 * the ledger has lost, and must not take this move for one of its own.
 */
export const LOST_MOVES = 1_000_000;

export interface ProgressNote {
  filingId: string;
  /** One more than the number of the last move that the run knows of. */
  seq: number;
  /**
   * Run and activity that record the move, the same for a retried activity; without it every call counts as a new step.
   */
  step?: string;
  state: FilingState;
  /** What a person should know or do, where the move asks for it; null: what its event says. */
  attention: string | null;
  /** For states that need nobody in general, but do now. */
  needsAttention?: boolean;
  /** It asks nothing, and what was asked stands. */
  keepQuestions?: boolean;
  /** When the next state is due at the latest; null if the filing waits for a person. */
  dueAt?: Date | null;
  /** The wait whose own time `dueAt` includes. */
  waitsFor?: string | null;
  at: Date;
  event: { kind: string; text: string; who?: string; data?: unknown };
}

/**
 * - `recorded`: the filing is in the state of the note.
 * - `repeated`: an earlier try of the same step recorded it.
 * - `differs`: the ledger knows of other moves than the run, which was reset or replaced by another one, or the ledger
 *   was put back to an earlier state, in which it may not even hold the filing: nothing was written, and the run has to
 *   go on from the ledger.
 */
export type Recorded = 'recorded' | 'repeated' | 'differs';

/**
 * Records a move of a filing with its event, under the filing's lock, and with it what `writeCause` writes: the fact
 * that causes the move. A repeated activity, a late worker or a replay changes nothing twice or backwards. Must run in
 * a transaction.
 * @throws RangeError when the state does not follow from the recorded one: that is a defect of the workflow.
 */
export async function recordProgress(
  db: Queryable,
  note: ProgressNote,
  writeCause: () => Promise<void> = () => Promise.resolve(),
): Promise<Recorded> {
  const { filingId, step, state } = note;
  const held = await holdStep(db, { filingId, seq: note.seq - 1, step, move: { state, kind: note.event.kind } });
  if (held === 'repeated' || held === 'differs') return held;
  if (!mayFollow(held.state, note.state)) {
    throw new RangeError(`Filing ${note.filingId}: ${note.state} does not follow ${held.state}.`);
  }
  await writeCause();
  await writeMove(db, note);
  return 'recorded';
}

interface StepMove {
  state: FilingState;
  kind: string;
}

interface HeldStep {
  filingId: string;
  /** Number of the last move that the run knows of. */
  seq: number;
  step?: string;
  /** What the step records, where the caller knows; a workflow task that is repeated may decide otherwise. */
  move?: StepMove;
}

const isSame = (one: StepMove, other: StepMove): boolean => one.state === other.state && one.kind === other.kind;

/**
 * Locks a filing for a step that a run decided on when it knew of `seq` moves. `repeated`: a try of the same step has
 * recorded its move already. `differs`: the ledger knows of other moves, or does not hold the filing; then the decision
 * may be out of date, nothing may be written, and the run has to go on from the ledger. Must run in a transaction.
 */
export async function holdStep(
  db: Queryable,
  { filingId, seq, step, move }: HeldStep,
): Promise<LockedFiling | 'repeated' | 'differs'> {
  const filing = await lockFiling(db, filingId);
  if (filing === null) return 'differs';
  const recorded = step === undefined ? undefined : await moveOfStep(db, filingId, step);
  if (recorded) return !move || isSame(recorded, move) ? 'repeated' : 'differs';
  return filing.seq === seq ? filing : 'differs';
}

/**
 * Changes a filing's state because of a fact that the service reported, whatever moves a run knows of, and only from
 * one of the states `from`. Must run in a transaction.
 * @returns the move, also that of an earlier try of the same step; null if none was made
 */
export async function moveOn(
  db: Queryable,
  { from, ...note }: Omit<ProgressNote, 'seq'> & { from: readonly FilingState[]; step: string },
): Promise<{ seq: number; at: Date } | null> {
  const { filingId, step, at } = note;
  const filing = await lockFiling(db, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const { rows } = await db.query<{ seq: number; at: Date }>(
    'SELECT seq::int AS seq, at FROM filing_events WHERE filing_id = $1 AND step = $2',
    [filingId, step],
  );
  if (rows[0]) return rows[0];
  if (!from.includes(filing.state)) return null;
  const seq = filing.seq + 1;
  await writeMove(db, { ...note, seq });
  return { seq, at };
}

async function moveOfStep(db: Queryable, filingId: string, step: string): Promise<StepMove | undefined> {
  const { rows } = await db.query<StepMove>(
    'SELECT state, kind FROM filing_events WHERE filing_id = $1 AND step = $2',
    [filingId, step],
  );
  return rows[0];
}

/** As {@link holdStep}, for a write without a move. @returns whether it may be made */
export async function holdFiling(client: Queryable, held: { filingId: string; seq: number }): Promise<boolean> {
  return typeof (await holdStep(client, held)) === 'object';
}

/** Writes a move; its number and state have been checked under the filing's lock. */
export async function writeMove(db: Queryable, note: ProgressNote): Promise<void> {
  const { event, keepQuestions = false } = note;
  const question = keepQuestions ? null : questionOfMove(note);
  await db.query(
    `WITH before AS (SELECT state, mode, exporter_id FROM filings WHERE filing_id = $1),
     moved AS (
       UPDATE filings SET state = $3, seq = $2, changed_at = $6, due_at = $8, waits_for = $14,
          closed_at = CASE WHEN $7 THEN $6 ELSE closed_at END
        WHERE filing_id = $1
     ), closed AS (
       UPDATE questions q SET closed_at = $6 FROM before b
        WHERE q.filing_id = $1 AND q.closed_at IS NULL AND q.kind IS DISTINCT FROM $4
          AND ((q.until = 'move' AND (q.kind = 'workflow_problem' OR NOT $15)) OR (q.until = 'state' AND b.state <> $3))
     ), asked AS (
       INSERT INTO questions (mode, party_id, key, kind, exporter_id, filing_id, text, until, first_seen_at, last_seen_at)
       SELECT b.mode, e.party_id, $4::text || '|' || $1, $4, b.exporter_id, $1, $5, $16, $6, $6
         FROM before b JOIN exporters e USING (exporter_id) WHERE $4::text IS NOT NULL
       ON CONFLICT (party_id, key) WHERE closed_at IS NULL
       DO UPDATE SET text = excluded.text, until = excluded.until, last_seen_at = excluded.last_seen_at
     )
     INSERT INTO filing_events (filing_id, seq, step, at, kind, who, text, data, state)
     VALUES ($1, $2, $9, $6, $10, $11, $12, $13, $3)
     ON CONFLICT DO NOTHING`,
    [
      note.filingId,
      note.seq,
      note.state,
      question?.kind ?? null,
      question?.text ?? null,
      note.at,
      isEnd(note.state),
      note.dueAt ?? null,
      note.step ?? null,
      event.kind,
      event.who ?? null,
      event.text,
      event.data === undefined ? null : JSON.stringify(event.data),
      note.waitsFor ?? null,
      keepQuestions,
      question?.until ?? 'move',
    ],
  );
}

export interface FilingEvent {
  filingId: string;
  seq?: number;
  step?: string;
  at: Date;
  kind: string;
  /** The state that a move led to; absent for an event without a move. */
  state?: FilingState;
  text: string;
  who?: string;
  data?: unknown;
}

/** Adds an event to a filing; with a `seq` or a `step` it is written once. */
export async function addEvent(db: Queryable, event: FilingEvent): Promise<void> {
  await db.query(
    `INSERT INTO filing_events (filing_id, seq, step, at, kind, who, text, data, state)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT DO NOTHING`,
    [
      event.filingId,
      event.seq ?? null,
      event.step ?? null,
      event.at,
      event.kind,
      event.who ?? null,
      event.text,
      event.data === undefined ? null : JSON.stringify(event.data),
      event.state ?? null,
    ],
  );
}

/** How many events of this kind a filing has. */
export async function countEvents(db: Queryable, filingId: string, kind: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM filing_events WHERE filing_id = $1 AND kind = $2',
    [filingId, kind],
  );
  return rows[0]?.n ?? 0;
}
