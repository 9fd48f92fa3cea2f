import { TEST_CADENCE } from '../support/settings';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckResult } from '../../src/starter/doctor/doctor';
import { permit as permitBy } from '../../src/starter/filings/permit';
import { attemptSteps } from '../ledger/submissions/attempt-support';
import { knowExporter, NOW, open, record, rowsOf } from '../ledger/filing-support';
import { newStore, remember, SETTINGS } from '../ledger/sends/put-back';
import { claimStore } from '../../src/ledger/sends/sends';
import { countSend } from '../../src/ledger/sends/conclusion';
import type { LedgerStatus } from '../../src/ledger/sends/ledger-status';
import { ebrc } from '../support/command-line';
import { useTestDatabase } from '../support/postgres';
import { principalOf } from '../support/principals';

let store: Awaited<ReturnType<typeof newStore>>;
const ledger = useTestDatabase();
const { filing, opened, mark } = attemptSteps(ledger);

beforeAll(async () => {
  await knowExporter(ledger);
  store = await newStore();
});

it('reports that a ledger was restored, imports its sends, and reports that it is complete', async () => {
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
  const send = { number: marked.sendNumber, attemptId, sender: 'a', at: NOW };
  await countSend(ledger.pool, store, { ...SETTINGS, ...send });
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

it('refuses a store that is not the ledger’s, and makes none', async () => {
  await claimStore(ledger.pool, store);
  const elsewhere = join(store.root, '..', 'elsewhere');
  const env = { DATABASE_URL: ledger.url, EBRC_DOCUMENTS: elsewhere, EBRC_MODE: 'test' };
  const listed = await ebrc(['list', '--json'], { env });
  expect(listed).toMatchObject({ code: 0, stderr: expect.stringMatching(/shown by name.*elsewhere/u) as string });
  const copied = await ebrc(['certificates', '--pdfs', join(elsewhere, 'pdfs'), '--json'], { env });
  expect(copied).toMatchObject({ code: 2, stdout: expect.stringContaining('other_documents') as string });
  const { stdout } = await ebrc(['doctor', '--json'], { env, connectWithinMs: 100 });
  expect((JSON.parse(stdout) as CheckResult[]).find(({ check }) => check === 'documents')).toMatchObject({ ok: false });
  expect(existsSync(elsewhere)).toBe(false);
});

it('permits a duplicate beside a row in doubt by two persons’ words, of which one can be taken back', async () => {
  const env = { DATABASE_URL: ledger.url, EBRC_DOCUMENTS: store.root, EBRC_MODE: 'test', EBRC_SINGLE_PERSON: 'yes' };
  const say = (...args: string[]) => ebrc([...args, '--json'], { env });
  const run = (...args: string[]) => say(...args, '--note', 'looked at the portal');
  const rows = rowsOf({ sbCumInvoiceNumber: '9900001', mappedIRMAmountFCC: 1 });
  const holder = await open(ledger, 'PERMIT-1', rows);
  const permitted = [{ row: 1, reason: 'cancelled there', besides: [holder] }];
  const fileBeside = async () => (await record(ledger, 'PERMIT-2', rows, { permitted })).outcome;
  const permit = (by: string, ...which: string[]) => run('permit', 'PERMIT-1', ...which, '--by', by);
  const refused = (what: string) => ({ code: 3, stdout: expect.stringContaining(what) as string });
  expect(await permit('ravi', '1')).toMatchObject(refused('row 1 of the filing is neither in doubt'));
  await mark(await opened(holder), 'a');
  await ledger.pool.query(`UPDATE filing_rows SET state = 'abandoned_after_send' WHERE filing_id = $1`, [holder]);
  for (const none of ['one', '99999999999']) expect((await permit('ravi', none)).code).toBe(2);
  expect(await permit('ravi', '1,2')).toMatchObject(refused('row 2 of the filing is neither in doubt'));

  const waits = expect.stringContaining('somebody else has to permit') as string;
  expect(await permit('ravi', '1')).toMatchObject({ code: 4, stderr: waits });
  // Of one person a day has to lie between the two words.
  expect(await permit(' RAVI', '1')).toMatchObject({ code: 4, stderr: waits });
  // Both words say the same; the command may be repeated.
  for (const _ of ['once', 'again']) {
    const back = await run('withdraw', 'PERMIT-1', '--by', 'ravi');
    expect(back).toMatchObject({ code: 0, stderr: expect.stringContaining('withdrawn') as string });
    expect(back.json()).toMatchObject({ filingId: holder });
  }
  expect((await run('withdraw', 'PERMIT-1', '--by', 'anil')).code).toBe(3);
  const principal = await principalOf(ledger.pool, 'meera');
  const deps = { pool: ledger.pool, documents: store, mode: 'test' as const, cadence: TEST_CADENCE };
  const args = { rows: [1], note: 'looked', by: 'anybody' };
  const byMeera = { ...deps, singlePerson: false, principal };
  await expect(permitBy(byMeera, 'PERMIT-1', { ...args, rows: [] })).rejects.toThrow(/: no row is named\.$/);
  const first = await permitBy(byMeera, 'PERMIT-1', args);
  expect(first).toMatchObject({ waitsForPerson: true });
  // A name is a claim: what a principal said stands, whoever says that he is meera.
  expect((await run('withdraw', 'PERMIT-1', '--by', 'meera')).code).toBe(3);
  expect(await fileBeside()).toBe('refused');
  const mayBeFiled = expect.stringContaining('may be filed') as string;
  expect(await permit('ravi', '1')).toMatchObject({ code: 0, stderr: mayBeFiled });
  // What was carried out is not taken back.
  expect((await say('withdraw', 'PERMIT-1', '--by', 'ravi', '--note', 'after all')).code).toBe(3);
  expect((await run('withdraw', 'PERMIT-1', '--by', 'meera')).code).toBe(3);
  expect(await fileBeside()).toBe('opened');
  const { history } = (await say('show', 'PERMIT-1', '--history')).json<{ history: { kind: string; who: string }[] }>();
  expect(history.map(({ kind, who }) => `${kind} ${who}`).slice(1)).toEqual([
    ...['permit_refused ravi', 'permit_refused ravi', 'permit_stands ravi', 'permit_stands  RAVI'],
    ...['withdrawn ravi', 'permit_refused meera', 'permit_stands meera', 'permitted ravi'],
  ]);
});
