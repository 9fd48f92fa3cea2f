import { attemptIdOf, partsOfAttemptId } from '../../domain/filing/attempt';
import type { IrmNames } from '../../domain/identity';
import { filingWorkflowId, type Mode } from '../../domain/names';
import { lockIrms } from '../filings/filing-lock';
import { lockExporter } from '../exporters/exporters';
import { lockPartyChanges, partyForNew } from '../exporters/parties';
import { filingOfReference, nextNumber } from '../filings/filings';
import { lockReference } from '../filings/reference';
import { holdAgain } from '../gates/held-rows';
import type { Queryable } from '../pool';
import { filedBefore } from '../rows/row-takeover';

const ROW_COLUMNS = `position, source_row, submission, serial_no, exporter_id, irm_key, mapping, extra, document_key, document_on, bill_key,
  match_key, mapped_amount, currency, permit_reason, permit_besides`;

/**
 * Restores a send's filing, submission and rows; under another id if a filing with other content has its id.
 * @returns the attempt's id, which names the restored filing
 */
export async function rebuildFiling(
  client: Queryable,
  args: { content: string; attemptId: string; known: boolean },
): Promise<string> {
  const { content, attemptId, known } = args;
  const parts = partsOfAttemptId(attemptId);
  const { rows: held } = await client.query<{ same: boolean }>(
    `SELECT content_hash = $2::jsonb -> 'filing' ->> 'content_hash' AS same FROM filings WHERE filing_id = $1`,
    [parts.filingId, content],
  );
  const same = known && held[0]?.same;
  const filingId = known && !same ? `${parts.filingId}R${parts.number}` : parts.filingId;
  if (!same) await insertFiling(client, filingId, content);
  await client.query(
    `INSERT INTO submissions SELECT (jsonb_populate_record(NULL::submissions, $2::jsonb -> 'submission'
        || jsonb_build_object('filing_id', $1::text, 'state', 'planned', 'terminal_at', NULL))).* ON CONFLICT DO NOTHING`,
    [filingId, content],
  );
  // Rows that hold the same mappings by now keep them: each restored row takes the next free ordinal.
  const { rows: rebuilt } = await client.query<{ position: number }>(
    `INSERT INTO filing_rows (${ROW_COLUMNS}, filing_id, party_id, fingerprint, lineage, state, submitted_at, reserved_at)
     SELECT ${ROW_COLUMNS}, $1, $3, $3::int || ':' || split_part(r.fingerprint, ':', 2),
            regexp_replace(r.lineage, '^' || $4 || ':', $1 || ':'), 'submitted',
            coalesce(r.submitted_at, clock_timestamp()), coalesce(r.reserved_at, clock_timestamp())
       FROM jsonb_array_elements($2::jsonb -> 'rows') AS given, jsonb_populate_record(NULL::filing_rows, given - 'live') AS r
      WHERE NOT EXISTS (SELECT FROM filing_rows o WHERE o.filing_id = $1 AND o.position = r.position)
     RETURNING position`,
    [filingId, content, await partyNow(client, content), parts.filingId],
  );
  await holdAgain(client, { filingId, positions: rebuilt.map(({ position }) => position) });
  return attemptIdOf(filingId, parts.submission, parts.number);
}

/** Locks a send's reference, and all IRMs filed under it; to be called before its filing is locked. */
export async function lockForRebuild(client: Queryable, content: string): Promise<void> {
  const { rows } = await client.query<{ mode: Mode; reference: string; irms: IrmNames[] }>(
    `SELECT f.mode, f.reference, (SELECT jsonb_agg(r -> 'mapping') FROM jsonb_array_elements($1::jsonb -> 'rows') AS r) AS irms
       FROM jsonb_populate_record(NULL::filings, $1::jsonb -> 'filing') AS f`,
    [content],
  );
  const [sent] = rows;
  if (!sent) return;
  await lockReference(client, sent);
  const before = await filedBefore(client, sent);
  await lockIrms(client, sent.mode, [...sent.irms, ...before]);
}

