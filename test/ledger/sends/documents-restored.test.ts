import { partsOfAttemptId } from '../../../src/domain/filing/attempt';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { saveCertificates } from '../../../src/ledger/certificates/certificates';
import { noteCertificatesRead } from '../../../src/ledger/submissions/lost-time';
import { documentsRestored } from '../../../src/ledger/sends/documents-restored';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { readLedgerStatus } from '../../../src/ledger/sends/ledger-status';
import { countSend } from '../../../src/ledger/sends/sends';
import { detailOf } from '../../reports/ledger-of-a-month';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { attemptSteps } from '../submissions/attempt-support';
import { EXPORTER, knowExporter, minutesLater, NOW } from '../filing-support';
import { newStore } from './put-back';

let ledger: TestDatabase;
let store: Awaited<ReturnType<typeof newStore>>;
const { filing, opened, open, mark, read, say, answer, rows } = attemptSteps(() => ledger);

beforeEach(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
  store = await newStore();
});
afterEach(() => ledger?.drop());

const restored = () =>
  documentsRestored(ledger.pool, store, { at: minutesLater(60), by: 'ravi', waitMs: 8 * 60 * 60_000 });

it('leaves nothing unsent that may have been sent in the time that is lost', async () => {
  const planned = await filing();
  const underWay = await filing();
  const attemptId = await opened(underWay);
  const marked = await mark(attemptId, 'a');
  const openOne = await filing();
  await opened(openOne);
  const accepted = await filing();
  const known = await opened(accepted);
  await mark(known);
  await answer(known);
  const { filings } = await restored();
  expect(filings.sort()).toEqual([planned, underWay, openOne].sort());
  for (const filingId of filings) {
    expect(await rows(filingId)).toMatchObject([{ state: 'unknown', live: true, sent: true }]);
    expect(await open(filingId)).toMatchObject({ outcome: 'attempt', state: 'sending' });
    expect(await readFilingView(ledger.pool, filingId)).toMatchObject({
      state: 'outcome_unknown',
      needsAttention: true,
    });
  }
  // A mark without a record proves nothing here, and its sender writes nothing any more.
  expect(await read(attemptId)).toMatchObject({ verdict: 'unknown' });
  const send = { number: marked.marked ? marked.sendNumber : 0, attemptId, sender: 'a', at: NOW };
  expect(await countSend(ledger.pool, store, send)).not.toBeNull();
  expect(await read(known)).toMatchObject({ verdict: 'answered' });
});

it('lets a new filing wait until its exporter’s certificates were read long enough after it', async () => {
  await restored();
  const filingId = await filing();
  const until = minutesLater(60 + 8 * 60);
  expect(await open(filingId)).toMatchObject({ outcome: 'wait', until: until.getTime() });
  await noteCertificatesRead(ledger.pool, EXPORTER, minutesLater(120));
  expect(await open(filingId)).toMatchObject({ outcome: 'wait' });
  await noteCertificatesRead(ledger.pool, EXPORTER, until);
  const opened = await open(filingId);
  expect(opened).toMatchObject({ outcome: 'attempt', state: 'open' });
  expect(partsOfAttemptId(opened.outcome === 'attempt' ? opened.attemptId : '')).toMatchObject({ filingId });
});

it('does not send again what was certified in the time that is lost', async () => {
  await restored();
  const filingId = await filing();
  const [row] = (
    await ledger.pool.query<{ mapping: Mapping }>('SELECT mapping FROM filing_rows WHERE filing_id = $1', [filingId])
  ).rows;
  if (!row) throw new Error('no row');
  const until = minutesLater(60 + 8 * 60);
  const details = [detailOf('EBLOST', row.mapping, minutesLater(30))];
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details, at: until });
  await noteCertificatesRead(ledger.pool, EXPORTER, until);
  const doubted = await open(filingId);
  expect(doubted).toMatchObject({ outcome: 'attempt', state: 'sending' });
  expect(await open(filingId)).toEqual(doubted);
  expect(await rows(filingId)).toMatchObject([{ state: 'unknown', live: true, sent: true }]);
  const attemptId = doubted.outcome === 'attempt' ? doubted.attemptId : '';
  expect(await mark(attemptId, 'a')).toMatchObject({ marked: false });
  expect(await read(attemptId)).toMatchObject({ verdict: 'unknown' });
  const said = await say(attemptId, { at: minutesLater(60 + 8 * 60) });
  expect(said).toMatchObject({ outcome: 'resend' });
  expect(await open(filingId)).toMatchObject({ outcome: 'attempt', state: 'open' });
});

it('makes a store that has lost sends, or is another one, the ledger’s store', async () => {
  const sent = await opened(await filing());
  const marked = await mark(sent, 'a');
  await countSend(ledger.pool, store, {
    number: marked.marked ? marked.sendNumber : 0,
    attemptId: sent,
    sender: 'a',
    at: NOW,
  });
  expect(await readLedgerStatus(ledger.pool, store)).toMatchObject({ whole: true, sendNumber: 1, newestInStore: 1 });
  store = await newStore();
  expect(await readLedgerStatus(ledger.pool, store)).toMatchObject({ whole: false, newestInStore: null });
  await restored();
  expect(await readLedgerStatus(ledger.pool, store)).toMatchObject({
    whole: true,
    sendNumber: 2,
    newestInStore: 2,
    problem: null,
    filingsWaitUntil: minutesLater(60 + 8 * 60).toISOString(),
  });
  // Again, as an operator who is not sure gives it: nothing that is known is lost.
  await restored();
  expect(await readLedgerStatus(ledger.pool, store)).toMatchObject({ whole: true });
});
