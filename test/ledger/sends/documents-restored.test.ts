import { TEST_CADENCE } from '../../support/settings';
import { filingDateInKolkata } from '../../../src/domain/dates';
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { saveCertificates, type CertificateDetailRecord } from '../../../src/ledger/certificates/certificates';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { readSent, noteCertificatesRead, recordLook } from '../../../src/ledger/submissions/lost-time';
import { documentsRestored } from '../../../src/ledger/sends/documents-restored';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { readRows } from '../../../src/ledger/rows/filing-rows';
import { readLedgerStatus } from '../../../src/ledger/sends/ledger-status';
import { countSend } from '../../../src/ledger/sends/conclusion';
import { detailOf } from '../../reports/ledger-of-a-month';
import { attemptSteps } from '../submissions/attempt-support';
import {
  EXPORTER,
  knowExporter,
  minutesLater,
  NOW,
  open as openFiling,
  readBalance,
  readBalancesAgain,
  rowsOf,
} from '../filing-support';
import { newStore, SETTINGS, useLedgerPutBack } from './put-back';

const ledger = useLedgerPutBack();
let store: Awaited<ReturnType<typeof newStore>>;
const { filing, opened, open, mark, count, read, answer, word, rows } = attemptSteps(ledger);

beforeEach(async () => {
  store = await newStore();
});

const RESTORE = { at: minutesLater(60), by: 'ravi', waitMs: 8 * 60 * 60_000 };
const restored = (more: Partial<typeof RESTORE> = {}) => documentsRestored(ledger.pool, store, { ...RESTORE, ...more });

/** When the exporter's certificates may be read for filings to go on. */
const UNTIL = minutesLater(60 + 8 * 60);
const AFTER = minutesLater(60 + 8 * 60 + 1);
const days = (n: number) => minutesLater(n * 24 * 60);
const GOES_ON = { outcome: 'attempt', verdict: 'open' };
const outcome = (outcome: string, why: RegExp | string) => ({ outcome, why: expect.stringMatching(why) as string });
const mappingOf = async (filingId: string) => {
  const [row] = await readRows(ledger.pool, filingId);
  if (!row) throw new Error('no row');
  return row.mapping;
};

/** A look at the certificates, back to the copy; complete where there is no problem. */
const look = (
  beganAt: Date,
  { problem = null, exporterId = EXPORTER }: { problem?: string | null; exporterId?: string } = {},
) =>
  recordLook(ledger.pool, {
    exporterId,
    beganAt,
    endedAt: beganAt,
    from: '01102025',
    to: filingDateInKolkata(beganAt.getTime()),
    problem,
  });
/** As the step that looks for a filing that waits. */
const lookAfterRestore = async (at: Date, more: { problem?: string; exporterId?: string } = {}) => {
  await look(at, more);
  await noteCertificatesRead(ledger.pool, { exporterId: EXPORTER, ...more, at });
};

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
    const attempt = await open(filingId);
    expect(attempt).toMatchObject({ outcome: 'attempt', verdict: 'marked' });
    // However young the ledger is: not since a day before the filing.
    const sent = await readSent(ledger.pool, attempt.outcome === 'attempt' ? attempt.attemptId : '');
    expect(sent?.markedAt).toEqual(NOW);
    expect(await readFilingView(ledger.pool, filingId, TEST_CADENCE)).toMatchObject({
      state: 'outcome_unknown',
      needsAttention: true,
    });
  }
  // A mark without a record proves nothing here, and its sender writes nothing any more.
  expect(await read(attemptId)).toMatchObject({ verdict: 'marked', underWay: false });
  const send = { ...SETTINGS, number: marked.marked ? marked.sendNumber : 0, attemptId, sender: 'a', at: NOW };
  expect(await countSend(ledger.pool, store, send)).not.toBeNull();
  expect(await read(known)).toMatchObject({ verdict: 'accepted' });
});

it('lets a new filing wait until its exporter’s certificates were read long enough after it', async () => {
  await restored();
  const filingId = await filing();
  expect(await open(filingId)).toMatchObject({ outcome: 'wait', until: UNTIL.getTime() });
  await lookAfterRestore(minutesLater(120));
  expect(await open(filingId)).toMatchObject({ outcome: 'wait' });
  await lookAfterRestore(UNTIL);
  expect(await open(filingId)).toMatchObject({ ...GOES_ON, attemptId: attemptIdOf(filingId, 1, 1) });
});

/** The authority shows a certificate of a filing's row, issued at `at`, and all of them have been read. */
async function certified(
  filingId: string,
  eBRCNumber: string,
  at: Date | null = minutesLater(30),
  more: Partial<CertificateDetailRecord> = {},
): Promise<void> {
  const dated = at ? {} : { eBRCDate: null };
  const detail = { ...detailOf(eBRCNumber, await mappingOf(filingId), at ?? NOW), ...dated, ...more };
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details: [detail], at: UNTIL });
  await lookAfterRestore(UNTIL);
}

