import { NO_ROWS } from '../../domain/contracts';
import type { FilingSummary, FilingView, OtherUse, RowView, SubmissionView } from '../../domain/filing/view';
import { actionsOfFiling } from '../../domain/filing/questions';
import { authorityErrors, warningAt, type Finding } from '../../domain/rules/finding';
import { errorTexts } from '../../domain/service/request-status';
import { isObject } from '../../domain/values';
import { exporterNames } from '../exporters/exporters';
import { sameIrm } from '../exporters/irms';
import { HAS_REQUEST, IS_MAYBE_FILED } from '../gates/attempts';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { readQuestions } from '../questions/questions';
import { readLastingNotices } from '../submissions/answers';
import { pageOfFilings, partsOf, ROW_VIEWS } from './filing-pages';
import { getFiling, listCorrections, numberToFileAgain, type FilingRecord } from './filings';
import type { Cadence } from '../../domain/filing/poll-cadence';
import { readWaiting } from '../questions/waiting';

/** A complete filing, as the command line prints it; null if the ledger does not hold it. */
export async function readFilingView(db: Queryable, filingId: string, cadence: Cadence): Promise<FilingView | null> {
  const filing = await getFiling(db, filingId);
  if (!filing) return null;
  const [rows, submissions, corrections, parts] = await Promise.all([
    readRowViews(db, filingId),
    readSubmissionViews(db, filingId),
    listCorrections(db, filingId),
    partsOf(db, [filingId]),
  ]);
  const { counts, submissions: requested } = parts.get(filingId) ?? { counts: NO_ROWS, submissions: [] };
  return {
    ...headOf(filing),
    exporterName: (await exporterNames(db, [filing.exporterId])).get(filing.exporterId) ?? null,
    waiting: (await readWaiting(db, [filing], parts, cadence)).get(filingId) ?? null,
    ...(await inQuestion(db, filingId)),
    questions: (await readQuestions(db, [filingId])).get(filingId) ?? [],
    actions: actionsOfFiling(filing),
    requests: requested.flatMap(({ submission, requests }) => requests.map((request) => ({ submission, ...request }))),
    counts,
    submissions,
    otherUses: filing.evidence === null ? [] : await readOtherUses(db, filingId),
    rows,
    correctedBy: corrections.map((correction) => correction.filingId),
    again: await numberToFileAgain(db, filing),
    warnings: await warningsOf(db, filing, rows),
    errors: [...filing.errors, ...authorityErrors(rows, filing.errors as Finding[])],
  };
}

export async function listFilingViews(
  db: Queryable,
  page: Parameters<typeof pageOfFilings>[1],
  cadence: Cadence,
): Promise<FilingSummary[]> {
  const filings = await pageOfFilings(db, page);
  const parts = await partsOf(
    db,
    filings.map(({ filingId }) => filingId),
  );
  const waiting = await readWaiting(db, filings, parts, cadence);
  return filings.map((filing) => ({
    ...headOf(filing),
    exporterName: filing.exporterName,
    waiting: waiting.get(filing.filingId) ?? null,
    counts: parts.get(filing.filingId)?.counts ?? NO_ROWS,
    warnings: filing.warnings,
  }));
}

/**
 * Rows that may have used an IRM after its balance was read before the send. Rows of an unknown outcome are left out if
 * the balance includes them already: their settle window was over, or it had fallen by their amount since their send.
 */
async function readOtherUses(db: Queryable, filingId: string): Promise<OtherUse[]> {
  const { rows } = await db.query<OtherUse>(
    `WITH own AS (SELECT party_id, irm_key, min(submitted_at) AS sent_at FROM filing_rows WHERE filing_id = $1 GROUP BY party_id, irm_key),
       -- The balance that is compared may have been read long before the send.
       before AS (SELECT b->>'irmKey' AS irm_key, min((b->>'readBefore')::timestamptz) AS at, sum((b->>'before')::numeric) AS available
          FROM filings, jsonb_array_elements(evidence->'balances') b WHERE filing_id = $1 GROUP BY 1)
     SELECT r.irm_key AS "irmKey", f.filing_id AS "filingId", f.reference, sum(r.mapped_amount)::text AS amount,
            bool_and(r.state = 'certified') AS certified
       FROM own JOIN filing_rows r ON r.party_id = own.party_id AND ${sameIrm('r.irm_key', 'own.irm_key')}
       JOIN filings f USING (filing_id)
       LEFT JOIN before k ON k.irm_key = r.irm_key, LATERAL (SELECT coalesce(k.at, own.sent_at) AS at) AS since
      WHERE r.filing_id <> $1 AND r.live AND r.submitted_at IS NOT NULL
        AND (coalesce(r.settled_at, r.submitted_at) > since.at OR r.settled_at IS NULL AND (
          EXISTS (SELECT FROM requests q WHERE q.filing_id = r.filing_id AND q.submission = r.submission AND q.state = 'followed')
          OR EXISTS (SELECT FROM attempts a LEFT JOIN snapshots s USING (snapshot_id)
              WHERE a.filing_id = r.filing_id AND a.submission = r.submission AND a.marked_at + a.settle_ms * interval '1 ms' > since.at
                AND (SELECT sum((b->>'available')::numeric) - k.available < r.mapped_amount
                       FROM jsonb_array_elements(s.balances) b WHERE b->>'irmKey' = r.irm_key) IS NOT FALSE)))
      GROUP BY r.irm_key, f.filing_id, f.reference ORDER BY r.irm_key, f.filing_id`,
    [filingId],
  );
  return rows;
}

