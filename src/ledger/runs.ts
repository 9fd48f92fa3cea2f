/** Open filings for those who look after their runs. */
import type { Mode } from '../domain/names';
import { MAYBE_FILED } from '../domain/filing/states';
import { RUN_PROBLEMS, type RunProblemKind } from '../domain/reconciliation/findings';
import { closeFinding, openFinding } from './findings';
import { sqlWords, type Queryable } from './pool';

/** An open filing, as a run of it is started. */
export interface OpenFiling {
  filingId: string;
  workflowId: string;
  mode: Mode;
  exporterId: string;
  iec: string | null;
  reference: string;
  n: number;
  state: string;
  /** An attempt may have arrived, or has a request without its outcome. */
  maybeFiled: boolean;
  closed: boolean;
  rows: number;
  exporterName: string | null;
  /** What was found about its run and is not over. */
  problems: RunProblemKind[];
}

/** SQL: the open findings `w` about the run of filing `f`. */
export const RUN_FINDINGS = `findings w WHERE w.filing_id = f.filing_id AND w.closed_at IS NULL AND w.kind IN (${sqlWords(RUN_PROBLEMS)})`;

const COLUMNS = `filing_id AS "filingId", workflow_id AS "workflowId", mode, exporter_id AS "exporterId", iec, reference, n, state,
  EXISTS (SELECT FROM attempts a WHERE a.filing_id = f.filing_id
    AND (a.verdict IN (${sqlWords(MAYBE_FILED)}) OR a.request_id IS NOT NULL)) AS "maybeFiled",
  closed_at IS NOT NULL AS closed, (SELECT count(*) FROM filing_rows r WHERE r.filing_id = f.filing_id)::integer AS rows,
  (SELECT name FROM exporters e WHERE e.exporter_id = f.exporter_id) AS "exporterName", ARRAY(SELECT w.kind FROM ${RUN_FINDINGS}) AS problems`;

/** One filing, open or not, by its id; null: the ledger lacks it. */
export async function filingForRun(db: Queryable, filingId: string): Promise<OpenFiling | null> {
  const { rows } = await db.query<OpenFiling>(`SELECT ${COLUMNS} FROM filings f WHERE filing_id = $1`, [filingId]);
  return rows[0] ?? null;
}

/** A page of open filings in the order of their ids. */
export async function openFilings(
  db: Queryable,
  { mode, after, limit }: { mode: Mode; after: string; limit: number },
): Promise<OpenFiling[]> {
  const { rows } = await db.query<OpenFiling>(
    `SELECT ${COLUMNS} FROM filings f
      WHERE mode = $1 AND closed_at IS NULL AND filing_id > $2 ORDER BY filing_id LIMIT $3`,
    [mode, after, limit],
  );
  return rows;
}

/** Open filings of these workflows, and those whose run was found to have a problem. */
export async function openFilingsOf(db: Queryable, mode: Mode, workflowIds: readonly string[]): Promise<OpenFiling[]> {
  const { rows } = await db.query<OpenFiling>(
    `SELECT ${COLUMNS} FROM filings f
      WHERE mode = $1 AND closed_at IS NULL AND (workflow_id = ANY($2) OR filing_id IN (SELECT w.filing_id FROM findings w
          WHERE w.mode = $1 AND w.kind IN (${sqlWords(RUN_PROBLEMS)}) AND w.closed_at IS NULL))
      ORDER BY filing_id`,
    [mode, workflowIds],
  );
  return rows;
}

export interface RunProblem {
  kind: RunProblemKind;
  /** What a person should know and do. */
  text: string;
}

/**
 * Opens or renews the finding about a filing's run, and closes what does not hold any more. `healed`: what was done
 * about it. @returns whether the problem is new
 */
export async function noteRunProblem(
  db: Queryable,
  { mode, filingId, exporterId, iec, problems }: OpenFiling,
  problem: RunProblem | null,
  healed?: string,
): Promise<boolean> {
  const key = { mode, iec, subject: filingId } as const;
  for (const kind of problems) if (kind !== problem?.kind) await closeFinding(db, { ...key, kind }, healed);
  return problem !== null && openFinding(db, { ...key, ...problem, filingId, exporterId });
}

/** Closes findings about runs of filings that have ended meanwhile. */
export async function closeProblemsOfEnded(db: Queryable, mode: Mode): Promise<void> {
  await db.query(
    `UPDATE findings w SET closed_at = clock_timestamp() FROM filings f
      WHERE w.mode = $1 AND w.kind IN (${sqlWords(RUN_PROBLEMS)}) AND w.closed_at IS NULL
        AND f.filing_id = w.filing_id AND f.closed_at IS NOT NULL`,
    [mode],
  );
}

/** How many open filings have a run that fails or is gone, and the one that has had it longest. */
export async function runsWithProblem(
  db: Queryable,
  mode: Mode,
): Promise<{ count: number; first: { reference: string; text: string } | null }> {
  const { rows } = await db.query<{ count: number; reference: string; text: string }>(
    `SELECT count(*) OVER ()::integer AS count, f.reference, w.text FROM filings f JOIN findings w USING (filing_id)
      WHERE w.mode = $1 AND w.kind IN (${sqlWords(RUN_PROBLEMS)}) AND w.closed_at IS NULL AND f.closed_at IS NULL
      ORDER BY w.first_seen_at LIMIT 1`,
    [mode],
  );
  const [first] = rows;
  return first ? { count: first.count, first } : { count: 0, first: null };
}