/** A filing whose submission is in doubt. @returns its attempt */
async function doubted(filingId: string): Promise<string> {
  const found = await open(filingId);
  expect(found).toMatchObject({ outcome: 'attempt', verdict: 'marked' });
  expect(await rows(filingId)).toMatchObject([{ state: 'unknown', live: true, sent: true }]);
  return found.outcome === 'attempt' ? found.attemptId : '';
}

it('does not send again what was certified in the time that is lost', async () => {
  await restored();
  const filingId = await filing();
  await certified(filingId, 'EBLOST');
  const attemptId = await doubted(filingId);
  expect(await doubted(filingId)).toBe(attemptId);
  expect(await mark(attemptId, 'a')).toMatchObject({ marked: false });
  expect(await read(attemptId)).toMatchObject({ verdict: 'marked', underWay: false });
});

it('does not send again what was certified in the time that is lost with an amount in another currency, or without a date', async () => {
  await restored();
  const told: Partial<CertificateDetailRecord>[] = [
    { realisedValueFCC: 91, currencyCode: 'EUR' },
    { sbCumInvoiceDate: null },
    { sbCumInvoiceNumber: null, billNo: 'EXP/LOST' },
  ];
  for (const [n, more] of told.entries()) {
    const row = { sbCumInvoiceNumber: String(4_100_000 + n), billNo: 'EXP/LOST', mappedIRMAmountFCC: 3 };
    const filingId = await openFiling(ledger, `LOST-${n}`, rowsOf(row));
    await certified(filingId, `EBLOST-${n}`, minutesLater(30), { billNo: null, ...more });
    await doubted(filingId);
  }
  // What was issued after the lost time is another remittance's of the document.
  const later = await filing();
  await certified(later, 'EBLATER', minutesLater(3 * 24 * 60), { realisedValueFCC: 91 });
  expect(await open(later)).toMatchObject(GOES_ON);
});

it('needs two persons for “not filed” while such a certificate agrees, who name it', async () => {
  await restored();
  const filingId = await filing();
  await certified(filingId, 'EBLOST');
  const attemptId = await doubted(filingId);
  await look(UNTIL);
  const of = { filingId, attemptId, at: AFTER };
  expect(await word({ ...of, by: 'ravi' })).toEqual(outcome('refused', 'EBLOST'));
  const named = { ...of, notOurs: ['EBLOST'] };
  for (const by of ['ravi', 'Ravi']) expect(await word({ ...named, by })).toEqual(outcome('stands', 'EBLOST'));
  expect(await word({ ...named, by: 'meera' })).toEqual({ outcome: 'again' });
});

it('believes nobody that something was not filed before the certificates of the lost time were read', async () => {
  const filingId = await filing();
  await restored();
  const attemptId = await doubted(filingId);
  const say = (at: Date) => word({ filingId, attemptId, by: 'ravi', at });
  expect(await say(minutesLater(60 + 4 * 60))).toEqual(outcome('refused', UNTIL.toISOString()));
  const unread = outcome('refused', 'no complete look');
  expect(await say(UNTIL)).toEqual(unread);
  await look(minutesLater(60 + 4 * 60));
  expect(await say(UNTIL)).toEqual(unread);
  await look(UNTIL);
  await readBalancesAgain(ledger, EXPORTER, UNTIL);
  expect(await say(AFTER)).toEqual({ outcome: 'again' });
});

it.each([
  ['an IRM was used since the copy', 9_999, /fell by 1 since the send/u],
  ['it was not read since', null, /was not read since/u],
])('needs two persons for “not filed” where %s, as no certificate may show', async (_, available, why) => {
  const filingId = await filing();
  await restored();
  const attemptId = await doubted(filingId);
  await look(UNTIL);
  if (available !== null) await readBalance(ledger, available, UNTIL);
  const said = { filingId, attemptId, at: AFTER };
  expect(await word({ ...said, by: 'ravi' })).toEqual(outcome('stands', why));
  expect(await word({ ...said, by: 'meera' })).toEqual({ outcome: 'again' });
});

it('counts a certificate of the lost time against “not filed”, although it was issued long before the restore', async () => {
  const filingId = await filing();
  await restored({ at: days(20), waitMs: 0 });
  const attemptId = await doubted(filingId);
  const details = [detailOf('EBLOSTLATER', await mappingOf(filingId), days(5))];
  await saveCertificates(ledger.pool, { exporterId: EXPORTER, details, at: days(20) });
  await look(days(21));
  const said = { filingId, attemptId, by: 'ravi', at: days(22) };
  expect(await word(said)).toEqual(outcome('refused', 'EBLOSTLATER'));
});

it('takes a certificate without a day of issue for one of the time that is lost, and none from before it', async () => {
  await restored();
  const [undated, earlier] = [await filing(), await filing()];
  await certified(undated, 'EBUNDATED', null);
  await certified(earlier, 'EBEARLIER', minutesLater(-100 * 24 * 60));
  await doubted(undated);
  expect(await open(earlier)).toMatchObject(GOES_ON);
});

