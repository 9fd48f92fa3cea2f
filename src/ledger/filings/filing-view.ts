import type { FilingView, RowView, SubmissionView } from '../../domain/filing/view';
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { readLastingNotices } from '../submissions/answers';
import { countRows } from '../rows/filing-rows';
import { getFiling, listFilings, type FilingFilter, type FilingRecord } from './filings';

/** A complete filing, as the command line prints it; null if the ledger does not hold it. */
export async function readFilingView(db: Queryable, filingId: string): Promise<FilingView | null> {
  const filing = await getFiling(db, filingId);
  if (!filing) return null;
  const [rows, submissions, correctedBy, counts] = await Promise.all([
    readRowViews(db, filingId),
    readSubmissionViews(db, filingId),
    readCorrections(db, filingId),
    countRows(db, filingId),
  ]);
  return {
    ...headOf(filing),
    attempt: await attemptInQuestion(db, filingId),
    counts,
    submissions,
    rows,
    correctedBy,
    warnings: await warningsOf(db, filing),
    errors: [...filing.errors, ...authorityErrors(rows, filing.errors as Finding[])],
  };
}

/** A filing without its rows, for lists. */
export type FilingSummary = Omit<FilingView, 'rows' | 'submissions' | 'correctedBy' | 'attempt'>;

/** Filings, newest first, each with its counts. */
export async function listFilingViews(db: Queryable, filter: FilingFilter): Promise<FilingSummary[]> {
  const filings = await listFilings(db, filter);
  const summaries: FilingSummary[] = [];
  for (const filing of filings) {
    summaries.push({ ...headOf(filing), counts: await countRows(db, filing.filingId), warnings: filing.warnings });
  }
  return summaries;
}

function headOf(filing: FilingRecord): Omit<FilingSummary, 'counts' | 'warnings'> {
  return {
    filingId: filing.filingId,
    workflowId: filing.workflowId,
    reference: filing.reference,
    exporterId: filing.exporterId,
    state: filing.state,
    needsAttention: filing.needsAttention,
    attention: filing.attention,
    asked: filing.asked,
    requestId: filing.requestId,
    dgftAckId: filing.dgftAckId,
    uploadType: filing.uploadType,
    channel: filing.channel,
    declaration: filing.declaration,
    madeBy: filing.madeBy,
    madeAt: filing.madeAt.toISOString(),
    corrects: filing.corrects,
    errors: filing.errors,
    evidence: filing.evidence,
    annotated: filing.annotated,
  };
}

/** The authority's messages about single rows, in the shape of all other errors. */
function authorityErrors(rows: readonly RowView[], known: readonly Finding[]): Finding[] {
  const said = new Set(known.map((finding) => `${finding.row}|${finding.message}`));
  return rows.flatMap(({ row, errors }) =>
    errors
      .filter((message) => !said.has(`${row}|${message}`))
      .map((message): Finding => ({ severity: 'error', code: 'authority', row, field: null, message })),
  );
}

async function readRowViews(db: Queryable, filingId: string): Promise<RowView[]> {
  const { rows } = await db.query<RowView>(
    `SELECT r.source_row AS row, (r.mapping->>'serialNo')::int AS "serialNo", r.mapping->>'irmNumber' AS "irmNumber",
            r.mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber", r.mapped_amount::float8 AS "mappedIRMAmountFCC",
            r.currency, r.state, r.ebrc_number AS "eBRCNumber", r.ebrc_date AS "eBRCDate", c.pdf_document AS document,
            c.pdf_sha256 AS sha256, r.errors
       FROM filing_rows r LEFT JOIN certificates c ON c.party_id = r.party_id AND c.ebrc_number = r.ebrc_number
      WHERE r.filing_id = $1 ORDER BY r.position`,
    [filingId],
  );
  return rows;
}

async function readSubmissionViews(db: Queryable, filingId: string): Promise<SubmissionView[]> {
  const { rows } = await db.query<Omit<SubmissionView, 'submittedAt'> & { submittedAt: Date | null }>(
    `SELECT s.submission, s.row_count AS "rowCount", s.state, s.request_id AS "requestId", s.dgft_ack_id AS "dgftAckId",
            s.ack_status AS "ackStatus", s.submitted_at AS "submittedAt",
            (SELECT count(*)::int FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission) AS attempts
       FROM submissions s WHERE s.filing_id = $1 ORDER BY s.submission`,
    [filingId],
  );
  return rows.map((row) => ({ ...row, submittedAt: row.submittedAt?.toISOString() ?? null }));
}

/**
 * The attempt that `resolve` would answer: the first of unknown outcome, otherwise the first whose request is polled.
 */
export async function attemptInQuestion(db: Queryable, filingId: string): Promise<string | null> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT attempt_id AS id FROM attempts JOIN submissions s USING (filing_id, submission)
      WHERE filing_id = $1 AND attempts.state IN ('sending', 'answered')
      ORDER BY s.request_id IS NOT NULL, s.state NOT IN ('planned', 'acknowledged'), submission,
        attempts.state = 'answered', number LIMIT 1`,
    [filingId],
  );
  return rows[0]?.id ?? null;
}

async function readCorrections(db: Queryable, filingId: string): Promise<string[]> {
  const { rows } = await db.query<{ filingId: string }>(
    'SELECT filing_id AS "filingId" FROM filings WHERE corrects = $1 ORDER BY made_at',
    [filingId],
  );
  return rows.map((row) => row.filingId);
}

/**
 * Our own warnings, then those in the answers to the accepted submissions: rows that the service read differently than
 * they were sent, and its own observations, whose shape the specification does not show.
 */
async function warningsOf(db: Queryable, filing: FilingRecord): Promise<unknown[]> {
  const told = await readLastingNotices(db, filing.filingId);
  const { rows } = await db.query<{ warnings: unknown[] }>(
    'SELECT warnings FROM submissions WHERE filing_id = $1 ORDER BY submission',
    [filing.filingId],
  );
  return [
    ...filing.warnings,
    ...told.map(({ kind, text }) => aboutFiling(kind, text)),
    ...rows
      .flatMap((row) => row.warnings)
      .map((said) => (typeof said === 'string' ? aboutFiling('observation', said) : said)),
  ];
}

function aboutFiling(code: string, message: string): Finding {
  return { severity: 'warning', code, row: null, field: null, message };
}
