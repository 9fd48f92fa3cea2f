import type pg from 'pg';
import { attemptIdOf } from '../src/domain/filing/attempt';
import { certificateIdentity, comparableText, irmIdentity } from '../src/domain/identity';
import { fingerprintOf } from '../src/ledger/rows/live-mappings';
import { withTransaction } from '../src/ledger/pool';
import { mapping } from './sample-mapping';

/** How a ledger is filled; the same numbers give the same ledger, relative to the moment of filling. */
export interface FilledLedger {
  /** Rows of all filings, ten in each. */
  rows: number;
  exporters?: number;
  /** Filings that have not ended. */
  open?: number;
}

/** The exporter with a tenth of everything. */
export const HEAVY = exporterName(1);
const ROWS_PER_FILING = 10;
const DAYS = 365;
/** How long calls of the service are kept. */
const CALL_DAYS = 90;

/**
 * Fills an empty, migrated ledger by few large statements: a year of filings that are nearly all certified, with
 * everything that belongs to them, and statistics. Triggers do not fire meanwhile. For superusers.
 */
export async function fillLedger(pool: pg.Pool, { rows, exporters = 1_000, open = 500 }: FilledLedger): Promise<void> {
  const filings = Math.ceil(rows / ROWS_PER_FILING);
  await withTransaction(pool, async (client) => {
    await client.query(`SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0;
      SET LOCAL work_mem = '256MB'; SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL idle_in_transaction_session_timeout = 0`);
    const indexes = await dropIndexes(client);
    await client.query(
      `CREATE TEMP TABLE made ON COMMIT DROP AS
       SELECT k, 'F' || lpad(upper(to_hex(k)), 15, '0') AS filing_id, party, 'X' || lpad(party::text, 6, '0') AS exporter_id, made_at,
              CASE WHEN k >= $1::int - $3::int THEN
                     (ARRAY['processing', 'processing', 'processing', 'processing', 'collecting', 'outcome_unknown', 'submitting'])[1 + k % 7]
                   WHEN k % 50 = 1 THEN 'partly_certified' ELSE 'certified' END AS state
         FROM (SELECT k, CASE WHEN k % 10 = 0 THEN 1 ELSE 2 + k % ($2::int - 1) END AS party,
                      now() - interval '2 hours' - (($1::int - 1 - k)::float8 / $1::int) * interval '${DAYS} days' AS made_at
                 FROM generate_series(0, $1::int - 1) AS k) AS numbered`,
      [filings, exporters, open],
    );
    await client.query(FILINGS_WITH_ROWS);
    for (const statement of statementsFor(exporters)) await client.query(statement);
    for (const index of indexes) await client.query(index);
  });
  await pool.query(
    `SELECT setval(pg_get_serial_sequence('parties', 'party_id'), $1), setval(pg_get_serial_sequence('snapshots', 'snapshot_id'), $2)`,
    [exporters, Math.ceil(rows / ROWS_PER_FILING)],
  );
  await pool.query(
    'UPDATE ledger_identity SET send_number = (SELECT max(number) FROM sends), sends_seen = (SELECT max(number) FROM sends)',
  );
  await pool.query('UPDATE event_feed SET position = (SELECT max(position) FROM events)');
  await analyze(pool);
  await checkIdentities(pool);
}

/** The name of an exporter in a filled ledger. */
export function exporterName(nth: number): string {
  return `X${String(nth).padStart(6, '0')}`;
}

/** Tables get their statistics, and the map of what is visible that index-only scans need. */
async function analyze(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query(`SET statement_timeout = 0; SET maintenance_work_mem = '256MB'`);
    await client.query({ text: 'VACUUM (ANALYZE)', query_timeout: 0 } as pg.QueryConfig);
  } finally {
    client.release(true);
  }
}

/** Drops what is built faster at the end. @returns the statements that make it again */
async function dropIndexes(client: pg.PoolClient): Promise<string[]> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `SELECT i.indexrelid::regclass::text AS name, pg_get_indexdef(i.indexrelid) AS definition
       FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
      WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r'
        AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX ${name}`);
  return rows.map(({ definition }) => definition);
}

const SAMPLE = mapping();
/** Days as the service writes them. */
const dayOf = (time: string) => `to_char(${time} AT TIME ZONE 'Asia/Kolkata', 'DDMMYYYY')`;
const issuedOn = (time: string) => `(${time} AT TIME ZONE 'Asia/Kolkata')::date`;

