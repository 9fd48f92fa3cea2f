import { attemptSteps } from '../ledger/submissions/attempt-support';
import { knowExporter, NOW } from '../ledger/filing-support';
import { newStore, remember, SETTINGS } from '../ledger/sends/put-back';
import { countSend } from '../../src/ledger/sends/count-send';
import type { LedgerStatus } from '../../src/ledger/sends/ledger-status';
import { ebrc } from '../support/command-line';
import { createTestDatabase, type TestDatabase } from '../support/postgres';

let ledger: TestDatabase;
const { filing, opened, mark } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

it('reports that a ledger was restored, imports its sends, and reports that it is complete', async () => {
  const store = await newStore();
  const env = { DATABASE_URL: ledger.url, EBRC_DOCUMENTS: store.root };
  const run = async (...args: string[]) => {
    const { code, stdout } = await ebrc(['ledger', ...args, '--json'], { env });
    return { code, status: JSON.parse(stdout) as LedgerStatus & { filings?: string[]; sends?: number } };
  };
  const back = await remember(ledger);
  const filingId = await filing();
  const attemptId = await opened(filingId);
  const marked = await mark(attemptId, 'a');
  if (!marked.marked) throw new Error(marked.reason);
  await countSend(ledger.pool, store, {
    ...SETTINGS,
    number: marked.sendNumber,
    attemptId,
    sender: 'a',
    at: NOW,
  });
  expect(await run('status')).toMatchObject({ code: 0, status: { whole: true, sendNumber: 1, newestInStore: 1 } });
  await back();
  const lost = await run('status');
  expect(lost).toMatchObject({ code: 4, status: { whole: false, sendNumber: 0, newestInStore: 1, unknownSends: 1 } });
  expect(lost.status.problem).toContain('ebrc ledger restored');
  const brought = await run('restored', '--by', 'ravi');
  expect(brought).toMatchObject({ code: 0, status: { whole: true, sendNumber: 1, filings: [filingId], sends: 1 } });
  const help = await ebrc(['ledger', 'restored', '--help'], { env });
  expect(help.stdout).toContain('ebrc ledger restored --documents restored');
});
