import type pg from 'pg';
import { counted } from '../../domain/text';
import { createHash } from 'node:crypto';
import { MAX_ROWS_PER_SUBMISSION } from '../../domain/service/limits';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import type { StateLimitSettings } from '../../domain/filing/states';
import { errorAt, type Finding, hasErrors } from '../../domain/rules/finding';
import { isoFromAnything } from '../../domain/dates';
import { certificateOfMapping, comparableText, irmIdentity } from '../../domain/identity';
import type { MappingRow } from '../../domain/filing/mapping';
import { canonicalAmount } from '../../domain/money';
import { lockFiling, lockIrms } from './filing-lock';
import { inputToSave, savesInput } from './filing-inputs';
import { writeFirstMove } from './first-move';
import type { FilingRecord } from './filings';
import { judgeReference, lockReference, type ReferenceJudgement } from './reference';
import { NEEDS_TOKEN } from '../../domain/principal';
import { checkGrant } from '../principals/grants';
import { judgeBalances } from '../rows/balance-reservation';
import { fingerprintOf, judgeClaims, type MappingClaim } from '../rows/live-mappings';
import { CERTIFIED_ELSEWHERE, certifiedElsewhereWarnings } from '../certificates/certificates';
import { lockExporter } from '../exporters/exporters';
import { withTransaction, type Queryable } from '../pool';
import { filedBefore, judgeTakeOver, takeOverRows } from '../rows/row-takeover';

/** A filing to be made; what its record has too is stored unchanged. */
export interface Intent extends Pick<
  FilingRecord,
  | ('mode' | 'reference' | 'n' | 'exporterId' | 'contentHash' | 'workflowId' | 'corrects')
  | ('uploadType' | 'declaration' | 'channel' | 'madeBy' | 'approvalNeeded' | 'grantId')
> {
  rows: MappingRow[];
  /** The reference of stored rows; null: the rows are stored with the filing. */
  inputRef: string | null;
  warnings: Finding[];
  /** The rows that may be filed although their mapping is live. */
  permitted: readonly PermittedDuplicate[];
  /** The hash of what the maker was shown, which the grant must match. */
  shown: string;
  at: Date;
  /** The worker's settings: the first move is recorded with the intent. Default: the caller records the move. */
  settings?: StateLimitSettings;
}

/**
 * Writes a filing, its rows and the mappings that they hold, under the locks of its IRMs and of the filings that it
 * takes over, so that no other filing can hold the same mappings. Amounts are reserved if the balances suffice;
 * otherwise the check before the send refuses them.
 */
export async function recordIntent(
  pool: pg.Pool,
  asked: Intent,
): Promise<ReferenceJudgement | { outcome: 'opened'; filingId: string }> {
  return withTransaction(pool, async (client) => {
    await lockReference(client, asked);
    const judged = await judgeReference(client, asked);
    if (judged) return judged;
    const before = await filedBefore(client, asked);
    await lockIrms(client, asked.mode, [...asked.rows.map(({ mapping }) => mapping), ...before]);
    if (before[0]) await lockFiling(client, before[0].filingId);

    const exporter = await lockExporter(client, asked.exporterId);
    const { partyId, requiresApproval } = exporter;
    const maker = await judgeMaker(client, asked, requiresApproval);
    if ('outcome' in maker) return maker;
    const intent = { ...asked, ...maker };
    const fingerprints = intent.rows.map(({ mapping }) => fingerprintOf(partyId, mapping));
    const { predecessors, findings: notTaken } = await judgeTakeOver(client, { ...intent, fingerprints });
    if (predecessors === null) return { outcome: 'refused', findings: notTaken };
    const { claims, findings } = await judgeClaims(client, { ...intent, partyId, predecessors });
    if (claims === null) return { outcome: 'refused', findings };

    const filingId = filingIdOf(intent);
    const { exporterId, rows, settings } = intent;
    const balances = await judgeBalances(client, { exporter, exporterId, rows, exceptFiling: null });
    const reserved = !hasErrors(balances.findings);
    const { submissions, warnings } = await insertFiling(client, { intent, filingId, partyId, claims, reserved });
    await takeOverRows(client, {
      filingId,
      lineages: predecessors.flatMap((predecessor) => predecessor?.lineage ?? []),
    });
    if (settings) {
      const findings = [...balances.findings, ...warnings];
      const { balancesReadAt } = balances;
      const readiness = { balancesReadAt, apiState: exporter.apiState, activatesAt: exporter.activatesAt };
      await writeFirstMove(client, { ...intent, filingId, submissions, findings, readiness }, settings);
    }
    return { outcome: 'opened', filingId };
  });
}

/** The maker, as the grant names them, and whether the exporter's policy, then or now, requires approval. */
async function judgeMaker(
  client: Queryable,
  intent: Intent,
  approvalRequired: boolean,
): Promise<Pick<Intent, 'madeBy' | 'approvalNeeded'> | Extract<ReferenceJudgement, { outcome: 'refused' }>> {
  const { grantId, exporterId, shown, madeBy } = intent;
  const approvalNeeded = intent.approvalNeeded || approvalRequired;
  const refused = (code: string, message: string) => ({
    outcome: 'refused' as const,
    findings: [errorAt(null, null, code, message)],
  });
  if (grantId === null) {
    return approvalRequired
      ? refused('grant_needed', `Filings of this exporter wait for approval: ${NEEDS_TOKEN}.`)
      : { madeBy, approvalNeeded };
  }
  const deed = { action: 'file' as const, exporterId, filingId: null, shown };
  const granted = await checkGrant(client, grantId, deed, { unused: true });
  if (typeof granted === 'string') return refused('grant_refused', `It is not filed: ${granted}.`);
  return { madeBy: granted.by, approvalNeeded: approvalNeeded || granted.approvalRequired };
}

