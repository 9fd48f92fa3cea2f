/** Ageing from filed rows and imported invoices, by the rules that were in force on the day asked for. */
import { writeFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import type { RealisationRule } from '../../src/ledger/reports/ageing';
import { ageingReport, readRealisationRules } from '../../src/reports/make';
import type { Report, Value } from '../../src/reports/report';
import type { importInvoices } from '../../src/starter/exporters/import-invoices';
import { saveCertificates } from '../../src/ledger/certificates/certificates';
import { saveInvoices } from '../../src/ledger/reports/documents';
import { detailOf, EXPORTER, IEC, knowExporter, rowsOf, tell } from '../ledger/filed';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';
import { createTestDatabase, useTestDatabase } from '../support/postgres';
import { reportOn } from './report-input';
import type { ReportOutcome } from '../../src/starter/report';

const ledger = useTestDatabase();
const folder = testFolder();
let rules: RealisationRule[];
const OTHER = 'exporter-2';

beforeAll(async () => {
  rules = await readRealisationRules();
  await knowExporter(ledger);
  await knowExporter(ledger, OTHER, 'AAGCM4522K');
  // Filed: a shipping bill over 8,000, of which 3,000 were certified on 10 February.
  const part = { sbCumInvoiceNumber: '0000777', sbCumInvoiceDate: '03012026', mappedIRMAmountFCC: 3_000 };
  const rows = [{ ...part, becomes: { certificate: 'EB777' } }];
  await tell(ledger, { reference: 'PART', madeAt: new Date('2026-02-10T06:00:00Z'), hours: 1, rows });
});

async function imported(name: string, content: string | Workbook, ...args: string[]) {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : Buffer.from(await content.xlsx.writeBuffer()));
  const env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test' };
  const result = await ebrc(['invoices', 'import', path, ...args, '--json'], { env });
  return { code: result.code, ...result.json<Awaited<ReturnType<typeof importInvoices>>>() };
}

const ageingOn = (
  on: string,
  more: Partial<Parameters<typeof ageingReport>[1]> = {},
  pool = ledger.pool,
): Promise<Report> => ageingReport(pool, { ...reportOn(on), now: new Date('2028-12-01T06:00:00Z'), rules, ...more });
const figures = (report: Report): Record<string, Value> =>
  Object.fromEntries(report.groups[0]?.figures.map(({ id, value }) => [id, value]) ?? []);
/** Due day and outstanding value of each open document. */
const documents = (report: Report) =>
  report.groups[0]?.tables.find(({ id }) => id === 'documents')?.rows.map((row) => [row[0], row[8], row[9], row[11]]);

const HEAD = 'Exporter,Document No.,Document Date,Type,Value,Currency,Buyer,Due Date,Ledger page\n';
const BOOKS = `${HEAD}exporter-1@example.test,INV-1,05/01/2026,103,1000.50,usd,Northwind,,7
AAGCM4522K,INV-2,2026-01-05,,200000,INR,Contoso,,8
exporter-1,INV-3,05-01-2026,103,50,EUR,Fabrikam,2026-03-01,9
`;

it('imports a list, applies the changes of the next one, and nothing the second time', async () => {
  const nothing = { updated: 0, unchanged: 0, errors: [] };
  expect(await imported('books.csv', BOOKS)).toEqual({
    code: 0,
    imported: 3,
    ...nothing,
    ignoredColumns: ['Ledger page'],
  });
  expect(await imported('books.csv', BOOKS)).toMatchObject({ imported: 0, updated: 0, unchanged: 3 });
  // The same document, its number and date written otherwise.
  const changed = `${HEAD}exporter-1,inv - 1,2026-01-05,103,1000.75,USD,Northwind,,7\n`;
  expect(await imported('books.csv', changed)).toMatchObject({ imported: 0, updated: 1, unchanged: 0 });
});

it('names each bad row and brings in the others', async () => {
  const list = `${HEAD}exporter-1,GOOD-1,05/01/2026,,10,USD,,,
exporter-1,BAD-1,31/02/2026,,10,USD,,,
exporter-1,BAD-2,05/01/2026,,"1,00,000",USD,,,
nobody@example.test,BAD-3,05/01/2026,,10,USD,,,
exporter-1,BAD-4,05/01/2026,105,-1,Dollar,,,
exporter-1,good-1,05/01/2026,,11,USD,,,
exporter-1,BAD-5,05/01/2026,,"10,50",USD,,,
`;
  const outcome = await imported('bad.csv', list);
  expect(outcome).toMatchObject({ code: 3, imported: 1 });
  expect(outcome.errors.map(({ row, field }) => [row, field])).toEqual([
    [3, 'date'],
    [4, 'value'],
    [5, 'exporter'],
    [6, 'value'],
    [6, 'currency'],
    [6, 'type'],
    [7, 'document'],
    [8, 'value'],
  ]);
  expect(outcome.errors[1]?.message).toContain('write 100000');
  expect(outcome.errors.at(-1)?.message).toContain('write digits');
  await ledger.pool.query(`DELETE FROM invoices WHERE document_no = 'GOOD-1'`);
});

