/** A filled column of which only the service's template can tell whether it is sent, through the command line. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BULK_COLUMNS } from '../../src/domain/rules/columns';
import type { FilingView } from '../../src/domain/filing/view';
import type { CheckOutcome } from '../../src/starter/filings/check';
import type { Problem } from '../../src/starter/errors';
import { readWorkbook } from '../../src/workbook/read';
import { writeBulkWorkbook } from '../../src/workbook/write';
import { demoMessage, type DemoIrm } from '../../dev/demo-message';
import { mapping } from '../../dev/sample-mapping';
import { startService, type Service } from '../api/support/service';
import { startExtractionStage, type ExtractionStage } from '../assistant/extraction-stage';

const EXPORTER = 'accounts@kaveri.example';
const LABELS = [...BULK_COLUMNS.map(({ header }) => header), 'Drawback Ref'];

let stage: ExtractionStage;
/** Serves nothing but the template; the filing itself is the worker's, which talks to the sandbox. */
let service: Service;
let labels: readonly string[] | null = null;
let env: Record<string, string>;
let file: string;

beforeAll(async () => {
  stage = await startExtractionStage({ ackDelayMs: 500 });
  service = await startService((_request, response) => {
    if (labels === null) return void response.writeHead(502).end('<html>bad gateway</html>');
    return void writeBulkWorkbook([], { labels }).then((template) => response.writeHead(200).end(template));
  });
  env = { EBRC_API_URL: service.baseUrl };
  const account = { iec: 'AAKCK7719P', username: 'kaveri.softworks', password: 'Kaveri@Soft9' };
  await stage.onboard({ name: 'Kaveri', email: EXPORTER, ...account });
  const irms = (await stage.ebrc(['irms', EXPORTER, '--json'])).json<DemoIrm[]>();
  const rows = demoMessage(irms).ebrcBulkGenDtos.map((mapping, at) => ({
    row: at + 2,
    mapping,
    extra: { 'Drawback Ref': `DBK-${at}`, Remarks: 'ask Meera' },
  }));
  file = join(stage.folder, 'july.xlsx');
  await writeFile(file, await writeBulkWorkbook(rows, { labels: LABELS }));
}, 240_000);
afterAll(async () => {
  await service?.close();
  await stage?.close();
}, 60_000);

const toFile = () =>
  stage.ebrc(['file', file, '-e', EXPORTER, '--declaration', 'Y', '--reference', 'DBK', '--wait', '--json'], { env });

it('is said to be undecided by a check, not to be left out', async () => {
  const { warnings } = (await stage.ebrc(['check', file, '-e', EXPORTER, '--json'])).json<CheckOutcome>();
  const texts = warnings.map(({ message }) => message).join('\n');
  expect(texts).toMatch(/Whether column AL "Drawback Ref" and column AM "Remarks" can be sent is not known/u);
  expect(texts).not.toContain('is not sent');
});

it('is never left out in silence: the file is refused while the template cannot be read', async () => {
  const { code, json } = await toFile();
  const [error] = json<{ errors: Problem[] }>().errors;
  expect([code, error?.code]).toEqual([3, 'template_unknown']);
  expect(error?.message).toMatch(/"Drawback Ref".*Run `ebrc template`.*502/su);
  expect((await stage.ebrc(['list', '--json'])).json()).toEqual([]);
});

it('is sent under the label of the template, which is read first', async () => {
  labels = LABELS;
  const { code, json } = await toFile();
  expect([code, json<FilingView>().state]).toEqual([0, 'certified']);
  const { rows } = await stage.ledger.pool.query<{ document: string }>('SELECT document FROM attempts');
  const sent = await readWorkbook(await readFile(join(stage.env.EBRC_DOCUMENTS ?? '', rows[0]?.document ?? '')), {
    template: { labels: LABELS, learnedAt: '2026-01-01T00:00:00Z' },
  });
  expect(sent.rows.map(({ extra }) => extra)).toEqual([0, 1, 2].map((at) => ({ 'Drawback Ref': `DBK-${at}` })));
});

it('is no part of a refusal for another reason, which is made before the ledger is asked', async () => {
  const row = { row: 2, mapping: mapping({ mappedIRMAmountFCC: -1 }), extra: { 'Drawback Ref': 'DBK-9' } };
  const wrong = join(stage.folder, 'wrong.xlsx');
  await writeFile(wrong, await writeBulkWorkbook([row], { labels: LABELS }));
  const refused = await stage.ebrc(['file', wrong, '-e', EXPORTER, '--declaration', 'Y', '--json'], { env });
  const { errors, warnings = [] } = refused.json<{ errors: Problem[]; warnings?: Problem[] }>();
  expect(errors).toMatchObject([{ row: 2, field: 'mappedIRMAmountFCC', code: 'invalid_number' }]);
  expect(warnings.map(({ code }) => code)).not.toContain('template_unknown');
});

it('is named among the columns of a check, and empty ones are counted', async () => {
  const { stdout } = await stage.ebrc(['check', file, '-e', EXPORTER]);
  expect(stdout).toContain('Sent: 22 columns; 15 optional ones are empty.\n');
  expect(stdout).toMatch(/^Sent by bulk upload, as they are filled \(the template of .*\): AL Drawback Ref\.$/mu);
});

it('leaves the options of a check as they are', async () => {
  const codes = async (...options: string[]) => {
    const checked = await stage.ebrc(['check', file, '-e', EXPORTER, ...options, '--json']);
    return checked.json<CheckOutcome>().errors.map(({ code }) => code);
  };
  expect(await codes()).toContain('mapping_held');
  expect(await codes('--allow-duplicate', '2-4=equal tranches')).not.toContain('mapping_held');
});
