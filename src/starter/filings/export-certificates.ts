import { mkdir } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { dateText } from '../../domain/dates';
import { writeOutputFile, zipStream } from '../../documents/output-file';
import type { DocumentStore } from '../../documents/stored-document';
import type { BankListEntry } from '../../ledger/certificates/bank-list';
import type { CertificateView } from '../../ledger/certificates/certificates';
import { csvOf } from '../input-files';

/** Columns of the exported list. Dates are YYYY-MM-DD, amounts exact decimal text. */
const COLUMNS: Readonly<Record<string, (certificate: CertificateView) => string | null>> = {
  eBRCNumber: ({ eBRCNumber }) => eBRCNumber,
  date: ({ eBRCDate }) => dateText(eBRCDate),
  status: ({ eBRCStatus }) => eBRCStatus,
  cancelBy: ({ cancelBy }) => cancelBy,
  document: ({ sbCumInvoiceNumber }) => sbCumInvoiceNumber,
  billNo: ({ billNo }) => billNo,
  irmNumber: ({ irmNumber }) => irmNumber,
  amount: ({ realisedValueFCC }) => realisedValueFCC,
  currency: ({ currencyCode }) => currencyCode,
  reference: ({ reference }) => reference,
  filingId: ({ filingId }) => filingId,
  sha256: ({ sha256 }) => sha256,
  pdfNote: ({ pdfNote }) => pdfNote,
};

const names = Object.keys(COLUMNS);

const rowsOf = (certificates: readonly CertificateView[]) =>
  certificates.map((certificate) =>
    Object.fromEntries(Object.entries(COLUMNS).map(([name, valueOf]) => [name, valueOf(certificate)])),
  );

/** Certificates as CSV, with a line of names. */
export const certificatesCsv = (certificates: readonly CertificateView[]): string =>
  `${csvOf(rowsOf(certificates), names)}\n`;

/** Writes certificates to a `.csv` file or a workbook. */
export async function writeCertificates(path: string, certificates: readonly CertificateView[]): Promise<void> {
  if (extname(path).toLowerCase() === '.csv') return writeOutputFile(path, certificatesCsv(certificates));
  const rows = rowsOf(certificates);
  // In the built program exceljs is a CommonJS package whose exports are on `default` only.
  const { default: exceljs } = await import('exceljs');
  const workbook = new exceljs.Workbook();
  const sheet = workbook.addWorksheet('Certificates', { views: [{ state: 'frozen', ySplit: 1 }] });
  sheet.columns = names.map((key) => ({ header: key, key, width: 22 }));
  sheet.getRow(1).font = { bold: true };
  sheet.addRows(rows.map((row) => ({ ...row, amount: row['amount'] && Number(row['amount']) })));
  await writeOutputFile(path, Buffer.from(await workbook.xlsx.writeBuffer()));
}

/** Columns of the list for the bank, which closes the bills of documents (in EDPMS) by it. */
const BANK_COLUMNS: readonly (readonly [string, number, keyof BankListEntry, ('day' | 'amount')?])[] = [
  ['Exporter', 24, 'exporter'],
  ['IEC', 13, 'iec'],
  ['Shipping bill or document', 26, 'sbCumInvoiceNumber'],
  ['Document date', 14, 'sbCumInvoiceDate', 'day'],
  ['Port code', 11, 'portCode'],
  ['Bill No', 20, 'billNo'],
  ['Document value', 16, 'documentValue', 'amount'],
  ['Document currency', 18, 'documentCurrency'],
  ['IRM number', 22, 'irmNumber'],
  ['IRM date', 12, 'irmDate', 'day'],
  ['AD code', 10, 'irmAdCode'],
  ['eBRC number', 24, 'eBRCNumber'],
  ['eBRC date', 12, 'eBRCDate', 'day'],
  ['Realised', 16, 'realisedValueFCC', 'amount'],
  ['Currency', 10, 'currencyCode'],
  ['Still open', 16, 'open', 'amount'],
];

/** Writes the list for the bank as a workbook; what the ledger does not know stays empty. */
export async function writeBankList(path: string, entries: readonly BankListEntry[]): Promise<void> {
  const { default: exceljs } = await import('exceljs');
  const workbook = new exceljs.Workbook();
  const sheet = workbook.addWorksheet('Certificates', { views: [{ state: 'frozen', ySplit: 1 }] });
  const formats = { day: { numFmt: 'dd/mm/yyyy' }, amount: { numFmt: '#,##0.00##' } };
  sheet.columns = BANK_COLUMNS.map(([header, width, , kind]) => ({ header, width, style: kind ? formats[kind] : {} }));
  sheet.getRow(1).font = { bold: true };
  sheet.autoFilter = { from: { row: 1, column: 1 }, to: { row: 1, column: BANK_COLUMNS.length } };
  for (const entry of entries) {
    sheet.addRow(
      BANK_COLUMNS.map(([, , field, kind]) => {
        const value = entry[field];
        if (value === null || kind === undefined) return value;
        return kind === 'amount' ? Number(value) : new Date(`${value}T00:00:00Z`);
      }),
    );
  }
  await writeOutputFile(path, Buffer.from(await workbook.xlsx.writeBuffer()));
}

/**
 * Copies the PDFs into a folder or `.zip` as `<document>-<eBRC number>.pdf`.
 * @returns the path of each copy by eBRC number, without the PDFs that are not stored
 */
export async function writePdfs(
  store: DocumentStore,
  target: string,
  certificates: readonly CertificateView[],
): Promise<Map<string, string>> {
  const copies: { eBRCNumber: string; stored: string; name: string }[] = [];
  for (const { eBRCNumber, sbCumInvoiceNumber, document } of certificates) {
    // Views hold the document's full path; the store takes its name.
    const stored = document === null ? null : basename(document);
    if (stored === null || !(await store.exists(stored))) continue;
    const name = `${fileNamePart(sbCumInvoiceNumber ?? 'unknown')}-${fileNamePart(eBRCNumber)}.pdf`;
    copies.push({ eBRCNumber, stored, name });
  }
  if (isZip(target)) {
    const entries = copies.map(({ stored, name }) => ({ name, content: () => store.read(stored), compressed: true }));
    await writeOutputFile(target, await zipStream(entries));
    return new Map(copies.map(({ eBRCNumber, name }) => [eBRCNumber, name]));
  }
  await mkdir(target, { recursive: true, mode: 0o700 });
  const paths = new Map<string, string>();
  for (const { eBRCNumber, stored, name } of copies) {
    const path = join(target, name);
    await writeOutputFile(path, await store.read(stored));
    paths.set(eBRCNumber, path);
  }
  return paths;
}

export const isZip = (path: string): boolean => extname(path).toLowerCase() === '.zip';

/** Makes a text safe for a file name on any system: `KVR/2026/117` becomes `KVR_2026_117`. */
export const fileNamePart = (text: string): string =>
  text.replace(/[^\p{L}\p{N}.-]+/gu, '_').replace(/^\./u, '_') || '_';
