/** The figures of a ledger for metrics: a few aggregates, in one round of statements, without locks. */
import type { FilingState } from '../domain/filing/states';
import { FINDING_KINDS, type FindingKind } from '../domain/reconciliation/findings';
import type { Mode } from '../domain/names';
import type { Queryable } from './pool';
import { ASKS } from './questions/questions';

export interface LedgerFigures {
  /** Per state that has filings; `oldestSeconds` is null for states that are ends. */
  filings: { state: FilingState; count: number; oldestSeconds: number | null }[];
  needingAttention: number;
  /** Filings that have not moved for longer than their state allows. */
  pastDue: number;
  withRunProblem: number;
  unknownRows: number;
  openRequests: number;
  /** Of the last 24 hours; null where nothing was acknowledged. */
  acknowledgementSeconds: { median: number; ninetieth: number; longest: number } | null;
  certificates: { known: number; stored: number; damaged: number };
  /** Open and not acknowledged, per kind that has any. */
  findings: { kind: FindingKind; count: number; oldestSeconds: number }[];
}

export async function readFigures(db: Queryable, mode: Mode): Promise<LedgerFigures> {
  const filings = await db.query<LedgerFigures['filings'][number]>(
    `SELECT state, count(*)::integer AS count,
            extract(epoch FROM now() - min(made_at) FILTER (WHERE closed_at IS NULL))::float8 AS "oldestSeconds"
       FROM filings WHERE mode = $1 GROUP BY state`,
    [mode],
  );
  const open = await db.query<{
    needingAttention: number;
    pastDue: number;
    withRunProblem: number;
    openRequests: number;
    unknownRows: number;
  }>(
    `SELECT count(*) FILTER (WHERE ${ASKS})::integer AS "needingAttention",
            count(*) FILTER (WHERE due_at < now())::integer AS "pastDue",
            (SELECT count(*) FROM questions WHERE mode = $1 AND kind = 'workflow_problem' AND closed_at IS NULL)::integer
              AS "withRunProblem",
            (SELECT count(*) FROM requests q WHERE q.mode = $1 AND q.state = 'followed')::integer AS "openRequests",
            (SELECT count(*) FROM filing_rows r JOIN filings f USING (filing_id)
              WHERE f.mode = $1 AND r.live AND r.state = 'unknown')::integer AS "unknownRows"
       FROM filings WHERE mode = $1 AND closed_at IS NULL`,
    [mode],
  );
  const acknowledged = await db.query<{ seconds: number[] | null }>(
    `SELECT percentile_cont(ARRAY[0.5, 0.9, 1]) WITHIN GROUP (ORDER BY took_ms / 1000.0) AS seconds
       FROM acknowledgement_times WHERE mode = $1 AND at > now() - interval '1 day'`,
    [mode],
  );
  const certificates = await db.query<LedgerFigures['certificates']>(
    `SELECT count(*)::integer AS known,
            count(*) FILTER (WHERE pdf_document IS NOT NULL AND pdf_problem IS NULL)::integer AS stored,
            count(*) FILTER (WHERE pdf_problem = 'damaged')::integer AS damaged
       FROM certificates JOIN parties USING (party_id) WHERE mode = $1`,
    [mode],
  );
  const findings = await db.query<LedgerFigures['findings'][number]>(
    `SELECT kind, count(*)::integer AS count, extract(epoch FROM now() - min(first_seen_at))::float8 AS "oldestSeconds"
       FROM questions WHERE mode = $1 AND closed_at IS NULL AND acknowledged_at IS NULL AND kind = ANY($2) GROUP BY kind`,
    [mode, FINDING_KINDS],
  );
  const [median, ninetieth, longest] = acknowledged.rows[0]?.seconds ?? [];
  const known = median !== undefined && ninetieth !== undefined && longest !== undefined;
  return {
    filings: filings.rows,
    ...(open.rows[0] ?? { needingAttention: 0, pastDue: 0, withRunProblem: 0, openRequests: 0, unknownRows: 0 }),
    acknowledgementSeconds: known ? { median, ninetieth, longest } : null,
    certificates: certificates.rows[0] ?? { known: 0, stored: 0, damaged: 0 },
    findings: findings.rows,
  };
}
