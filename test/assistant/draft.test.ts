/** From a folder of PDFs to certificates, through the command line, with another extraction service behind it. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import { headerOf } from '../../src/domain/rules/columns';
import type { Finding } from '../../src/domain/rules/finding';
import type { FilingView } from '../../src/domain/filing/view';
import { scriptedPdf } from '../support/scripted-pdf';
import type { DraftOutcome } from '../../src/assistant/drafts/draft';
import { startExtractionStage, type ExtractionStage } from './extraction-stage';

const EXPORTER = 'accounts@meridian.example';

/** The names that another service has for what we need. */
const MAPPING = `
shipping-bill:
  number: no
  date: dt
  portCode: custom_house
  currency: ccy
  value: fob_fc
  invoiceNumbers: ref
  buyer: cons
invoice:
  number: [ref_no, reference]
  date: dated
  currency: cur
  value: amt
  buyer: sold_to
`;

const bill = (no: string, dt: string, value: string, more: object = {}) => ({
  sb: { no, dt, custom_house: 'NHAVA SHEVA SEA (INNSA1)', ccy: 'US$', fob_fc: value },
  exp: { iec: 'AAGCM4521K' },
  cons: 'Northwind Textiles Inc',
  ...more,
});

const BILLS = {
  '4512345.pdf': bill('SB 4512345', '2026-06-20', '84,300.50', { inv: [{ ref: 'MER/26/117' }] }),
  // No port, and an invoice that only currency, value and date point to.
  '4512346.pdf': {
    ...bill('4512346', '22-06-2026', '250000'),
    sb: { no: '4512346', dt: '22-06-2026', ccy: 'USD', fob_fc: '250000' },
  },
  'copy-of-4512345.pdf': bill('4512345', '20/06/2026', '84300.5', { scanned: 'twice' }),
  'of-somebody-else.pdf': bill('9999999', '2026-06-20', '10', { exp: { iec: 'BBGCM4521K' } }),
};
const INVOICES = {
  'a.pdf': {
    ref_no: 'MER/26/117',
    dated: '18.06.2026',
    tot: { amt: '84300.50', cur: 'USD' },
    sold_to: 'NORTHWIND TEXTILES INC.',
  },
  'b.pdf': {
    reference: 'MER/26/118',
    dated: '21 June 2026',
    tot: { amt: 250_000, cur: 'USD' },
    sold_to: 'Northwind Textiles',
  },
  'services.pdf': { ref_no: 'SRV/9', dated: '01/06/2026', tot: { amt: '500', cur: 'EUR' }, sold_to: 'Weber' },
};

let stage: ExtractionStage;
let folder: string;
let env: Record<string, string>;
beforeAll(async () => {
  stage = await startExtractionStage({ ackDelayMs: 500 });
  folder = join(stage.folder, 'july');
  for (const [name, documents] of Object.entries({ 'shipping-bills': BILLS, invoices: INVOICES })) {
    await mkdir(join(folder, name), { recursive: true });
    for (const [file, data] of Object.entries(documents))
      await writeFile(join(folder, name, file), scriptedPdf({ data }));
  }
  env = { EBRC_EXTRACTION_MAPPING: join(stage.folder, 'mapping.yaml') };
  await writeFile(join(stage.folder, 'mapping.yaml'), MAPPING);
  const account = { iec: 'AAGCM4521K', username: 'meridian.exports', password: 'Meridian#2026' };
  await stage.onboard({ name: 'Meridian', email: EXPORTER, ...account });
}, 240_000);
afterAll(() => stage?.close(), 60_000);

type Json = Omit<DraftOutcome, 'workbook'> & { path: string };
let drafted: Json;

it('reads the folder', async () => {
  const { code, json } = await stage.ebrc(['extract', 'shipping-bill', join(folder, 'shipping-bills'), '--json'], {
    env,
  });
  expect([code, json<unknown[]>().length]).toEqual([0, 4]);
});

