import { resumesIn } from '../../domain/filing/moves';
import { isEnd, needsAttention, type FilingState } from '../../domain/filing/states';
import { readFacts } from './filing-facts';
import { writeMove } from './filing-progress';
import { deleteOperatorRequest } from './operator-requests';
import type { Queryable } from '../pool';

interface Standing {
  state: FilingState;
  seq: number;
  attention: string | null;
  needsAttention: boolean;
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
  const { rows } = await db.query<Standing>(
    `SELECT state, seq::int AS seq, attention, needs_attention AS "needsAttention" FROM filings
      WHERE filing_id = $1 FOR UPDATE`,
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
    await deleteOperatorRequest(db, { filingId, kind: 'resolve' });
  await writeMove(db, {
    filingId,
    seq: before.seq + 1,
    step,
    state,
    attention: same ? before.attention : null,
    needsAttention: same ? before.needsAttention : needsAttention(state),
    at,
    event: {
      kind: 'taken_up',
      text: same ? 'a run goes on from the ledger' : `a run goes on from the ledger, which said ${before.state}`,
    },
  });
}
