import type { Mapping, MappingRow } from '../../../src/domain/filing/mapping';
import { filingWorkflowId } from '../../../src/domain/names';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { saveExporter } from '../../../src/ledger/exporters/exporters';
import { saveIrms, type IrmRecord } from '../../../src/ledger/exporters/irms';
import { contentHashOf } from '../../../src/ledger/filings/inputs';
import { lockFiling, lockIrmsOf, type LockedFiling } from '../../../src/ledger/filings/lock';
import { recordFiling, type Recorded, type Recording } from '../../../src/ledger/filings/record';
import { withTransaction, type Queryable } from '../../../src/ledger/pool';
import type { TestDatabase } from '../../support/postgres';
import { mappingRow } from '../../../dev/sample-mapping';

export const EXPORTER = 'exporter-1';
export const IEC = 'AAGCM4521K';
type Ledger = Pick<TestDatabase, 'pool'>;

/** An exporter that the ledger knows; null: its IEC is not known. */
export async function knowExporter({ pool }: Ledger, id = EXPORTER, iec: string | null = IEC): Promise<void> {
  const named = { id, name: 'Asha Exports', email: `${id}@example.test`, companyName: null, iec, address: null };
  const ready = { isActive: true, hasDgftCredentials: true, dgftApiStatus: null };
  await saveExporter(pool, { ...named, ...ready }, 'test', new Date());
}

/** The sample's IRM, of 10,000 USD. */
export function irm(changes: Partial<IrmRecord> = {}): IrmRecord {
  const { mapping } = mappingRow();
  return {
    irmNumber: mapping.irmNumber,
    irmIssueDate: mapping.irmDt,
    irmStatus: 'fresh',
    ifscCode: mapping.irmIfscCode,
    remittanceAdCode: mapping.irmAdCode,
    remittanceDate: mapping.irmDt,
    remittanceFCC: 'USD',
    remittanceFCCAmount: 10_000,
    irmAvailableAmt: 10_000,
    irmUtilizedAmt: 0,
    iecCode: IEC,
    remitterName: null,
    remitterCountry: null,
    purposeOfRemittance: mapping.irmPurposeCode,
    ...changes,
  };
}

/** The service lists exactly these IRMs now; or did so many ms ago. */
export async function readIrms({ pool }: Ledger, records: IrmRecord[], agoMs = 0, exporterId = EXPORTER) {
  const { rows } = await pool.query<{ at: Date }>(
    `UPDATE exporters SET irms_refreshed_at = clock_timestamp() - $2::float8 * interval '1 ms' WHERE exporter_id = $1
     RETURNING irms_refreshed_at AS at`,
    [exporterId, agoMs],
  );
  const readAt = rows[0]?.at ?? new Date();
  await withTransaction(pool, (client) => saveIrms(client, { exporterId, records, readAt, whole: true }));
}

/** A certificate that fetch-details lists for a mapping, filed by whomever. */
export function listCertificate({ pool }: Ledger, eBRCNumber: string, of: Partial<Mapping> = {}, status = 'Issued') {
  const { mapping } = mappingRow(of);
  const detail = {
    ...{ eBRCNumber, eBRCDate: '10012026', eBRCStatus: status, billNo: mapping.billNo },
    sbCumInvoiceNumber: mapping.sbCumInvoiceNumber,
    sbCumInvoiceDate: mapping.sbCumInvoiceDate,
    realisedValueFCC: mapping.mappedIRMAmountFCC,
    currencyCode: mapping.irmFCC,
  };
  const asked = { mode: 'test', iec: IEC, exporterId: EXPORTER, askedAt: new Date() } as const;
  return saveCertificates(pool, { ...asked, details: [detail] });
}

/** Rows, one for each set of changes. */
export const rowsOf = (...changes: Partial<Mapping>[]): MappingRow[] =>
  changes.map((change, index) => mappingRow({ serialNo: index + 1, ...change }));