it('drafts it: bills joined with their invoices and with remittances, and unknown values left open', async () => {
  const path = join(stage.folder, 'july.xlsx');
  const { code, json } = await stage.ebrc(['draft', '--exporter', EXPORTER, folder, '-o', path, '--json'], { env });
  expect(code).toBe(0);
  drafted = json<Json>();
  expect(drafted).toMatchObject({ path, rows: 2, uploadType: 101, ok: false });
  expect(drafted.gaps).toEqual([{ row: 3, field: 'portCode', reason: 'No document states it.' }]);
  const reasons = Object.fromEntries(
    drafted.files.map(({ file, kind, error }) => [file.slice(folder.length + 1), [kind, error?.code ?? null]]),
  );
  expect(reasons).toEqual({
    'shipping-bills/4512345.pdf': ['shipping-bill', null],
    'shipping-bills/4512346.pdf': ['shipping-bill', null],
    'shipping-bills/copy-of-4512345.pdf': ['shipping-bill', 'second_copy'],
    'shipping-bills/of-somebody-else.pdf': ['shipping-bill', 'other_exporter'],
    'invoices/a.pdf': ['invoice', null],
    'invoices/b.pdf': ['invoice', null],
    'invoices/services.pdf': ['invoice', 'left_out'],
  });
  // What was extracted before was not asked for again.
  expect(stage.sandbox.calls({ operation: 'extract-shipping-bill' })).toHaveLength(4);
  expect(stage.sandbox.calls({ operation: 'extract-invoice' })).toHaveLength(3);
});

/** The sheet with its columns by header. */
async function sheetOf(path: string) {
  const book = new Workbook();
  await book.xlsx.load(Uint8Array.from(await readFile(path)).buffer);
  const sheet = book.worksheets[0];
  if (!sheet) throw new Error('no sheet');
  const header = sheet.getRow(1).values as string[];
  return { book, cell: (row: number, name: string) => sheet.getCell(row, header.indexOf(name)) };
}

it('names the source of every cell, and marks guesses and gaps', async () => {
  const { cell } = await sheetOf(drafted.path);
  const note = (row: number, name: string) => JSON.stringify(cell(row, name).note);
  expect(cell(2, 'SB Cum Invoice Number').value).toBe('4512345');
  expect(note(2, 'SB Cum Invoice Number')).toMatch(/Shipping bill .*4512345\.pdf, sb\.no/);
  expect(cell(2, 'Bill No').value).toBe('MER/26/117');
  expect(cell(2, 'Port Code').value).toBe('INNSA1');
  expect(cell(2, 'IRM Number').text).toBe('HDFCIRM26000102');
  expect(cell(3, 'IRM Number').text).toBe('HDFCIRM26000101');
  expect(note(3, 'IRM Number')).toMatch(/the amounts agree/);
  // Joined by currency, value and date alone.
  expect(cell(3, 'Bill No').value).toBe('MER/26/118');
  expect(cell(3, 'Bill No').fill).toMatchObject({ fgColor: { argb: 'FFFFEB9C' } });
  expect(cell(3, 'Port Code').fill).toMatchObject({ fgColor: { argb: 'FFF8CBAD' } });
  expect(cell(2, 'Is Vostro').fill).toMatchObject({ fgColor: { argb: 'FFE2EFDA' } });
});

it('is checked before it is written as `ebrc check` checks the file', async () => {
  const { code, json } = await stage.ebrc(['check', drafted.path, '--exporter', EXPORTER, '--json'], { env });
  const { errors, warnings } = json<{ errors: Finding[]; warnings: Finding[] }>();
  const book = new Workbook();
  await book.xlsx.load(Uint8Array.from(await readFile(drafted.path)).buffer);
  const legend = book.getWorksheet('Legend');
  const written: string[] = [];
  legend?.eachRow((row, number) => {
    if (number > legend.rowCount - errors.length - warnings.length) written.push(row.getCell(2).text);
  });
  expect(code).toBe(3);
  expect(errors.map(({ field }) => field)).toEqual(['portCode']);
  expect(written).toEqual(
    [...errors, ...warnings].map(({ field, message }) => [headerOf(field), message].filter(Boolean).join(': ')),
  );
});

