/** The figures of a ledger for metrics, read in a few statements without locks. */
import type { FilingState } from '../domain/filing/states';
import { FINDING_KINDS, type FindingKind } from '../domain/reconciliation/findings';
import type { Mode } from '../domain/names';
import { CONNECTIONS, oldestUnplacedSeconds } from './diagnosis';
import type { Queryable } from './pool';
import { ASKS } from './questions/questions';

/** Figures of what is in progress. Partial indexes keep them cheap, however much has ended. */
export interface LedgerFigures {
  filings: { state: FilingState; count: number; oldestSeconds: number }[];
  needingAttention: number;
  /** Filings that have not moved for longer than their state allows. */
  pastDue: number;
  withRunProblem: number;
  unknownRows: number;
  oldestQuestionSeconds: number;
  /** How long the oldest event without a position has waited. */
  unplacedSeconds: number;
  connections: { used: number; most: number };
  openRequests: number;
  /** Median, ninetieth percentile and maximum of the last 24 hours; null: nothing was acknowledged. */
  acknowledgementSeconds: number[] | null;
  /** Certificates of our filings whose PDF is not stored, or has changed since. */
  pdfs: { missing: number; damaged: number };
  /** Open findings that nobody has acknowledged, by kind. */
  findings: { kind: FindingKind; count: number; oldestSeconds: number }[];
}

/** Figures of everything that the ledger ever recorded; they scan every row. */
export interface HistoryFigures {
  ended: { state: FilingState; count: number }[];
  certificates: number;
  storedPdfs: number;
}

export async function readFigures(db: Queryable, mode: Mode): Promise<LedgerFigures> {
  const filings = await db.query<LedgerFigures['filings'][number]>(
    `SELECT state, count(*)::integer AS count, extract(epoch FROM now() - min(made_at))::float8 AS "oldestSeconds"
       FROM filings WHERE mode = $1 AND closed_at IS NULL GROUP BY state`,
    [mode],
  );
  const { rows } = await db.query<Omit<LedgerFigures, 'filings' | 'findings' | 'unplacedSeconds'>>(
    `SELECT count(*) FILTER (WHERE ${ASKS})::integer AS "needingAttention",
            count(*) FILTER (WHERE due_at < now())::integer AS "pastDue",
            (SELECT count(*) FROM questions WHERE mode = $1 AND kind = 'workflow_problem' AND closed_at IS NULL)::integer
              AS "withRunProblem",
            (SELECT coalesce(extract(epoch FROM now() - min(first_seen_at)), 0)::float8 FROM questions
              WHERE mode = $1 AND closed_at IS NULL AND acknowledged_at IS NULL) AS "oldestQuestionSeconds",
            ${CONNECTIONS} AS connections,
            (SELECT count(*) FROM requests q WHERE q.mode = $1 AND q.state = 'followed')::integer AS "openRequests",
            (SELECT count(*) FROM filing_rows r JOIN filings f USING (filing_id)
              WHERE f.mode = $1 AND r.live AND r.state = 'unknown')::integer AS "unknownRows",
            (SELECT percentile_cont(ARRAY[0.5, 0.9, 1]) WITHIN GROUP (ORDER BY took_ms / 1000.0)
               FROM acknowledgement_times WHERE mode = $1 AND at > now() - interval '1 day') AS "acknowledgementSeconds",
            (SELECT jsonb_build_object('missing', count(*) FILTER (WHERE pdf_problem IS DISTINCT FROM 'damaged'),
                 'damaged', count(*) FILTER (WHERE pdf_problem = 'damaged')) FROM certificates JOIN parties p USING (party_id)
              WHERE p.mode = $1 AND filing_id IS NOT NULL AND (pdf_document IS NULL OR pdf_problem IS NOT NULL)) AS pdfs
       FROM filings WHERE mode = $1 AND closed_at IS NULL`,
    [mode],
  );
  const findings = await db.query<LedgerFigures['findings'][number]>(
    `SELECT kind, count(*)::integer AS count, extract(epoch FROM now() - min(first_seen_at))::float8 AS "oldestSeconds"
       FROM questions WHERE mode = $1 AND closed_at IS NULL AND acknowledged_at IS NULL AND kind = ANY($2) GROUP BY kind`,
    [mode, FINDING_KINDS],
  );
  const [row] = rows;
  if (!row) throw new Error('An aggregate has no row.');
  return { ...row, filings: filings.rows, findings: findings.rows, unplacedSeconds: await oldestUnplacedSeconds(db) };
}

export async function readHistoryFigures(db: Queryable, mode: Mode): Promise<HistoryFigures> {
  const ended = await db.query<HistoryFigures['ended'][number]>(
    `SELECT state, count(*)::integer AS count FROM filings WHERE mode = $1 AND closed_at IS NOT NULL GROUP BY state`,
    [mode],
  );
  const { rows } = await db.query<Omit<HistoryFigures, 'ended'>>(
    `SELECT count(*)::integer AS certificates,
            count(*) FILTER (WHERE pdf_document IS NOT NULL AND pdf_problem IS NULL)::integer AS "storedPdfs"
       FROM certificates JOIN parties USING (party_id) WHERE mode = $1`,
    [mode],
  );
  return { ended: ended.rows, certificates: 0, storedPdfs: 0, ...rows[0] };
}
