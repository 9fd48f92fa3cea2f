/** Records what is to be filed, before anything is sent. */
import { iecWarnings } from '../../domain/exporter/exporter';
import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { z } from 'zod';
import type { fileInput } from '../../domain/contracts';
import { isoFromAnything } from '../../domain/dates';
import type { MappingRow } from '../../domain/filing/mapping';
import { companyOf, fingerprintOf, irmKey } from '../../domain/identity';
import { filingName, type Mode } from '../../domain/names';
import { judgeObjections, type PermittedDuplicate } from '../../domain/rules/duplicates';
import { tooManyRows } from '../../domain/rules/file';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import { judgeMappings, mappingKeysOf, type Claim, type FreedMapping } from '../../domain/rules/mappings';
import { compareIrms } from '../../domain/rules/preflight';
import { MAX_FILING_ROWS } from '../../domain/service/limits';
import { counted } from '../../domain/text';
import { judgeBalances } from '../../domain/exporter/balance-sums';
import { lockExporter, needExporter, type Company } from '../exporters/exporters';
import { heldIrms } from '../exporters/irms';
import { withTransaction, type Queryable } from '../pool';
import { judgeAround, lockCompany, readAround } from './holders';
import { saveInput, type Maker } from './inputs';
import { lockIrms, type LockedFiling } from './lock';
import { addEvent, insertFilingEvent, moveFiling } from './move';
import {
  correctedPositions,
  freedRows,
  judgeReference,
  lockCorrected,
  standingUnder,
  type FreedRow,
} from './reference';
import { holdsOn } from './reserve';

/** What is to be recorded. */
export interface Recording {
  /** The parsed input. */
  input: Pick<z.output<typeof fileInput>, 'mode' | 'exporterId' | 'n' | 'corrects' | 'approval'>;
  reference: string;
  rows: readonly MappingRow[];
  uploadType: number;
  declaration: 'Y' | 'N';
  channel: 'push' | 'bulk';
  contentHash: string;
  /** Null: the rows are stored with the filing. */
  inputRef: string | null;
  workflowId: string;
  run?: string | null;
  warnings: readonly Finding[];
  allowDuplicate: readonly PermittedDuplicate[];
  maker: Maker;
  settings: { overdueAfterMs: number };
  /**
   * The ledger lost it: the certificates that stand against its rows may be its own. They do not keep it from being
   * recorded, and are looked at again before anything is sent.
   */
  again?: boolean;
}

export type Recorded =
  | { outcome: 'recorded'; filingId: string }
  /** The same content stands under the reference and number: nothing new was recorded. */
  | { outcome: 'standing'; filingId: string }
  /** `recorded`: the filing that stands under the reference. */
  | { outcome: 'refused'; findings: Finding[]; contentHash: string | null; recorded: string | null };

/**
 * Writes a filing with its rows, which hold their mappings from now on, under the locks of its IRMs and of its company.
 * Idempotent: the same content under the same reference and number is the same filing.
 */
export async function recordFiling(pool: pg.Pool, recording: Recording): Promise<Recorded> {
  const { input, reference, rows, contentHash } = recording;
  const { mode, n, exporterId, corrects = null } = input;
  const named = { mode, reference, n, corrects, exporterId, contentHash };
  return withTransaction(pool, async (client): Promise<Recorded> => {
    const refuse = async (findings: Finding[]): Promise<Recorded> => {
      const recorded = (await standingUnder(client, named))?.filingId ?? null;
      return { outcome: 'refused', findings, contentHash, recorded };
    };
    const beyond = rows[MAX_FILING_ROWS];
    if (beyond) return refuse([tooManyRows(rows.length, beyond.row)]);
    await lockIrms(
      client,
      mode,
      rows.map(({ mapping }) => irmKey(mapping.irmNumber)),
    );
    const standing = await judgeReference(client, named);
    if (standing) return standing.outcome === 'standing' ? standing : refuse(standing.findings);
    const corrected = corrects === null ? null : await lockCorrected(client, { ...named, corrects });
    if (corrected && 'refusal' in corrected) return refuse([corrected.refusal]);

    const exporter = await lockExporter(client, exporterId);
    const company = { mode, iec: exporter.iec, exporterId: exporter.exporterId };
    await lockCompany(client, company);
    const { claims, findings } = await judgeRows(client, company, recording, corrected?.freed ?? []);
    if (hasErrors(findings)) return refuse(findings);

    const approval = claims.some(({ reason }) => reason !== null)
      ? 'duplicate'
      : exporter.requiresApproval
        ? 'policy'
        : input.approval === true
          ? 'maker'
          : null;
    const filingId = filingIdOf(named);
    const made = { filingId, company, claims, approval, warnings: findings };
    if (!(await insertFiling(client, recording, made))) {
      // Another run has recorded the reference and number meanwhile, with other IRMs.
      const other = await judgeReference(client, named);
      if (other) return other.outcome === 'standing' ? other : refuse(other.findings);
      throw new Error(`Filing ${filingId} could not be recorded, although nothing stands under its reference.`);
    }
    if (corrected) await takeOver(client, corrected, { ...recording, filingId });
    return { outcome: 'recorded', filingId };
  });
}

