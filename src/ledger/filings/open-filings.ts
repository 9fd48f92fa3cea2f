import type pg from 'pg';
import type { Mode } from '../../domain/names';
import { askAbout, closeQuestion } from '../questions/questions';
import { IS_MAYBE_FILED } from '../gates/attempts';
import { addEvent } from './filing-notes';
import { moveOfStep, writeMove } from './filing-progress';
import type { FilingRecord } from './filings';
import { withTransaction, type Queryable } from '../pool';
import { resumesIn, type judgeRun, type ResumedFiling } from '../../domain/filing/run-judgement';
import { lockFiling, readFacts } from './filing-lock';
import { closeOpenWords } from '../submissions/words';

/** What is judged of an open filing, and what a new run of it needs. */
export type OpenFilingRun = Parameters<typeof judgeRun>[0] &
  ResumedFiling &
  Pick<FilingRecord, 'workflowId' | 'state' | 'seq'>;

const OPEN = `SELECT f.filing_id AS "filingId", f.mode, f.exporter_id AS "exporterId", f.reference, f.made_by AS "madeBy",
    f.n, f.state, f.workflow_id AS "workflowId", f.seq::int AS seq, f.due_at AS "dueAt",
    -- Subqueries with LIMIT, because for EXISTS under OR PostgreSQL would read everything that was ever sent.
    coalesce((SELECT true FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.live AND r.submitted_at IS NOT NULL LIMIT 1),
      (SELECT true FROM submissions s WHERE s.filing_id = f.filing_id AND s.state NOT IN ('planned', 'released') LIMIT 1),
      (SELECT true FROM attempts a WHERE a.filing_id = f.filing_id AND ${IS_MAYBE_FILED} LIMIT 1), false) AS sent
  FROM filings f WHERE f.closed_at IS NULL`;

const IS_REPORTED_OR_NAMED = `f.filing_id IN (SELECT filing_id FROM questions WHERE kind = 'workflow_problem' AND closed_at IS NULL
  UNION ALL SELECT filing_id FROM filings WHERE closed_at IS NULL AND workflow_id = ANY ($4))`;

/** A page of open filings after the id `after`. With `workflows` only these and those with a reported problem. */
export async function openFilingsAfter(
  db: Queryable,
  { mode, after, limit, workflows }: { mode: Mode; after: string; limit: number; workflows?: string[] },
): Promise<OpenFilingRun[]> {
  const { rows } = await db.query<OpenFilingRun>(
    `${OPEN} AND f.mode = $1 AND f.filing_id > $2${workflows ? ` AND ${IS_REPORTED_OR_NAMED}` : ''} ORDER BY f.filing_id LIMIT $3`,
    [mode, after, limit, ...(workflows ? [workflows] : [])],
  );
  return rows;
}

export async function openFiling(db: Queryable, filingId: string): Promise<OpenFilingRun | null> {
  const { rows } = await db.query<OpenFilingRun>(`${OPEN} AND f.filing_id = $1`, [filingId]);
  return rows[0] ?? null;
}

/** Records a run's problem (null clears it) until the filing's next move, unless the filing moved since `seq`. */
export async function recordRunProblem(
  pool: pg.Pool,
  { filingId, seq, problem, at }: { filingId: string; seq?: number; problem: string | null; at: Date },
): Promise<boolean> {
  return withTransaction(pool, async (client) => {
    const { rows } = await client.query<{ known: string | null }>(
      `SELECT (SELECT text FROM questions WHERE filing_id = $1 AND kind = 'workflow_problem' AND closed_at IS NULL) AS known
         FROM filings WHERE filing_id = $1 AND closed_at IS NULL AND ($2::bigint IS NULL OR seq = $2) FOR UPDATE`,
      [filingId, seq ?? null],
    );
    if (!rows[0] || rows[0].known === problem) return false;
    if (problem === null) await closeQuestion(client, { filingId, kind: 'workflow_problem', at });
    else await askAbout(client, { filingId, kind: 'workflow_problem', text: problem, until: 'move', at });
    const text = problem ?? 'its workflow is running again';
    await addEvent(client, { filingId, at, kind: problem === null ? 'run_recovered' : 'run_problem', text });
    return true;
  });
}

/** Moves a filing that a run continues to the state of its submissions; repeating the `step` changes nothing. */
export async function takeUpFiling(
  db: Queryable,
  { filingId, step, at }: { filingId: string; step: string; at: Date },
): Promise<void> {
  const before = await lockFiling(db, filingId);
  if (!before || before.ended || (await moveOfStep(db, filingId, step))) return;
  const state = resumesIn(before.state, await readFacts(db, filingId));
  const same = state === before.state;
  // An answer to a question that is no longer open must not apply to the next one.
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
    dueAt: same && before.dueAt !== null ? new Date(before.dueAt) : null,
    waitsFor: same ? before.waitsFor : null,
    at,
    event: {
      kind: 'taken_up',
      text: same ? 'a run goes on from the ledger' : `a run goes on from the ledger, which said ${before.state}`,
    },
  });
}
