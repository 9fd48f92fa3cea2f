/** `ebrc report`, through the command line. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import type { ReportOutcome } from '../../src/starter/report';
import { knowExporter } from '../ledger/filing-support';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';
import { useTestDatabase } from '../support/postgres';
import { tell } from './ledger-of-a-month';

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
      row.values instanceof Array ? row.values.map((value, at) => ({ value, column: sheet.getColumn(at), sheet })) : [],
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
