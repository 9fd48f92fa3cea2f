import { Workbook } from 'exceljs';
import type { HeldIrm } from '../../src/domain/exporter/balance-sums';
import { annotateWorkbook } from '../../src/workbook/annotate';
import { checkWorkbook } from '../../src/workbook/check';
import { buildTemplate, decorateTemplate } from '../../src/workbook/template';
import { mapping } from '../../dev/sample-mapping';
import { HEADERS, book, cells, columnIndex, rawParts, zipOf } from './fixtures';
import { readTexts } from '../../src/workbook/texts';

const load = async (file: Buffer): Promise<Workbook> => new Workbook().xlsx.load(Uint8Array.from(file).buffer);

const irm: HeldIrm = {
  irmNumber: 'IRM2026000001',
  irmAdCode: '0510001',
  irmIfscCode: 'HDFC0000001',
  issueDate: '05012026',
  remittanceDate: null,
  currency: 'USD',
  purpose: 'P0102',
  amount: '10000.00',
  available: '9000.00',
  status: 'fresh',
  readAt: 0,
};

const knownIrm = {
  ...{ irmNumber: irm.irmNumber, irmAdCode: irm.irmAdCode, irmIssueDate: '05012026', remittanceDate: null },
  remitterName: null,
};

test('drop-downs, formats, frozen header and help are added; values stay', async () => {
  const source = await book([cells({ irmDt: '05012026', irmAdCode: '0510001' })]);
  const sheet = (await load(await decorateTemplate(source))).worksheets[0];
  expect(sheet?.views[0]).toMatchObject({ state: 'frozen', ySplit: 1 });
  expect(sheet?.getCell(2, columnIndex('isVostro')).dataValidation).toMatchObject({
    type: 'list',
    formulae: ['"Y,N"'],
  });
  expect(sheet?.getCell(1000, columnIndex('uploadType')).dataValidation).toMatchObject({
    formulae: ['"101,102,103,104"'],
  });
  expect(sheet?.getColumn(columnIndex('irmAdCode')).numFmt).toBe('@');
  expect(sheet?.getColumn(columnIndex('irmDt')).numFmt).toBe('dd/mm/yyyy');
  expect(JSON.stringify(sheet?.getCell(1, columnIndex('sbCumInvoiceNumber')).note)).toContain('shipping bill number');
  expect(sheet?.getCell(2, columnIndex('irmDt')).value).toEqual(new Date('2026-01-05T00:00:00Z'));
  expect(sheet?.getColumn(columnIndex('irmNumber')).width).toBeGreaterThan('IRM2026000001'.length);
  // Three readable pages beside each other, each of which names the remittance.
  const irmColumn = sheet?.getColumn(columnIndex('irmNumber')).letter;
  expect(sheet?.pageSetup).toMatchObject({
    ...{ paperSize: 9, orientation: 'landscape', fitToWidth: 3, fitToHeight: 0 },
    ...{ printTitlesRow: '1:1', printTitlesColumn: `${irmColumn}:${irmColumn}` },
  });
  const widths = HEADERS.map((_, index) => sheet?.getColumn(index + 1).width ?? 0);
  expect(widths.reduce((sum, width) => sum + width, 0)).toBeLessThan(3 * 180);
});

test('values keep their columns where the first one is blank', async () => {
  const { serialNo: _, ...others } = cells({ irmDt: null });
  const source = await book([others]);
  const texts = async (file: Buffer) => {
    const sheet = (await load(file)).worksheets[0];
    return HEADERS.map((_header, index) => sheet?.getCell(2, index + 1).text);
  };
  expect(await texts(await decorateTemplate(source))).toEqual(await texts(source));
});