it('reads a workbook, with dates and numbers as cells', async () => {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('Books');
  sheet.addRow(['Invoice Number', 'Invoice Date', 'Invoice Value', 'Currency']);
  sheet.addRow(['X-9', new Date(Date.UTC(2026, 0, 9)), 12.5, 'USD']).getCell(2).numFmt = 'dd/mm/yyyy';
  expect(await imported('books.xlsx', workbook, '--exporter', 'exporter-1')).toMatchObject({ code: 0, imported: 1 });
  expect(
    await ledger.select(
      `DELETE FROM invoices WHERE document_no = 'X-9' RETURNING document_date::text AS date, amount::text AS amount`,
    ),
  ).toEqual([{ date: '2026-01-09', amount: '12.5' }]);
});

it('names the cells of a workbook that show something else than they hold', async () => {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('Books');
  sheet.addRow(['Invoice Number', 'Invoice Date', 'Invoice Value', 'Currency']);
  const date = new Date(Date.UTC(2026, 0, 9));
  sheet.addRow([12, date, 12.5, 'USD']).getCell(1).numFmt = '"EXP/"0000';
  sheet.addRow([1234567890123456, date, 12.5, 'USD']);
  sheet.addRow(['X-10', date, 0.5, 'USD']).getCell(3).numFmt = '0%';
  sheet.addRow([1234, date, 12.5, 'USD']).getCell(3).numFmt = '"USD" #,##0.00';
  sheet.getColumn(2).numFmt = 'dd/mm/yyyy';
  const outcome = await imported('shown.xlsx', workbook, '--exporter', 'exporter-1');
  expect(outcome).toMatchObject({ code: 3, imported: 1 });
  expect(outcome.errors.map(({ row, field }) => [row, field])).toEqual([
    [2, 'document'],
    [3, 'document'],
    [4, 'value'],
  ]);
  expect(outcome.errors[2]?.message).toContain('percentage');
  await ledger.pool.query(`DELETE FROM invoices WHERE document_no = '1234'`);
});

it('refuses a list without its columns, or with another separator', async () => {
  const path = join(folder, 'none.csv');
  await writeFile(path, 'document;date;value;currency\nEXP/1;01012026;1;USD\n');
  const env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test' };
  const { code, json } = await ebrc(['invoices', 'import', path, '--json'], { env });
  expect(code).toBe(3);
  const message = expect.stringContaining('separates them by commas') as string;
  expect(json<{ errors: unknown[] }>().errors).toMatchObject([{ code: 'missing_column', row: 1, message }]);
});

it('counts value less certificates, by the rule of the day', async () => {
  // Fifteen months, the extension of November 2025 included; the agreed day stands above it.
  const before = await ageingOn('2026-09-30');
  expect(documents(before)).toEqual([
    ['INV-3', '50', '2026-03-01', 'agreed'],
    ['0000777', '5000', '2027-04-03', 'fema-23r-amendment-2025'],
    ['INV-2', '200000', '2027-04-05', 'fema-23r-amendment-2025'],
    ['inv - 1', '1000.75', '2027-04-05', 'fema-23r-amendment-2025'],
  ]);
  const outstanding = { outstanding_usd: '6000.75', overdue_value_eur: '50' };
  expect(figures(before)).toMatchObject({ documents: 4, overdue: 1, ...outstanding });
  // From October 2026 on, eighteen months in INR.
  expect(documents(await ageingOn('2026-10-01'))).toContainEqual(['INV-2', '200000', '2027-07-05', 'fema-23r-2026']);
});

it('counts a certificate from the day of its issue on', async () => {
  const openOn = async (on: string) =>
    documents(await ageingOn(on, { now: new Date('2026-02-11T06:00:00Z') }))?.filter(([, value]) => value === '5000');
  expect(await openOn('2026-02-09')).toEqual([]);
  expect(await openOn('2026-02-10')).toEqual([['0000777', '5000', '2027-04-03', 'fema-23r-amendment-2025']]);
});

