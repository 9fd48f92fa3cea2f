/** A ledger as some weeks of filing leave it, by plain statements: what filings themselves do is tested elsewhere. */
import { randomUUID } from 'node:crypto';
import { mappingRow } from '../../dev/sample-mapping';
import { filingDateInKolkata, isoFromAnything } from '../../src/domain/dates';
import type { FilingState } from '../../src/domain/filing/states';
import type { Mapping, MappingRow } from '../../src/domain/filing/mapping';
import { billKey, documentKey, fingerprintOf, irmKey } from '../../src/domain/identity';
import { filingWorkflowId } from '../../src/domain/names';
import { saveCertificates, type CertificateDetailRecord } from '../../src/ledger/certificates/certificates';
import { markArchived } from '../../src/ledger/certificates/pdfs';
import { noteIrmsRefreshed, saveExporter, type CustomerRecord } from '../../src/ledger/exporters/exporters';
import { saveIrms, type IrmRecord } from '../../src/ledger/exporters/irms';
import { withTransaction } from '../../src/ledger/pool';
import type { TestDatabase } from '../support/postgres';

export const EXPORTER = 'exporter-1';
export const IEC = 'AAGCM4521K';
export const NOW = new Date('2026-02-10T06:00:00Z');
export const HOUR_MS = 3_600_000;

type Ledger = Pick<TestDatabase, 'pool'>;

/** A client as the service returns it. */
export const customerRecord = (id: string): CustomerRecord => ({
  ...{ id, name: 'Asha Exports', email: `${id}@example.test`, companyName: null, iec: IEC, address: null },
  ...{ isActive: true, hasDgftCredentials: true, dgftApiStatus: null },
});

/** The exporter's one IRM, of 10,000 USD. */
export function irmRecord(available: number, iec: string | null = IEC): IrmRecord {
  const { mapping } = mappingRow();
  return {
    ...{ irmNumber: mapping.irmNumber, irmIssueDate: mapping.irmDt, irmStatus: 'fresh', ifscCode: mapping.irmIfscCode },
    ...{ remittanceAdCode: mapping.irmAdCode, remittanceDate: mapping.irmDt, remittanceFCC: 'USD' },
    ...{ remittanceFCCAmount: 10_000, irmAvailableAmt: available, irmUtilizedAmt: 10_000 - available, iecCode: iec },
    ...{ remitterName: null, remitterCountry: null, purposeOfRemittance: mapping.irmPurposeCode },
  };
}

/** Stores a list of a client's IRMs, with the balances of `at`. */
export const readIrms = (
  { pool }: Ledger,
  records: readonly IrmRecord[],
  at: Date,
  { exporterId = EXPORTER, whole = false }: { exporterId?: string; whole?: boolean } = {},
) =>
  withTransaction(pool, async (client) => {
    await noteIrmsRefreshed(client, exporterId, at);
    return saveIrms(client, { exporterId, records, readAt: at, whole });
  });

/** The balance of the exporter's IRM, as read from the service at `at`. */
export const readBalance = (ledger: Ledger, available: number, at: Date, exporterId = EXPORTER, iec = IEC) =>
  readIrms(ledger, [irmRecord(available, iec)], at, { exporterId });

/** An exporter that the ledger knows, and its one IRM of 10,000 USD, whose balance was read at NOW. */
export async function knowExporter(ledger: Ledger, exporterId = EXPORTER, iec = IEC): Promise<void> {
  await saveExporter(ledger.pool, { ...customerRecord(exporterId), iec }, 'test', NOW);
  await readBalance(ledger, 10_000, NOW, exporterId, iec);
}

/** Rows of one exporter's IRM, one for each set of changes. */
export const rowsOf = (...changes: Partial<Mapping>[]): MappingRow[] =>
  changes.map((change, index) => mappingRow({ serialNo: index + 1, ...change }));

/** One row of a filing and what becomes of it. */
export interface FiledRow extends Partial<Mapping> {
  /** A certificate number, or the authority's words; left out: it has no outcome. */
  becomes?: { certificate: string; archived?: boolean } | { errors: string[] };
}

export interface Story {
  reference: string;
  n?: number;
  rows: FiledRow[];
  madeAt: Date;
  /** How many hours the authority took; left out: no answer came, and the outcome is unknown. */
  hours?: number;
  /** Nothing of it was sent yet. */
  unsent?: boolean;
  exporterId?: string;
  iec?: string;
}

const later = (at: Date, hours: number): Date => new Date(at.getTime() + hours * HOUR_MS);