function headOf(filing: FilingRecord): Omit<FilingSummary, 'counts' | 'warnings' | 'waiting' | 'exporterName'> {
  return {
    filingId: filing.filingId,
    workflowId: filing.workflowId,
    reference: filing.reference,
    n: filing.n,
    exporterId: filing.exporterId,
    state: filing.state,
    needsAttention: filing.needsAttention,
    attention: filing.attention,
    asked: filing.asked,
    questionCount: filing.questionCount,
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
    contentHash: filing.contentHash,
  };
}

async function readRowViews(db: Queryable, filingId: string): Promise<RowView[]> {
  const { rows } = await db.query<RowView>(
    `SELECT (r.mapping->>'serialNo')::int AS "serialNo", r.mapped_amount::float8 AS "mappedIRMAmountFCC", ${ROW_VIEWS}
      WHERE r.filing_id = $1 ORDER BY r.position`,
    [filingId],
  );
  return rows;
}

async function readSubmissionViews(db: Queryable, filingId: string): Promise<SubmissionView[]> {
  const { rows } = await db.query<SubmissionView>(
    `SELECT s.submission, s.row_count AS "rowCount", s.state, s.request_id AS "requestId", s.dgft_ack_id AS "dgftAckId",
            s.ack_status AS "ackStatus", ${ISO('s.submitted_at')} AS "submittedAt",
            (SELECT count(*)::int FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission) AS attempts
       FROM submission_progress s WHERE s.filing_id = $1 ORDER BY s.submission`,
    [filingId],
  );
  return rows;
}

/** SQL: whether a request of submission `s` is followed, and the service neither denies it nor reports it as ended. */
const IS_FOLLOWED = `EXISTS (SELECT FROM requests o WHERE o.filing_id = s.filing_id AND o.submission = s.submission
  AND o.state = 'followed' AND o.statement IS NULL)`;

/** What `resolve` would be about: the attempt in doubt, else a request with open rows. */
export async function inQuestion(db: Queryable, filingId: string) {
  const { rows } = await db.query<{ attempt: string | null; request: string | null }>(
    `SELECT a.attempt_id AS attempt, q.request_id AS request FROM submissions s
       LEFT JOIN LATERAL (SELECT * FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
          AND ${IS_MAYBE_FILED} ORDER BY ${HAS_REQUEST},
            a.verdict = 'accepted', a.number LIMIT 1) AS a ON true
       LEFT JOIN LATERAL (SELECT * FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission
          AND s.state NOT IN ('settled', 'released') AND q.state <> 'not_ours' AND (q.state <> 'followed' OR q.statement IS NOT NULL)
          AND NOT ${IS_FOLLOWED} AND (a.attempt_id IS NULL OR ${HAS_REQUEST})
          ORDER BY q.since DESC LIMIT 1) AS q ON true
      WHERE s.filing_id = $1 AND (a.attempt_id IS NOT NULL OR q.request_id IS NOT NULL)
      ORDER BY s.state IN ('settled', 'released'), ${IS_FOLLOWED}, q.request_id IS NULL AND ${HAS_REQUEST},
        s.submission LIMIT 1`,
    [filingId],
  );
  return rows[0] ?? { attempt: null, request: null };
}

/** Our warnings, then the observations in answers, whose shape the specification does not show. */
async function warningsOf(db: Queryable, filing: FilingRecord, rowViews: readonly RowView[]): Promise<unknown[]> {
  const notices = await readLastingNotices(db, filing.filingId);
  const { rows } = await db.query<{ warnings: unknown[] }>(
    'SELECT warnings FROM requests WHERE filing_id = $1 ORDER BY submission, since',
    [filing.filingId],
  );
  return [
    ...filing.warnings,
    ...notices.map(({ kind, text }) => warningAt(null, null, kind, text)),
    ...rows.flatMap((row) => row.warnings).map((warning) => observation(warning, rowViews)),
  ];
}

/** An observation of the service as a warning of ours; it may name its row by `serialNo`. */
function observation(warning: unknown, rows: readonly RowView[]): Finding {
  const { serialNo, field }: Record<string, unknown> = isObject(warning) ? warning : {};
  const named = rows.find((row) => serialNo === row.serialNo || serialNo === String(row.serialNo));
  const [message = ''] = errorTexts([warning]);
  const where = [named?.row ?? null, typeof field === 'string' ? field : null] as const;
  // The specification does not show how the service numbers rows in its texts; it is not the row of the sheet.
  const itsRows = !named && /\brow\b/iu.test(message) ? ', in its own numbering of rows' : '';
  return warningAt(...where, 'observation', `The service observed${itsRows}: ${message}`);
}