/** A filing's id derives from its mode, reference and number, so that a retried transaction creates the same id. */
function filingIdOf({ mode, reference, n }: Intent): string {
  const hash = createHash('sha256').update(JSON.stringify([mode, reference, n]));
  return `F${hash.digest('hex').slice(0, 15).toUpperCase()}`;
}

/**
 * Writes a filing with its input, rows, held mappings and first event.
 * @returns how many rows each submission has, and warnings about rows that the authority has a certificate for
 */
async function insertFiling(
  client: Queryable,
  args: {
    intent: Intent;
    filingId: string;
    partyId: number;
    claims: readonly MappingClaim[];
    /** Whether the balances suffice, so that the amounts of the rows are reserved. */
    reserved: boolean;
  },
): Promise<{ submissions: number[]; warnings: Finding[] }> {
  const { intent, filingId, partyId, claims, reserved } = args;
  const input = intent.inputRef === null ? inputToSave({ rows: intent.rows, sourceKind: 'json' }) : null;
  const rows = rowsOf(filingId, intent.rows, claims);
  const held = claims.flatMap((claim, position) => claim.held.map((mapping) => ({ position, ...mapping })));
  const counts: number[] = [];
  for (const { submission } of rows) counts[submission - 1] = (counts[submission - 1] ?? 0) + 1;
  const { mode, exporterId, reference, n, corrects, workflowId, contentHash, warnings, madeBy, at } = intent;
  const { uploadType, declaration, channel, approvalNeeded, grantId, inputRef } = intent;
  const named = [filingId, mode, exporterId, reference, n, corrects, workflowId, contentHash];
  const terms = [inputRef ?? input?.inputRef, uploadType, declaration, channel, JSON.stringify(warnings)];
  const made = [madeBy, at, approvalNeeded, grantId];
  const content = [partyId, JSON.stringify(rows), reserved, JSON.stringify(held), counts];
  const text = `${counted(rows.length, 'row')} recorded, declaration ${declaration}`;
  const data = { contentHash, allowDuplicate: intent.permitted };
  const { rows: certified } = await client.query<{ row: number; eBRCNumber: string }>(
    `WITH input AS (
       ${savesInput('$25::jsonb')}
     ), filing AS (
       INSERT INTO filings (filing_id, mode, exporter_id, reference, n, corrects, workflow_id, content_hash, input_ref, upload_type,
          declaration, channel, state, warnings, made_by, made_at, declared_by, approval_needed, changed_at, grant_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'checking', $13, $14, $15, $14, $16, $15, $17)
     ), recorded AS (
       INSERT INTO filing_rows (filing_id, exporter_id, party_id, position, source_row, submission, serial_no, irm_key, mapping,
          extra, match_key, mapped_amount, currency, fingerprint, lineage, permit_reason, permit_besides, document_key, document_on,
          bill_key, state, reserved_at, checked)
       SELECT $1, $3, $18, r.position, r.source_row, r.submission, r.serial_no, r.irm_key, r.mapping, r.extra, r.match_key,
          r.mapped_amount, r.currency, r.fingerprint, r.lineage, r.permit_reason, r.permit_besides, r.document_key, r.document_on,
          r.bill_key, 'planned', CASE WHEN $20 THEN $15 END, $20
         FROM jsonb_populate_recordset(NULL::filing_rows, $19::jsonb) AS r
     ), holding AS (
       INSERT INTO held_mappings (fingerprint, ordinal, filing_id, position, beside)
       SELECT h.fingerprint, h.ordinal, $1, h.position, CASE WHEN h.ordinal > 0 THEN 'permitted' END
         FROM jsonb_to_recordset($21::jsonb) AS h (fingerprint text, ordinal int, position int)
     ), divided AS (
       INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count)
       SELECT $1, n, $2, $3, row_count FROM unnest($22::int[]) WITH ORDINALITY AS counted (row_count, n)
     ), told AS (
       INSERT INTO filing_events (filing_id, at, kind, who, text, data) VALUES ($1, $15, 'made', $14, $23, $24)
     )
     ${CERTIFIED_ELSEWHERE('$18', 'jsonb_populate_recordset(NULL::filing_rows, $19::jsonb) AS r')}`,
    [...named, ...terms, ...made, ...content, text, JSON.stringify(data), input?.saved],
  );
  return { submissions: counts, warnings: certifiedElsewhereWarnings(certified) };
}

function rowsOf(filingId: string, mappingRows: readonly MappingRow[], claims: readonly MappingClaim[]) {
  const single = mappingRows.length <= MAX_ROWS_PER_SUBMISSION;
  return mappingRows.map(({ row, mapping, extra }, position) => {
    const claim = claims[position];
    const { sbCumInvoiceNumber: document, sbCumInvoiceDate: date, mappedIRMAmountFCC: amount, irmFCC } = mapping;
    return {
      position,
      source_row: row,
      submission: Math.floor(position / MAX_ROWS_PER_SUBMISSION) + 1,
      // A submission numbers its rows 1 to 999; a filing of one submission keeps the caller's numbers.
      serial_no: single ? mapping.serialNo : (position % MAX_ROWS_PER_SUBMISSION) + 1,
      irm_key: irmIdentity(mapping),
      mapping,
      extra: extra ?? null,
      document_key: comparableText(document),
      document_on: isoFromAnything(date),
      bill_key: comparableText(mapping.billNo),
      match_key: certificateOfMapping(mapping),
      mapped_amount: canonicalAmount(amount),
      currency: irmFCC,
      fingerprint: claim?.fingerprint,
      lineage: claim?.lineage ?? `${filingId}:${position}`,
      permit_reason: claim?.permit?.reason ?? null,
      permit_besides: claim?.permit?.besides ?? null,
    };
  });
}
