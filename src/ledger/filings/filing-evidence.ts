/** Everything that the ledger holds about one filing, from one moment, for its evidence bundle. */
import { certificatesBefore } from '../certificates/snapshots';
import type { Queryable } from '../pool';
import { API_CALL_DAYS, RECONCILIATION_DAYS } from '../retention';

/** The last move's number and a hash over all moves. Each send's record has it, so that a rewritten history shows. */
export interface MovesHead {
  seq: number;
  sha256: string;
}

/** SQL: the head of a filing's moves up to a number. Other events have no number. */
export const movesUpTo = (filingId: string, seq: string): string => `(
  SELECT jsonb_build_object('seq', coalesce(max(v.seq), 0), 'sha256', encode(sha256(convert_to(coalesce(string_agg(
      jsonb_build_array(v.seq, (extract(epoch FROM v.at) * 1000000)::bigint, v.kind, v.state, v.who, v.text, v.data)::text,
      E'\\n' ORDER BY v.seq), ''), 'UTF8')), 'hex'))
    FROM filing_events v WHERE v.filing_id = ${filingId} AND v.seq <= ${seq})`;

/** The query for each file of the bundle. $1: filing. */
const FILES = {
  'filing.json': 'SELECT * FROM filings WHERE filing_id = $1',
  'exporter.json': `SELECT exporter_id, name, company_name, email, iec, requires_approval FROM exporters e
    WHERE exporter_id = (SELECT exporter_id FROM filings WHERE filing_id = $1)`,
  'input.json': `SELECT input_ref, rows, row_count, source_kind, source_name, source_document, i.warnings, i.created_at
    FROM filing_inputs i JOIN filings USING (input_ref) WHERE filing_id = $1`,
  'declaration.json': `SELECT declaration, declared_by, made_by, made_at, approval_needed, approved_by, approved_at, content_hash
    FROM filings WHERE filing_id = $1`,
  'consents.json': `SELECT * FROM consents WHERE exporter_id = (SELECT exporter_id FROM filings WHERE filing_id = $1)
    ORDER BY consent_id`,
  'grants.json': `SELECT * FROM grants WHERE filing_id = $1 OR grant_id = (SELECT grant_id FROM filings WHERE filing_id = $1)
    ORDER BY granted_at`,
  'words.json': `SELECT w.*, (SELECT jsonb_agg(to_jsonb(j) ORDER BY judged_at) FROM word_judgements j
      WHERE j.word_id = w.word_id) AS judgements FROM words w WHERE filing_id = $1 ORDER BY word_id`,
  'rows.json': 'SELECT * FROM filing_rows WHERE filing_id = $1 ORDER BY position',
  'submissions.json': 'SELECT * FROM submissions WHERE filing_id = $1 ORDER BY submission',
  'attempts.json': `SELECT a.*, (SELECT jsonb_agg(number ORDER BY number) FROM sends s WHERE s.attempt_id = a.attempt_id) AS sends
    FROM attempts a WHERE filing_id = $1 ORDER BY submission, number`,
  'requests.json': 'SELECT * FROM requests WHERE filing_id = $1 ORDER BY submission, since',
  'releases.json': 'SELECT * FROM releases WHERE filing_id = $1 ORDER BY release_id',
  'snapshots.json': `SELECT snapshot_id, submission, exporter_id, party_id, taken_at, listed, balances,
      CASE WHEN listed IS NOT NULL THEN ${certificatesBefore('s')} END AS certificates
    FROM snapshots s WHERE filing_id = $1 ORDER BY snapshot_id`,
  'certificates.json': `SELECT c.*, (SELECT jsonb_agg(to_jsonb(h) ORDER BY seen_at) FROM certificate_changes h
      WHERE h.party_id = c.party_id AND h.ebrc_number = c.ebrc_number) AS changes FROM certificates c
    WHERE c.filing_id = $1 OR (c.party_id, c.ebrc_number) IN
      (SELECT party_id, ebrc_number FROM filing_rows WHERE filing_id = $1) ORDER BY ebrc_number`,
  'questions.json': 'SELECT * FROM questions WHERE filing_id = $1 ORDER BY question_id',
  'events.json': 'SELECT * FROM filing_events WHERE filing_id = $1 ORDER BY event_id',
  'calls.json': `SELECT * FROM api_calls WHERE request_id IN (SELECT request_id FROM requests WHERE filing_id = $1) ORDER BY call_id`,
} as const;

/** Files whose rows are deleted after some days. */
export const KEPT_DAYS: Readonly<Record<string, { days: number; what: string }>> = {
  'calls.json': { days: API_CALL_DAYS, what: 'calls of the service' },
  'questions.json': { days: RECONCILIATION_DAYS, what: 'closed questions' },
};

const PRETTY = (sql: string) => `(SELECT jsonb_pretty(coalesce(jsonb_agg(to_jsonb(t)), '[]')) FROM (${sql}) t)`;
const LIST = (sql: string) => `(SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM (${sql}) t)`;

/** A single statement, so that all parts are of one moment. */
const STATEMENT = `SELECT
  jsonb_build_object(${Object.entries(FILES)
    .map(([name, sql]) => `'${name}', ${PRETTY(sql)}`)
    .join(',\n')}) AS contents,
  ledger_id::text AS "ledgerId", restored_at::text AS "restoredAt",
  ${LIST(`SELECT attempt_id AS "attemptId", submission, payload_hash AS "payloadHash", ARRAY(SELECT s.number FROM sends s
    WHERE s.attempt_id = a.attempt_id ORDER BY 1) AS sends FROM attempts a WHERE filing_id = $1 ORDER BY submission, number`)} AS attempts,
  ${LIST(`SELECT ebrc_number AS "eBRCNumber", pdf_document AS document, pdf_sha256 AS sha256
    FROM (${FILES['certificates.json']}) c WHERE pdf_document IS NOT NULL`)} AS certificates,
  source_name AS "sourceName", source_document AS "sourceDocument", annotated
  FROM ledger_identity, filings JOIN filing_inputs USING (input_ref) WHERE filing_id = $1`;

/** @returns null if the ledger does not hold the filing */
export async function readFilingEvidence(db: Queryable, filingId: string) {
  const { rows } = await db.query<{
    /** JSON by file name. */
    contents: Record<string, string>;
    ledgerId: string;
    /** When the ledger was restored to an earlier state, if ever. */
    restoredAt: string | null;
    attempts: {
      attemptId: string;
      submission: number;
      /** SHA-256 of the message or workbook that was sent; null: nothing was sent. */
      payloadHash: string | null;
      /** Its send numbers, which name its records in the document store. */
      sends: number[];
    }[];
    certificates: { eBRCNumber: string; document: string; sha256: string | null }[];
    sourceName: string | null;
    sourceDocument: string | null;
    annotated: string | null;
  }>(STATEMENT, [filingId]);
  const [found] = rows;
  if (!found) return null;
  const { contents, ...evidence } = found;
  const files = Object.keys(FILES).map((name) => ({ name, content: `${contents[name] ?? '[]'}\n` }));
  return { ...evidence, files };
}

/** Whether the moves before a send are unchanged in the ledger. */
export async function movesStand(db: Queryable, filingId: string, { seq, sha256 }: MovesHead): Promise<boolean> {
  const { rows } = await db.query<{ head: MovesHead }>(`SELECT ${movesUpTo('$1', '$2::bigint')} AS head`, [
    filingId,
    seq,
  ]);
  return rows[0]?.head.sha256 === sha256;
}