it('asks for any date: what is more than a year past due, and its restriction', async () => {
  const late = await ageingOn('2028-06-30');
  expect(figures(late)).toMatchObject({ documents: 4, overdue: 4, over_a_year: 3, restricted: 3 });
  const [, byExporter, inForce] = late.groups;
  const buckets = byExporter?.tables[0]?.rows.find(([, currency]) => currency === 'INR');
  expect(buckets?.slice(0, 5)).toEqual(['Asha Exports', 'INR', '200000', '0', '200000']);
  expect(inForce?.tables[0]?.rows.map(([id]) => id)).toEqual(rules.map(({ id }) => id));
  // Overdue since April 2027, but for the rupees, which have until July.
  const trend = (await ageingOn('2027-04-06')).groups[0]?.trend?.series[0]?.values.slice(-4);
  expect(trend).toEqual([1, 2, 2, 3]);
});

it('prefers the invoice list to the data of a filed row, and closes what is certified in full', async () => {
  const list = `${HEAD}exporter-1,777,03/01/2026,101,3000,USD,Northwind,,\n`;
  expect(await imported('settled.csv', list)).toMatchObject({ imported: 1 });
  expect(documents(await ageingOn('2026-09-30'))?.map(([name]) => name)).toEqual(['INV-3', 'INV-2', 'inv - 1']);
});

it('opens a document again whose certificate was cancelled at the authority', async () => {
  const become = (status: string) =>
    ledger.pool.query(`UPDATE certificates SET status = $1 WHERE ebrc_number = 'EB777'`, [status]);
  await become('Cancelled');
  expect(documents(await ageingOn('2026-09-30'))).toContainEqual(['777', '3000', '2027-04-03', expect.anything()]);
  await become('Utilised');
  expect(documents(await ageingOn('2026-09-30'))?.map(([name]) => name)).not.toContain('777');
});

it('closes a document that is paid in another currency, and lists it to be checked', async () => {
  const euros = { irmFCC: 'EUR', sbCumInvoiceFCC: 'USD', sbCumInvoiceValueinFCC: 1_000, mappedIRMAmountFCC: 920 };
  const document = { sbCumInvoiceNumber: '0000781', sbCumInvoiceDate: '03012026' };
  const rows = [{ ...euros, ...document, becomes: { certificate: 'EB781' } }];
  await tell(ledger, { reference: 'EUROS', madeAt: new Date('2026-02-10T06:00:00Z'), hours: 1, rows });
  const report = await ageingOn('2028-06-30');
  expect(documents(report)?.map(([name]) => name)).not.toContain('0000781');
  expect(report.groups[0]?.tables.find(({ id }) => id === 'other_currency')?.rows).toEqual([
    ['0000781', '2026-01-03', 'Asha Exports', 'USD', '1000', '0', '920 EUR'],
  ]);
  // Overdue on no day, as the documents that are paid.
  expect(report.groups[0]?.trend?.series[0]?.values.at(-1)).toBe(3);
  // The books have it in the currency in which it is paid: what is open can be said again.
  const list = `${HEAD}exporter-1,781,03/01/2026,101,1000,EUR,Northwind,,\n`;
  expect(await imported('euros.csv', list)).toMatchObject({ imported: 1 });
  expect(documents(await ageingOn('2026-09-30'))).toContainEqual(['781', '80', '2027-04-03', expect.anything()]);
});

it('forgets what a row said of its document once the row was corrected', async () => {
  const row = { sbCumInvoiceNumber: '0000779', mappedIRMAmountFCC: 10 };
  const wrong = { ...row, sbCumInvoiceDate: '03011926', becomes: { errors: ['ERR28: date'] } };
  const madeAt = new Date('2026-03-02T06:00:00Z');
  const first = await tell(ledger, { reference: 'TYPO', madeAt, hours: 1, rows: [wrong] });
  const right = {
    reference: 'TYPO-2',
    madeAt: new Date('2026-03-05T06:00:00Z'),
    rows: [{ ...row, sbCumInvoiceDate: '03012026' }],
  };
  const correction = await tell(ledger, right);
  await ledger.pool.query('UPDATE filing_rows SET corrected_by = $2 WHERE filing_id = $1', [first, correction]);
  const due = async (on: string) =>
    documents(await ageingOn(on, { now: new Date(`${on}T06:30:00Z`) }))?.flatMap(([name, , day]) =>
      name === '0000779' ? [day] : [],
    );
  expect(await due('2026-03-04')).toEqual(['1927-04-03']);
  expect(await due('2026-03-06')).toEqual(['2027-04-03']);
});

