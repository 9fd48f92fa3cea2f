import { questionOfMove } from '../../domain/filing/questions';
import { isEnd, mayFollow, type FilingState } from '../../domain/filing/states';
import type { Queryable } from '../pool';
import { QUESTION_COLUMNS, RENEWED } from '../questions/questions';
import { type LockedFiling, lockFiling } from './filing-lock';
import { nowColumns, nowOf, type FilingNow, type NowRow } from './filing-now';
import { FilingMissing, isAsked } from './filings';

/** A move that restores lost sends skips this many numbers, because a run may know moves that the ledger lost. */
export const LOST_MOVES = 1_000_000;

export interface ProgressNote {
  filingId: string;
  /** The number of the move: one more than that of the last move. */
  seq: number;
  /** The run and activity that record the move, equal for a retry. Default: every call is a new step. */
  step?: string;
  state: FilingState;
  /** What a person should know or do, if the move asks for it; null: the text of the event. */
  attention: string | null;
  needsAttention?: boolean;
  /** The move asks nothing and leaves open questions as they are. */
  keepQuestions?: boolean;
  /** When the next state is due; null if the filing waits for a person. */
  dueAt?: Date | null;
  /** The wait whose time is included in `dueAt`. */
  waitsFor?: string | null;
  at: Date;
  event: { kind: string; text: string; who?: string; data?: unknown };
}

/** Records the next move of a locked filing. Requires a transaction. @throws RangeError if the state may not follow */
export async function moveHeld(
  db: Queryable,
  held: LockedFiling,
  note: Omit<ProgressNote, 'filingId' | 'seq'>,
): Promise<FilingNow> {
  const { filingId, state, seq } = held;
  if (!mayFollow(state, note.state))
    throw new RangeError(`Filing ${filingId}: ${note.state} does not follow ${state}.`);
  return writeMove(db, { ...note, filingId, seq: seq + 1 });
}

/** A filing locked for a step; `repeated`: an earlier try of the same step has recorded its move. */
export type Held = LockedFiling | 'repeated';

/**
 * Locks a filing for a step that was decided after move `seq`. `differs`: the ledger has other moves, because of a
 * reset or a restore, so the step may write nothing. @param filing if it is locked already
 */
export async function holdStep(
  db: Queryable,
  args: {
    filingId: string;
    seq: number;
    step?: string;
    /** The move that the step records, if known, because a repeated workflow task may decide differently. */
    move?: Pick<FilingNow, 'state' | 'kind'>;
  },
  filing?: LockedFiling | null,
): Promise<Held | 'differs'> {
  const { filingId, seq, step, move } = args;
  const locked = filing === undefined ? await lockFiling(db, filingId) : filing;
  if (locked === null || locked.seq === seq) return locked ?? 'differs';
  const recorded = step === undefined ? undefined : await moveOfStep(db, filingId, step);
  const same = recorded && (!move || (recorded.state === move.state && recorded.kind === move.kind));
  return same ? 'repeated' : 'differs';
}

/** The move that a step recorded, if any. */
export async function moveOfStep(db: Queryable, filingId: string, step: string) {
  const { rows } = await db.query<Pick<FilingNow, 'state' | 'kind'>>(
    'SELECT state, kind FROM filing_events WHERE filing_id = $1 AND step = $2',
    [filingId, step],
  );
  return rows[0];
}

/** Writes a move. The caller has checked its number and state under the filing's lock. */
export async function writeMove(db: Queryable, note: ProgressNote): Promise<FilingNow> {
  const { filingId, seq, step, state, at, dueAt, keepQuestions = false, waitsFor = null } = note;
  const { kind, who, text, data } = note.event;
  const question = keepQuestions ? null : questionOfMove(note);
  const moved = [filingId, seq, state, at, isEnd(state), dueAt, step];
  const asks = [question?.kind, question?.text, question?.until ?? 'move'];
  // The SELECT sees the filing as it was before the move: only questions that facts ask are certain to be open still.
  const { rows } = await db.query<NowRow & Pick<FilingNow, 'asks' | 'late' | 'asked'> & { was: FilingState }>(
    `WITH before AS (SELECT state, mode, exporter_id, ${QUESTION_COLUMNS}, ${isAsked('$3')} AS asked FROM filings WHERE filing_id = $1),
     moved AS (
       UPDATE filings SET state = $3, seq = $2, changed_at = $4, due_at = $6, waits_for = $12,
          closed_at = CASE WHEN $5 THEN $4 ELSE closed_at END
        WHERE filing_id = $1
     ), closed AS (
       UPDATE questions q SET closed_at = $4 FROM before b
        WHERE q.filing_id = $1 AND q.closed_at IS NULL AND q.kind IS DISTINCT FROM $14
          AND ((q.until = 'move' AND (q.kind = 'workflow_problem' OR NOT $13)) OR (q.until = 'state' AND b.state <> $3))
     ), asked AS (
       INSERT INTO questions (mode, party_id, key, kind, exporter_id, filing_id, text, until, first_seen_at, last_seen_at)
       SELECT b.mode, e.party_id, $14::text || '|' || $1, $14, b.exporter_id, $1, $15, $16, $4, $4
         FROM before b JOIN exporters e USING (exporter_id) WHERE $14::text IS NOT NULL
       ${RENEWED}
     ), noted AS (
       INSERT INTO filing_events (filing_id, seq, step, at, kind, who, text, data, state)
       SELECT $1, $2, CASE WHEN NOT EXISTS (SELECT FROM filing_events WHERE filing_id = $1 AND step = $7) THEN $7 END, $4, $8, $9,
              $10, $11::jsonb, $3
     )
     SELECT state AS was, asks, late, asked, ${nowColumns({ filingId: '$1', mode: 'before.mode', state: '$3', dueAt: '$6' })} FROM before`,
    [...moved, kind, who, text, JSON.stringify(data), waitsFor, keepQuestions, ...asks],
  );
  const [before] = rows;
  if (!before) throw new FilingMissing(filingId);
  const same = before.was === state;
  const late = question?.kind === 'not_moving';
  return {
    seq,
    state,
    since: (same ? before.since : null) ?? at.getTime(),
    dueAt: dueAt?.getTime() ?? null,
    waitsFor,
    kind,
    text,
    asks: late ? null : (question?.text ?? (keepQuestions ? before.asks : null)),
    late: late ? question.text : same ? before.late : null,
    asked: kind === 'asked' || (kind !== 'outcome_unknown' && before.asked),
    ...nowOf(before, filingId),
  };
}
