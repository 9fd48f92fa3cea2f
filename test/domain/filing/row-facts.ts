import type { Certificate } from '../../../src/domain/filing/certificate';
import type { RowWithOutcome } from '../../../src/domain/filing/outcomes';
import type { IrmUse, KnownCertificate, SentRow } from '../../../src/domain/filing/settle';
import type { StatusEntry, StatusRecord } from '../../../src/domain/service/request-status';

/** A sent row: document 1000 + position, bill B + position. */
export function sentRow(position = 0, more: Partial<RowWithOutcome & SentRow> = {}): RowWithOutcome & SentRow {
  return {
    position,
    row: position + 2,
    irmKey: 'IRM1',
    irmNumber: 'IRM1',
    documentKey: String(1000 + position),
    documentOn: '2026-01-03',
    billKey: `B${position}`,
    amount: '100',
    currency: 'USD',
    documentAmount: '800',
    documentCurrency: 'USD',
    irmDates: null,
    number: null,
    state: 'sent',
    certifiedBy: null,
    filing: 'A',
    recorded: false,
    ...more,
  };
}

/** The entry of a record for a row: Processed, with certificate C + position. */
export function entryOf(row: RowWithOutcome, more: Partial<StatusEntry> = {}): StatusEntry {
  return {
    serialNo: String(row.position + 1),
    irmNumber: row.irmNumber,
    irmDt: '05012026',
    iecNumber: 'AAGCM4521K',
    sbCumInvoiceNumber: row.documentKey,
    sbCumInvoiceDate: '03012026',
    billNo: row.billKey,
    fobFCC: Number(row.amount),
    fcc: row.currency,
    eBRCNumber: `C${row.position}`,
    eBRCDt: '06012026',
    processingStatus: 'Processed',
    errorDetails: [],
    ...more,
  };
}

export const erroredEntry = (row: RowWithOutcome, ...errorDetails: unknown[]): StatusEntry =>
  entryOf(row, { eBRCNumber: null, eBRCDt: null, processingStatus: 'Errored', errorDetails });

export const recordOf = (list: StatusEntry[], more: Partial<StatusRecord> = {}): StatusRecord => ({
  processingStatus: list.some(({ processingStatus }) => processingStatus === 'Errored') ? 'Errored' : 'Processed',
  recordProCount: list.filter(({ processingStatus }) => processingStatus === 'Processed').length,
  recordFailCount: list.filter(({ processingStatus }) => processingStatus === 'Errored').length,
  ebrcBulkGenStatusLst: list,
  ...more,
});

/** The certificate that a row would get: C + position, first seen at 2000. */
export function certificateOf(row: RowWithOutcome, more: Partial<KnownCertificate> = {}): KnownCertificate {
  return {
    number: `C${row.position}`,
    date: '06012026',
    issuedOn: '2026-01-06',
    status: 'Issued',
    documentKey: row.documentKey,
    documentOn: row.documentOn,
    billKey: row.billKey,
    amount: row.amount,
    currency: row.currency,
    firstSeenAt: 2_000,
    named: true,
    nobodys: true,
    byRecord: false,
    ...more,
  };
}

export const byNumber = (...certificates: Certificate[]): Map<string, Certificate> =>
  new Map(certificates.map((certificate) => [certificate.number, certificate]));

/** An IRM that fell from 1000 to 1000 - `fell`. */
export const irmUse = (fell: number, more: Partial<IrmUse> = {}): IrmUse => ({
  irmKey: 'IRM1',
  irmNumber: 'IRM1',
  before: '1000',
  now: String(1000 - fell),
  readAfter: true,
  missing: false,
  cancelled: false,
  amended: false,
  rose: false,
  certified: '0',
  others: [],
  ...more,
});
