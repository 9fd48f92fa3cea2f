import { Workbook } from 'exceljs';
import type { HeldIrm } from '../../src/domain/rules/preflight';
import { checkWorkbook } from '../../src/workbook/check';
import { buildTemplate, decorateTemplate } from '../../src/workbook/template';
import { mapping } from '../../dev/sample-mapping';
import { HEADERS, book, cells, columnIndex } from './fixtures';

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
  expect(sheet?.getCell(2, columnIndex('irmDt')).value).toBe('05012026');
});

test('filled in as it stands, it is checked and right', async () => {
  const workbook = await load(await buildTemplate([irm]));
  const sheet = workbook.worksheets[0];
  expect(sheet?.getRow(1).values).toEqual([undefined, ...HEADERS]);
  const typed = {
    uploadType: 101,
    branchSlNo: 0,
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

test('an unchanged template reports what is missing, row by row', async () => {
  const { errors } = await checkWorkbook(await buildTemplate([irm, { ...irm, irmNumber: 'IRM2', issueDate: null }]));
  expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['missing']));
  expect(errors.filter(({ row }) => row === 3).map(({ field }) => field)).toContain('irmDt');
});
