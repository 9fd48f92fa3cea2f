/** The figures of a ledger for metrics, read in a few statements without locks. */
import type { FilingState } from '../domain/filing/states';
import type { FindingKind } from '../domain/reconciliation/findings';
import type { Mode } from '../domain/names';
import type { Quota } from '../domain/service/limits';
import { quotaUsed } from './reports/service-use';
import { ROW_OF_CERTIFICATE } from './certificates/certificates';
import { RUN_FINDINGS } from './runs';
import type { Queryable } from './pool';

/** Figures of what is in progress. Partial indexes keep them cheap, however much has ended. */
export interface LedgerFigures {
  filings: { state: FilingState; count: number; oldestSeconds: number }[];
  needingAttention: number;
  /** Filings without progress for longer than they should. */
  pastDue: number;
  /** Filings whose run is gone or fails. */
  withRunProblem: number;
  unknownRows: number;
  /** Since when somebody is asked: the oldest filing with attention, or finding that nobody acknowledged. */
  oldestQuestionSeconds: number;
  /** Nothing is sent: the ledger went back. */
  recovering: boolean;
  /** How long the oldest event without a position has waited. */
  unplacedSeconds: number;
  connections: { used: number; most: number };
  openRequests: number;
  /** From a send to every row's outcome: median, ninetieth percentile and maximum of 24 hours; null: none. */
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
  /** What is used of the contract with the service. */
  quotaUsed: Quota;
}

export async function readFigures(db: Queryable, mode: Mode): Promise<LedgerFigures> {
  const filings = await db.query<LedgerFigures['filings'][number]>(
    `SELECT state, count(*)::integer AS count, extract(epoch FROM now() - min(made_at))::float8 AS "oldestSeconds"
       FROM filings WHERE mode = $1 AND closed_at IS NULL GROUP BY state`,
    [mode],
  );
  const { rows } = await db.query<Omit<LedgerFigures, 'filings' | 'findings'>>(
    `SELECT count(*) FILTER (WHERE attention IS NOT NULL OR EXISTS (SELECT FROM ${RUN_FINDINGS}))::integer AS "needingAttention",
            count(*) FILTER (WHERE due_at < clock_timestamp())::integer AS "pastDue",
            coalesce(extract(epoch FROM clock_timestamp() - least(min(since) FILTER (WHERE attention IS NOT NULL),
              (SELECT min(first_seen_at) FROM findings WHERE mode = $1 AND closed_at IS NULL AND acknowledged_at IS NULL))), 0)::float8
              AS "oldestQuestionSeconds",
            count(*) FILTER (WHERE EXISTS (SELECT FROM ${RUN_FINDINGS}))::integer AS "withRunProblem",
            EXISTS (SELECT FROM findings WHERE mode = $1 AND kind = 'ledger_went_back' AND closed_at IS NULL) AS recovering,
            (SELECT jsonb_build_object('used', sum(numbackends), 'most', current_setting('max_connections')::integer)
               FROM pg_stat_database) AS connections,
            (SELECT coalesce(extract(epoch FROM clock_timestamp() - min(at)), 0)::float8 FROM events
              WHERE position IS NULL AND type IS NOT NULL) AS "unplacedSeconds",
            (SELECT count(*) FROM attempts WHERE mode = $1 AND request_id IS NOT NULL AND ended_at IS NULL)::integer AS "openRequests",
            (SELECT count(*) FROM filing_rows r JOIN attempts a USING (filing_id)
              WHERE r.mode = $1 AND r.state = 'sent' AND a.verdict IN ('sending', 'unknown'))::integer AS "unknownRows",
            (SELECT percentile_cont(ARRAY[0.5, 0.9, 1]) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - marked_at))
               FROM attempts WHERE mode = $1 AND ended_at > clock_timestamp() - interval '1 day') AS "acknowledgementSeconds",
            (SELECT jsonb_build_object('missing', count(*) FILTER (WHERE pdf_problem IS DISTINCT FROM 'damaged'),
                 'damaged', count(*) FILTER (WHERE pdf_problem = 'damaged')) FROM certificates c
              WHERE c.mode = $1 AND (archived_at IS NULL OR pdf_problem IS NOT NULL)
                AND EXISTS (SELECT FROM filing_rows r WHERE ${ROW_OF_CERTIFICATE})) AS pdfs
       FROM filings f WHERE mode = $1 AND closed_at IS NULL`,
    [mode],
  );
  const findings = await db.query<LedgerFigures['findings'][number]>(
    `SELECT kind, count(*)::integer AS count, extract(epoch FROM now() - min(first_seen_at))::float8 AS "oldestSeconds"
       FROM findings WHERE mode = $1 AND closed_at IS NULL AND acknowledged_at IS NULL GROUP BY kind`,
    [mode],
  );
  const [row] = rows;
  if (!row) throw new Error('An aggregate has no row.');
  return { ...row, filings: filings.rows, findings: findings.rows };
}

export async function readHistoryFigures(db: Queryable, mode: Mode): Promise<HistoryFigures> {
  const ended = await db.query<HistoryFigures['ended'][number]>(
    `SELECT state, count(*)::integer AS count FROM filings WHERE mode = $1 AND closed_at IS NOT NULL GROUP BY state`,
    [mode],
  );
  const { rows } = await db.query<Pick<HistoryFigures, 'certificates' | 'storedPdfs'>>(
    `SELECT count(*)::integer AS certificates,
            count(*) FILTER (WHERE pdf_document IS NOT NULL AND pdf_problem IS NULL)::integer AS "storedPdfs"
       FROM certificates WHERE mode = $1`,
    [mode],
  );
  return { ended: ended.rows, certificates: 0, storedPdfs: 0, ...rows[0], quotaUsed: await quotaUsed(db, mode) };
}
