import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { latestAttempt, markRowsUnknown, sendingAt } from '../../../src/ledger/submissions/attempts';
import { readRowsToSend } from '../../../src/ledger/rows/balance-reservation';
import { moveSubmission } from '../../../src/ledger/submissions/submissions';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { ACCEPTED, attemptSteps } from './attempt-support';
import { knowExporter, move, NOW } from '../filing-support';

let ledger: TestDatabase;
const { filing, opened, open, mark, read, close, lose, answer, say, rows, attempts } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const sent = { state: 'submitted', live: true, sent: true };
const planned = { state: 'planned', live: true, sent: false };

describe('opening an attempt', () => {
  it('finds the one that a repeated step opened, and the next one once that is closed', async () => {
    const filingId = await filing();
    const first = await open(filingId);
    expect(await open(filingId)).toEqual(first);
    expect(first).toEqual({ outcome: 'attempt', attemptId: attemptIdOf(filingId, 1, 1), number: 1, state: 'open' });
    await read(attemptIdOf(filingId, 1, 1));
    expect(await open(filingId)).toMatchObject({ number: 2, state: 'open' });
    expect(await latestAttempt(ledger.pool, filingId, 1)).toMatchObject({ number: 2, state: 'open' });
  });

  it('answers the attempt that is on its way or was accepted: a run that was reset does not send again', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    expect(await open(filingId)).toMatchObject({ attemptId, state: 'sending' });
    await answer(attemptId);
    expect(await open(filingId)).toMatchObject({ attemptId, state: 'answered' });
    expect(await attempts(filingId)).toEqual(['answered']);
  });

  it('opens none of a filing that has ended, nor of a submission that is past sending', async () => {
    const ended = await filing();
    await move(ledger, ended, 'abandoned');
    expect(await open(ended)).toEqual({ outcome: 'ended', state: 'abandoned' });
    const settled = await filing();
    await moveSubmission(ledger.pool, { filingId: settled, submission: 1, state: 'settled', at: NOW });
    expect(await open(settled)).toEqual({ outcome: 'passed', state: 'settled' });
    expect([await attempts(ended), await attempts(settled)]).toEqual([[], []]);
  });

  it('has one attempt of two runs that open at once', async () => {
    const filingId = await filing();
    const both = await Promise.all([open(filingId), open(filingId)]);
    expect(both[0]).toEqual(both[1]);
    expect(await attempts(filingId)).toEqual(['open']);
  });
});

describe('reading an attempt', () => {
  it('closes one that was never marked: a worker that wakes late sends nothing', async () => {
    const attemptId = await opened(await filing());
    expect(await read(attemptId)).toMatchObject({ verdict: 'not_sent', filingEnded: false, markedAt: null });
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'closed' });
  });

  it('returns when the mark was set, from which the waits count', async () => {
    const attemptId = await opened(await filing());
    await mark(attemptId);
    expect(await read(attemptId)).toMatchObject({ verdict: 'sending', markedAt: NOW.getTime() });
    expect(await sendingAt(ledger.pool, attemptId)).toEqual(NOW);
  });

  it('reports that the filing has ended', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await move(ledger, filingId, 'abandoned');
    expect(await read(attemptId)).toMatchObject({ verdict: 'not_sent', filingEnded: true });
  });

  it("returns the service's answer to another attempt of the submission", async () => {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    const second = await opened(filingId);
    await answer(first);
    expect(await read(second)).toMatchObject({ verdict: 'answered', attemptId: first, answer: ACCEPTED });
  });

  it('is unknown for an attempt that the ledger does not hold', async () => {
    expect(await read(attemptIdOf(await filing(), 1, 7))).toMatchObject({ verdict: 'unknown' });
  });
});

describe('an execution', () => {
  it('closes its own mark when nothing was written: the rows are planned again', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    expect(await rows(filingId)).toMatchObject([sent]);
    expect(await readRowsToSend(ledger.pool, filingId)).toEqual([]);
    await close(attemptId);
    expect(await read(attemptId)).toMatchObject({ verdict: 'not_sent', reason: 'not_sent' });
    expect(await rows(filingId)).toMatchObject([planned]);
    expect(await readRowsToSend(ledger.pool, filingId)).toHaveLength(1);
  });

  it('may not close the mark of another, as after a reset of the workflow', async () => {
    const attemptId = await opened(await filing());
    await mark(attemptId, 'first-execution');
    await close(attemptId, 'second-execution');
    expect(await read(attemptId)).toMatchObject({ verdict: 'sending' });
    await lose(attemptId, 'second-execution');
    expect(await read(attemptId)).toMatchObject({ verdict: 'sending' });
  });

  it('that closes its attempt late leaves the rows of the next one alone', async () => {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    const second = await opened(filingId);
    await mark(second);
    await close(first);
    await read(first, 'validation_failed');
    expect(await rows(filingId)).toMatchObject([sent]);
    expect(await attempts(filingId)).toEqual(['not_sent', 'sending']);
  });

  it('reports that its own exchange is over and its outcome unknown', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await lose(attemptId);
    expect(await read(attemptId)).toMatchObject({ verdict: 'unknown', reason: 'the answer was lost', answer: null });
    await markRowsUnknown(ledger.pool, attemptId);
    expect(await rows(filingId)).toMatchObject([{ ...sent, state: 'unknown' }]);
  });

  it('that was refused readably has its mark closed by the reader, where it could not do it itself', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    const reason = 'validation_failed';
    expect(await read(attemptId, reason)).toMatchObject({ verdict: 'not_sent', reason });
    expect(await rows(filingId)).toMatchObject([planned]);
  });

  it('whose step is repeated late shows no rows as unknown that were planned again', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await close(attemptId);
    await markRowsUnknown(ledger.pool, attemptId);
    expect(await rows(filingId)).toMatchObject([planned]);
  });
});
