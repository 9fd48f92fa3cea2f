import type pg from 'pg';
import { documentKey, fingerprintOf, irmKey } from '../src/domain/identity';
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
  await pool.query('UPDATE ledger SET feed_position = (SELECT max(position) FROM events)');
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

/** The company of the nth exporter. */
const iecOf = (nth: string) => `'I' || lpad(${nth}::text, 9, '0')`;

/** Filings, and as `filled` each of their rows with what other tables repeat of it. */
const FILINGS_WITH_ROWS = `
  INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind)
    SELECT filing_id, (SELECT jsonb_agg(jsonb_build_object('row', p + 2, 'mapping', '${JSON.stringify(SAMPLE)}'::jsonb || jsonb_build_object(
             'irmNumber', 'IRM' || lpad((k * 3 + p / 4)::text, 10, '0'), 'sbCumInvoiceNumber', 'B' || (k * ${ROWS_PER_FILING} + p))))
             FROM generate_series(0, ${ROWS_PER_FILING - 1}) AS p), ${ROWS_PER_FILING}, 'json' FROM made;
  INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, workflow_id, content_hash, input_ref, upload_type, declaration, channel,
      declared_by, made_by, made_at, state, since, moves, due_at, checked_at, reserved_at, closed_at, asked, attention)
    SELECT filing_id, 'test', exporter_id, ${iecOf('party')}, 'REF-' || k, 1, 'file/test/REF-' || k, md5(filing_id), filing_id,
           ${SAMPLE.uploadType}, 'Y', 'push', 'maker', 'maker', made_at, state, made_at, 6,
           CASE WHEN state NOT LIKE '%certified' THEN now() + interval '1 hour' END, made_at, made_at,
           CASE WHEN state LIKE '%certified' THEN made_at + interval '3 hours' END, state = 'outcome_unknown',
           CASE state WHEN 'outcome_unknown' THEN 'Look at the portal.' WHEN 'partly_certified' THEN 'Correct the rows that were rejected.' END
      FROM made;
  CREATE TEMP TABLE filled ON COMMIT DROP AS
    SELECT m.*, p AS position, k * ${ROWS_PER_FILING} + p AS nth, 'IRM' || lpad((k * 3 + p / 4)::text, 10, '0') AS irm_number,
           'B' || (k * ${ROWS_PER_FILING} + p) AS document, ${dayOf('made_at')} AS day,
           CASE WHEN state = 'partly_certified' AND p = 9 THEN 'rejected' WHEN state LIKE '%certified' OR state = 'collecting' THEN 'certified'
                WHEN state = 'submitting' THEN 'planned' ELSE 'sent' END AS row_state
      FROM made m, generate_series(0, ${ROWS_PER_FILING - 1}) AS p;
  INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, irm_key, document_key, bill_key, document_on, amount, currency,
      fingerprint, state, record_status, record_number, ebrc_number, ebrc_date, certified_by, errors, sent_at, freed_at, settled_at)
    SELECT filing_id, position, position + 2, 'test', ${iecOf('party')},
           '${JSON.stringify(SAMPLE)}'::jsonb || jsonb_build_object('serialNo', position + 1, 'irmNumber', irm_number, 'irmDt', day,
             'sbCumInvoiceNumber', document, 'sbCumInvoiceDate', day, 'billNo', document, 'mappedIRMAmountFCC', 2000, 'sbCumInvoiceValueinFCC', 2000),
           irm_number, document, document, ${issuedOn('made_at')}, 2000, 'USD',
           '["test","' || ${iecOf('party')} || '","' || irm_number || '","' || document || '"]', row_state,
           CASE row_state WHEN 'certified' THEN 'processed' WHEN 'rejected' THEN 'errored' END,
           CASE WHEN row_state = 'certified' THEN 'E' || lpad(nth::text, 12, '0') END,
           CASE WHEN row_state = 'certified' THEN 'E' || lpad(nth::text, 12, '0') END, CASE WHEN row_state = 'certified' THEN day END,
           CASE WHEN row_state = 'certified' THEN 'record' END,
           CASE WHEN row_state = 'rejected' THEN '["ERR29: port"]'::jsonb ELSE '[]' END,
           CASE WHEN row_state <> 'planned' THEN made_at + interval '1 minute' END,
           CASE WHEN row_state = 'rejected' THEN made_at + interval '2 hours' END,
           CASE WHEN row_state IN ('certified', 'rejected') THEN made_at + interval '2 hours' END
      FROM filled;
  INSERT INTO certificates (mode, iec, ebrc_number, exporter_id, ebrc_date, issued_on, status, first_status, document_no, document_date, bill_no,
      amount, currency, document_key, document_on, bill_key, detail, first_seen_at, seen_at, asked_at, pdf_document, pdf_sha256, pdf_bytes,
      archived_at)
    SELECT 'test', ${iecOf('party')}, 'E' || lpad(nth::text, 12, '0'), exporter_id, day, ${issuedOn('made_at')}, 'Issued', 'Issued', document, day,
           document, 2000, 'USD', document, ${issuedOn('made_at')}, document,
           jsonb_build_object('eBRCNumber', 'E' || lpad(nth::text, 12, '0'), 'eBRCDate', day, 'eBRCStatus', 'Issued', 'realisedValueFCC', 2000,
             'sbCumInvoiceNumber', document, 'sbCumInvoiceDate', day, 'currencyCode', 'USD', 'brcUtilStatus', 'Unutilised'),
           made_at + interval '2 hours', made_at + interval '1 day', made_at + interval '1 day', 'E' || lpad(nth::text, 12, '0') || '.pdf',
           md5(nth::text) || md5(nth::text), 20000, made_at + interval '3 hours'
      FROM filled WHERE row_state = 'certified'`;

