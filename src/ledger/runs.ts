/** Open filings for those who look after their runs. */
import type { Mode } from '../domain/names';
import { MAYBE_FILED } from '../domain/filing/states';
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
}

const COLUMNS = `filing_id AS "filingId", workflow_id AS "workflowId", mode, exporter_id AS "exporterId", iec, reference, n, state,
  EXISTS (SELECT FROM attempts a WHERE a.filing_id = f.filing_id
    AND (a.verdict IN (${sqlWords(MAYBE_FILED)}) OR a.request_id IS NOT NULL)) AS "maybeFiled"`;

/** One filing, open or not, by its id; null: the ledger lacks it. */
export async function filingForRun(db: Queryable, filingId: string): Promise<OpenFiling | null> {
  const { rows } = await db.query<OpenFiling>(`SELECT ${COLUMNS} FROM filings f WHERE filing_id = $1`, [filingId]);
  return rows[0] ?? null;
}

/** A page of open filings in the order of their ids. `due`: only those past their time. */
export async function openFilings(
  db: Queryable,
  { mode, after, limit, due }: { mode: Mode; after: string; limit: number; due: boolean },
): Promise<OpenFiling[]> {
  const { rows } = await db.query<OpenFiling>(
    `SELECT ${COLUMNS} FROM filings f
      WHERE mode = $1 AND closed_at IS NULL AND filing_id > $2 AND (NOT $4 OR due_at < clock_timestamp())
      ORDER BY filing_id LIMIT $3`,
    [mode, after, limit, due],
  );
  return rows;
}

/** Open filings of these workflows, and those whose run was found to have a problem. */
export async function openFilingsOf(db: Queryable, mode: Mode, workflowIds: readonly string[]): Promise<OpenFiling[]> {
  const { rows } = await db.query<OpenFiling>(
    `SELECT ${COLUMNS} FROM filings f
      WHERE mode = $1 AND closed_at IS NULL AND (workflow_id = ANY($2) OR filing_id IN (SELECT w.filing_id FROM findings w
          WHERE w.mode = $1 AND w.kind = '${KIND}' AND w.closed_at IS NULL))
      ORDER BY filing_id`,
    [mode, workflowIds],
  );
  return rows;
}

const KIND = 'filing_without_workflow';

/** Opens, renews or closes the finding about a filing's run. @returns whether a problem is new */
export async function noteRunProblem(
  db: Queryable,
  { mode, filingId, exporterId, iec }: OpenFiling,
  problem: string | null,
): Promise<boolean> {
  const key = { mode, iec, kind: KIND, subject: filingId } as const;
  if (problem !== null) return openFinding(db, { ...key, filingId, exporterId, text: problem });
  await closeFinding(db, key);
  return false;
}
