import { resumesIn } from '../../domain/filing/moves';
import { isEnd, type FilingState } from '../../domain/filing/states';
import { readFacts } from './filing-lock';
import { writeMove } from './filing-progress';
import { closeOpenWords } from '../submissions/words';
import type { Queryable } from '../pool';

interface TakenUp {
  state: FilingState;
  seq: number;
  dueAt: Date | null;
  waitsFor: string | null;
}

/**
 * Lets a run continue a filing that another run left, or whose state differs from what the run knew: the filing is set
 * to the state that follows from its submissions. An ended filing is left unchanged. Must run in a transaction; a
 * repeated `step` changes nothing.
 */
export async function takeUpFiling(
  db: Queryable,
  { filingId, step, at }: { filingId: string; step: string; at: Date },
): Promise<void> {
  const { rows } = await db.query<TakenUp>(
    `SELECT state, seq::int AS seq, due_at AS "dueAt",
            waits_for AS "waitsFor" FROM filings WHERE filing_id = $1 FOR UPDATE`,
    [filingId],
  );
  const before = rows[0];
  if (!before || isEnd(before.state)) return;
  const state = resumesIn(before.state, await readFacts(db, filingId));
  const { rowCount } = await db.query('SELECT 1 FROM filing_events WHERE filing_id = $1 AND step = $2', [
    filingId,
    step,
  ]);
  if (rowCount) return;
  const same = state === before.state;
  // An answer to a question that is no longer open must not be applied to the next question.
  if (!same || !(state === 'outcome_unknown' || state === 'overdue'))
    await closeOpenWords(db, {
      filingId,
      kinds: ['filed', 'not_filed'],
      why: 'the filing has changed in the meantime',
      at,
    });
  await writeMove(db, {
    filingId,
    seq: before.seq + 1,
    step,
    state,
    attention: null,
    keepQuestions: same,
    dueAt: same ? before.dueAt : null,
    waitsFor: same ? before.waitsFor : null,
    at,
    event: {
      kind: 'taken_up',
      text: same ? 'a run goes on from the ledger' : `a run goes on from the ledger, which said ${before.state}`,
    },
  });
}
