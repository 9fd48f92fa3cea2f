import { createHash } from 'node:crypto';
import type pg from 'pg';
import { MAX_ROWS_PER_SUBMISSION } from '../../domain/service/limits';
import type { PermittedDuplicate } from '../../domain/rules/duplicates';
import type { StateLimitSettings } from '../../domain/filing/state-limits';
import { isEnd } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { certificateIdentity, irmIdentity, sameId } from '../../domain/identity';
import type { Mapping, MappingRow } from '../../domain/filing/mapping';
import { canonicalAmount } from '../../domain/money';
import { lockFiling } from './filing-lock';
import { addEvent } from './filing-progress';
import { writeFirstMove } from './first-move';
import { latestRevision, type FilingRecord } from './filings';
import { reserve } from '../rows/balance-reservation';
import { lockIrms } from '../exporters/irm-locks';
import { judgeClaims, type MappingClaim } from '../rows/live-mappings';
import { lockParty } from '../exporters/parties';
import { withTransaction, type Queryable } from '../pool';
import { takeOverRows } from '../rows/row-takeover';

export interface Intent extends Pick<
  FilingRecord,
  | 'mode'
  | 'exporterId'
  | 'reference'
  | 'correction'
  | 'corrects'
  | 'workflowId'
  | 'contentHash'
  | 'inputRef'
  | 'uploadType'
  | 'declaration'
  | 'channel'
  | 'madeBy'
  | 'approvalNeeded'
> {
  rows: MappingRow[];
  warnings: Finding[];
  /** Rows whose mapping may be filed although it is live. */
  permitted: readonly PermittedDuplicate[];
  at: Date;
  /** Of the worker: the first move is recorded with the intent; left out: the caller records it. */
  settings?: StateLimitSettings;
}

export type IntentOutcome =
  /** A new filing, or one that an earlier run did not finish. */
  | { outcome: 'opened' | 'resumed'; filingId: string }
  /** The same content was filed before: its outcome is returned, nothing is sent. */
  | { outcome: 'recorded'; filingId: string }
  | { outcome: 'refused'; findings: Finding[] };

/**
 * Writes the intent of a filing: the filing, its rows and their fingerprints, in one transaction that holds the locks
 * of all its IRMs. After the commit no other filing, worker or machine can file one of these mappings. Its amounts
 * count against the balances if these are sufficient; otherwise the check before the send refuses it, with fresh
 * balances.
 */
export async function recordIntent(pool: pg.Pool, intent: Intent): Promise<IntentOutcome> {
  return withTransaction(pool, async (client): Promise<IntentOutcome> => {
    await lockIrms(
      client,
      intent.mode,
      intent.rows.map(({ mapping }) => mapping),
    );
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [
      `${intent.mode}|${intent.reference}|${intent.correction}`,
    ]);
    if (intent.corrects) await lockFiling(client, intent.corrects);
    const before = await latestRevision(client, intent);
    const known = before ? await judgeEarlier(client, before, intent) : null;
    if (known) return known;

    const filingId = filingIdOf(intent, before ? before.revision + 1 : 0);
    const partyId = await lockParty(client, intent.exporterId);
    const { claims, findings } = await judgeClaims(client, { ...intent, partyId });
    if (claims === null) return { outcome: 'refused', findings };

    await insertFiling(client, intent, filingId, before ? before.revision + 1 : 0);
    const submissions = await insertRows(client, { intent, filingId, partyId, claims });
    if (intent.corrects) {
      const refused = await takeOverRows(client, { parent: intent.corrects, filingId, rows: intent.rows });
      if (refused.length > 0) throw new TakeOverRefused(refused);
    }
    const balances = await reserve(client, { filingId, exporterId: intent.exporterId, at: intent.at });
    await addEvent(client, {
      filingId,
      at: intent.at,
      kind: 'made',
      who: intent.madeBy,
      text: `${intent.rows.length} rows recorded, declaration ${intent.declaration}`,
      data: { contentHash: intent.contentHash, allowDuplicate: intent.permitted },
    });
    if (intent.settings)
      await writeFirstMove(client, { ...intent, filingId, submissions, findings: balances }, intent.settings);
    return { outcome: 'opened', filingId };
  }).catch((error: unknown): IntentOutcome => {
    // Thrown, not returned, so that the transaction rolls back what it has written.
    if (error instanceof TakeOverRefused) return { outcome: 'refused', findings: error.findings };
    throw error;
  });
}

