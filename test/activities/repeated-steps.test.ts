/**
 * A lost workflow task repeats the steps since the last one, perhaps on another worker and while the first still runs:
 * each returns what it returned and writes nothing more.
 */
import type { Activities } from '../../src/activities/create-activities';
import type { MoveArgs } from '../../src/activities/filings/moves';
import type { FilingApi } from '../../src/api/client-types';
import type { FilingState } from '../../src/domain/filing/states';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction } from '../../src/ledger/pool';
import { settleRows } from '../../src/ledger/rows/filing-rows';
import { ACCEPTED, attemptSteps } from '../ledger/submissions/attempt-support';
import { EXPORTER, knowExporter, move, open, rowsOf } from '../ledger/filing-support';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { openDoor, type ActivityDoor } from './door';
import { heldOf, makeTwice } from './twice';

let ledger: TestDatabase;
let door: ActivityDoor;
const attempts = attemptSteps(() => ledger);
const DAY_MS = 86_400_000;

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
  door = await openDoor(ledger, {} as FilingApi);
});
afterAll(async () => {
  await door.close();
  await ledger.drop();
});

/** Makes a local step and repeats it. @returns what it returned */
const twice = <K extends keyof Activities>(filingId: string, name: K, args: Parameters<Activities[K]>[0]) =>
  makeTwice({ ledger, door }, filingId, { name, args, info: { isLocal: true } });

async function moveOf(filingId: string, state: FilingState, kind: string = state): Promise<MoveArgs> {
  const { seq } = await needFiling(ledger.pool, filingId);
  return { filingId, seq: seq + 1, state, attention: null, event: { kind, text: kind, who: 'ravi', data: {} } };
}

async function held(filingId: string) {
  const { seq } = await needFiling(ledger.pool, filingId);
  return { filingId, seq };
}

/** A filing whose attempt was marked a day ago and has no answer. */
async function unanswered(): Promise<{ filingId: string; attemptId: string; markedAt: number }> {
  const filingId = await attempts.filing();
  const attemptId = await attempts.opened(filingId);
  await attempts.mark(attemptId);
  await move(ledger, filingId, 'submitting');
  const markedAt = Date.now() - DAY_MS;
  await ledger.pool.query('UPDATE attempts SET sending_at = $2 WHERE attempt_id = $1', [attemptId, new Date(markedAt)]);
  return { filingId, attemptId, markedAt };
}

const askToResolve = (filingId: string, attemptId: string) =>
  door.run('saveOperatorRequest', {
    filingId,
    kind: 'resolve',
    args: { as: 'not-filed', by: 'ravi', note: 'looked', attemptId },
  });

const requestsOf = async (filingId: string) => (await heldOf(ledger, filingId)).operator_requests;

async function certify(filingId: string, position = 0): Promise<void> {
  const verdict = {
    position,
    outcome: 'certified' as const,
    eBRCNumber: `E${filingId}${position}`,
    eBRCDate: '10022026',
  };
  const settled = { filingId, exporterId: EXPORTER, verdicts: [verdict], at: new Date() };
  await withTransaction(ledger.pool, (client) => settleRows(client, settled));
}

it('reserves balances, opens an attempt, reads it and takes its answer over', async () => {
  const filingId = await attempts.filing();
  const submitting = await moveOf(filingId, 'submitting');
  await twice(filingId, 'reserveBalances', { filingId, exporterId: EXPORTER, move: submitting });
  const { returned } = await twice(filingId, 'openAttempt', { ...(await held(filingId)), submission: 1 });
  expect(returned).toMatchObject({ outcome: 'attempt', number: 1, state: 'open' });
  const attemptId = `${filingId}-1-1`;
  await attempts.mark(attemptId);
  await twice(filingId, 'readAttempt', { attemptId });
  const answer = { ...ACCEPTED, requestId: `R${filingId}` };
  const adopted = await twice(filingId, 'adoptAnswer', { attemptId, answer });
  expect(adopted.filing).toMatchObject({ state: 'processing' });
});

it('records an approval, with the move that it causes', async () => {
  const filingId = await open(
    ledger,
    'REPEATED-APPROVAL',
    rowsOf({ sbCumInvoiceNumber: '9100001', mappedIRMAmountFCC: 1 }),
    {
      approvalNeeded: true,
    },
  );
  await move(ledger, filingId, 'awaiting_approval');
  const approval = { by: 'meera', move: await moveOf(filingId, 'checking', 'approved') };
  const { filing, story } = await twice(filingId, 'recordApproval', approval);
  expect(filing).toMatchObject({ state: 'checking', approved_by: 'meera' });
  expect(story?.filter((kind) => kind === 'approved')).toHaveLength(1);
});

