/**
 * An acceptance is stored with what follows of it, in one transaction: its submission is acknowledged and the filing is
 * being processed. Nothing that goes wrong with the second costs the first.
 */
import { takeOverAnswer, type AdoptedAnswer } from '../../src/activities/filings/answers';
import type { SubmitContext } from '../../src/api/http/call';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction } from '../../src/ledger/pool';
import { readRequests } from '../../src/ledger/submissions/requests';
import { ACCEPTED, attemptSteps, SENT_BY } from '../ledger/submissions/attempt-support';
import { EXPORTER, knowExporter, move, open, rowsOf } from '../ledger/filing-support';
import { useTestDatabase } from '../support/postgres';
import { useDoor } from './door';

const ledger = useTestDatabase(knowExporter);
/** What the service answers with next. */
let parsed: Record<string, unknown>;
const attempts = attemptSteps(ledger);
const door = useDoor(ledger, {
  pushIrm: async (_message: unknown, { beforeWrite }: SubmitContext) => {
    await beforeWrite();
    return { parsed, raw: '', status: 200, warnings: [] };
  },
});

/** A filing whose first submission is about to be sent. */
async function aboutToSend(): Promise<{ filingId: string; attemptId: string }> {
  const filingId = await attempts.filing();
  const attemptId = await attempts.opened(filingId);
  await move(ledger, filingId, 'submitting');
  return { filingId, attemptId };
}

function submit({ filingId, attemptId }: { filingId: string; attemptId: string }, more = {}, submission = 1) {
  parsed = { ackStatus: 'Validated', recordResCount: 1, requestId: `R${attemptId}`, dgftAckId: 'A', ...more };
  return door.run('submitPush', { filingId, submission, exporterId: EXPORTER, attemptId });
}

/** By the execution that sent it. */
const adopt = (attemptId: string, more = {}) => {
  const answer = { ...ACCEPTED, requestId: `R${attemptId}`, ...more };
  return door.run('adoptAnswer', { attemptId, answer, sentBy: SENT_BY }) as Promise<AdoptedAnswer>;
};

/** The transactions that last wrote the attempt, its submission, its filing and the filing's last move. */
const writers = (filingId: string) =>
  ledger.select(
    `SELECT a.xmin::text AS tx FROM attempts a WHERE filing_id = $1
     UNION SELECT xmin::text FROM submissions WHERE filing_id = $1
     UNION SELECT xmin::text FROM filings WHERE filing_id = $1
     UNION SELECT e.xmin::text FROM filing_events e JOIN filings f USING (filing_id, seq) WHERE filing_id = $1`,
    filingId,
  );

const seqOf = async (filingId: string) => (await needFiling(ledger.pool, filingId)).seq;
const stateOf = async (filingId: string) => (await needFiling(ledger.pool, filingId)).state;

it('is one transaction: nobody sees an acceptance without the filing’s move', async () => {
  const sent = await aboutToSend();
  const { adopted } = await submit(sent);
  const seq = await seqOf(sent.filingId);
  const requestId = `R${sent.attemptId}`;
  expect(adopted).toMatchObject({ requestId, filing: { seq, standing: null, counts: { rows: 1, open: 1 } } });
  expect(await needFiling(ledger.pool, sent.filingId)).toMatchObject({ state: 'processing', requestId });
  expect(await writers(sent.filingId)).toHaveLength(1);
  const due = await ledger.select('SELECT due_at AS due FROM filings WHERE filing_id = $1', sent.filingId);
  expect(due).toEqual([{ due: new Date(adopted?.filing?.dueAt ?? 0) }]);
});

it('changes nothing when it is taken over again, and returns the same', async () => {
  const sent = await aboutToSend();
  const { adopted } = await submit(sent);
  const before = await writers(sent.filingId);
  expect(await adopt(sent.attemptId)).toEqual(adopted);
  expect(await writers(sent.filingId)).toEqual(before);
});

it('may be taken over before its own activity can store it', async () => {
  const { filingId, attemptId } = await aboutToSend();
  await attempts.mark(attemptId);
  const first = await adopt(attemptId);
  expect(first.filing?.state).toBe('processing');
  expect(await adopt(attemptId)).toEqual(first);
  expect(await stateOf(filingId)).toBe('processing');
});

it('is stored alone where it cannot be taken over: a defect never costs an answer', async () => {
  const sent = await aboutToSend();
  await ledger.pool.query(
    `CREATE FUNCTION defective_move() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a defect'; END $$;
     CREATE TRIGGER refused BEFORE UPDATE ON filings FOR EACH ROW WHEN (OLD.filing_id = '${sent.filingId}')
       EXECUTE FUNCTION defective_move()`,
  );
  const { answer, adopted } = await submit(sent);
  expect({ requestId: answer.requestId, adopted }).toEqual({ requestId: `R${sent.attemptId}`, adopted: null });
  expect(await attempts.attempts(sent.filingId)).toEqual(['accepted']);
  expect(await stateOf(sent.filingId)).toBe('submitting');
  expect(door.logs.join('')).toContain('it could not be taken over');
  await ledger.pool.query('DROP TRIGGER refused ON filings');
  const adoptedLater = { requestId: `R${sent.attemptId}`, filing: { state: 'processing' } };
  expect(await adopt(sent.attemptId)).toMatchObject(adoptedLater);
  expect(await stateOf(sent.filingId)).toBe('processing');
});

