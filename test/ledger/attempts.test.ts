import type { StoredAnswer } from '../../src/domain/attempt';
import {
  attemptIdOf,
  closeByPerson,
  closeNotSent,
  latestAttempt,
  markSending,
  noteUnknown,
  openAttempt,
  readAttempt,
  sendingAt,
  storeAnswer,
} from '../../src/ledger/attempts';
import { readRowsToSend } from '../../src/ledger/balance-reservation';
import { withTransaction } from '../../src/ledger/pool';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { knowExporter, NOW, open, rowsOf } from './filing-support';

let ledger: TestDatabase;
let filingId: string;
let number = 0;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
  filingId = await open(ledger, 'ATTEMPTS', rowsOf({}));
});
afterAll(() => ledger?.drop());

const at = NOW;
const accepted: StoredAnswer = { kind: 'accepted', status: 200, requestId: 'R1', dgftAckId: 'A1' };
const sender = 'this-execution';

interface Opened {
  attemptId: string;
  epoch: string;
}
const opened = (): Promise<Opened> => openAttempt(ledger.pool, { filingId, submission: 1, number: (number += 1) });
const mark = ({ attemptId, epoch }: Opened, by = sender) =>
  withTransaction(ledger.pool, (client) =>
    markSending(client, { attemptId, epoch, sender: by, payloadHash: 'hash', at }),
  );
const read = (attempt: Opened, refusal?: string) => readAttempt(ledger.pool, { ...attempt, at, refusal });
const close = ({ attemptId }: Opened, by = sender) =>
  closeNotSent(ledger.pool, { attemptId, sender: by, reason: 'not_sent', at });
const answer = ({ attemptId }: Opened, what = accepted) => storeAnswer(ledger.pool, attemptId, what, at);

describe('the fence', () => {
  it('lets one mark through, once', async () => {
    const attempt = await opened();
    const marks = await Promise.all([mark(attempt, 'a'), mark(attempt, 'b'), mark(attempt, 'c')]);
    expect(marks.filter(Boolean)).toHaveLength(1);
    expect(await mark(attempt)).toBe(false);
    const { rows } = await ledger.pool.query<{ sender: string }>('SELECT sender FROM attempts WHERE attempt_id = $1', [
      attempt.attemptId,
    ]);
    expect(rows[0]?.sender).toMatch(/^[abc]$/);
  });

  it('is closed by whoever reads an unmarked attempt: a worker that wakes late sends nothing', async () => {
    const attempt = await opened();
    expect(await read(attempt)).toMatchObject({ verdict: 'not_sent' });
    expect(await mark(attempt)).toBe(false);
  });

  it('has one winner when the mark and the reading come together', async () => {
    for (let round = 0; round < 20; round += 1) {
      const attempt = await opened();
      const [marked, reading] = await Promise.all([mark(attempt), read(attempt)]);
      // Never both: marked and read as not sent would let it be sent twice.
      expect([marked, reading.verdict]).toEqual(marked ? [true, 'sending'] : [false, 'not_sent']);
    }
  });

  it('lets no mark through in another ledger than the one it was opened in', async () => {
    const attempt = await opened();
    expect(await mark({ ...attempt, epoch: 'another' })).toBe(false);
    expect(await mark(attempt)).toBe(true);
  });

  it('marks the rows as submitted with the attempt, and no longer when nothing was sent', async () => {
    const attempt = await opened();
    await mark(attempt);
    expect(await readRowsToSend(ledger.pool, filingId)).toEqual([]);
    expect(await sendingAt(ledger.pool, attempt.attemptId)).toEqual(at);
    await close(attempt);
    expect(await readRowsToSend(ledger.pool, filingId)).toHaveLength(1);
  });

  it('opens the same attempt for an activity that is repeated, and does not open a closed one again', async () => {
    const first = await opened();
    await read(first);
    const again = await openAttempt(ledger.pool, { filingId, submission: 1, number });
    expect(again).toEqual(first);
    expect(first.attemptId).toBe(attemptIdOf(filingId, 1, number));
    expect(await mark(again)).toBe(false);
    expect(await latestAttempt(ledger.pool, filingId, 1)).toMatchObject({ number, state: 'not_sent' });
  });
});

