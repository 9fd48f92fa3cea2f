/** `ebrc report`, through the command line. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ReportOutcome } from '../../src/starter/report';
import { knowExporter } from '../ledger/filing-support';
import { testFolder } from '../support/folder';
import { ebrc } from '../support/command-line';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { tell } from './ledger-of-a-month';

let ledger: TestDatabase;
const folder = testFolder();
let env: Record<string, string>;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
  await tell(ledger, { reference: 'LOST', madeAt: new Date(Date.now() - 30 * 3_600_000), rows: [{}] });
  env = { DATABASE_URL: ledger.url, EBRC_MODE: 'test', EBRC_TEMPORAL_UI: 'https://ui.example.test/' };
});
afterAll(() => ledger?.drop());

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

it('writes the ageing report as a workbook', async () => {
  const path = join(folder, 'ageing.xlsx');
  const { code, stdout } = await ebrc(['report', 'ageing', '-o', path, '--on', '2026-10-02'], { env });
  expect(code).toBe(0);
  expect(stdout).toContain(`Written to ${path} (of 2026-10-02).`);
  expect((await readFile(path)).subarray(0, 2).toString()).toBe('PK');
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