/** Everything else; `made` and `filled` are there. */
function statementsFor(exporters: number): string[] {
  const event = (nth: number, kind: string, after: string) => `(${nth}, '${kind}', interval '${after}')`;
  return [
    `INSERT INTO exporters (exporter_id, mode, name, email, iec, iec_source, is_active, has_credentials, api_state, state, irms_refreshed_at)
       SELECT 'X' || lpad(n::text, 6, '0'), 'test', 'Exporter ' || n, 'e' || n || '@example.test', ${iecOf('n')}, 'irms', true, true, 'ready',
              'ready', now() FROM generate_series(1, ${exporters}) AS n`,
    `INSERT INTO credential_versions (exporter_id, version, state, held) SELECT exporter_id, 1, 'valid', true FROM exporters`,
    `INSERT INTO irms (exporter_id, irm_key, irm_number, ad_code, ifsc_code, issue_date, remittance_date, currency, purpose_code, amount,
        available, utilized, status, remitter_name, iec, record, read_at)
       SELECT exporter_id, irm_number, irm_number, '${SAMPLE.irmAdCode}', '${SAMPLE.irmIfscCode}', day, day, 'USD', 'P0102', 10000,
              10000 - 2000 * count(*), 2000 * count(*), 'F', 'Buyer ' || k % 400, ${iecOf('party')},
              jsonb_build_object('irmNumber', irm_number, 'remittanceFCC', 'USD', 'remarks', 'Invoice ' || min(document)), now()
         FROM filled GROUP BY k, party, exporter_id, irm_number, day`,
    `INSERT INTO irm_changes (exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, available, currency, what, seen_at)
       SELECT exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, CASE c.what WHEN 'first_seen' THEN amount ELSE available END, currency,
              c.what, least(to_date(issue_date, 'DDMMYYYY') + c.after, now())
         FROM irms, (VALUES ('first_seen', interval '0'), ('balance', interval '1 day')) AS c (what, after)`,
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, marked_at, epoch, beat, settle_beats, settle_ms, timeout_ms, sender,
        payload_hash, balances, request_id, request_from, dgft_ack_id, ack_status, answer, answer_status, answered_at, polled_at, ended_at)
       SELECT filing_id, 1, 'test', exporter_id, CASE state WHEN 'outcome_unknown' THEN 'unknown' ELSE 'accepted' END,
              made_at + interval '1 minute', 'epoch', 1, 239, 14400000, 60000, 'sender', md5(filing_id), '{}',
              CASE WHEN state <> 'outcome_unknown' THEN 'R' || k END, CASE WHEN state <> 'outcome_unknown' THEN 'service' END, 'D' || k, 'Success',
              jsonb_build_object('requestId', 'R' || k), 200, made_at + interval '2 minutes', made_at + interval '2 hours',
              CASE WHEN state NOT IN ('processing', 'outcome_unknown') THEN made_at + interval '2 hours' END
         FROM made WHERE state <> 'submitting'`,
    `INSERT INTO readings (mode, iec, exporter_id, began_at, ended_at, from_date, to_date, whole, irms_whole)
       SELECT 'test', ${iecOf('party')}, exporter_id, made_at, made_at + interval '1 second', ${issuedOn('made_at')} - 1, ${issuedOn('made_at')},
              true, true FROM made`,
    `INSERT INTO events (mode, type, at, exporter_id, filing_id, subject, kind, state, text, data, position)
       SELECT 'test', 'ebrc.filing.' || e.kind, made_at + e.after, exporter_id, filing_id, 'REF-' || k, e.kind, e.kind, 'what happened to it',
              jsonb_build_object('filingId', filing_id, 'state', e.kind, 'sequence', e.seq), row_number() OVER (ORDER BY made_at + e.after)
         FROM made, (VALUES ${event(1, 'checking', '0')}, ${event(2, 'submitting', '1 minute')}, ${event(3, 'processing', '2 minutes')},
           ${event(4, 'collecting', '2 hours')}, ${event(5, 'certified', '3 hours')}) AS e (seq, kind, after)
        WHERE e.seq < 3 OR made.state NOT IN ('submitting', 'outcome_unknown')`,
    `INSERT INTO events (mode, type, at, exporter_id, subject, data, position)
       SELECT 'test', 'ebrc.certificate.archived', archived_at, exporter_id, ebrc_number, jsonb_build_object('eBRCNumber', ebrc_number),
              (SELECT count(*) FROM events) + row_number() OVER (ORDER BY archived_at) FROM certificates`,
    `INSERT INTO api_calls (mode, at, operation, exporter_id, status, request_id, latency_ms, attempt)
       SELECT 'test', made_at + c * interval '10 minutes', (ARRAY['pushIrm', 'getStatus', 'downloadPdf'])[least(c, 3)], exporter_id, 200, NULL, 200, 1
         FROM made, generate_series(1, ${ROWS_PER_FILING + 5}) AS c WHERE made_at > now() - interval '${CALL_DAYS} days'`,
    `INSERT INTO findings (mode, iec, key, kind, text, exporter_id, filing_id, first_seen_at, last_seen_at, closed_at)
       SELECT 'test', ${iecOf('party')}, 'outcome_unknown|' || filing_id, 'outcome_unknown', 'What became of it?', exporter_id, filing_id, made_at,
              made_at, CASE WHEN state LIKE '%certified' THEN made_at + interval '1 hour' END
         FROM made WHERE state = 'outcome_unknown' OR k % 20 = 3`,
    `INSERT INTO findings (mode, iec, key, kind, reason, exporter_id, ebrc_number, filing_id, first_seen_at, last_seen_at, closed_at)
       SELECT 'test', ${iecOf('party')}, 'status_changed|' || ${iecOf('party')} || '|E' || k, 'status_changed', 'it was Issued', exporter_id, 'E' || k,
              filing_id, made_at, made_at, CASE WHEN state LIKE '%certified' THEN made_at + interval '1 day' END
         FROM made WHERE k % 50 = 7`,
    `INSERT INTO invoices (exporter_id, document_key, document_no, document_date, document_type, amount, currency, buyer, imported_at, imported_by)
       SELECT exporter_id, 'OPEN' || k, 'OPEN' || k, ${issuedOn('made_at')}, ${SAMPLE.uploadType}, 2000 + k % 3 * 2000, 'USD', 'Buyer ' || k % 400, made_at,
              'books' FROM made WHERE k % 4 = 0`,
    `INSERT INTO reconciliation_runs (run_id, mode, workflow_id, from_date, to_date, started_at, ended_at, result)
       SELECT 'run-' || d, 'test', 'reconcile/' || d, current_date - d, current_date, now() - d * interval '1 day', now() - d * interval '1 day', '{}'
         FROM generate_series(0, ${DAYS}) AS d`,
  ];
}

/** What was written by SQL is what this program would have written. */
async function checkIdentities(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<
    Record<'fingerprint' | 'irmKey' | 'documentKey' | 'iec', string> & { mapping: typeof SAMPLE }
  >(
    `SELECT fingerprint, irm_key AS "irmKey", document_key AS "documentKey", iec, mapping FROM filing_rows ORDER BY filing_id DESC LIMIT 3`,
  );
  for (const row of rows) {
    const { sbCumInvoiceNumber: documentNumber, irmNumber } = row.mapping;
    const expected = {
      fingerprint: fingerprintOf({ mode: 'test', company: row.iec, irmNumber, documentNumber }),
      irmKey: irmKey(irmNumber),
      documentKey: documentKey(documentNumber),
    };
    for (const [name, value] of Object.entries(expected)) {
      const written = row[name as keyof typeof expected];
      if (written !== value)
        throw new Error(`The filled ledger has ${name} ${written}, and not ${value}: see dev/fill-ledger.ts.`);
    }
  }
}
