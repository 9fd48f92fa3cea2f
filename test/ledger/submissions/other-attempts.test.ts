import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { withTransaction } from '../../../src/ledger/pool';
import {
  closeUnknownRequest,
  otherAttemptInDoubt,
  switchToOtherAttempt,
} from '../../../src/ledger/submissions/other-attempts';
import { adoptAnswer } from '../../../src/ledger/submissions/submissions';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { ACCEPTED, attemptSteps } from './attempt-support';
import { knowExporter, minutesLater, NOW, open as file, rowsOf } from '../filing-support';

let ledger: TestDatabase;
const { filing, opened, open, mark, say, answer, rows, attempts } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const step = <T>(work: Parameters<typeof withTransaction<T>>[1]) => withTransaction(ledger.pool, work);
const adopt = (filingId: string, attemptId: string, requestId: string, more = {}) =>
  adoptAnswer(ledger.pool, {
    filingId,
    submission: 1,
    attemptId,
    answer: { ...ACCEPTED, requestId, ...more },
    at: NOW,
  });
const inDoubt = (filingId: string, requestId: string) =>
  step((client) => otherAttemptInDoubt(client, { filingId, submission: 1, requestId }));

/** Two attempts of one submission were sent, on a person's word; the first one was accepted all the same. */
async function twoSent(requestId: string): Promise<{ filingId: string; first: string; second: string }> {
  const filingId = await filing();
  const first = await opened(filingId);
  await mark(first);
  await say(first);
  const second = await opened(filingId);
  await mark(second);
  await answer(first, { ...ACCEPTED, requestId });
  await adopt(filingId, first, requestId);
  return { filingId, first, second };
}

describe('two attempts of one submission that were both sent', () => {
  it('free no row when the authority rejects one of them: the other one is looked into', async () => {
    const { filingId, first, second } = await twoSent('S1');
    expect(await inDoubt(filingId, 'S1')).toBe(second);
    await step((client) => switchToOtherAttempt(client, { filingId, submission: 1, requestId: 'S1', at: NOW }));
    expect(await rows(filingId)).toMatchObject([{ state: 'unknown', live: true, sent: true }]);
    expect(await attempts(filingId)).toEqual(['not_sent', 'sending']);
    expect(await open(filingId)).toMatchObject({ attemptId: second, state: 'sending' });
    // A step that is repeated late does not bring the rejected request back.
    await answer(first, { ...ACCEPTED, requestId: 'S1' });
    await adopt(filingId, first, 'S1');
    expect((await readFilingView(ledger.pool, filingId))?.requestId).toBeNull();
    expect(await attempts(filingId)).toEqual(['not_sent', 'sending']);
  });

  it('are followed one after the other where both were accepted', async () => {
    const { filingId, second } = await twoSent('S2');
    await answer(second, { ...ACCEPTED, requestId: 'S3' });
    expect(await inDoubt(filingId, 'S2')).toBe(second);
    await step((client) => switchToOtherAttempt(client, { filingId, submission: 1, requestId: 'S2', at: NOW }));
    expect(await open(filingId)).toMatchObject({ attemptId: second, state: 'answered' });
    await adopt(filingId, second, 'S3');
    expect((await readFilingView(ledger.pool, filingId))?.requestId).toBe('S3');
    expect(await inDoubt(filingId, 'S3')).toBeNull();
  });

  it('are not in doubt where only one was sent', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await answer(attemptId, { ...ACCEPTED, requestId: 'S4' });
    expect(await inDoubt(filingId, 'S4')).toBeNull();
  });
});

describe('a Failed acknowledgement whose request the service does not know', () => {
  async function failed(requestId: string, ackStatus = 'Failed'): Promise<string> {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await answer(attemptId, { ...ACCEPTED, requestId, ackStatus });
    await adopt(filingId, attemptId, requestId, { ackStatus });
    return filingId;
  }
  const close = (filingId: string, requestId: string, at = minutesLater(240)) =>
    step((client) =>
      closeUnknownRequest(client, { filingId, submission: 1, requestId, settleAfterMs: 240 * 60_000, at }),
    );

  it('was not filed only at the end of the settle window since its mark', async () => {
    const filingId = await failed('U1');
    expect(await close(filingId, 'U1', minutesLater(239))).toBe('kept');
    expect(await attempts(filingId)).toEqual(['answered']);
    expect(await close(filingId, 'U1')).toBe('closed');
    expect(await attempts(filingId)).toEqual(['not_sent']);
  });

  it('was filed if the acknowledgement was not Failed, or a row has its certificate', async () => {
    expect(await close(await failed('U2', 'Validated'), 'U2')).toBe('kept');
    const filingId = await failed('U3');
    await ledger.pool.query(`UPDATE filing_rows SET ebrc_number = 'EBRC1' WHERE filing_id = $1`, [filingId]);
    expect(await close(filingId, 'U3')).toBe('kept');
  });
});

it('refuses an attempt, and its mark, whose mapping another filing holds without a permission', async () => {
  const content = rowsOf({ sbCumInvoiceNumber: '6100001' });
  const filingId = await file(ledger, 'HOLDS-IT', content);
  const attemptId = await opened(filingId);
  const other = await file(ledger, 'HOLDS-IT-TOO', rowsOf({ sbCumInvoiceNumber: '6100002' }));
  await ledger.pool.query(
    `UPDATE filing_rows SET ordinal = 1, collided_with = $2,
        fingerprint = (SELECT fingerprint FROM filing_rows WHERE filing_id = $2) WHERE filing_id = $1`,
    [other, filingId],
  );
  expect(await mark(attemptId)).toMatchObject({
    marked: false,
    why: 'rows',
    reason: expect.stringContaining(other) as string,
  });
  expect(await open(other)).toMatchObject({
    outcome: 'rows_gone',
    reason: expect.stringContaining(filingId) as string,
  });
  await ledger.pool.query(`UPDATE filing_rows SET permit_reason = 'said', permit_besides = $2 WHERE filing_id = $1`, [
    other,
    [filingId],
  ]);
  expect(await mark(attemptId)).toMatchObject({ marked: true });
  expect(await open(other)).toMatchObject({ outcome: 'attempt', state: 'open' });
});
