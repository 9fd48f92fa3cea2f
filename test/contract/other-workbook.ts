/** The workbooks of the other service: its own column order and spelling, and one column that nobody else has. */
import { Workbook } from 'exceljs';

type Json = Record<string, unknown>;

const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/gu, '');
const COLUMNS: readonly [header: string, field: string][] = [
  ['serial no', 'serialNo'],
  ['UPLOAD TYPE', 'uploadType'],
  ['Branch-Sl-No', 'branchSlNo'],
  ['IRM IFSC Code', 'irmIfscCode'],
  ['IRM AD Code', 'irmAdCode'],
  ['IRM Number', 'irmNumber'],
  ['IRM Date', 'irmDt'],
  ['IRM FCC', 'irmFCC'],
  ['IRM Purpose Code', 'irmPurposeCode'],
  ['IRM Remit Amt FCC', 'irmRemitAmtFCC'],
  ['SB Cum Invoice Number', 'sbCumInvoiceNumber'],
  ['SB Cum Invoice Date', 'sbCumInvoiceDate'],
  ['Port Code', 'portCode'],
  ['Bill No', 'billNo'],
  ['SB Cum Invoice FCC', 'sbCumInvoiceFCC'],
  ['SB Cum Invoice Value In FCC', 'sbCumInvoiceValueinFCC'],
  ['Mapped IRM Amount FCC', 'mappedIRMAmountFCC'],
  ['Is Vostro', 'isVostro'],
  ['Is GST Avail', 'isGstAvail'],
  ['GSTIN Invoice Number', 'gstinInvoiceNumber'],
  ['GSTIN Invoice Date', 'gstinInvoiceDate'],
  ['Is Third Party Export', 'isThirdPartyExport'],
  ['Shade of the Cloth', 'shade'],
];

/** Each remittance as a row, its invoice columns blank. */
export async function templateOf(irms: readonly Json[]): Promise<Buffer> {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('the service Bulk Upload');
  sheet.addRow(COLUMNS.map(([header]) => header));
  irms.forEach((irm, index) => {
    const values: Json = {
      serialNo: index + 1,
      irmIfscCode: irm.ifscCode,
      irmAdCode: irm.remittanceAdCode,
      irmNumber: irm.irmNumber,
      irmDt: '12/05/2026',
      irmFCC: irm.remittanceFCC,
      irmPurposeCode: irm.purposeOfRemittance,
      irmRemitAmtFCC: irm.remittanceFCCAmount,
      isVostro: 'N',
      isGstAvail: 'N',
      isThirdPartyExport: 'N',
    };
    sheet.addRow(COLUMNS.map(([, field]) => values[field] ?? null));
  });
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

/** The rows of the one part `file` of a multipart body. */
export async function itemsOfWorkbook(body: Buffer): Promise<Json[]> {
  const start = body.indexOf('\r\n\r\n') + 4;
  const boundary = body.subarray(0, body.indexOf('\r\n'));
  const content = body.subarray(start, body.lastIndexOf(boundary) - 2);
  const workbook = new Workbook();
  await workbook.xlsx.load(content as never);
  const [headers = [], ...rows] = workbook.worksheets[0]?.getSheetValues().slice(1) as unknown[][];
  const fields = headers.map((header) => COLUMNS.find(([name]) => plain(name) === plain(String(header)))?.[1]);
  return rows
    .filter((row) => row?.some((cell) => cell !== null && cell !== undefined))
    .map((row) => Object.fromEntries(Array.from(row, (cell, index) => [fields[index] ?? 'unknown', dateless(cell)])));
}

function dateless(cell: unknown): unknown {
  if (cell instanceof Date) {
    const [year, month, day] = cell.toISOString().slice(0, 10).split('-');
    return `${day}${month}${year}`;
  }
  const separated = /^(\d{2})[/-](\d{2})[/-](\d{4})$/u.exec(String(cell));
  return separated ? separated.slice(1).join('') : cell;
}