/** Files as the story goes. @returns the filing's id */
export async function tell({ pool }: Ledger, story: Story): Promise<string> {
  const { reference, n = 1, madeAt, hours, unsent = false, exporterId = EXPORTER, iec = IEC } = story;
  const filingId = `F-${randomUUID()}`;
  const settledAt = hours === undefined ? null : later(madeAt, hours);
  const rows = rowsOf(...story.rows.map(({ becomes: _, ...mapping }) => mapping));
  const certified = story.rows.every(({ becomes }) => becomes && 'certificate' in becomes);
  const moves: [FilingState, Date][] = unsent
    ? [['awaiting_approval', madeAt]]
    : settledAt === null
      ? [
          ['submitting', madeAt],
          ['outcome_unknown', madeAt],
        ]
      : [
          ['submitting', madeAt],
          ['processing', madeAt],
          [certified ? 'certified' : 'partly_certified', settledAt],
        ];
  const [state, since] = moves.at(-1) ?? ['submitting', madeAt];
  const attention = settledAt === null ? `wait until ${madeAt.toISOString()}` : null;
  await pool.query(`INSERT INTO filing_inputs (input_ref, rows, row_count, source_kind) VALUES ($1, $2, $3, 'json')`, [
    filingId,
    JSON.stringify(rows),
    rows.length,
  ]);
  await pool.query(
    `INSERT INTO filings (filing_id, mode, exporter_id, iec, reference, n, workflow_id, content_hash, input_ref, upload_type, declaration,
        channel, declared_by, made_by, made_at, state, since, attention, checked_at, reserved_at, closed_at)
     VALUES ($1, 'test', $2, $3, $4, $5, $6, 'hash', $1, 101, 'Y', 'push', 'asha', 'asha', $7, $8, $9, $10, $7, $7, $11)`,
    [
      ...[
        filingId,
        exporterId,
        iec,
        reference,
        n,
        filingWorkflowId('test', reference, n),
        madeAt,
        state,
        since,
        attention,
      ],
      settledAt,
    ],
  );
  for (const [entered, at] of moves) {
    await pool.query(
      `INSERT INTO events (mode, type, at, exporter_id, filing_id, subject, kind, state, text)
       VALUES ('test', 'ebrc.filing.' || $1, $2, $3, $4, $5, $1, $1, $1)`,
      [entered, at, exporterId, filingId, reference],
    );
  }
  for (const [position, { mapping }] of rows.entries()) {
    const { becomes } = story.rows[position] ?? {};
    const number = becomes && 'certificate' in becomes ? becomes.certificate : null;
    const errors = becomes && 'errors' in becomes ? becomes.errors : null;
    const { irmNumber, sbCumInvoiceNumber: documentNumber, sbCumInvoiceDate, billNo } = mapping;
    const fingerprint = fingerprintOf({ mode: 'test', company: iec, irmNumber, documentNumber });
    await pool.query(
      `INSERT INTO filing_rows (filing_id, position, source_row, mode, iec, mapping, irm_key, document_key, document_on, bill_key, amount,
          currency, fingerprint, ordinal, state, ebrc_number, certified_by, errors, sent_at, settled_at, freed_at)
       VALUES ($1, $2, $2 + 1, 'test', $3, $4, $5, $6, $7, $8, $9, $10, $11,
         (SELECT count(*) FROM filing_rows o WHERE o.fingerprint = $11 AND o.held), $12, $13, $14, $15, $16, $17, $18)`,
      [
        ...[
          filingId,
          position,
          iec,
          mapping,
          irmKey(irmNumber),
          documentKey(documentNumber),
          isoFromAnything(sbCumInvoiceDate),
        ],
        ...[billKey(billNo), mapping.mappedIRMAmountFCC, mapping.irmFCC, fingerprint],
        ...[unsent ? 'planned' : number ? 'certified' : errors ? 'rejected' : 'sent', number, number && 'record'],
        ...[
          JSON.stringify(errors ?? []),
          unsent ? null : madeAt,
          becomes ? settledAt : null,
          errors ? settledAt : null,
        ],
      ],
    );
    if (number === null || settledAt === null) continue;
    const details = [detailOf(number, mapping, settledAt)];
    await saveCertificates(pool, { mode: 'test', iec, exporterId, details, askedAt: settledAt });
    await pool.query(`UPDATE certificates SET first_seen_at = $2, seen_at = $2 WHERE ebrc_number = $1`, [
      number,
      settledAt,
    ]);
    if (becomes && 'certificate' in becomes && becomes.archived === false) continue;
    const pdf = { document: `test/${number}.pdf`, sha256: 'f'.repeat(64), bytes: 10 };
    await markArchived(pool, { mode: 'test', iec, eBRCNumber: number }, pdf);
    await pool.query('UPDATE certificates SET archived_at = $2 WHERE ebrc_number = $1', [number, settledAt]);
  }
  if (!unsent) {
    await pool.query(
      `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, reason, marked_at, epoch, beat, settle_beats, settle_ms,
          timeout_ms, request_id, request_from, dgft_ack_id, ended_at)
       SELECT $1, 1, 'test', $2, $3, $4, $5, epoch, beat, 1, 14400000, 60000, $6, $7, $8, $9 FROM ledger`,
      [
        ...[filingId, exporterId, settledAt ? 'accepted' : 'unknown', settledAt ? null : 'no_answer', madeAt],
        ...[settledAt && randomUUID(), settledAt && 'service', settledAt && `A-${reference}`, settledAt],
      ],
    );
  }
  return filingId;
}

/** A certificate of a mapping as fetch-details describes it. */
export function detailOf(eBRCNumber: string, mapping: Mapping, at: Date): CertificateDetailRecord {
  return {
    ...{ eBRCNumber, eBRCDate: filingDateInKolkata(at.getTime()), eBRCStatus: 'Issued', billNo: mapping.billNo },
    ...{ sbCumInvoiceNumber: mapping.sbCumInvoiceNumber, sbCumInvoiceDate: mapping.sbCumInvoiceDate },
    ...{ realisedValueFCC: String(mapping.mappedIRMAmountFCC), currencyCode: mapping.irmFCC },
  };
}