test('a company with thousands of documents and certificates is reported within the time-out of a statement', async () => {
  const large = await createTestDatabase();
  try {
    await knowExporter(large);
    const at = new Date('2026-02-10T06:00:00Z');
    const numbers = Array.from({ length: 5_000 }, (_, n) => `L-${n}`);
    await saveInvoices(large.pool, {
      invoices: numbers.map((document) => ({
        ...{ exporterId: EXPORTER, document, documentDate: '2026-01-05', type: 103 },
        ...{ amount: '100', currency: 'USD', buyer: null, dueDate: null },
      })),
      by: 'test',
      at,
    });
    const [row] = rowsOf({ sbCumInvoiceDate: '05012026', mappedIRMAmountFCC: 60 });
    if (!row) throw new Error('no row');
    const details = numbers.map((document) =>
      detailOf(`EB-${document}`, { ...row.mapping, sbCumInvoiceNumber: document }, at),
    );
    await saveCertificates(large.pool, { mode: 'test', iec: IEC, exporterId: EXPORTER, details, askedAt: at });
    // PostgreSQL does so by itself, within a minute.
    await large.pool.query('ANALYZE');
    const report = await ageingOn('2026-03-01', {}, large.pool);
    expect(figures(report)).toMatchObject({ documents: 5_000 });
    expect(
      documents(report)
        ?.map((row) => row[1])
        .filter((outstanding) => outstanding !== '40'),
    ).toEqual([]);
  } finally {
    await large.drop();
  }
});

/** `ebrc report`, through the command line. */
describe('ebrc report', () => {
  const ledger = useTestDatabase();
  const folder = testFolder();
  let env: Record<string, string>;

  beforeAll(async () => {
    await knowExporter(ledger);
    await tell(ledger, { reference: 'LOST', madeAt: new Date(Date.now() - 30 * 3_600_000), rows: [{}] });
    env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test', EBRC_TEMPORAL_UI: 'https://ui.example.test/' };
  });

  it('writes a page with links, and prints the figures', async () => {
    const path = join(folder, 'daily.html');
    const { code, json } = await ebrc(['report', 'daily', '-o', path, '--json'], { env });
    expect(code).toBe(0);
    const outcome = json<ReportOutcome>();
    expect(outcome).toMatchObject({ path, report: 'daily', mode: 'test' });
    const unknown = outcome.groups.find(({ id }) => id === 'unknown');
    expect(unknown?.figures.find(({ id }) => id === 'older_than_24h')).toMatchObject({ value: 1, alarm: true });
    expect(await readFile(path, 'utf8')).toContain(
      'href="https://ui.example.test/namespaces/default/workflows/file%2Ftest%2FLOST"',
    );
  });

  it('writes the ageing report as a workbook, with room for its amounts', async () => {
    const list = join(folder, 'books.csv');
    await writeFile(list, 'document,date,value,currency\nBIG,2026-06-01,1234567890.12,INR\n');
    expect((await ebrc(['invoices', 'import', list, '--exporter', 'exporter-1'], { env })).code).toBe(0);
    const path = join(folder, 'ageing.xlsx');
    const { code, stdout } = await ebrc(['report', 'ageing', '-o', path, '--on', '2026-10-02'], { env });
    expect(code).toBe(0);
    expect(stdout).toContain(`Written to ${path} (of 2026-10-02).`);

    const workbook = new Workbook();
    await workbook.xlsx.readFile(path);
    const amounts = workbook.worksheets.flatMap((sheet) =>
      (sheet.getRows(1, sheet.rowCount) ?? []).flatMap((row) =>
        row.values instanceof Array
          ? row.values.map((value, at) => ({ value, column: sheet.getColumn(at), sheet }))
          : [],
      ),
    );
    const large = amounts.filter(({ value }) => value === 1_234_567_890.12);
    expect(new Set(large.map(({ sheet }) => sheet.name))).toEqual(
      new Set(['Overview', 'Realisation ageing', 'By exporter']),
    );
    // A spreadsheet shows a number that does not fit as ####.
    for (const { column } of large) expect(column.width).toBeGreaterThan('1,234,567,890.12'.length);
  });

  it.each([
    ['a file that is neither', ['-o', 'report.pdf'], /\.xlsx or \.html/u],
    ['a day that does not exist', ['-o', 'r.html', '--on', '2026-02-30'], /not a day/u],
    ['a day that has not come', ['-o', 'r.html', '--on', '2999-01-01'], /is in the future/u],
  ])('refuses %s', async (_what, args, message) => {
    const { code, json } = await ebrc(['report', 'daily', ...args, '--json'], { env });
    expect(code).toBe(2);
    expect(json<{ errors: { message: string }[] }>().errors[0]?.message).toMatch(message);
  });
});
