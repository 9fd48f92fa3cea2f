/** What becomes known after a gate has decided: an answer, a record, a word, or a statement that comes late. */
import { filingDateInKolkata } from '../../../src/domain/dates';
import { attemptIdOf, sentAs } from '../../../src/domain/filing/attempt';
import { certifyByRecord } from '../../../src/ledger/gates/certify';
import { carryOutWord } from '../../../src/ledger/gates/persons';
import { releaseAbsent, type AbsentSubject } from '../../../src/ledger/gates/release-absent';
import { endRequest, addRequest, notePoll, readRequests } from '../../../src/ledger/submissions/requests';
import { releaseRejected } from '../../../src/ledger/gates/release';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import { withTransaction } from '../../../src/ledger/pool';
import { mergeKnownSends } from '../../../src/ledger/submissions/known-sends';
import { recordLook } from '../../../src/ledger/submissions/lost-time';
import { recordWord } from '../../../src/ledger/submissions/words';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { EXPORTER, knowExporter, minutesLater, NOW, open, rowsOf } from '../filing-support';
import { attemptSteps } from '../submissions/attempt-support';

const WINDOW = 240;
const SETTLE_MS = WINDOW * 60_000;

let ledger: TestDatabase;
beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const steps = attemptSteps(() => ledger);
const inTurn = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(ledger.pool, work);

let filings = 0;
const nextReference = () => `LATE-${(filings += 1)}`;
const rowsFor = (count: number) =>
  rowsOf(
    ...Array.from({ length: count }, (_, at) => ({
      sbCumInvoiceNumber: String(4_000_000 + filings * 10 + at),
      mappedIRMAmountFCC: 1,
    })),
  );

/** A filing whose first attempt is marked, and in doubt. */
async function inDoubt({ rows = 1, reference = nextReference() } = {}) {
  const filingId = await open(ledger, reference, rowsFor(rows));
  const attemptId = await steps.opened(filingId);
  await steps.mark(attemptId);
  return { filingId, attemptId, reference };
}

/** A complete look that began `minutes` after NOW. */
const look = (minutes: number) =>
  recordLook(ledger.pool, {
    exporterId: EXPORTER,
    beganAt: minutesLater(minutes),
    endedAt: minutesLater(minutes),
    from: '01012026',
    to: filingDateInKolkata(minutesLater(minutes).getTime()),
    problem: null,
  });

const absent = (subject: AbsentSubject, minutes: number, more: Partial<Parameters<typeof releaseAbsent>[1]> = {}) =>
  inTurn((client) =>
    releaseAbsent(client, {
      subject,
      settleMs: SETTLE_MS,
      unseen: false,
      notOurs: [],
      reason: 'not filed',
      at: minutesLater(minutes),
      ...more,
    }),
  );

const name = (filingId: string, requestId: string, attemptId: string | null = null) =>
  inTurn((client) =>
    addRequest(client, {
      filingId,
      submission: 1,
      requestId,
      source: attemptId === null ? 'named' : 'acknowledged',
      attemptId,
      since: NOW,
    }),
  );

const poll = (filingId: string, requestId: string, statement: 'unknown_request' | null, minutes: number) =>
  inTurn((client) =>
    notePoll(
      client,
      { filingId, submission: 1, requestId },
      { statement, incomplete: false, ageMs: minutes * 60_000, at: minutesLater(minutes) },
    ),
  );

const readRows = async (filingId: string) =>
  (await steps.rows(filingId)).map(({ state, live }) => `${state}${live ? '' : ' (free)'}`);

it('holds a row again that was freed while its attempt stayed in doubt, when the attempt turns out to be accepted', async () => {
  const { filingId, attemptId } = await inDoubt({ rows: 2 });
  await name(filingId, 'NAMED-1');
  await poll(filingId, 'NAMED-1', 'unknown_request', 1);
  await look(WINDOW + 10);
  const freed = await absent({ requestId: 'NAMED-1', filingId, submission: 1, positions: [0] }, WINDOW + 20);
  expect(freed).toEqual({ outcome: 'freed', freed: [0] });
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'LATE-ANSWER-1' });
  expect(await readRows(filingId)).toEqual(['submitted', 'submitted']);
});