it('does not send an equal tranche whose certificate another filing took since the restore', async () => {
  const taker = await filing();
  await restored();
  const filingId = await filing();
  const taken = (number: string, ago: string) =>
    ledger.select(
      `UPDATE certificates SET filing_id = $1, position = 0, claimed_at = clock_timestamp() - $3::interval WHERE ebrc_number = $2`,
      ...[taker, number, ago],
    );
  await certified(filingId, 'EBTWIN');
  await taken('EBTWIN', '0');
  await doubted(filingId);
  const before = await filing();
  await certified(before, 'EBBEFORE');
  await taken('EBBEFORE', '1 hour');
  expect(await open(before)).toMatchObject(GOES_ON);
});

it('doubts a whole submission for one of its rows, whichever client of the IEC the certificate was read for', async () => {
  await knowExporter(ledger, 'exporter-2');
  await restored();
  const rowsOfTwo = rowsOf({ sbCumInvoiceNumber: '4000001' }, { sbCumInvoiceNumber: '4000002', mappedIRMAmountFCC: 7 });
  const filingId = await openFiling(ledger, 'CORRECTED', rowsOfTwo);
  const details = [detailOf('EBSECOND', rowsOfTwo[1]!.mapping, minutesLater(30))];
  await saveCertificates(ledger.pool, { exporterId: 'exporter-2', details, at: UNTIL });
  await lookAfterRestore(UNTIL, { exporterId: 'exporter-2' });
  expect(await open(filingId)).toMatchObject({ outcome: 'attempt', verdict: 'marked' });
  expect(await rows(filingId)).toMatchObject([{ state: 'unknown' }, { state: 'unknown' }]);
});

it('adopts nothing for an attempt that was only open when the copy was taken', async () => {
  const filingId = await filing();
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW });
  const attemptId = await opened(filingId);
  expect(await readSent(ledger.pool, attemptId)).not.toMatchObject({ balances: null });
  await restored();
  expect(await readSent(ledger.pool, attemptId)).toMatchObject({ balances: null });
});

it('doubts a new filing where no look since was complete: an outage may show nothing of what was filed', async () => {
  await restored();
  const filingId = await filing();
  await look(minutesLater(120));
  await lookAfterRestore(UNTIL, { problem: 'fetch-details answered in words' });
  await doubted(filingId);
  const other = await filing();
  await lookAfterRestore(minutesLater(60 + 9 * 60));
  expect(await open(other)).toMatchObject(GOES_ON);
});

it('lets nothing be opened to be sent wherever the command is interrupted', async () => {
  const recordsAfter = () => Promise.reject(new Error('the store is away'));
  const broken = Object.assign(Object.create(store) as typeof store, { recordsAfter });
  await expect(documentsRestored(ledger.pool, broken, RESTORE)).rejects.toThrow();
  expect(await open(await filing())).toMatchObject({ outcome: 'wait', until: UNTIL.getTime() });
});

it('waits for the longest settle window of a sender, whatever that of the command is', async () => {
  const settle = 'UPDATE attempts SET settle_ms = $2 WHERE attempt_id = $1';
  await ledger.select(settle, await opened(await filing()), 9 * 60 * 60_000);
  await restored();
  expect(await open(await filing())).toMatchObject({ outcome: 'wait', until: minutesLater(60 + 9 * 60).getTime() });
});

it('sends nothing for an exporter whose certificates cannot be read', async () => {
  await restored();
  const filingId = await filing();
  await noteCertificatesRead(ledger.pool, { exporterId: EXPORTER, at: UNTIL });
  await ledger.pool.query('UPDATE exporters SET iec = NULL');
  await ledger.pool.query('UPDATE parties SET iec = NULL');
  await doubted(filingId);
});

it('goes back as far as before when the command is given again later', async () => {
  await filing();
  for (const day of [3, 4]) {
    await restored({ at: days(day), waitMs: 0 });
    const from = await ledger.select('SELECT certificates_from AS from FROM ledger_identity');
    expect(from).toEqual([{ from: days(-1) }]);
  }
});

it('makes a store that has lost sends, or is another one, the ledger’s store', async () => {
  const expectStatus = async (status: object) =>
    expect(await readLedgerStatus(ledger.pool, store)).toMatchObject(status);
  await count(await opened(await filing()), store);
  await expectStatus({ whole: true, sendNumber: 1, newestInStore: 1 });
  store = await newStore();
  await expectStatus({ whole: false, newestInStore: null });
  await restored();
  const filingsWaitUntil = UNTIL.toISOString();
  await expectStatus({ whole: true, sendNumber: 2, newestInStore: 2, problem: null, filingsWaitUntil });
  // Again, as an operator who is not sure gives it: nothing that is known is lost.
  await restored();
  await expectStatus({ whole: true });
});
