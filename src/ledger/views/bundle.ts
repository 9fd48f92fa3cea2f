/** Everything that the ledger holds about one filing, from one moment, for its evidence bundle. */
import type { Mapping } from '../../domain/filing/mapping';
import type { Queryable } from '../pool';
import { API_CALL_DAYS, READING_DAYS } from '../retention';

const COMPANY = '(SELECT mode, iec FROM filings WHERE filing_id = $1)';
const EXPORTER = '(SELECT exporter_id FROM filings WHERE filing_id = $1)';

/** The query for each file of the bundle. $1: filing. */
const FILES = {
  'filing.json': 'SELECT * FROM filings WHERE filing_id = $1',
  'exporter.json': `SELECT exporter_id, name, company_name, email, iec, requires_approval FROM exporters WHERE exporter_id = ${EXPORTER}`,
  'input.json': `SELECT i.* FROM filing_inputs i JOIN filings USING (input_ref) WHERE filing_id = $1`,
  'declaration.json': `SELECT declaration, declared_by, made_by, maker_id, made_at, approval, approved_at, content_hash
    FROM filings WHERE filing_id = $1`,
  'consents.json': `SELECT * FROM consents WHERE exporter_id = ${EXPORTER} ORDER BY consent_id`,
  'rows.json': 'SELECT * FROM filing_rows WHERE filing_id = $1 ORDER BY position',
  'attempts.json': 'SELECT * FROM attempts WHERE filing_id = $1 ORDER BY number',
  'decisions.json': `SELECT d.*, p.name AS principal FROM decisions d LEFT JOIN principals p USING (principal_id)
    WHERE filing_id = $1 ORDER BY decision_id`,
  'readings.json': `SELECT * FROM readings WHERE (mode, iec) IN ${COMPANY}
    AND began_at >= (SELECT made_at - interval '1 day' FROM filings WHERE filing_id = $1)
    AND began_at <= (SELECT coalesce(closed_at, clock_timestamp()) FROM filings WHERE filing_id = $1) ORDER BY reading_id`,
  'certificates.json': `SELECT c.*, (SELECT jsonb_agg(to_jsonb(h) ORDER BY seen_at) FROM certificate_changes h
      WHERE h.mode = c.mode AND h.iec = c.iec AND h.ebrc_number = c.ebrc_number) AS changes FROM certificates c
    WHERE (c.mode, c.iec, c.ebrc_number) IN (SELECT mode, iec, ebrc_number FROM filing_rows WHERE filing_id = $1)
       OR ((c.mode, c.iec) IN ${COMPANY} AND c.document_key IN (SELECT document_key FROM filing_rows WHERE filing_id = $1))
    ORDER BY c.ebrc_number`,
  'findings.json': 'SELECT * FROM findings WHERE filing_id = $1 ORDER BY first_seen_at, finding_id',
  'events.json': 'SELECT * FROM events WHERE filing_id = $1 ORDER BY ordinal',
  'calls.json': `SELECT c.* FROM api_calls c JOIN filings f USING (mode, exporter_id) WHERE f.filing_id = $1
    AND c.at BETWEEN f.made_at AND coalesce(f.closed_at, clock_timestamp()) ORDER BY c.call_id`,
} as const;

/** Files whose rows are deleted after some days. */
export const KEPT_DAYS: Readonly<Record<string, { days: number; what: string }>> = {
  'calls.json': { days: API_CALL_DAYS, what: 'calls of the service' },
  'readings.json': { days: READING_DAYS, what: 'readings of certificates and IRMs' },
};

const PRETTY = (sql: string) => `(SELECT jsonb_pretty(coalesce(jsonb_agg(to_jsonb(t)), '[]')) FROM (${sql}) t)`;
const LIST = (sql: string) => `(SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM (${sql}) t)`;

/** A single statement, so that all parts are of one moment. */
const STATEMENT = `SELECT
  jsonb_build_object(${Object.entries(FILES)
    .map(([name, sql]) => `'${name}', ${PRETTY(sql)}`)
    .join(',\n')}) AS contents,
  ledger_id::text AS "ledgerId", restored_at::text AS "restoredAt",
  ${LIST(`SELECT number, payload_hash AS "payloadHash", document FROM attempts WHERE filing_id = $1 ORDER BY number`)} AS attempts,
  ${LIST(`SELECT ebrc_number AS "eBRCNumber", pdf_document AS document, pdf_sha256 AS sha256 FROM certificates c
    WHERE pdf_document IS NOT NULL AND (mode, iec, ebrc_number) IN (SELECT mode, iec, ebrc_number FROM filing_rows WHERE filing_id = $1)`)} AS certificates,
  ${LIST(`SELECT position + 1 AS "serialNo", mapping FROM filing_rows WHERE filing_id = $1 ORDER BY position`)} AS rows,
  (SELECT string_agg(encode(hash, 'hex') || ' ' || event_line(e) || E'\\n', '' ORDER BY link) FROM events e WHERE filing_id = $1 AND link IS NOT NULL) AS chain,
  (SELECT count(*)::int FROM events WHERE filing_id = $1 AND link IS NULL) AS unchained,
  source_name AS "sourceName", source_document AS "sourceDocument", annotated
  FROM ledger, filings JOIN filing_inputs USING (input_ref) WHERE filing_id = $1`;

/** @returns null if the ledger does not hold the filing */
export async function readBundle(db: Queryable, filingId: string) {
  const { rows } = await db.query<{
    /** JSON by file name. */
    contents: Record<string, string>;
    ledgerId: string;
    /** When the ledger was restored to an earlier state, if ever. */
    restoredAt: string | null;
    attempts: {
      number: number;
      /** SHA-256 of the message or workbook that was sent; null: it was recorded without its sender. */
      payloadHash: string | null;
      document: string | null;
    }[];
    certificates: { eBRCNumber: string; document: string; sha256: string | null }[];
    rows: { serialNo: number; mapping: Mapping }[];
    /** Lines of hash and event, in the order of the chain; null: none is chained yet. */
    chain: string | null;
    /** Events of the last seconds, which no relay has chained yet. */
    unchained: number;
    sourceName: string | null;
    sourceDocument: string | null;
    annotated: string | null;
  }>(STATEMENT, [filingId]);
  const [found] = rows;
  if (!found) return null;
  const { contents, ...bundle } = found;
  return { ...bundle, files: Object.keys(FILES).map((name) => ({ name, content: `${contents[name] ?? '[]'}\n` })) };
}