describe('an outcome that is not known', () => {
  it('is recorded with its rows', async () => {
    const { filingId, attemptId } = await unanswered();
    const unknown = { attemptId, move: await moveOf(filingId, 'outcome_unknown') };
    const { filing } = await twice(filingId, 'markRowsUnknown', unknown);
    expect(filing).toMatchObject({ state: 'outcome_unknown' });
  });

  it('ends with the proof that nothing was sent', async () => {
    const { filingId, attemptId } = await unanswered();
    await move(ledger, filingId, 'outcome_unknown');
    await attempts.close(attemptId);
    const unknown = { attemptId, move: await moveOf(filingId, 'submitting', 'not_sent') };
    const behind = { attemptId, move: { ...unknown.move, seq: unknown.move.seq - 1 } };
    expect(await door.run('readUnknownAttempt', behind)).toMatchObject({ verdict: 'not_sent', differs: true });
    expect((await heldOf(ledger, filingId)).filings?.[0]).toMatchObject({ state: 'outcome_unknown' });
    const { returned, filing, story } = await twice(filingId, 'readUnknownAttempt', unknown);
    expect(returned).toMatchObject({ verdict: 'not_sent', counts: { open: 1 } });
    expect(filing).toMatchObject({ state: 'submitting' });
    expect(story?.at(-1)).toBe('not_sent');
  });

  it('is answered with “filed”', async () => {
    const { filingId, attemptId } = await unanswered();
    await move(ledger, filingId, 'outcome_unknown');
    await askToResolve(filingId, attemptId);
    const requestId = `R${filingId}`;
    const named = { attemptId, requestId, move: await moveOf(filingId, 'processing', 'resolved') };
    expect((await twice(filingId, 'adoptRequestId', named)).filing).toMatchObject({ state: 'processing' });
    expect(await requestsOf(filingId)).toEqual([]);
  });

  it('is answered in a way that is contradicted', async () => {
    const { filingId, attemptId } = await unanswered();
    await move(ledger, filingId, 'outcome_unknown');
    await askToResolve(filingId, attemptId);
    const event = { kind: 'resolve_refused', who: 'ravi', text: 'it is not known', data: { attemptId } };
    const { filing, story } = await twice(filingId, 'refuseResolve', { filingId, event });
    expect(filing).toMatchObject({ state: 'outcome_unknown' });
    expect(story?.at(-1)).toBe('resolve_refused');
    expect(await requestsOf(filingId)).toEqual([]);
  });

  it('is answered with “not filed”', async () => {
    const { filingId, attemptId, markedAt } = await unanswered();
    await move(ledger, filingId, 'outcome_unknown');
    await askToResolve(filingId, attemptId);
    const word = { attemptId, markedAt, by: 'ravi', note: 'looked', lookFailed: null, unseen: false };
    const said = { ...word, move: await moveOf(filingId, 'submitting', 'resolved') };
    const { returned, filing, story } = await twice(filingId, 'closeByPerson', said);
    expect(returned).toMatchObject({ outcome: 'resend' });
    expect(filing).toMatchObject({ state: 'submitting' });
    expect(story?.filter((kind) => kind === 'resolved')).toHaveLength(1);
    expect(await requestsOf(filingId)).toEqual([]);
  });

  it('is answered with “not filed” where a row has its certificate', async () => {
    const [first, second] = ['9200001', '9200002'].map((sbCumInvoiceNumber) => ({
      sbCumInvoiceNumber,
      mappedIRMAmountFCC: 1,
    }));
    const filingId = await open(ledger, 'REPEATED-FREED', rowsOf(first ?? {}, second ?? {}));
    const attemptId = await attempts.opened(filingId);
    await attempts.mark(attemptId);
    await move(ledger, filingId, 'submitting', 'outcome_unknown');
    await certify(filingId);
    const { rows } = await ledger.pool.query<{ at: Date }>(
      `UPDATE attempts SET sending_at = sending_at - interval '300 days' WHERE attempt_id = $1 RETURNING sending_at AS at`,
      [attemptId],
    );
    const word = {
      attemptId,
      markedAt: rows[0]?.at.getTime() ?? 0,
      by: 'ravi',
      note: 'x',
      lookFailed: null,
      unseen: false,
    };
    const said = { ...word, move: await moveOf(filingId, 'submitting', 'resolved') };
    const { returned, filing, story } = await twice(filingId, 'closeByPerson', said);
    expect(returned).toMatchObject({ outcome: 'freed', freed: 1 });
    expect(filing).toMatchObject({ state: 'collecting' });
    expect(story?.filter((kind) => kind === 'resolved')).toHaveLength(1);
  });
});