it('holds a row whose correction was opened, and stops the correction, when its own request names its certificate', async () => {
  const { filingId, attemptId, reference } = await inDoubt();
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'DENIED-1' });
  await name(filingId, 'DENIED-2');
  await poll(filingId, 'DENIED-1', 'unknown_request', 1);
  await poll(filingId, 'DENIED-2', 'unknown_request', 1);
  await look(WINDOW + 10);
  expect(await absent({ requestId: 'DENIED-2', filingId, submission: 1 }, WINDOW + 20)).toMatchObject({ freed: [0] });
  await ledger.pool.query(`UPDATE filings SET state = 'needs_correction', closed_at = now() WHERE filing_id = $1`, [
    filingId,
  ]);
  const correction = await open(ledger, reference, rowsFor(1), { n: 2, corrects: filingId });
  await inTurn(async (client) => {
    await lockFiling(client, filingId);
    const records = [{ position: 0, eBRCNumber: 'EBRC-LATE-1', eBRCDate: '10022026' }];
    const of = { filingId, submission: 1, exporterId: EXPORTER, at: minutesLater(WINDOW + 30) };
    expect(await certifyByRecord(client, { ...of, records })).toEqual([]);
  });
  expect([await readRows(filingId), await readRows(correction)]).toEqual([['certified'], ['needs_correction (free)']]);
});

it('counts no word from before the window that the service’s next statement began', async () => {
  const { filingId, attemptId } = await inDoubt();
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'AGAIN-1' });
  await poll(filingId, 'AGAIN-1', 'unknown_request', 1);
  const say = async (by: string, minutes: number) => {
    const wordId = await recordWord(ledger.pool, {
      filingId,
      kind: 'not_filed',
      attemptId: null,
      requestId: 'AGAIN-1',
      sourceRows: null,
      certificates: [],
      notOurs: [],
      unseen: true,
      by,
      note: 'looked',
      at: minutesLater(minutes),
      step: `${by}-${minutes}`,
    });
    const args = { filingId, wordId, settleMs: SETTLE_MS, singlePerson: false, at: minutesLater(minutes) };
    return inTurn(async (client) => {
      await lockFiling(client, filingId);
      return carryOutWord(client, args);
    });
  };
  // The looks of the other tests were before these times.
  const later = 100_000;
  await poll(filingId, 'AGAIN-1', 'unknown_request', later);
  expect(await say('ravi', later + WINDOW)).toMatchObject({ outcome: 'stands' });
  await poll(filingId, 'AGAIN-1', null, later + WINDOW + 1);
  await poll(filingId, 'AGAIN-1', 'unknown_request', later + WINDOW + 2);
  expect(await say('meera', later + 3 * WINDOW)).toMatchObject({ outcome: 'stands' });
  expect(await say('asha', later + 3 * WINDOW + 1)).toMatchObject({ outcome: 'freed' });
});

it('lets two persons stand in for a look only after the sender’s whole window without one', async () => {
  const { filingId } = await inDoubt();
  const attemptId = attemptIdOf(filingId, 1, 1);
  await ledger.pool.query('UPDATE attempts SET settle_ms = $2 WHERE attempt_id = $1', [attemptId, SETTLE_MS]);
  await look(200_000);
  await ledger.pool.query('UPDATE attempts SET marked_at = $2 WHERE attempt_id = $1', [
    attemptId,
    minutesLater(200_000 - WINDOW + 1),
  ]);
  const short = { unseen: true, settleMs: 5 * 60_000 };
  expect(await absent({ attemptId }, 200_000 + 10, short)).toMatchObject({ code: 'look' });
  expect(await absent({ attemptId }, 200_000 + WINDOW + 1, short)).toEqual({ outcome: 'again' });
});