/** What speaks against the rows at once: mappings, documents, certificates, and how their IRMs are spelled. */
async function judgeRows(
  client: Queryable,
  company: Company,
  { rows, reference, allowDuplicate, again }: Pick<Recording, 'rows' | 'reference' | 'allowDuplicate' | 'again'>,
  freed: readonly FreedMapping[],
): Promise<{ claims: Claim[]; findings: Finding[] }> {
  const around = await readAround(client, company, rows);
  const mappings = judgeMappings({ rows, held: around.held, reference, freed });
  const others = judgeAround(rows, around);
  const judged = judgeObjections([...mappings.objections, ...(again ? [] : others.objections)], allowDuplicate);
  const claims = mappings.claims.map((claim, position) => {
    const letIn = judged.letIn.get(position);
    return letIn ? { ...claim, ...letIn, beside: [...new Set([...claim.beside, ...letIn.beside])] } : claim;
  });
  const spelled = compareIrms(rows, await irmsOf(client, company, rows)).filter(
    ({ code }) => code === 'irm_number_spelling',
  );
  return { claims, findings: [...judged.findings, ...mappings.warnings, ...others.warnings, ...spelled] };
}

const irmsOf = (db: Queryable, company: Company, rows: readonly MappingRow[]) =>
  heldIrms(db, company, [...new Set(rows.map(({ mapping }) => irmKey(mapping.irmNumber)))]);

/** What recording, checking and reserving these rows would say now, without doing any of it. */
export async function previewFiling(
  db: Queryable,
  filing: {
    mode: Mode;
    exporterId: string;
    rows: readonly MappingRow[];
    allowDuplicate?: readonly PermittedDuplicate[];
    /** The filing that they would correct, and its reference. */
    corrects?: { filingId: string; reference: string } | null;
  },
): Promise<Finding[]> {
  const { mode, rows, allowDuplicate = [], corrects = null } = filing;
  const beyond = rows[MAX_FILING_ROWS];
  if (beyond) return [tooManyRows(rows.length, beyond.row)];
  const exporter = await needExporter(db, filing.exporterId);
  const { iec, exporterId } = exporter;
  const company = { mode, iec, exporterId };
  const freed = corrects === null ? [] : await freedRows(db, corrects.filingId);
  // A reference that no filing can have: rows of all others are those of other filings.
  const reference = corrects?.reference ?? '';
  const { findings } = await judgeRows(db, company, { rows, allowDuplicate, reference }, freed);
  const irms = await irmsOf(db, company, rows);
  const irmKeys = rows.map(({ mapping }) => irmKey(mapping.irmNumber));
  const short = judgeBalances(rows, irms, await holdsOn(db, { ...company, irmKeys })).map(({ finding }) => finding);
  const compared = compareIrms(rows, irms).filter(({ code }) => code !== 'irm_number_spelling');
  return [...iecWarnings(exporter), ...findings, ...compared, ...short];
}

/** A filing's id derives from its mode, reference and number, so that a retried transaction creates the same id. */
function filingIdOf({ mode, reference, n }: { mode: Mode; reference: string; n: number }): string {
  const hash = createHash('sha256').update(JSON.stringify([mode, reference, n]));
  return `F${hash.digest('hex').slice(0, 15).toUpperCase()}`;
}

interface Made {
  filingId: string;
  company: Company;
  claims: readonly Claim[];
  approval: string | null;
  warnings: readonly Finding[];
}