/** Restores the list of earlier certificates; without it only a person could say which ones came of the send. */
export async function rebuildSnapshot(
  client: Queryable,
  { content, attemptId }: { content: string; attemptId: string },
): Promise<void> {
  await client.query(
    `WITH brought AS (
       INSERT INTO snapshots (filing_id, submission, exporter_id, party_id, taken_at, listed, certificates, balances)
       SELECT a.filing_id, a.submission, f.exporter_id, e.party_id, s.taken_at, s.listed, s.certificates, coalesce(s.balances, '[]')
         FROM attempts a JOIN filings f USING (filing_id) JOIN exporters e USING (exporter_id),
              jsonb_populate_record(NULL::snapshots, nullif($1::jsonb -> 'snapshot', 'null')) AS s
        WHERE a.attempt_id = $2 AND s.listed IS NOT NULL AND s.certificates IS NOT NULL
          AND NOT EXISTS (SELECT FROM snapshots o WHERE o.snapshot_id = a.snapshot_id AND o.filing_id = a.filing_id)
       RETURNING snapshot_id)
     UPDATE attempts SET snapshot_id = brought.snapshot_id FROM brought WHERE attempt_id = $2`,
    [content, attemptId],
  );
}

/** The party of the send's exporter in this ledger; the party number in the record may be another party's here. */
async function partyNow(client: Queryable, content: string): Promise<number> {
  const { rows } = await client.query<{ exporterId: string }>(
    `SELECT coalesce($1::jsonb -> 'exporter' ->> 'exporter_id', $1::jsonb -> 'filing' ->> 'exporter_id') AS "exporterId"`,
    [content],
  );
  return (await lockExporter(client, rows[0]?.exporterId ?? '')).partyId;
}

/** Inserts the send's exporter if this ledger lacks it, in the party of its IEC. */
async function insertExporter(client: Queryable, content: string): Promise<void> {
  const { rows } = await client.query<{ mode: Mode; iec: string | null; email: string | null }>(
    `SELECT e.mode, coalesce(e.iec, $1::jsonb ->> 'iec') AS iec, e.email FROM jsonb_populate_record(NULL::exporters, $1::jsonb -> 'exporter') AS e
      WHERE e.exporter_id IS NOT NULL AND NOT EXISTS (SELECT FROM exporters o WHERE lower(o.exporter_id) = lower(e.exporter_id))`,
    [content],
  );
  const [missing] = rows;
  if (!missing) return;
  await lockPartyChanges(client, missing.mode);
  await client.query(
    `INSERT INTO exporters SELECT (jsonb_populate_record(NULL::exporters,
        $1::jsonb -> 'exporter' || jsonb_build_object('party_id', $2::int))).* ON CONFLICT DO NOTHING`,
    [content, await partyForNew(client, missing)],
  );
}

/** Restores the filing as it was when sent; if its number is taken, under the next one with its workflow id. */
async function insertFiling(client: Queryable, filingId: string, content: string): Promise<void> {
  await insertExporter(client, content);
  await client.query(
    `INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind, source_name, source_document)
     SELECT i.input_ref, (SELECT jsonb_agg(jsonb_build_object('row', r -> 'source_row', 'mapping', r -> 'mapping'))
         FROM jsonb_array_elements($1::jsonb -> 'rows') AS r), i.row_count, i.source_kind, i.source_name, i.source_document
       FROM jsonb_populate_record(NULL::filing_inputs, $1::jsonb -> 'input') AS i ON CONFLICT DO NOTHING`,
    [content],
  );
  await client.query(
    `INSERT INTO filings SELECT (jsonb_populate_record(NULL::filings, f || jsonb_build_object('filing_id', $2::text,
        'state', 'outcome_unknown', 'closed_at', NULL,
        'grant_id', (SELECT grant_id FROM grants WHERE grant_id = f ->> 'grant_id'),
        'corrects', (SELECT filing_id FROM filings WHERE filing_id = f ->> 'corrects')) || $3::jsonb)).*
       FROM (SELECT $1::jsonb -> 'filing' AS f) AS sent ON CONFLICT (filing_id) DO NOTHING`,
    [content, filingId, await numberNow(client, content)],
  );
}

/** The new number and workflow id as JSON, if another filing has the number; otherwise an empty object. */
async function numberNow(client: Queryable, content: string): Promise<string> {
  const { rows } = await client.query<{ mode: Mode; reference: string; n: number }>(
    `SELECT f.mode, f.reference, f.n FROM jsonb_populate_record(NULL::filings, $1::jsonb -> 'filing') AS f`,
    [content],
  );
  const [sent] = rows;
  if (!sent || (await filingOfReference(client, sent)) === null) return '{}';
  const n = await nextNumber(client, sent);
  return JSON.stringify({ n, workflow_id: filingWorkflowId(sent.mode, sent.reference, n) });
}