test('remitter and free balance stand in columns that are not sent, and exhausted remittances are left out', async () => {
  const known = { ...knownIrm, remitterName: 'Lakeshore', free: '9000' };
  const irms = [known, { ...known, irmNumber: 'IRM2', free: '0' }];
  const source = await book([cells(), cells({ serialNo: 2, irmNumber: 'IRM2' })]);
  const sheetOf = async (all: boolean) => (await load(await decorateTemplate(source, { irms, all }))).worksheets;
  const [sheet, help] = await sheetOf(false);
  const headers = sheet?.getRow(1).values as string[];
  const shown = ['Remitter (not sent)', 'Free balance (not sent)'].map((header) => headers.indexOf(header));
  expect(shown.map((index) => sheet?.getCell(2, index).value)).toEqual(['Lakeshore', 9000]);
  expect(sheet?.rowCount).toBe(2);
  expect((await sheetOf(true))[0]?.rowCount).toBe(3);
  expect(help?.rowCount).toBe(11);
  const { errors, warnings, rows } = await checkWorkbook(await decorateTemplate(source, { irms }));
  expect({ errors, warnings, rows: rows.length }).toEqual({ errors: [], warnings: [], rows: 1 });
});

test('of remittances that differ in their date alone, each has its own balance, and only the exhausted one is left out', async () => {
  const dates = ['05012026', new Date('2026-02-05T00:00:00Z'), '05032026'];
  const source = await book(dates.map((irmDt, index) => cells({ serialNo: index + 1, irmDt })));
  const irms = ['1000', '0', '3000'].map((free, index) => ({ ...knownIrm, irmIssueDate: `050${index + 1}2026`, free }));
  const sheet = (await load(await decorateTemplate(source, { irms }))).worksheets[0];
  const free = (sheet?.getRow(1).values as string[]).indexOf('Free balance (not sent)');
  const shown = [2, 3, 4].map((row) => [sheet?.getCell(row, 1).value, sheet?.getCell(row, free).value]);
  expect(shown).toEqual([
    [1, 1000],
    [3, 3000],
    [null, null],
  ]);
});

test('filled in as it stands, it is checked and right', async () => {
  const workbook = await load(await buildTemplate([irm]));
  const sheet = workbook.worksheets[0];
  expect(sheet?.getRow(1).values).toEqual([undefined, ...HEADERS]);
  const typed = {
    uploadType: 101,
    sbCumInvoiceNumber: '1234567',
    sbCumInvoiceDate: new Date('2026-01-03T00:00:00Z'),
    portCode: 'INNSA1',
    billNo: 'EXP/2026/001',
    sbCumInvoiceFCC: 'USD',
    sbCumInvoiceValueinFCC: 8000,
    mappedIRMAmountFCC: 8000,
  };
  for (const [field, value] of Object.entries(typed)) if (sheet) sheet.getCell(2, columnIndex(field)).value = value;
  const checked = await checkWorkbook(Buffer.from(await workbook.xlsx.writeBuffer()));
  expect(checked).toMatchObject({ errors: [], warnings: [] });
  expect(checked.rows).toEqual([{ row: 2, mapping: mapping() }]);
});