/** Writes a filing, its rows and its first event. @returns false if the reference and number have a filing */
async function insertFiling(client: Queryable, recording: Recording, made: Made): Promise<boolean> {
  const { input, reference, rows, declaration, maker, allowDuplicate, contentHash } = recording;
  const { mode, n } = input;
  const { filingId, company, claims, approval } = made;
  const { iec, exporterId } = company;
  const inputRef = recording.inputRef ?? (await saveInput(client, { rows: [...rows], sourceKind: 'json' }));
  // Those of the file's rules are repeated here, with who let them in.
  const ofFile = recording.warnings.filter(({ code }) => code !== 'duplicate_mapping');
  const warnings = [...ofFile, ...made.warnings];
  const { rowCount } = await client.query(
    `WITH filing AS (
       INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, corrects, workflow_id, content_hash, input_ref,
          upload_type, declaration, channel, declared_by, made_by, maker_id, approval, state, due_at, run, epoch, warnings)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15, $16, 'checking',
          clock_timestamp() + $17::float8 * interval '1 ms', $18, server_epoch(), $19)
       ON CONFLICT DO NOTHING RETURNING filing_id
     )
     INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, extra, irm_key, document_key, bill_key,
        document_on, amount, currency, fingerprint, ordinal, beside, beside_reason)
     SELECT f.filing_id, r.position, r.source_row, $2, $4, r.mapping, r.extra, r.irm_key, r.document_key, r.bill_key,
            r.document_on, r.amount, r.currency, r.fingerprint, r.ordinal, r.beside, r.beside_reason
       FROM filing f, jsonb_populate_recordset(NULL::filing_rows, $20::jsonb) AS r`,
    [
      ...[filingId, mode, exporterId, iec, reference, n, input.corrects ?? null, recording.workflowId, contentHash],
      ...[inputRef, recording.uploadType, declaration, recording.channel, maker.name, maker.principalId, approval],
      ...[recording.settings.overdueAfterMs, recording.run ?? null, JSON.stringify(warnings)],
      JSON.stringify(rows.map((row, position) => rowOf(row, position, company, claims[position]))),
    ],
  );
  if (rowCount === 0) return false;
  const text = `${counted(rows.length, 'row')} recorded, declaration ${declaration}`;
  const detail = { contentHash, allowDuplicate };
  const subject = { filingId, mode, exporterId, reference, n, state: 'checking' as const, moves: 1 };
  await insertFilingEvent(client, subject, { kind: 'recorded', text, who: maker.name, detail }, true);
  return true;
}

function rowOf({ row, mapping, extra }: MappingRow, position: number, company: Company, claim?: Claim) {
  const { irm, document, bill, amount } = mappingKeysOf(mapping);
  const { irmNumber, sbCumInvoiceNumber: documentNumber, sbCumInvoiceDate, irmFCC } = mapping;
  return {
    ...{
      position,
      source_row: row,
      mapping,
      extra: extra ?? null,
      irm_key: irm,
      document_key: document,
      bill_key: bill,
    },
    ...{ document_on: isoFromAnything(sbCumInvoiceDate), amount, currency: irmFCC },
    fingerprint: fingerprintOf({ mode: company.mode, company: companyOf(company), irmNumber, documentNumber }),
    ...{ ordinal: claim?.ordinal ?? 0, beside: claim?.beside ?? [], beside_reason: claim?.reason ?? null },
  };
}

/** Marks the rows that a correction files again. Once none is left, nobody has to correct the filing any more. */
async function takeOver(
  client: Queryable,
  { filing, freed, cancelled }: { filing: LockedFiling } & Record<'freed' | 'cancelled', readonly FreedRow[]>,
  by: Pick<Recording, 'input' | 'reference' | 'rows' | 'maker'> & { filingId: string },
): Promise<void> {
  const open = [...freed, ...cancelled];
  const positions = correctedPositions(by.rows, open);
  await client.query('UPDATE filing_rows SET corrected_by = $3 WHERE filing_id = $1 AND position = ANY($2)', [
    ...[filing.filingId, positions, by.filingId],
  ]);
  const name = filingName({ reference: by.reference, n: by.input.n });
  const text = `${counted(positions.length, 'row')} filed again as ${name}`;
  const event = { kind: 'corrected', text, who: by.maker.name };
  if (positions.length < open.length || !filing.closed) await addEvent(client, filing, event);
  else await moveFiling(client, filing, { attention: null, asked: false, event: { ...event, always: true } });
}
