import { crc32, deflateRawSync } from 'node:zlib';
import { Workbook, type CellValue, type Worksheet } from 'exceljs';
import { BULK_COLUMNS } from '../../src/domain/rules/columns';
import { mapping } from '../../dev/sample-mapping';
import type { Finding } from '../../src/domain/rules/finding';
import { type PackagePart, writeZip } from '../../src/workbook/ooxml/zip';

export type CellValues = Record<string, CellValue>;

export const HEADERS = BULK_COLUMNS.map(({ header }) => header);

/** The cells of one row that is right, as a careful person types them. */
export function cells(changes: CellValues = {}): CellValues {
  return {
    ...mapping({ irmDt: '05/01/2026', sbCumInvoiceDate: '03/01/2026' }),
    isThirdPartyExport: 'N',
    ...changes,
  };
}

export function columnIndex(field: string): number {
  return BULK_COLUMNS.findIndex((column) => column.field === field) + 1;
}

/** A workbook of the 37 columns with these rows from row 2 on, finished by the test's own hand. */
export async function book(
  rows: CellValues[],
  finish: (sheet: Worksheet, workbook: Workbook) => void = () => undefined,
): Promise<Buffer> {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('Upload');
  sheet.addRow(HEADERS);
  rows.forEach((row, index) => {
    for (const [field, value] of Object.entries(row)) sheet.getCell(index + 2, columnIndex(field)).value = value;
  });
  finish(sheet, workbook);
  return Buffer.from(await workbook.xlsx.writeBuffer());
}

export const brief = (findings: readonly Finding[]) =>
  findings.map(({ row, field, code }) => `${row} ${field} ${code}`);

const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';

/** The parts of a hand-made workbook around the XML of one sheet, as another program would write them. */
export function rawParts(
  sheetXml: string,
  { prefix = '', date1904 = 'false', sheet = 'sheet1' } = {},
): Record<string, string> {
  const p = prefix && `${prefix}:`;
  const ns = prefix ? `xmlns:${prefix}` : 'xmlns';
  return {
    '[Content_Types].xml': `<?xml version="1.0"?><Types xmlns="${PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/></Types>`,
    '_rels/.rels': `<?xml version="1.0"?><Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<${p}workbook ${ns}="${MAIN}" xmlns:r="${OFFICE}"><${p}workbookPr backupFile="false" date1904="${date1904}"/><${p}sheets><${p}sheet name="Rows &amp; more" sheetId="1" state="visible" r:id="rId2"/></${p}sheets></${p}workbook>`,
    'xl/_rels/workbook.xml.rels': `<?xml version="1.0"?><Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/styles" Target="styles.xml"/><Relationship Id="rId2" Type="${OFFICE}/worksheet" Target="/xl/worksheets/${sheet}.xml"/></Relationships>`,
    'xl/styles.xml': `<?xml version="1.0"?><${p}styleSheet ${ns}="${MAIN}"><${p}numFmts count="2"><${p}numFmt numFmtId="164" formatCode="DD/MM/YYYY"/><${p}numFmt numFmtId="165" formatCode="\\R\\s\\.\\ #,##0.00"/></${p}numFmts><${p}cellXfs count="3"><${p}xf numFmtId="0"/><${p}xf numFmtId="164"/><${p}xf numFmtId="165"/></${p}cellXfs></${p}styleSheet>`,
    [`xl/worksheets/${sheet}.xml`]: `<?xml version="1.0"?><${p}worksheet ${ns}="${MAIN}">${sheetXml}</${p}worksheet>`,
  };
}

/** A part as it is, and packed. */
export function stored(name: string, content: string | Buffer): PackagePart {
  const packed = Buffer.from(content);
  return { name, size: packed.length, packed, method: 0, crc: crc32(packed) };
}
export function deflated(name: string, content: string | Buffer): PackagePart {
  return { ...stored(name, content), packed: deflateRawSync(content), method: 8 };
}

export function zipOf(parts: Record<string, string | Buffer>): Promise<Buffer> {
  return Promise.resolve(writeZip(Object.entries(parts).map(([name, content]) => deflated(name, content))));
}

/** The same parts with shared strings, which the workbook refers to. */
export function withStrings(parts: Record<string, string>, strings: string): Record<string, string> {
  const rels = 'xl/_rels/workbook.xml.rels';
  const before = parts[rels] ?? `<Relationships xmlns="${PACKAGE}/relationships"></Relationships>`;
  const relation = `<Relationship Id="rIdStrings" Type="${OFFICE}/sharedStrings" Target="/xl/sharedStrings.xml"/>`;
  return {
    ...parts,
    'xl/sharedStrings.xml': `<sst>${strings}</sst>`,
    [rels]: before.replace('</Relationships>', `${relation}</Relationships>`),
  };
}