/** Filings, and as `filled` each of their rows with what other tables repeat of it. */
const FILINGS_WITH_ROWS = `
  INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind)
    SELECT filing_id, (SELECT jsonb_agg(jsonb_build_object('row', p + 2, 'mapping', '${JSON.stringify(SAMPLE)}'::jsonb || jsonb_build_object(
             'irmNumber', 'IRM' || lpad((k * 3 + p / 4)::text, 10, '0'), 'sbCumInvoiceNumber', 'B' || (k * ${ROWS_PER_FILING} + p))))
             FROM generate_series(0, ${ROWS_PER_FILING - 1}) AS p), ${ROWS_PER_FILING}, 'json' FROM made;
  INSERT INTO filings (filing_id, mode, exporter_id, reference, n, workflow_id, content_hash, input_ref, upload_type, declaration, channel,
      state, seq, due_at, made_by, made_at, declared_by, changed_at, closed_at)
    SELECT filing_id, 'test', exporter_id, 'REF-' || k, 1, 'file/test/REF-' || k, md5(filing_id), filing_id, ${SAMPLE.uploadType}, 'Y', 'push',
           state, 6, CASE WHEN state NOT LIKE '%certified' THEN now() + interval '1 hour' END, 'maker', made_at, 'maker', made_at,
           CASE WHEN state LIKE '%certified' THEN made_at + interval '3 hours' END
      FROM made;
  CREATE TEMP TABLE filled ON COMMIT DROP AS
    SELECT m.*, p AS position, k * ${ROWS_PER_FILING} + p AS nth, 'IRM' || lpad((k * 3 + p / 4)::text, 10, '0') AS irm_number,
           'B' || (k * ${ROWS_PER_FILING} + p) AS document, ${dayOf('made_at')} AS day,
           CASE WHEN state = 'partly_certified' AND p = 9 THEN 'needs_correction' WHEN state LIKE '%certified' OR state = 'collecting' THEN 'certified'
                WHEN state = 'submitting' THEN 'planned' WHEN state = 'outcome_unknown' THEN 'unknown' ELSE 'submitted' END AS row_state
      FROM made m, generate_series(0, ${ROWS_PER_FILING - 1}) AS p;
  INSERT INTO releases (filing_id, submission, ground, released_at)
    SELECT filing_id, 1, 'rejected', made_at + interval '2 hours' FROM filled WHERE row_state = 'needs_correction';
  INSERT INTO filing_rows (filing_id, position, source_row, submission, serial_no, exporter_id, party_id, irm_key, mapping, document_key,
      document_on, bill_key, match_key, mapped_amount, currency, fingerprint, lineage, release_id, state, adoption, ebrc_number, ebrc_date,
      errors, reserved_at, checked, submitted_at, settled_at)
    SELECT f.filing_id, position, position + 2, 1, position + 1, exporter_id, party, irm_number || ' 510001',
           '${JSON.stringify(SAMPLE)}'::jsonb || jsonb_build_object('serialNo', position + 1, 'irmNumber', irm_number, 'irmDt', day,
             'sbCumInvoiceNumber', document, 'sbCumInvoiceDate', day, 'billNo', document, 'mappedIRMAmountFCC', 2000, 'sbCumInvoiceValueinFCC', 2000),
           document, ${issuedOn('made_at')}, document, '["' || document || '","' || day || '","2000","USD"]', 2000, 'USD',
           party || ':' || encode(sha256(('["' || irm_number || ' 510001","' || document || '","' || day || '","2000"]')::bytea), 'hex'),
           f.filing_id || ':' || position, r.release_id, row_state, CASE WHEN row_state = 'certified' THEN 'record' END,
           CASE WHEN row_state = 'certified' THEN 'E' || lpad(nth::text, 12, '0') END, CASE WHEN row_state = 'certified' THEN day END,
           CASE WHEN row_state = 'needs_correction' THEN '["ERR29: port"]'::jsonb ELSE '[]' END, made_at, true,
           CASE WHEN row_state <> 'planned' THEN made_at + interval '1 minute' END,
           CASE WHEN row_state IN ('certified', 'needs_correction') THEN made_at + interval '2 hours' END
      FROM filled f LEFT JOIN releases r ON r.filing_id = f.filing_id AND f.row_state = 'needs_correction';
  INSERT INTO held_mappings (fingerprint, ordinal, filing_id, position) SELECT fingerprint, 0, filing_id, position FROM filing_rows WHERE live;
  INSERT INTO certificates (party_id, exporter_id, ebrc_number, ebrc_date, status, document_no, document_date, bill_no, amount, currency, detail,
      filing_id, position, first_seen_at, document_key, document_on, bill_key, seen_at, claimed_at, issued_on, match_key, first_status,
      pdf_document, pdf_sha256, pdf_bytes, archived_at)
    SELECT r.party_id, r.exporter_id, r.ebrc_number, r.ebrc_date, 'Issued', r.document_key, r.ebrc_date, r.bill_key, 2000, 'USD',
           jsonb_build_object('eBRCNumber', r.ebrc_number, 'eBRCDate', r.ebrc_date, 'eBRCStatus', 'Issued', 'realisedValueFCC', 2000,
             'sbCumInvoiceNumber', r.document_key, 'sbCumInvoiceDate', r.ebrc_date, 'currencyCode', 'USD', 'brcUtilStatus', 'Unutilised'),
           r.filing_id, r.position, m.made_at + interval '2 hours', r.document_key, r.document_on, r.bill_key, m.made_at + interval '1 day',
           m.made_at + interval '2 hours', r.document_on, r.match_key, 'Issued', r.ebrc_number || '.pdf', md5(r.ebrc_number) || md5(r.ebrc_number),
           20000, m.made_at + interval '3 hours'
      FROM filing_rows r JOIN made m USING (filing_id) WHERE r.state = 'certified'`;

