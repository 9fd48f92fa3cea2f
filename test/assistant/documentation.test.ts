/** The commands of docs/extraction.md, as they stand there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilingView } from '../../src/domain/filing/view';
import { startExtractionStage, type ExtractionStage } from './extraction-stage';

const ROOT = join(__dirname, '..', '..');

let stage: ExtractionStage;
beforeAll(async () => {
  stage = await startExtractionStage({ ackDelayMs: 500 });
}, 120_000);
afterAll(() => stage?.close(), 60_000);

const [, block = ''] = /```sh\n([\s\S]*?)```/.exec(readFileSync(join(ROOT, 'docs', 'extraction.md'), 'utf8')) ?? [];
const lines = block.trim().split('\n');

it('leads from PDFs to certificates in five commands', async () => {
  expect(lines).toHaveLength(5);
  let last: FilingView | undefined;
  for (const line of lines) {
    const [, command = '', input = ''] = /^ebrc (.*?)(?: <<< '([^']*)')?$/.exec(line) ?? [];
    const args = command
      .split(' ')
      .map((arg) =>
        arg.startsWith('examples/') ? join(ROOT, arg) : arg === 'july.xlsx' ? join(stage.folder, arg) : arg,
      );
    const { code, stderr, json } = await stage.ebrc([...args, '--json'], { input });
    expect([line, code, code === 0 ? '' : stderr]).toEqual([line, 0, '']);
    last = json<FilingView>();
  }
  expect(last).toMatchObject({ state: 'certified' });
  expect(last?.rows.map(({ sbCumInvoiceNumber, eBRCNumber }) => [sbCumInvoiceNumber, typeof eBRCNumber])).toEqual([
    ['4512345', 'string'],
    ['4512346', 'string'],
  ]);
}, 120_000);