describe('an execution', () => {
  it('closes its own mark when nothing was written', async () => {
    const attempt = await opened();
    await mark(attempt);
    await close(attempt);
    expect(await read(attempt)).toMatchObject({ verdict: 'not_sent', reason: 'not_sent' });
  });

  it('may not close the mark of another, as after a reset of the workflow', async () => {
    const attempt = await opened();
    await mark(attempt, 'first-execution');
    await close(attempt, 'second-execution');
    expect(await read(attempt)).toMatchObject({ verdict: 'sending' });
    await noteUnknown(ledger.pool, { attemptId: attempt.attemptId, sender: 'second-execution', reason: 'lost', at });
    expect(await read(attempt)).toMatchObject({ verdict: 'sending' });
  });

  it('says that its own exchange is over and its outcome unknown', async () => {
    const attempt = await opened();
    await mark(attempt);
    await noteUnknown(ledger.pool, { attemptId: attempt.attemptId, sender, reason: 'the answer was lost', at });
    expect(await read(attempt)).toEqual({ verdict: 'unknown', reason: 'the answer was lost', answer: null });
  });

  it('that was refused readably has its mark closed by the reader, where it could not do it itself', async () => {
    const attempt = await opened();
    await mark(attempt);
    expect(await read(attempt, 'validation_failed')).toMatchObject({
      verdict: 'not_sent',
      reason: 'validation_failed',
    });
  });
});

describe('an answer', () => {
  const states: [string, (attempt: Opened) => Promise<unknown>][] = [
    ['open', () => Promise.resolve()],
    ['sending', mark],
    ['closed', read],
    ['closed by a person', ({ attemptId }) => closeByPerson(ledger.pool, { attemptId, reason: 'looked', at })],
    [
      'unknown',
      (attempt) => mark(attempt).then(() => noteUnknown(ledger.pool, { ...attempt, sender, reason: 'x', at })),
    ],
  ];
  it.each(states)('that comes late is kept although the attempt is %s', async (_, bring) => {
    const attempt = await opened();
    await bring(attempt);
    await answer(attempt);
    expect(await read(attempt)).toEqual({ verdict: 'answered', reason: null, answer: accepted });
    expect(await read({ ...attempt, epoch: 'another' })).toMatchObject({ verdict: 'answered' });
  });

  it('is never replaced by a later one, nor closed', async () => {
    const attempt = await opened();
    await mark(attempt);
    await answer(attempt);
    await answer(attempt, { kind: 'accepted', requestId: 'R2' });
    await close(attempt);
    expect(await read(attempt, 'validation_failed')).toMatchObject({ answer: { requestId: 'R1' } });
  });
});

describe('a ledger that was restored or failed over', () => {
  it('is unknown, never "not sent", for an attempt of another epoch', async () => {
    const attempt = await opened();
    expect(await read({ ...attempt, epoch: 'before-the-restore' })).toMatchObject({ verdict: 'unknown' });
    // Nor does that reading close it: what it says is not to be believed either way.
    expect(await latestAttempt(ledger.pool, filingId, 1)).toMatchObject({ state: 'open' });
  });

  it('is unknown for an attempt that it does not hold', async () => {
    const { epoch } = await opened();
    expect(await read({ attemptId: 'GONE-1-1', epoch })).toMatchObject({ verdict: 'unknown' });
  });

  it('has another epoch', async () => {
    const attempt = await opened();
    const { rows } = await ledger.pool.query<{ id: string }>('SELECT ledger_id AS id FROM ledger_identity');
    await ledger.pool.query('UPDATE ledger_identity SET ledger_id = gen_random_uuid()');
    expect(await mark(attempt)).toBe(false);
    expect(await read(attempt)).toMatchObject({ verdict: 'unknown' });
    await ledger.pool.query('UPDATE ledger_identity SET ledger_id = $1', [rows[0]?.id]);
    expect(await mark(attempt)).toBe(true);
  });
});

describe('a person who says that nothing was filed', () => {
  const say = (attemptId: string) => closeByPerson(ledger.pool, { attemptId, reason: 'not filed, says ravi', at });

  it('closes an attempt of unknown outcome', async () => {
    const attempt = await opened();
    await mark(attempt);
    expect(await say(attempt.attemptId)).toBe(true);
    expect(await read(attempt)).toMatchObject({ verdict: 'not_sent', reason: 'not filed, says ravi' });
    expect(await readRowsToSend(ledger.pool, filingId)).toHaveLength(1);
  });

  it('is refused when an answer with a request id exists', async () => {
    const attempt = await opened();
    await mark(attempt);
    await answer(attempt);
    expect(await say(attempt.attemptId)).toBe(false);
    expect(await read(attempt)).toMatchObject({ verdict: 'answered' });
  });

  it('is believed when the answer has no request id to ask about', async () => {
    const attempt = await opened();
    await mark(attempt);
    await answer(attempt, { kind: 'accepted', ackStatus: 'Failed', requestId: null });
    expect(await say(attempt.attemptId)).toBe(true);
  });

  it('is believed about an attempt that a restored ledger lost: no answer speaks against it', async () => {
    expect(await say('GONE-1-2')).toBe(true);
  });
});