let documents = 5_000_000;
/** So many rows with documents that no other test has, each of 100 USD and all that its document is worth. */
export const newRows = (count = 1, changes: Partial<Mapping> = {}): MappingRow[] =>
  rowsOf(
    ...Array.from({ length: count }, () => {
      documents += 1;
      const amounts = { mappedIRMAmountFCC: 100, sbCumInvoiceValueinFCC: 100 };
      return { sbCumInvoiceNumber: String(documents), billNo: `INV-${documents}`, ...amounts, ...changes };
    }),
  );

/** The same rows with some fields changed. */
export const changed = (rows: readonly MappingRow[], changes: Partial<Mapping>): MappingRow[] =>
  rows.map(({ row, mapping }) => ({ row, mapping: { ...mapping, ...changes } }));

export type More = Partial<Omit<Recording, 'input'>> & Partial<Recording['input']>;

/** Records a filing as the first step of its run does. */
export function record({ pool }: Ledger, reference: string, rows: MappingRow[], more: More = {}): Promise<Recorded> {
  const { exporterId = EXPORTER, n = 1, mode = 'test', corrects, approval, ...others } = more;
  const content = { exporterId, uploadType: 101, declaration: 'Y' as const, rows };
  return recordFiling(pool, {
    input: { mode, exporterId, n, corrects, approval },
    reference,
    ...content,
    channel: 'push',
    contentHash: contentHashOf(content),
    inputRef: null,
    workflowId: filingWorkflowId(mode, reference, n),
    warnings: [],
    allowDuplicate: [],
    maker: { principalId: null, name: 'asha' },
    settings: { overdueAfterMs: 14_400_000 },
    ...others,
  });
}

/** As `record`, for filings that have to be recorded. @returns its id */
export async function made(...args: Parameters<typeof record>): Promise<string> {
  const outcome = await record(...args);
  if (outcome.outcome !== 'recorded') throw new Error(JSON.stringify(outcome));
  return outcome.filingId;
}

/** The filing was sent, with this verdict, and stands like this. */
export async function sent({ pool }: Ledger, filingId: string, verdict = 'accepted', state = 'processing') {
  await pool.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms)
     SELECT filing_id, 1, mode, exporter_id, $2, 'e', 1, 1, 1, 1 FROM filings WHERE filing_id = $1`,
    [filingId, verdict],
  );
  await pool.query('UPDATE filings SET state = $2 WHERE filing_id = $1', [filingId, state]);
  await pool.query(
    `UPDATE filing_rows SET state = 'sent', sent_at = clock_timestamp() WHERE filing_id = $1 AND state = 'planned'`,
    [filingId],
  );
}

/** A row got its certificate, or was freed. */
export async function settled(
  { pool }: Ledger,
  filingId: string,
  state: 'certified' | 'rejected' | 'released',
  position = 0,
): Promise<void> {
  await pool.query(
    `UPDATE filing_rows SET state = $2, settled_at = clock_timestamp(),
        freed_at = CASE WHEN $2 <> 'certified' THEN clock_timestamp() END, ebrc_number = CASE WHEN $2 = 'certified' THEN 'E/' || filing_id || $3 END,
        certified_by = CASE WHEN $2 = 'certified' THEN 'record' END
      WHERE filing_id = $1 AND position = $3`,
    [filingId, state, position],
  );
}

export async function ended({ pool }: Ledger, filingId: string, state: string): Promise<void> {
  await pool.query(
    `UPDATE filings SET state = $2, closed_at = clock_timestamp(), attention = 'correct it' WHERE filing_id = $1`,
    [filingId, state],
  );
}

/** Does something with a filing under its locks, as a step does. */
export const locked = <T>(
  { pool }: Ledger,
  filingId: string,
  work: (client: Queryable, filing: LockedFiling) => Promise<T>,
): Promise<T> =>
  withTransaction(pool, async (client) => {
    await lockIrmsOf(client, filingId);
    return work(client, await lockFiling(client, filingId));
  });