it('moves a filing with several submissions on with the last acknowledgement', async () => {
  const [one, two] = ['9400001', '9400002'].map((number) => ({ sbCumInvoiceNumber: number, mappedIRMAmountFCC: 1 }));
  const filingId = await open(ledger, 'TWO-SUBMISSIONS', rowsOf(one ?? {}, two ?? {}));
  await ledger.pool.query(
    `WITH second AS (INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count)
       SELECT filing_id, 2, mode, customer_id, 1 FROM submissions WHERE filing_id = $1)
     UPDATE filing_rows SET submission = 2 WHERE filing_id = $1 AND position = 1`,
    [filingId],
  );
  await move(ledger, filingId, 'submitting');
  const first = { filingId, attemptId: await attempts.opened(filingId) };
  const still = { requestId: `R${first.attemptId}`, filing: { state: 'submitting', seq: 1 } };
  expect((await submit(first)).adopted).toMatchObject(still);
  expect(await stateOf(filingId)).toBe('submitting');
  const last = { filingId, attemptId: await attempts.opened(filingId, 2) };
  expect((await submit(last, {}, 2)).adopted?.filing?.state).toBe('processing');
  expect(await stateOf(filingId)).toBe('processing');
});

it('moves nothing without a request id to ask about', async () => {
  const sent = await aboutToSend();
  const still = { requestId: null, filing: { state: 'submitting', seq: 1 } };
  expect((await submit(sent, { requestId: null })).adopted).toMatchObject(still);
  expect(await attempts.attempts(sent.filingId)).toEqual(['accepted']);
  expect(await stateOf(sent.filingId)).toBe('submitting');
});

it('leaves a filing that has ended as it is', async () => {
  const sent = await aboutToSend();
  await attempts.mark(sent.attemptId);
  await move(ledger, sent.filingId, 'abandoned');
  const seq = await seqOf(sent.filingId);
  expect(await adopt(sent.attemptId)).toMatchObject({ filing: { state: 'abandoned', seq: 2 } });
  expect(await attempts.attempts(sent.filingId)).toEqual(['accepted']);
  expect(await needFiling(ledger.pool, sent.filingId)).toMatchObject({ state: 'abandoned', seq });
});

describe('an answer that comes late', () => {
  it.each([
    ['an open question', ['outcome_unknown'] as const],
    ['a pause', ['needs_credentials'] as const],
  ])('ends %s', async (_what, states) => {
    const { filingId, attemptId } = await aboutToSend();
    await attempts.mark(attemptId);
    await move(ledger, filingId, ...states);
    const { filing } = await adopt(attemptId);
    expect(filing?.seq).toBe(await seqOf(filingId));
    expect(await stateOf(filingId)).toBe('processing');
  });

  it('finds a filing that was put back to before its send, which comes to its send first', async () => {
    const filingId = await attempts.filing();
    const taken = { attemptId: `${filingId}-1-1`, answer: ACCEPTED, at: new Date() };
    const { adopted } =
      (await withTransaction(ledger.pool, (client) => takeOverAnswer(client, door.deps, taken))) ?? {};
    expect(adopted?.filing?.seq).toBe(await seqOf(filingId));
    const moves = 'SELECT state FROM filing_events WHERE filing_id = $1 AND seq IS NOT NULL ORDER BY seq';
    const last = (await ledger.select(moves, filingId)).slice(-2);
    expect(last).toEqual([{ state: 'submitting' }, { state: 'processing' }]);
  });

  it('of an attempt that the ledger does not hold cannot be proven: it is in doubt, and the request is a named one', async () => {
    const filingId = await attempts.filing();
    const attemptId = `${filingId}-1-1`;
    expect(await adopt(attemptId)).toMatchObject({ filing: 'differs', requestId: `R${attemptId}` });
    expect(await attempts.attempts(filingId)).toEqual(['marked']);
    const named = { requestId: `R${attemptId}`, source: 'named' };
    expect(await readRequests(ledger.pool, filingId, 1)).toMatchObject([named]);
  });

  it('does not end a pause of a filing that is being processed', async () => {
    const { filingId, attemptId } = await aboutToSend();
    await submit({ filingId, attemptId });
    await move(ledger, filingId, 'needs_credentials');
    const seq = await seqOf(filingId);
    await adopt(attemptId);
    expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'needs_credentials', seq });
  });
});