class TakeOverRefused extends Error {
  constructor(readonly findings: Finding[]) {
    super('The correction names rows that are not waiting for one.');
  }
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/**
 * A filing's id derives from its mode, reference, correction and revision, so that a retried transaction creates the
 * same id.
 */
function filingIdOf({ mode, reference, correction }: Intent, revision: number): string {
  return `F${hash(JSON.stringify([mode, reference, correction, revision]))
    .slice(0, 15)
    .toUpperCase()}`;
}

/** What an earlier filing under the same reference means for this one; null: a new revision may be created. */
async function judgeEarlier(client: Queryable, before: FilingRecord, intent: Intent): Promise<IntentOutcome | null> {
  const same = before.contentHash === intent.contentHash && sameId(before.exporterId, intent.exporterId);
  if (!isEnd(before.state)) {
    // A filing belongs to one workflow id, and Temporal runs one workflow of that id at a time: if it asks again, its
    // previous run is lost.
    if (same && before.workflowId === intent.workflowId) return { outcome: 'resumed', filingId: before.filingId };
    if (same) return { outcome: 'refused', findings: [runElsewhere(before)] };
    return { outcome: 'refused', findings: [referenceTaken(before, intent)] };
  }
  const { rows } = await client.query<{ live: number }>(
    'SELECT count(*)::int AS live FROM filing_rows WHERE filing_id = $1 AND live',
    [before.filingId],
  );
  if ((rows[0]?.live ?? 0) === 0) return null;
  if (same) return { outcome: 'recorded', filingId: before.filingId };
  return { outcome: 'refused', findings: [referenceTaken(before, intent)] };
}

function referenceTaken(before: FilingRecord, intent: Intent): Finding {
  return {
    severity: 'error',
    code: 'reference_taken',
    row: null,
    field: null,
    filingId: before.filingId,
    message:
      `Reference ${intent.reference} belongs to filing ${before.filingId} with other content (state ${before.state}, made ` +
      `${before.madeAt.toISOString()}). Give another --reference, or correct that filing.`,
  };
}

function runElsewhere(before: FilingRecord): Finding {
  return {
    severity: 'error',
    code: 'mapping_live',
    row: null,
    field: null,
    filingId: before.filingId,
    message:
      `Workflow ${before.workflowId} runs filing ${before.filingId} with this content (state ${before.state}, made ` +
      `${before.madeAt.toISOString()}). Follow that one: two workflows would send its rows twice.`,
  };
}

async function insertFiling(client: Queryable, intent: Intent, filingId: string, revision: number): Promise<void> {
  await client.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, reference, correction, revision, corrects, workflow_id,
        content_hash, input_ref, upload_type, declaration, channel, state, warnings, made_by, made_at, declared_by,
        approval_needed, changed_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 'checking', $14, $15, $16, $15, $17, $16)`,
    [
      filingId,
      intent.mode,
      intent.exporterId,
      intent.reference,
      intent.correction,
      revision,
      intent.corrects,
      intent.workflowId,
      intent.contentHash,
      intent.inputRef,
      intent.uploadType,
      intent.declaration,
      intent.channel,
      JSON.stringify(intent.warnings),
      intent.madeBy,
      intent.at,
      intent.approvalNeeded,
    ],
  );
}

/** @returns how many rows each submission has */
async function insertRows(
  client: Queryable,
  {
    intent,
    filingId,
    partyId,
    claims,
  }: { intent: Intent; filingId: string; partyId: number; claims: readonly MappingClaim[] },
): Promise<number[]> {
  const single = intent.rows.length <= MAX_ROWS_PER_SUBMISSION;
  const rows = intent.rows.map(({ row, mapping, extra }, position) => {
    const claim = claims[position];
    return {
      position,
      source_row: row,
      submission: Math.floor(position / MAX_ROWS_PER_SUBMISSION) + 1,
      // A submission numbers its rows 1 to 999; a filing of one submission keeps the caller's numbers.
      serial_no: single ? mapping.serialNo : (position % MAX_ROWS_PER_SUBMISSION) + 1,
      irm_key: irmIdentity(mapping),
      mapping,
      extra: extra ?? null,
      match_key: matchKeyOf(mapping),
      mapped_amount: canonicalAmount(mapping.mappedIRMAmountFCC),
      currency: mapping.irmFCC,
      fingerprint: claim?.fingerprint,
      ordinal: claim?.ordinal,
      permit_reason: claim?.permit?.reason ?? null,
      permit_besides: claim?.permit?.besides ?? null,
    };
  });
  await client.query(
    `INSERT INTO filing_rows (filing_id, exporter_id, party_id, position, source_row, submission, serial_no, irm_key, mapping,
        extra, match_key, mapped_amount, currency, fingerprint, ordinal, permit_reason, permit_besides, live, state)
     SELECT $1, $2, $3, r.position, r.source_row, r.submission, r.serial_no, r.irm_key, r.mapping, r.extra, r.match_key, r.mapped_amount,
        r.currency, r.fingerprint, r.ordinal, r.permit_reason, r.permit_besides, true, 'planned'
       FROM jsonb_to_recordset($4::jsonb) AS r(position int, source_row int, submission int, serial_no int, irm_key text,
        mapping jsonb, extra jsonb, match_key text, mapped_amount numeric, currency text, fingerprint text, ordinal int,
        permit_reason text, permit_besides text[])`,
    [filingId, intent.exporterId, partyId, JSON.stringify(rows)],
  );
  const counts: number[] = [];
  for (const { submission } of rows) counts[submission - 1] = (counts[submission - 1] ?? 0) + 1;
  await client.query(
    `INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count)
     SELECT $1, n, $2, $3, row_count FROM unnest($4::int[]) WITH ORDINALITY AS counted (row_count, n)`,
    [filingId, intent.mode, intent.exporterId, counts],
  );
  return counts;
}

/** The key by which the row's certificate is matched if the status does not name it. */
function matchKeyOf(mapping: Mapping): string | null {
  const {
    sbCumInvoiceNumber: document,
    sbCumInvoiceDate: date,
    mappedIRMAmountFCC: amount,
    irmFCC: currency,
  } = mapping;
  return certificateIdentity({ document, date, amount, currency });
}
