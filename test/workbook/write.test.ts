import { Workbook } from 'exceljs';
import fc from 'fast-check';
import type { Mapping, MappingRow } from '../../src/domain/filing/mapping';
import { BUILT_IN_TEMPLATE } from '../../src/domain/rules/columns';
import { filingDateFromIso } from '../../src/domain/dates';
import { withoutHidden } from '../../src/domain/text';
import { readWorkbook } from '../../src/workbook/read';
import { writeBulkWorkbook } from '../../src/workbook/write';
import { mapping, mappingRow } from '../../dev/sample-mapping';
import { HEADERS } from './fixtures';

/** Text as a reader gives it: trimmed, no invisible characters, no control characters, no half characters. */
const text = fc
  .oneof(
    fc.string({ minLength: 1, maxLength: 24 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
    fc.constantFrom('_x0041_', '=1+1', '0012', '+91', "'x", '1e5', '_x005F_x0041_', 'a\nb', 'a\r\nb'),
  )
  .map((value) =>
    withoutHidden(value)
      .replace(/[\u00a0\u2007\u202f]|\p{Surrogate}|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/gu, '')
      .trim(),
  )
  .filter((value) => value !== '');
const date = fc
  .date({ min: new Date('1990-01-01'), max: new Date('2090-01-01'), noInvalidDate: true })
  .map((value) => filingDateFromIso(value.toISOString().slice(0, 10)));
const amount = fc.integer({ min: 0, max: 1e14 }).map((paise) => paise / 100);
const flag = fc.constantFrom('Y', 'N');

const mappings: fc.Arbitrary<Mapping> = fc.record({
  serialNo: fc.integer({ min: 1, max: 999 }),
  uploadType: fc.constantFrom(101, 102, 103, 104),
  branchSlNo: fc.nat(99),
  irmIfscCode: text,
  irmAdCode: text,
  irmNumber: text,
  irmDt: date,
  irmFCC: text,
  irmPurposeCode: text,
  irmRemitAmtFCC: amount,
  sbCumInvoiceNumber: text,
  sbCumInvoiceDate: date,
  portCode: text,
  billNo: text,
  sbCumInvoiceFCC: text,
  sbCumInvoiceValueinFCC: amount,
  mappedIRMAmountFCC: amount,
  isVostro: flag,
  isGstAvail: flag,
  gstinInvoiceNumber: fc.option(text),
  gstinInvoiceDate: fc.option(date),
});

const extras = fc.option(
  fc.record(
    {
      'Commission Val Deduct': fc.oneof(amount, text, fc.boolean(), fc.record({ date })),
      'SAC Code 1': text,
      'Is Third Party Export': fc.constant('Y'),
    },
    { requiredKeys: ['SAC Code 1'] },
  ),
  { nil: undefined },
);

test('what is written is read back byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(mappings, extras), { minLength: 1, maxLength: 20 }), async (generated) => {
      const rows: MappingRow[] = generated.map(([one, extra], index) => ({
        row: index + 2,
        mapping: one,
        ...(extra ? { extra } : {}),
      }));
      const template = { ...BUILT_IN_TEMPLATE, learnedAt: '2026-01-05T00:00:00.000Z' };
      const reading = await readWorkbook(await writeBulkWorkbook(rows, template), { template });
      expect(reading.findings).toEqual([]);
      expect(reading.rows).toEqual(rows);
    }),
    { numRuns: 100 },
  );
});

test('it is the template: 37 columns, text cells, dates as DDMMYYYY, nothing that runs', async () => {
  const file = await writeBulkWorkbook([mappingRow({ billNo: '=1+1' })]);
  const sheet = (await new Workbook().xlsx.load(Uint8Array.from(file).buffer)).worksheets[0];
  expect(sheet?.getRow(1).values).toEqual([undefined, ...HEADERS]);
  expect(sheet?.getCell('G2').value).toBe('05012026');
  expect(sheet?.getCell('E2')).toMatchObject({ value: '0510001', numFmt: '@' });
  expect(sheet?.getCell('N2').value).toBe('=1+1');
  expect(sheet?.getCell('X2').value).toBe('N');
  expect(sheet?.getCell('T2').value).toBeNull();
});

test('a value of an optional column stands under the template’s own label for it, however the row spells it', async () => {
  const labels = BUILT_IN_TEMPLATE.labels.map((label) => label.replace('Discount Val Deduct', 'DISCOUNT VALUE DEDUCT'));
  const rows = [{ ...mappingRow(), extra: { 'Discount Val Deduct': 12.5 } }];
  const file = await writeBulkWorkbook(rows, { labels });
  const sheet = (await new Workbook().xlsx.load(Uint8Array.from(file).buffer)).worksheets[0];
  expect(sheet?.getRow(1).values).toEqual([undefined, ...labels]);
  expect(sheet?.getCell(2, labels.indexOf('DISCOUNT VALUE DEDUCT') + 1).value).toBe(12.5);
});

test('a value that a workbook would change, and more rows than one upload has, are refused', async () => {
  const rows = Array.from({ length: 1000 }, (_, index) => mappingRow({ serialNo: index + 1 }, index + 2));
  await expect(writeBulkWorkbook(rows)).rejects.toThrow('at most 999 rows, not 1000');
  await expect(writeBulkWorkbook([{ row: 7, mapping: mapping({ billNo: 'a\u0001b' }) }])).rejects.toThrow(
    'Row 7: billNo holds a control character',
  );
});