it('refuses an answer about an attempt that the ledger does not hold while a request of the submission is followed', async () => {
  const { filingId, attemptId } = await inDoubt({ rows: 2 });
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'FOLLOWED-1' });
  await look(300_000);
  expect(await absent({ attemptId: attemptIdOf(filingId, 1, 7) }, 300_001)).toMatchObject({ code: 'unfinished' });
});

it('takes the request that a person named for the attempt’s own once its answer names it', async () => {
  const { filingId, attemptId } = await inDoubt();
  await name(filingId, 'BOTH-1');
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'BOTH-1' });
  expect(await readRequests(ledger.pool, filingId, 1)).toMatchObject([{ requestId: 'BOTH-1', attemptId }]);
  const of = { filingId, submission: 1 };
  const errored = [{ position: 0, errors: ['no'] }];
  const ended = { state: 'ended', processingStatus: 'Errored', errored, at: NOW } as const;
  await inTurn((client) => endRequest(client, { ...of, requestId: 'BOTH-1' }, ended));
  expect(await inTurn((client) => releaseRejected(client, { ...of, at: NOW }))).toEqual([0]);
});

it('rejects the rows of an Errored request once the attempt beside it is absent', async () => {
  const { filingId, attemptId } = await inDoubt();
  const second = attemptIdOf(filingId, 1, 2);
  await ledger.pool.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict, marked_at, sender) VALUES ($1, $2, 1, 2, 'marked', $3, 'other')`,
    [second, filingId, NOW],
  );
  await steps.answer(attemptId, { kind: 'accepted', status: 200, requestId: 'ERRORED-1' });
  const of = { filingId, submission: 1 };
  const errored = [{ position: 0, errors: ['no'] }];
  const ended = { state: 'ended', processingStatus: 'Errored', errored, at: NOW } as const;
  await inTurn((client) => endRequest(client, { ...of, requestId: 'ERRORED-1' }, ended));
  expect(await inTurn((client) => releaseRejected(client, { ...of, at: NOW }))).toEqual([]);
  await look(400_000);
  expect(await absent({ attemptId: second }, 400_001)).toEqual({ outcome: 'freed', freed: [0] });
  expect(await readRows(filingId)).toEqual(['needs_correction (free)']);
});

it('frees nothing of an ended filing while another attempt of it is in doubt', async () => {
  const { filingId, attemptId } = await inDoubt();
  await ledger.pool.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict, marked_at, sender) VALUES ($1, $2, 1, 2, 'marked', $3, 'other')`,
    [attemptIdOf(filingId, 1, 2), filingId, NOW],
  );
  await ledger.pool.query(`UPDATE filings SET state = 'abandoned', closed_at = now() WHERE filing_id = $1`, [filingId]);
  await ledger.pool.query(`UPDATE filing_rows SET state = 'abandoned_after_send' WHERE filing_id = $1`, [filingId]);
  await look(500_000);
  expect(await absent({ attemptId }, 500_001)).toEqual({ outcome: 'freed', freed: [] });
  expect(await readRows(filingId)).toEqual(['abandoned_after_send']);
  expect(await absent({ attemptId: attemptIdOf(filingId, 1, 2) }, 500_001)).toEqual({ outcome: 'freed', freed: [0] });
});

it('keeps a request closed as not ours that a run’s history hands in again, and the rows planned', async () => {
  const { filingId, attemptId } = await inDoubt();
  await name(filingId, 'STRANGER-1');
  const of = { filingId, submission: 1, requestId: 'STRANGER-1' };
  const closed = { state: 'not_ours', processingStatus: null, errored: [], at: NOW } as const;
  await inTurn((client) => endRequest(client, of, closed));
  await look(600_000);
  expect(await absent({ attemptId }, 600_001)).toEqual({ outcome: 'again' });
  const send = sentAs(attemptId, { requestId: 'STRANGER-1', sentAt: NOW.getTime() });
  await inTurn((client) => mergeKnownSends(client, { filingId, sends: [send], at: minutesLater(600_002) }));
  expect(await readRows(filingId)).toEqual(['planned']);
  expect(await readRequests(ledger.pool, filingId, 1)).toMatchObject([{ state: 'not_ours' }]);
});
