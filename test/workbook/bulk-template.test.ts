import { Workbook } from 'exceljs';
import { BUILT_IN_TEMPLATE, templateProblem, type BulkTemplate } from '../../src/domain/rules/columns';
import { readWorkbook } from '../../src/workbook/read';
import { readTemplateLabels } from '../../src/workbook/template';
import { writeBulkWorkbook } from '../../src/workbook/write';
import { HEADERS, book, brief, cells, columnIndex } from './fixtures';

const OPENING = 'vostroType';

/**
 * The service's template as it may be: its own word for one optional column, one that we never heard of, another order.
 */
const LABELS = [
  ...HEADERS.map((header) => (header === 'Vostro Type' ? 'Vostro A/c Type' : header)),
  'Drawback Date',
].reverse();
const LEARNED: BulkTemplate = { labels: LABELS, learnedAt: '2026-01-05T00:00:00.000Z' };

/** A sheet whose column of `OPENING` has another header, with a column of its own behind the last. */
const sheetWith = (header: string, value: string | number | Date, own?: { header: string; value: string }) =>
  book([cells({ [OPENING]: value })], (sheet) => {
    sheet.getCell(1, columnIndex(OPENING)).value = header;
    if (!own) return;
    sheet.getCell(1, HEADERS.length + 1).value = own.header;
    sheet.getCell(2, HEADERS.length + 1).value = own.value;
  });

const cellsOf = async (file: Buffer) => {
  const sheet = (await new Workbook().xlsx.load(Uint8Array.from(file).buffer)).worksheets[0];
  const labels = sheet?.getRow(1).values as string[];
  return { labels: labels.slice(1), at: (label: string) => sheet?.getCell(2, labels.indexOf(label)) };
};

test('a filled column that the template names travels under its label and in its order', async () => {
  const reading = await readWorkbook(await sheetWith('vostro ac TYPE', 'SVRA'), { template: LEARNED });
  expect(reading.rows[0]?.extra).toEqual({ 'Vostro A/c Type': 'SVRA' });
  expect(reading.optionalColumns.map(({ label, header }) => [label, header])).toContainEqual([
    'Vostro A/c Type',
    'vostro ac TYPE',
  ]);
  const upload = await cellsOf(await writeBulkWorkbook(reading.rows, LEARNED));
  expect(upload.labels).toEqual(LABELS);
  expect(upload.at('Vostro A/c Type')?.value).toBe('SVRA');
  expect(upload.at('IRM Number')?.value).toBe('IRM2026000001');
});

test('a number stays a number, text text, and a date cell a date', async () => {
  const sent = async (value: string | number | Date) => {
    const { rows } = await readWorkbook(await sheetWith('Drawback Date', value), { template: LEARNED });
    return (await cellsOf(await writeBulkWorkbook(rows, LEARNED))).at('Drawback Date')?.value;
  };
  expect(await sent(12.5)).toBe(12.5);
  expect(await sent('0012,50')).toBe('0012,50');
  expect(await sent(new Date('2026-05-12T00:00:00Z'))).toEqual(new Date('2026-05-12T00:00:00Z'));
});

test('a column that the template does not name is the user’s own: reported, and not sent', async () => {
  const own = { header: 'Remarks', value: 'ask Meera' };
  const reading = await readWorkbook(await sheetWith('Vostro Type', 'SVRA', own), { template: LEARNED });
  expect(reading.rows[0]?.extra).toBeUndefined();
  expect(reading.ownColumns.map(({ header }) => header)).toEqual(['Vostro Type', 'Remarks']);
  expect(brief(reading.findings)).toEqual(['1 null unknown_column', '1 null unknown_column']);
  expect(reading.findings[0]?.message).toContain('stays in your workbook and is not sent');
  // A draft's and a template's say so themselves.
  const said = await readWorkbook(await sheetWith('Why (not sent)', 'the remitter is the buyer'), {
    template: LEARNED,
  });
  expect([said.findings, said.ownColumns.map(({ header }) => header)]).toEqual([[], ['Why (not sent)']]);
});

test('a filled column whose label is gone since the check is still written', async () => {
  const { rows } = await readWorkbook(await sheetWith('Vostro A/c Type', 'SVRA'), { template: LEARNED });
  const upload = await cellsOf(await writeBulkWorkbook(rows, BUILT_IN_TEMPLATE));
  expect(upload.labels).toEqual([...HEADERS, 'Vostro A/c Type']);
  expect(upload.at('Vostro A/c Type')?.value).toBe('SVRA');
});

test('the labels of a template are those of its first row; one that lacks a column of the specification is none', async () => {
  const labels = await readTemplateLabels(await writeBulkWorkbook([], LEARNED));
  expect(labels).toEqual(LABELS);
  expect(templateProblem(labels)).toBeNull();
  expect(templateProblem(labels.filter((label) => label !== 'Port Code'))).toBe('it lacks Port Code');
  expect(templateProblem([...labels, 'port-code'])).toContain('two columns');
});