describe('rows that nobody filled in', () => {
  it('are left out with a count, and get no status', async () => {
    const workbook = await load(await buildTemplate([irm, { ...irm, irmNumber: 'IRM2', issueDate: null }, irm]));
    const [first] = workbook.worksheets;
    if (first) first.getCell(2, columnIndex('billNo')).value = 'EXP/1';
    const bytes = Buffer.from(await workbook.xlsx.writeBuffer());
    const { errors, warnings, rowCount, reading } = await checkWorkbook(bytes);
    expect(new Set(errors.map(({ row }) => row))).toEqual(new Set([2]));
    expect(warnings).toMatchObject([
      { code: 'untouched_rows', message: expect.stringContaining('Rows 3 and 4') as string },
    ]);
    expect({ rowCount, untouched: reading.untouched }).toEqual({ rowCount: 1, untouched: [3, 4] });
    const sheet = (await load(await annotateWorkbook({ source: bytes, findings: errors }))).worksheets[0];
    const status = sheet?.getRow(1).values as string[];
    expect([2, 3, 4].map((row) => sheet?.getCell(row, status.indexOf('Status')).value)).toEqual(['Error', null, null]);
  });

  it('are an error where there are no others', async () => {
    const { errors } = await checkWorkbook(await buildTemplate([irm]));
    expect(errors).toMatchObject([
      { code: 'no_rows', message: expect.stringContaining('of all rows are empty (1)') as string },
    ]);
  });

  it('are filed, or refused, where a merged cell may be somebody’s way to fill them in', async () => {
    const workbook = await load(await buildTemplate([irm, irm]));
    const sheet = workbook.worksheets[0];
    const column = columnIndex('mappedIRMAmountFCC');
    if (sheet) sheet.getCell(2, column).value = 5;
    sheet?.mergeCells(2, column, 3, column);
    const { errors } = await checkWorkbook(Buffer.from(await workbook.xlsx.writeBuffer()));
    expect(errors).toContainEqual(expect.objectContaining({ row: 3, code: 'merged_cell' }));
  });
});

test('the head office is preset in the service’s own template too, where its branch is empty', async () => {
  const file = await book([cells({ branchSlNo: null }), cells({ serialNo: 2, branchSlNo: 3 })]);
  const sheet = (await load(await decorateTemplate(file))).worksheets[0];
  expect([2, 3].map((row) => sheet?.getCell(row, columnIndex('branchSlNo')).value)).toEqual([0, 3]);
});

test('what is said of a cell uses the words of the sheet', async () => {
  const workbook = await load(await buildTemplate([irm]));
  const sheet = workbook.worksheets[0];
  if (sheet) sheet.getCell(1, columnIndex('mappedIRMAmountFCC')).value = 'MAPPED IRM AMOUNT-FCC';
  if (sheet) sheet.getCell(2, columnIndex('billNo')).value = 'EXP/1';
  const { errors } = await checkWorkbook(Buffer.from(await workbook.xlsx.writeBuffer()));
  const about = (field: string) => errors.find((error) => error.field === field)?.message;
  expect(about('mappedIRMAmountFCC')).toBe('Required field MAPPED IRM AMOUNT-FCC is missing: fill it in.');
  expect(about('uploadType')).toBe('Required field Upload Type is missing: fill it in.');
});

test('texts are what the cells show; a password keeps its blanks and its digits', async () => {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('Exporters');
  sheet.addRow(['Name', 'E-Mail', 'Company Name', 'User Name', 'Password', null]);
  sheet.addRow([
    'Asha',
    { text: 'asha@exports.example', hyperlink: 'mailto:asha@exports.example' },
    null,
    'asha',
    ' a b ',
  ]);
  sheet.addRow([]);
  sheet.addRow(['Meera', 'meera@exports.example', 'Meera & Co', 'meera', 12345678]);
  expect(await readTexts(Buffer.from(await workbook.xlsx.writeBuffer()))).toEqual([
    { row: 1, texts: [, 'Name', 'E-Mail', 'Company Name', 'User Name', 'Password'], problems: [] },
    { row: 2, texts: [, 'Asha', 'asha@exports.example', , 'asha', ' a b '], problems: [] },
    { row: 4, texts: [, 'Meera', 'meera@exports.example', 'Meera & Co', 'meera', '12345678'], problems: [] },
  ]);
});

test('a workbook beyond the limits of what is read is refused with what to do, not loaded', async () => {
  const deep = await zipOf(rawParts(`${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}<sheetData/>`));
  await expect(readTexts(deep)).rejects.toMatchObject({ code: 'damaged' });
  const bomb = await zipOf({ ...rawParts('<sheetData/>'), 'xl/media/image1.png': '0'.repeat(20_000_000) });
  await expect(readTexts(bomb)).rejects.toMatchObject({ code: 'zip_bomb' });
});