/** Everything else; `made` and `filled` are there. */
function statementsFor(exporters: number): string[] {
  const event = (nth: number, kind: string, state: string | null, after: string) =>
    `(${nth}, '${kind}', ${state === null ? 'NULL' : `'${state}'`}, interval '${after}')`;
  return [
    `INSERT INTO parties (party_id, mode, iec) OVERRIDING SYSTEM VALUE
       SELECT n, 'test', 'I' || lpad(n::text, 9, '0') FROM generate_series(1, ${exporters}) AS n`,
    `INSERT INTO exporters (exporter_id, party_id, mode, name, email, iec, iec_source, is_active, has_credentials, api_state, state,
        irms_refreshed_at)
       SELECT 'X' || lpad(n::text, 6, '0'), n, 'test', 'Exporter ' || n, 'e' || n || '@example.test', 'I' || lpad(n::text, 9, '0'), 'irms', true,
              true, 'ready', 'ready', now() FROM generate_series(1, ${exporters}) AS n`,
    `INSERT INTO credential_versions (exporter_id, version, state, held) SELECT exporter_id, 1, 'valid', true FROM exporters`,
    `INSERT INTO irms (exporter_id, irm_key, irm_number, ad_code, ifsc_code, issue_date, remittance_date, currency, purpose_code, amount,
        available, utilized, status, remitter_name, iec, record, read_at)
       SELECT exporter_id, irm_number || ' 510001', irm_number, '${SAMPLE.irmAdCode}', '${SAMPLE.irmIfscCode}', day, day, 'USD', 'P0102', 10000,
              10000 - 2000 * count(*), 2000 * count(*), 'F', 'Buyer ' || k % 400, 'I' || lpad(party::text, 9, '0'),
              jsonb_build_object('irmNumber', irm_number, 'remittanceFCC', 'USD', 'remarks', 'Invoice ' || min(document)), now()
         FROM filled GROUP BY k, party, exporter_id, irm_number, day`,
    `INSERT INTO irm_changes (exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, available, currency, what, seen_at)
       SELECT exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, CASE c.what WHEN 'first_seen' THEN amount ELSE available END, currency,
              c.what, least(to_date(issue_date, 'DDMMYYYY') + c.after, now())
         FROM irms, (VALUES ('first_seen', interval '0'), ('balance', interval '1 day')) AS c (what, after)`,
    `INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count, state, terminal_at)
       SELECT filing_id, 1, 'test', exporter_id, ${ROWS_PER_FILING},
              CASE WHEN state LIKE '%certified' THEN 'settled' WHEN state IN ('processing', 'collecting') THEN 'acknowledged' ELSE 'planned' END,
              CASE WHEN state LIKE '%certified' THEN made_at + interval '2 hours' END FROM made`,
    `INSERT INTO snapshots (snapshot_id, filing_id, submission, exporter_id, party_id, taken_at, listed, balances)
       OVERRIDING SYSTEM VALUE
       SELECT k + 1, m.filing_id, 1, m.exporter_id, m.party, m.made_at, 0,
              (SELECT jsonb_agg(jsonb_build_object('irmKey', i || ' 510001', 'available', '10000'))
                 FROM generate_series(m.k * 3, m.k * 3 + 2) AS i)
         FROM made m`,
    `INSERT INTO listed_certificates (party_id, ebrc_number, snapshot_id, taken_at)
       SELECT c.party_id, c.ebrc_number, next.snapshot_id, next.taken_at
         FROM certificates c JOIN (SELECT filing_id, lead(k + 1, 3) OVER later AS snapshot_id, lead(made_at, 3) OVER later AS taken_at
           FROM made WINDOW later AS (PARTITION BY party ORDER BY k)) AS next USING (filing_id) WHERE next.snapshot_id IS NOT NULL`,
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict, sender, opened_at, marked_at, settle_ms, timeout_ms, answered_at,
        answer_status, answer, snapshot_id)
       SELECT m.filing_id || '-1-1', m.filing_id, 1, 1,
              CASE state WHEN 'submitting' THEN 'open' WHEN 'outcome_unknown' THEN 'marked' ELSE 'accepted' END, 'sender', made_at,
              CASE WHEN state <> 'submitting' THEN made_at + interval '1 minute' END, 14400000, 60000,
              CASE WHEN state NOT IN ('submitting', 'outcome_unknown') THEN made_at + interval '2 minutes' END, 200,
              jsonb_build_object('requestId', 'R' || k, 'dgftAckId', 'D' || k, 'ackStatus', 'Success'), s.snapshot_id
         FROM made m JOIN snapshots s USING (filing_id)`,
    `INSERT INTO requests (filing_id, submission, request_id, mode, customer_id, attempt_id, source, state, dgft_ack_id, since, ended_at)
       SELECT filing_id, 1, 'R' || k, 'test', exporter_id, filing_id || '-1-1', 'acknowledged',
              CASE WHEN state = 'processing' THEN 'followed' ELSE 'ended' END, 'D' || k, made_at + interval '2 minutes',
              CASE WHEN state <> 'processing' THEN made_at + interval '2 hours' END
         FROM made WHERE state NOT IN ('submitting', 'outcome_unknown')`,
    `INSERT INTO sends (number, attempt_id, sender)
       SELECT row_number() OVER (ORDER BY made_at), attempt_id, 'sender' FROM attempts JOIN made USING (filing_id) WHERE marked_at IS NOT NULL`,
    `INSERT INTO acknowledgement_times (filing_id, submission, mode, after_ms, took_ms, at)
       SELECT filing_id, 1, 'test', 6000000, 7000000, made_at + interval '2 hours' FROM made WHERE state LIKE '%certified'`,
    `INSERT INTO filing_events (filing_id, seq, step, at, kind, state, text)
       SELECT filing_id, e.seq, 'run/' || e.seq, made_at + e.after, e.kind, e.state, 'what happened to it'
         FROM made, (VALUES ${event(1, 'made', null, '0')}, ${event(2, 'checked', 'checking', '1 second')},
           ${event(3, 'submitting', 'submitting', '1 minute')}, ${event(4, 'processing', 'processing', '2 minutes')},
           ${event(5, 'settled', 'collecting', '2 hours')}) AS e (seq, kind, state, after)
        WHERE e.seq < 4 OR made.state NOT IN ('submitting', 'outcome_unknown')`,
    `INSERT INTO filing_events (filing_id, seq, step, at, kind, state, text)
       SELECT filing_id, 6, 'run/6', made_at + interval '3 hours', state, state, 'how it stands' FROM made`,
    `INSERT INTO events (mode, type, at, exporter_id, subject, data, position)
       SELECT 'test', 'ebrc.filing.' || coalesce(e.state, 'checking'), e.at, f.exporter_id, f.reference,
              jsonb_build_object('filingId', f.filing_id, 'state', e.state, 'sequence', e.seq), row_number() OVER (ORDER BY e.at)
         FROM filing_events e JOIN filings f USING (filing_id) WHERE e.state IS NOT NULL`,
    `INSERT INTO events (mode, type, at, exporter_id, subject, data, position)
       SELECT 'test', 'ebrc.certificate.archived', archived_at, exporter_id, ebrc_number, jsonb_build_object('eBRCNumber', ebrc_number),
              (SELECT count(*) FROM events) + row_number() OVER (ORDER BY archived_at) FROM certificates`,
    `INSERT INTO api_calls (mode, at, operation, exporter_id, status, request_id, latency_ms, attempt)
       SELECT 'test', made_at + c * interval '10 minutes', (ARRAY['pushIrm', 'getStatus', 'downloadPdf'])[least(c, 3)], exporter_id, 200, NULL, 200, 1
         FROM made, generate_series(1, ${ROWS_PER_FILING + 5}) AS c WHERE made_at > now() - interval '${CALL_DAYS} days'`,
    `INSERT INTO questions (mode, party_id, key, kind, text, until, exporter_id, filing_id, first_seen_at, last_seen_at, closed_at)
       SELECT 'test', party, 'outcome_unknown|' || filing_id, 'outcome_unknown', 'What became of it?', 'state', exporter_id, filing_id, made_at, made_at,
              CASE WHEN state LIKE '%certified' THEN made_at + interval '1 hour' END
         FROM made WHERE state = 'outcome_unknown' OR k % 20 = 3`,
    `INSERT INTO questions (mode, party_id, key, kind, reason, exporter_id, ebrc_number, filing_id, first_seen_at, last_seen_at, closed_at)
       SELECT 'test', party, 'status_changed|' || k, 'status_changed', 'it was Issued', exporter_id, 'E' || k, filing_id, made_at, made_at,
              CASE WHEN state LIKE '%certified' THEN made_at + interval '1 day' END
         FROM made WHERE k % 50 = 7`,
    `INSERT INTO invoices (exporter_id, document_key, document_no, document_date, document_type, amount, currency, buyer, imported_at, imported_by)
       SELECT exporter_id, 'OPEN' || k, 'OPEN' || k, ${issuedOn('made_at')}, ${SAMPLE.uploadType}, 2000 + k % 3 * 2000, 'USD', 'Buyer ' || k % 400, made_at,
              'books' FROM made WHERE k % 4 = 0`,
    `INSERT INTO looks (party_id, began_at, ended_at, from_date, to_date, complete)
       SELECT party, made_at, made_at, ${issuedOn('made_at')} - 1, ${issuedOn('made_at')}, true FROM made WHERE k % 20 = 3`,
    `INSERT INTO certificate_windows (party_id, from_date, to_date, read_at)
       SELECT p.party_id, current_date - 90 - d, current_date - d, now() - d * interval '1 day' FROM parties p, generate_series(0, 20) AS d`,
    `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, from_date, to_date, started_at, ended_at, result)
       SELECT 'run-' || d, 'test', 'reconcile/' || d, current_date - d, current_date, now() - d * interval '1 day', now() - d * interval '1 day', '{}'
         FROM generate_series(0, ${DAYS}) AS d`,
  ];
}

/** What was written by SQL is what this program would have written. */
async function checkIdentities(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<
    Record<'filingId' | 'attemptId' | 'matchKey' | 'fingerprint' | 'irmKey' | 'documentKey', string> & {
      partyId: number;
      mapping: typeof SAMPLE;
    }
  >(
    `SELECT filing_id AS "filingId", attempt_id AS "attemptId", match_key AS "matchKey", r.fingerprint, irm_key AS "irmKey",
            document_key AS "documentKey", party_id AS "partyId", mapping
       FROM filing_rows r JOIN attempts USING (filing_id) ORDER BY filing_id DESC LIMIT 3`,
  );
  for (const row of rows) {
    const {
      sbCumInvoiceNumber: document,
      sbCumInvoiceDate: date,
      mappedIRMAmountFCC: amount,
      irmFCC: currency,
    } = row.mapping;
    const expected = {
      attemptId: attemptIdOf(row.filingId, 1, 1),
      matchKey: certificateIdentity({ document, date, amount, currency }),
      fingerprint: fingerprintOf(row.partyId, row.mapping),
      irmKey: irmIdentity(row.mapping),
      documentKey: comparableText(document),
    };
    for (const [name, value] of Object.entries(expected)) {
      const written = row[name as keyof typeof expected];
      if (written !== value)
        throw new Error(`The filled ledger has ${name} ${written}, and not ${value}: see dev/fill-ledger.ts.`);
    }
  }
}