it('is edited and filed to the certificates', async () => {
  const { book, cell } = await sheetOf(drafted.path);
  cell(3, 'Port Code').value = 'INMAA1';
  const edited = join(stage.folder, 'edited.xlsx');
  await book.xlsx.writeFile(edited);
  const filed = await stage.ebrc(
    ['file', edited, '--exporter', EXPORTER, '--declaration', 'Y', '--reference', 'JULY', '--wait', '--json'],
    { env },
  );
  expect([filed.code, filed.stderr]).toEqual([0, expect.any(String)]);
  const view = filed.json<FilingView>();
  expect(view).toMatchObject({ state: 'certified', errors: [] });
  expect(view.rows.every(({ eBRCNumber, pdf }) => eBRCNumber !== null && pdf !== null)).toBe(true);
}, 120_000);

it('drafts nothing that is mapped already, and what is mapped in part', async () => {
  const path = join(stage.folder, 'again.xlsx');
  const { code, json } = await stage.ebrc(['draft', '--exporter', EXPORTER, folder, '-o', path, '--json'], { env });
  expect(code).toBe(3);
  expect(json()).toMatchObject({ errors: [{ code: 'nothing_to_draft' }] });

  // A bill whose value its PDF does not show, of which the ledger knows a part to be open.
  const list = join(stage.folder, 'invoices.csv');
  const columns = 'exporter,document,document_type,date,amount,currency';
  await writeFile(list, `${columns}\n${EXPORTER},4512345,101,2026-06-20,100000,USD\n`);
  expect((await stage.ebrc(['invoices', 'import', list])).code).toBe(0);
  const bills = join(stage.folder, 'shipping-bills');
  await mkdir(bills);
  await writeFile(join(bills, '1.pdf'), scriptedPdf({ data: bill('4512345', '2026-06-20', '') }));
  const rest = await stage.ebrc(['draft', '--exporter', EXPORTER, bills, '-o', path, '--json'], { env });
  expect(rest.json<Json>()).toMatchObject({ rows: 1, files: [{ error: null }] });
});

it('drafts invoices alone as services, or as requested; and asks for the kind of a PDF that nothing shows', async () => {
  const path = join(stage.folder, 'services.xlsx');
  const services = join(folder, 'invoices', 'services.pdf');
  const unknown = join(stage.folder, 'scan.pdf');
  await writeFile(unknown, scriptedPdf({ data: { scan: 1 } }));
  const { code, json } = await stage.ebrc(['draft', '-e', EXPORTER, services, unknown, '-o', path, '--json'], { env });
  expect(code).toBe(3);
  expect(json<Json>()).toMatchObject({
    uploadType: 103,
    rows: 1,
    files: [{ error: null }, { kind: null, state: 'refused', error: { code: 'unknown_kind' } }],
  });
  const asSoftex = ['draft', '-e', EXPORTER, services, '--upload-type', '102', '-o', path, '--force', '--json'];
  const softex = await stage.ebrc(asSoftex, { env });
  expect(softex.json()).toMatchObject({ uploadType: 102, rows: 1 });
});

it('knows the kind by the name of a file in the current folder', async () => {
  const before = process.cwd();
  process.chdir(stage.folder);
  try {
    await writeFile('inv.pdf', scriptedPdf({ data: { ref_no: 'SRV/10', dated: '01/06/2026' } }));
    const { json } = await stage.ebrc(['draft', '-e', EXPORTER, 'inv.pdf', '-o', 'here.xlsx', '--json'], { env });
    expect(json<Json>().files).toEqual([{ file: 'inv.pdf', kind: 'invoice', state: 'extracted', error: null }]);
  } finally {
    process.chdir(before);
  }
});
