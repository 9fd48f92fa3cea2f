import type { FilingCounts, ResultRow } from '../../domain/contracts';
import { questionOfMove } from '../../domain/filing/questions';
import { isEnd, mayFollow, type FilingState } from '../../domain/filing/states';
import type { QueuePlace } from '../../domain/filing/queue-places';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { lineOf, placeIn, type InLine } from '../questions/waiting';
import { QUESTION_COLUMNS, standingOf } from '../questions/questions';
import { resultRows, ROW_COUNTS } from '../rows/filing-rows';
import { type LockedFiling, lockFiling } from './filing-lock';
import { FilingMissing } from './filings';

/** A move that brings lost sends back exceeds the last number by this: a run may know of moves that were lost. */
export const LOST_MOVES = 1_000_000;

export interface ProgressNote {
  filingId: string;
  /** One more than the number of the last move that the run knows of. */
  seq: number;
  /** Run and activity that record the move, the same for a retry; without it every call counts as a new step. */
  step?: string;
  state: FilingState;
  /** What a person should know or do, where the move asks for it; null: what its event says. */
  attention: string | null;
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

/** A filing as its last move left it: what its run, its lists and the UI show. */
export interface FilingNow {
  seq: number;
  state: FilingState;
  /** When the next state is due at the latest, ms since the epoch; null while a person is waited for, or was asked. */
  dueAt: number | null;
  waitsFor: string | null;
  /** The event of the move: its kind, and what it says. */
  kind: string;
  text: string;
  /** What the move asks of a person; null: nothing. */
  asks: string | null;
  counts: FilingCounts;
  /** Its first rows; null in a state in which nothing is known of them yet. */
  rows: ResultRow[] | null;
  standing: string | null;
  /** Where the move brings it into line for calls of the service: its place then. */
  queue?: QueuePlace;
  /** When the authority's answer probably comes, ms since the epoch; left out: nothing was asked of it now. */
  expectedAt?: number;
}

/** Records a held filing's next move. Must run in a transaction. @throws RangeError when the state does not follow */
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

export interface StepMove {
  state: FilingState;
  kind: string;
}

/** A filing that is locked for a step; `repeated`: a try of the same step has recorded its move already. */
export type Held = LockedFiling | 'repeated';

/**
 * Locks a filing for a step decided at `seq` moves. `differs`: the ledger has other moves (a reset, another run, a
 * ledger put back), so nothing may be written and the run goes on from the ledger. Must run in a transaction.
 * @param filing where it is locked already
 */
export async function holdStep(
  db: Queryable,
  args: {
    filingId: string;
    seq: number;
    step?: string;
    /** What the step records, where the caller knows; a workflow task that is repeated may decide otherwise. */
    move?: StepMove;
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

async function moveOfStep(db: Queryable, filingId: string, step: string): Promise<StepMove | undefined> {
  const { rows } = await db.query<StepMove>(
    'SELECT state, kind FROM filing_events WHERE filing_id = $1 AND step = $2',
    [filingId, step],
  );
  return rows[0];
}

const COUNTS = `(SELECT to_jsonb(counted) FROM (SELECT ${ROW_COUNTS} WHERE r.filing_id = $1) AS counted) AS counts`;

/** Writes a move; its number and state have been checked under the filing's lock. */
export async function writeMove(db: Queryable, note: ProgressNote): Promise<FilingNow> {
  const { filingId, seq, step, state, at, dueAt, keepQuestions = false, waitsFor = null } = note;
  const { kind, who, text, data } = note.event;
  const question = keepQuestions ? null : questionOfMove(note);
  const moved = [filingId, seq, state, at, isEnd(state), dueAt, step];
  const asked = [question?.kind, question?.text, question?.until ?? 'move'];
  const { rows } = await db.query<Pick<FilingNow, 'counts' | 'rows' | 'standing'> & { line: InLine[] | null }>(
    `WITH before AS (SELECT state, mode, exporter_id FROM filings WHERE filing_id = $1),
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
       ON CONFLICT (party_id, key) WHERE closed_at IS NULL
       DO UPDATE SET text = excluded.text, until = excluded.until, last_seen_at = excluded.last_seen_at
     ), noted AS (
       INSERT INTO filing_events (filing_id, seq, step, at, kind, who, text, data, state)
       SELECT $1, $2, CASE WHEN NOT EXISTS (SELECT FROM filing_events WHERE filing_id = $1 AND step = $7) THEN $7 END, $4, $8, $9,
              $10, $11::jsonb, $3
     )
     SELECT ${COUNTS}, ${resultRows('$1', '$3')} AS rows, ${standingOf('$1')} AS standing,
            ${lineOf({ filingId: '$1', mode: '(SELECT mode FROM before)', state: '$3', dueAt: '$6' })} AS line`,
    [...moved, kind, who, text, JSON.stringify(data), waitsFor, keepQuestions, ...asked],
  );
  const { line, ...facts } = needRow(rows[0], filingId);
  const queue = placeIn(line, filingId) ?? undefined;
  const due = dueAt?.getTime() ?? null;
  return { seq, state, dueAt: due, waitsFor, kind, text, asks: question?.text ?? null, ...facts, queue };
}

/** A filing as its last move, or that of `step`, left it. @throws FilingMissing when it is not held */
export async function readNow(db: Queryable, filingId: string, step?: string): Promise<FilingNow> {
  const { rows } = await db.query<FilingNow & { last: boolean; line: InLine[] | null }>(
    `SELECT e.seq::int AS seq, e.state, e.kind, e.text, filings.seq = e.seq AS last, waits_for AS "waitsFor",
            ${MS('due_at')} AS "dueAt", ${QUESTION_COLUMNS}, ${COUNTS},
            ${resultRows('$1', 'e.state')} AS rows, ${standingOf('$1')} AS standing,
            ${lineOf({ filingId: '$1', mode: 'filings.mode', state: 'filings.state', dueAt: 'filings.due_at' })} AS line
       FROM filings CROSS JOIN LATERAL (
         SELECT seq, state, kind, text FROM filing_events WHERE filing_id = $1 AND seq IS NOT NULL AND (step = $2 OR seq = filings.seq)
         UNION ALL SELECT filings.seq, filings.state, '', ''
          ORDER BY seq, text DESC LIMIT 1) AS e
      WHERE filing_id = $1`,
    [filingId, step ?? null],
  );
  const { last, line, ...now } = needRow(rows[0], filingId);
  const { seq, state, kind, text, counts, rows: shown, standing } = now;
  const { dueAt, waitsFor, asks } = last ? now : { dueAt: null, waitsFor: null, asks: null };
  const queue = (last && placeIn(line, filingId)) || undefined;
  return { seq, state, dueAt, waitsFor, kind, text, asks, counts, rows: shown, standing, queue };
}

function needRow<T>(row: T | undefined, filingId: string): T {
  if (!row) throw new FilingMissing(filingId);
  return row;
}

/** Adds an event to a filing that is no move; with a `step` it is written once. */
export async function addEvent(
  db: Queryable,
  event: {
    filingId: string;
    step?: string;
    at: Date;
    kind: string;
    text: string;
    who?: string;
    data?: unknown;
  },
): Promise<void> {
  const { filingId, step, at, kind, text, who, data } = event;
  await db.query(
    `INSERT INTO filing_events (filing_id, step, at, kind, who, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT DO NOTHING`,
    [filingId, step, at, kind, who, text, JSON.stringify(data)],
  );
}

export async function countEvents(db: Queryable, filingId: string, kinds: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM filing_events WHERE filing_id = $1 AND kind = ANY($2)',
    [filingId, kinds],
  );
  return rows[0]?.n ?? 0;
}
