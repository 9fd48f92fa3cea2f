/** `ebrc propose` through the command line, on a ledger that the ledger's own functions filled. */
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import { saveIrms, type IrmRecord } from '../../src/ledger/exporters/irms';
import { saveInvoices } from '../../src/ledger/reports/invoices';
import type { ProposeOutcome } from '../../src/assistant/proposals/propose';
import { readWorkbook } from '../../src/workbook/read';
import { EXPORTER, irmRecord, knowExporter, NOW, open, rowsOf } from '../ledger/filing-support';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
const folder = testFolder();
let env: Record<string, string>;
beforeAll(() => {
  env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test', EBRC_DOCUMENTS: join(folder, 'documents') };
});

interface Json {
  path: string;
  uploadType: number;
  ok: boolean;
  proposals: ProposeOutcome['proposals'];
  gaps: { row: number; field: string; reason: string }[];
  notes: string[];
}

const irm = (irmNumber: string, available: number, more: Partial<IrmRecord> = {}): IrmRecord => ({
  ...irmRecord(available),
  irmNumber,
  remittanceFCCAmount: available,
  irmUtilizedAmt: 0,
  remitterName: 'Northwind Textiles Inc',
  ...more,
});

const invoice = (document: string, amount: string, more: object = {}) => ({
  exporterId: EXPORTER,
  document,
  documentDate: '2026-01-05',
  type: 101,
  amount,
  currency: 'USD',
  buyer: 'NORTHWIND TEXTILES',
  dueDate: null,
  ...more,
});

const pairsOf = ({ proposals }: Json) => proposals.map((each) => [each.irmNumber, each.document, each.amount]);

async function proposed(name: string, ...more: string[]) {
  const path = join(folder, name);
  const result = await ebrc(['propose', EXPORTER, '-o', path, ...more, '--json'], { env });
  return { ...result, path };
}

it('reports what is missing while nothing can be proposed', async () => {
  await knowExporter(ledger);
  const { code, json } = await proposed('none.xlsx');
  expect(code).toBe(3);
  expect(json()).toMatchObject({
    errors: [{ code: 'nothing_to_propose', message: expect.stringMatching(/invoices import/) }],
  });
});

it('proposes what is free for what is open, as a workbook that passes the check', async () => {
  // A row of document 1234567 (12,000 USD) takes 4,000 of IRM-1: 8,000 are open of it, and 6,000 free of the IRM.
  await open(ledger, 'earlier', rowsOf({ sbCumInvoiceValueinFCC: 12_000, mappedIRMAmountFCC: 4_000 }), {});
  const euros = irm('IRM-E', 700, { remittanceFCC: 'EUR' });
  const gone = irm('GONE', 50, { irmStatus: 'Cancelled' });
  await saveIrms(ledger.pool, EXPORTER, [irm('IRM-A', 5_000), irm('IRM-B', 9_900), euros, gone], NOW);
  const services = invoice('SRV/1', '700', { type: 103, currency: 'EUR' });
  const invoices = [invoice('7000001', '10000'), invoice('7000002', '5000'), services];
  await saveInvoices(ledger.pool, { invoices, by: 'asha', at: NOW });
  const { code, json, path } = await proposed('july.xlsx');
  expect(code).toBe(0);
  const result = json<Json>();
  expect(result).toMatchObject({ path, uploadType: 101, ok: true, gaps: [] });
  expect(new Set(pairsOf(result))).toEqual(
    new Set([
      ['IRM-A', '7000002', '5000'],
      ['IRM-B', '7000001', '9900'],
      // What is open of the earlier document goes to what its own IRM has left.
      ['IRM2026000001', '1234567', '6000'],
    ]),
  );
  expect(result.proposals.find(({ irmNumber }) => irmNumber === 'IRM-B')?.reasons).toContainEqual(
    expect.stringMatching(/100\.00 USD short, as with bank charges/),
  );
  expect(result.notes).toContainEqual(expect.stringMatching(/--upload-type 103/));

  const checked = await ebrc(['check', path, '--exporter', EXPORTER, '--json'], { env });
  expect(checked.json()).toMatchObject({ ok: true, errors: [], rows: result.proposals.length });
  const { unchecked } = await readWorkbook(path);
  expect(
    unchecked.map(({ mapping }) => [mapping.irmNumber, mapping.sbCumInvoiceNumber, String(mapping.mappedIRMAmountFCC)]),
  ).toEqual(pairsOf(result));

  const book = new Workbook();
  await book.xlsx.readFile(path);
  expect(book.worksheets.map(({ name }) => name)).toEqual(['the service Bulk Upload', 'IRMs', 'Legend']);
  const texts = book.worksheets[2]?.getColumn(2).values.map(String).join('\n') ?? '';
  expect(texts).toMatch(/To be filled in/);
  const note = JSON.stringify(book.worksheets[0]?.getCell('F2').note);
  expect(note).toMatch(/Proposed: /);
  // Nothing was filed by it.
  expect(await ledger.select('SELECT count(*)::int AS n FROM filings')).toEqual([{ n: 1 }]);
});

it('asks for missing values instead of guessing them', async () => {
  const { json, path } = await proposed('services.xlsx', '--upload-type', '103');
  const result = json<Json>();
  expect(pairsOf(result)).toEqual([['IRM-E', 'SRV/1', '700']]);
  expect(result.ok).toBe(false);
  expect(result.gaps).toEqual([{ row: 2, field: 'portCode', reason: 'No document states it.' }]);
  const book = new Workbook();
  await book.xlsx.readFile(path);
  const header = book.worksheets[0]?.getRow(1).values as string[];
  const cell = book.worksheets[0]?.getCell(2, header.indexOf('Port Code'));
  expect(cell?.fill).toMatchObject({ fgColor: { argb: 'FFF8CBAD' } });
  expect(JSON.stringify(cell?.note)).toMatch(/missing/);
});

it('offers other remittances in a list, and the cells of the IRM follow the one that is chosen', async () => {
  await saveIrms(ledger.pool, EXPORTER, [irm('IRM-C', 5_000), irm('IRM-A', 5_000)], new Date(NOW.getTime() + 1_000));
  const { json, path } = await proposed('choice.xlsx');
  const result = json<Json>();
  const row = result.proposals.findIndex(({ document }) => document === '7000002') + 2;
  expect(result.proposals[row - 2]?.alternatives.length).toBeGreaterThan(0);
  expect(result.ok).toBe(true);
  const book = new Workbook();
  await book.xlsx.readFile(path);
  const sheet = book.worksheets[0];
  const header = sheet?.getRow(1).values as string[];
  const list = sheet?.getCell(row, header.indexOf('IRM Number')).dataValidation.formulae?.[0] as string;
  expect(list).toMatch(/IRM-A/);
  expect(list).toMatch(/IRM-C/);
  expect(sheet?.getCell(row, header.indexOf('IRM AD Code')).formula).toMatch(/INDEX\(IRMs!/);
});