describe('an end', () => {
  it('is recorded with a refusal', async () => {
    const filingId = await attempts.filing();
    const error = { severity: 'error' as const, code: 'balance', row: null, field: null, message: 'too little' };
    const refusal = { ...(await held(filingId)), submission: null, answer: null, errors: [error] };
    const { returned, filing } = await twice(filingId, 'refuseFiling', refusal);
    expect(returned).toMatchObject({ state: 'needs_correction', errors: [error] });
    expect(filing).toMatchObject({ state: 'needs_correction' });
  });

  it('is recorded with a request that the service does not know', async () => {
    const { filingId, attemptId } = await unanswered();
    const requestId = `R${filingId}`;
    const answer = { ...ACCEPTED, requestId, ackStatus: 'Failed' };
    await attempts.answer(attemptId, answer);
    await door.run('adoptAnswer', { attemptId, answer });
    await move(ledger, filingId, 'outcome_unknown');
    const args = { ...(await held(filingId)), submission: 1, requestId, message: 'it is not known' };
    const { returned, filing } = await twice(filingId, 'closeUnknownRequest', args);
    expect(returned).toMatchObject({ outcome: 'closed', state: 'needs_correction' });
    expect(filing).toMatchObject({ state: 'needs_correction' });
  });

  it.each([
    ['of a filing that was not sent', 'withdrawn', () => attempts.filing()],
    ['of one that may be at the service', 'abandoned', async () => (await unanswered()).filingId],
  ])('is recorded with a request to abandon it, %s', async (_of, kind, make) => {
    const filingId = await make();
    const { filing, story } = await twice(filingId, 'giveUpFiling', {
      ...(await held(filingId)),
      by: 'ravi',
      note: 'no',
    });
    expect(filing).toMatchObject({ state: 'abandoned', note: 'no' });
    expect(story?.at(-1)).toBe(kind);
  });

  it.each<[string, FilingState[], string[]]>([
    ['collecting', ['processing', 'collecting'], ['certified']],
    ['overdue', ['processing', 'overdue'], ['collected', 'certified']],
  ])('is recorded with what all rows have come to, from %s', async (_from, states, events) => {
    const { filingId } = await unanswered();
    await move(ledger, filingId, ...states);
    await certify(filingId);
    const { returned, story, filing } = await twice(filingId, 'endFiling', await held(filingId));
    expect(returned).toMatchObject({ state: 'certified', seq: (await held(filingId)).seq });
    expect(story?.slice(-events.length)).toEqual(events);
    expect(filing).toMatchObject({ state: 'certified' });
  });
});

it('writes nothing for a run that is behind its ledger', async () => {
  const { filingId, attemptId, markedAt } = await unanswered();
  const behind = { ...(await held(filingId)), seq: 0 };
  const move = { ...(await moveOf(filingId, 'outcome_unknown')), seq: 1 };
  const word = { attemptId, markedAt, by: 'ravi', note: 'looked', lookFailed: null, unseen: false };
  await askToResolve(filingId, attemptId);
  const before = await heldOf(ledger, filingId);
  for (const returned of [
    await door.run('markRowsUnknown', { attemptId, move }),
    await door.run('adoptRequestId', { attemptId, requestId: `R${filingId}`, move }),
    await door.run('closeByPerson', { ...word, move }),
    await door.run('refuseFiling', { ...behind, submission: null, answer: null, errors: [] }),
    await door.run('giveUpFiling', { ...behind, by: 'ravi', note: 'no' }),
    await door.run('endFiling', behind),
    await door.run('closeUnknownRequest', { ...behind, submission: 1, requestId: 'R', message: '' }),
  ])
    expect(returned).toMatchObject({ differs: true });
  expect(await heldOf(ledger, filingId)).toEqual(before);
});
