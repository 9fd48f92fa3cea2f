/**
 * A lost workflow task repeats the steps since the last one, perhaps on another worker and while the first still runs:
 * each returns what it returned and writes nothing more.
 */
import type { Activities } from '../../src/activities/create-activities';
import type { WordInput } from '../../src/activities/filings/filing-ledger';
import type { MoveArgs } from '../../src/activities/filings/moves';
import type { StoredAnswer } from '../../src/domain/filing/attempt';
import type { FilingState } from '../../src/domain/filing/states';
import { lockFiling } from '../../src/ledger/filings/filing-lock';
import { saveSnapshot } from '../../src/ledger/certificates/snapshots';
import { needFiling } from '../../src/ledger/filings/filings';
import { withTransaction } from '../../src/ledger/pool';
import { recordLook } from '../../src/ledger/submissions/lost-time';
import { endRequest, notePoll } from '../../src/ledger/submissions/requests';
import { ACCEPTED, attemptSteps, SENT_BY, WORD } from '../ledger/submissions/attempt-support';
import {
  EXPORTER,
  knowExporter,
  minutesLater,
  move,
  NOW,
  open,
  readBalancesAgain,
  rowsOf,
} from '../ledger/filing-support';
import { settleRows } from '../ledger/ledger-steps';
import { approvalBy } from '../support/principals';
import { eventually } from '../support/processes';
import { useTestDatabase } from '../support/postgres';
import { useDoor } from './door';
import { heldOf, makeTwice } from './twice';

const ledger = useTestDatabase(knowExporter);
const attempts = attemptSteps(ledger);
/** What a workflow does when it is signalled. */
let signalled = (): Promise<unknown> => Promise.resolve();
const door = useDoor(ledger, {}, (deps) => ({
  ...deps,
  client: () => ({ workflow: { getHandle: () => ({ signal: () => signalled() }) } }) as never,
}));

beforeAll(async () => {
  // Steps are made by the clock of today, long after the settle window of what was sent at NOW.
  await readBalancesAgain(ledger, EXPORTER, minutesLater(300));
  const look = { beganAt: minutesLater(300), endedAt: minutesLater(301), from: '01012026', to: '11022026' };
  return recordLook(ledger.pool, { exporterId: EXPORTER, ...look, problem: null });
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

/** An attempt that was marked and counted at NOW, after a snapshot. @returns its id */
async function counted(filingId: string): Promise<string> {
  await saveSnapshot(ledger.pool, { filingId, submission: 1, exporterId: EXPORTER, certificates: [], at: NOW });
  const attemptId = await attempts.opened(filingId);
  await attempts.count(attemptId, door.deps.documents);
  return attemptId;
}

/** A filing with such an attempt, which has no answer. */
async function unanswered(...states: FilingState[]): Promise<{ filingId: string; attemptId: string }> {
  const filingId = await attempts.filing();
  const attemptId = await counted(filingId);
  await move(ledger, filingId, 'submitting', ...states);
  return { filingId, attemptId };
}

let words = 0;
/** What a person says of an attempt. */
const wordOf = (filingId: string, attemptId: string, more: Partial<WordInput> = {}): WordInput => ({
  ...{ ...WORD, filingId, attemptId, by: 'ravi', saidBy: `update-${(words += 1)}` },
  ...more,
});

const UNKNOWN = { statement: 'unknown_request' as const, ageMs: 0, at: NOW };
/** A filing whose attempt was answered with a request, which the service says it does not know. */
async function denied(more: Partial<StoredAnswer> = {}) {
  const { filingId, attemptId } = await unanswered();
  const request = { filingId, submission: 1, requestId: `R${filingId}` };
  const answer = { ...ACCEPTED, requestId: request.requestId, ...more };
  await door.run('adoptAnswer', { attemptId, answer, sentBy: SENT_BY });
  await notePoll(ledger.pool, request, UNKNOWN);
  return { attemptId, request, conclude: { ...(await held(filingId)), ...request, errors: ['it is not known'] } };
}

/** @returns the id of the word */
const said = (...of: Parameters<typeof wordOf>): Promise<string> =>
  door.run('recordWord', wordOf(...of), { isLocal: true, activityId: `word-${words}` });

async function carryOut(filingId: string, attemptId: string, wordId: string) {
  const again = await moveOf(filingId, 'submitting', 'resolved');
  const filed = await moveOf(filingId, 'processing', 'resolved');
  return { wordId, attemptId, moves: { again, filed } };
}

async function expectJudged(filingId: string, ...outcomes: string[]): Promise<void> {
  const judged = 'SELECT outcome FROM word_judgements JOIN words USING (word_id) WHERE filing_id = $1 ORDER BY word_id';
  expect(await ledger.select(judged, filingId)).toEqual(outcomes.map((outcome) => ({ outcome })));
}

async function certify(filingId: string, position = 0): Promise<void> {
  const number = `E${filingId}${position}`;
  const verdict = { position, outcome: 'certified' as const, eBRCNumber: number, eBRCDate: '10022026' };
  const settled = { filingId, exporterId: EXPORTER, verdicts: [verdict], at: new Date() };
  await withTransaction(ledger.pool, (client) => settleRows(client, settled));
}

it('reserves balances, opens an attempt, reads it and takes its answer over', async () => {
  const filingId = await attempts.filing();
  const submitting = await moveOf(filingId, 'submitting');
  await twice(filingId, 'reserveBalances', { filingId, move: submitting });
  const { returned } = await twice(filingId, 'openAttempt', { ...(await held(filingId)), submission: 1 });
  expect(returned).toMatchObject({ outcome: 'attempt', number: 1, verdict: 'open' });
  const attemptId = `${filingId}-1-1`;
  await attempts.mark(attemptId);
  await twice(filingId, 'readAttempt', { attemptId, seq: submitting.seq });
  const answer = { ...ACCEPTED, requestId: `R${filingId}` };
  const adopted = await twice(filingId, 'adoptAnswer', { attemptId, answer, sentBy: SENT_BY });
  expect(adopted.filing).toMatchObject({ state: 'processing' });
});

it('is told apart from another step of the same number: local steps are counted by themselves', async () => {
  const filingId = await attempts.filing();
  const info = { activityId: '5', workflowExecution: { workflowId: 'file/test/T', runId: 'run' } };
  const move = await moveOf(filingId, 'submitting');
  await door.run('recordProgress', move, { ...info, isLocal: true });
  expect(await door.run('recordProgress', move, { ...info, isLocal: false })).toEqual({ filing: 'differs' });
});

it('records a word, and an approval with the move that it causes', async () => {
  const rows = rowsOf({ sbCumInvoiceNumber: '9100001', mappedIRMAmountFCC: 1 });
  const filingId = await open(ledger, 'REPEATED-APPROVAL', rows, { approvalNeeded: true });
  await move(ledger, filingId, 'awaiting_approval');
  const { grant: grantId } = await approvalBy(ledger.pool, 'meera', filingId);
  const word = wordOf(filingId, '', { kind: 'approve', attemptId: null, by: 'meera', grantId, note: null });
  const { returned: wordId } = await twice(filingId, 'recordWord', word);
  const approval = { wordId, move: await moveOf(filingId, 'checking', 'approved') };
  const { filing, story } = await twice(filingId, 'recordApproval', approval);
  expect(filing).toMatchObject({ state: 'checking', approved_by: 'meera' });
  expect(story?.filter((kind) => kind === 'approved')).toHaveLength(1);
  await expectJudged(filingId, 'carried_out');
});

it('records a word once that two tries record at the same time, and both get its id', async () => {
  const { filingId, attemptId } = await unanswered('outcome_unknown');
  const word = wordOf(filingId, attemptId);
  let tries: Promise<string>[] = [];
  await withTransaction(ledger.pool, async (client) => {
    await lockFiling(client, filingId);
    tries = [door.run('recordWord', word), door.run('recordWord', word)];
    await eventually(async () => (await client.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount === 2);
  });
  const [first, second] = await Promise.all(tries);
  expect(first).toMatch(/^\d+$/);
  expect(second).toBe(first);
});

it('gives nothing up, and carries nothing out, on a word that the ledger does not have', async () => {
  const { filingId, attemptId } = await unanswered('outcome_unknown');
  const given = { ...(await held(filingId)), by: 'ravi', note: 'a mistake', wordId: '' };
  expect(await door.run('giveUpFiling', given)).toMatchObject({ refused: expect.any(String) as string });
  const carried = await door.run('carryOutWord', await carryOut(filingId, attemptId, ''));
  expect(carried).toMatchObject({ outcome: 'refused' });
});

it('keeps a filing waiting for credentials that are newer than those it was told of', async () => {
  const waiter = { workflowId: 'file/test/WAITS', exporterId: EXPORTER };
  await door.run('awaitCredentials', { ...waiter, versionSeen: 1 });
  // It has tried them when the telling goes on: they are bad too.
  signalled = () => door.run('awaitCredentials', { ...waiter, versionSeen: 2 });
  await door.run('tellCredentialsRenewed', { exporterId: EXPORTER, version: 2 });
  signalled = () => Promise.resolve();
  const waiting = () => ledger.pool.query('SELECT version_seen FROM credential_waiters');
  expect((await waiting()).rows).toEqual([{ version_seen: 2 }]);
  await door.run('tellCredentialsRenewed', { exporterId: EXPORTER, version: 3 });
  expect((await waiting()).rows).toEqual([]);
});

it('puts a word aside', async () => {
  const { filingId, attemptId } = await unanswered('outcome_unknown');
  const wordId = await said(filingId, attemptId);
  const why = 'the filing is past it';
  // After a restore the number of a word is nobody's, or another filing's.
  await twice('F-OTHER', 'closeWord', { filingId: 'F-OTHER', wordId, why });
  await twice(filingId, 'closeWord', { filingId, wordId: '99999999', why });
  await expectJudged(filingId);
  const { returned } = await twice(filingId, 'closeWord', { filingId, wordId, why });
  expect(returned).toEqual({ carriedOut: false });
  await expectJudged(filingId, 'refused');
});

describe('an outcome that is not known', () => {
  it('is recorded with its rows', async () => {
    const { filingId, attemptId } = await unanswered();
    const unknown = { attemptId, move: await moveOf(filingId, 'outcome_unknown') };
    const { filing } = await twice(filingId, 'markRowsUnknown', unknown);
    expect(filing).toMatchObject({ state: 'outcome_unknown' });
  });

  it('ends with the proof that nothing was sent', async () => {
    const { filingId, attemptId } = await unanswered('outcome_unknown');
    await attempts.close(attemptId);
    const unsent = await moveOf(filingId, 'submitting', 'not_sent');
    const unknown = { attemptId, seq: unsent.seq - 1, unsent };
    expect(await door.run('readAttempt', { ...unknown, seq: unknown.seq - 1 })).toMatchObject({
      verdict: 'unsent',
      filing: 'differs',
    });
    expect((await heldOf(ledger, filingId)).filings?.[0]).toMatchObject({ state: 'outcome_unknown' });
    const { returned, filing, story } = await twice(filingId, 'readAttempt', unknown);
    expect(returned).toMatchObject({ verdict: 'unsent', filing: { counts: { open: 1 } } });
    expect(filing).toMatchObject({ state: 'submitting' });
    expect(story?.at(-1)).toBe('not_sent');
  });

  it('is answered with “filed”', async () => {
    const { filingId, attemptId } = await unanswered('outcome_unknown');
    const wordId = await said(filingId, attemptId, { kind: 'filed', requestId: `R${filingId}` });
    const { returned, filing } = await twice(filingId, 'carryOutWord', await carryOut(filingId, attemptId, wordId));
    expect(returned).toMatchObject({ outcome: 'filed' });
    expect(filing).toMatchObject({ state: 'processing' });
    expect((await heldOf(ledger, filingId)).requests).toMatchObject([{ source: 'named', state: 'followed' }]);
    await expectJudged(filingId, 'carried_out');
  });

  it('is answered in a way that is contradicted', async () => {
    const { filingId, attemptId } = await unanswered('outcome_unknown');
    const wordId = await said(filingId, attemptId, { kind: 'filed', requestId: 'R-NOBODY' });
    const event = { kind: 'resolve_refused', who: 'ravi', text: 'it is not known', data: { attemptId } };
    const { filing, story } = await twice(filingId, 'refuseWord', { filingId, wordId, event });
    expect(filing).toMatchObject({ state: 'outcome_unknown' });
    expect(story?.at(-1)).toBe('resolve_refused');
    await expectJudged(filingId, 'refused');
  });

  it('is answered with “not filed”', async () => {
    const { filingId, attemptId } = await unanswered('outcome_unknown');
    const wordId = await said(filingId, attemptId);
    const carried = await twice(filingId, 'carryOutWord', await carryOut(filingId, attemptId, wordId));
    expect(carried.returned).toMatchObject({ outcome: 'again' });
    expect(carried.filing).toMatchObject({ state: 'submitting' });
    expect(carried.story?.filter((kind) => kind === 'resolved')).toHaveLength(1);
    expect(await attempts.attempts(filingId)).toEqual(['absent']);
    await expectJudged(filingId, 'carried_out');
  });

  it('is answered with “not filed” where a row has its certificate', async () => {
    const row = (number: string) => ({ sbCumInvoiceNumber: number, billNo: `EXP/${number}`, mappedIRMAmountFCC: 1 });
    const filingId = await open(ledger, 'REPEATED-FREED', rowsOf(row('9200001'), row('9200002')));
    const attemptId = await counted(filingId);
    await move(ledger, filingId, 'submitting', 'outcome_unknown');
    await certify(filingId);
    const wordId = await said(filingId, attemptId);
    const carried = await twice(filingId, 'carryOutWord', await carryOut(filingId, attemptId, wordId));
    expect(carried.returned).toMatchObject({ outcome: 'freed', freed: 1 });
    expect(carried.filing).toMatchObject({ state: 'collecting' });
    expect(carried.story?.filter((kind) => kind === 'resolved')).toHaveLength(1);
    expect((await heldOf(ledger, filingId)).releases).toMatchObject([{ ground: 'absent' }]);
  });

  it('is answered by a word that needs a second person', async () => {
    const { filingId, attemptId } = await unanswered('outcome_unknown');
    const [row] = await attempts.rows(filingId);
    expect(row).toMatchObject({ live: true });
    await ledger.pool.query(
      `INSERT INTO certificates (party_id, exporter_id, ebrc_number, document_key, document_on, bill_key, issued_on)
       SELECT party_id, exporter_id, 'EB-' || filing_id, document_key, document_on, bill_key, '2026-02-10'
         FROM filing_rows WHERE filing_id = $1`,
      [filingId],
    );
    const wordId = await said(filingId, attemptId, { notOurs: [`EB-${filingId}`] });
    const carried = await twice(filingId, 'carryOutWord', await carryOut(filingId, attemptId, wordId));
    expect(carried.returned).toMatchObject({ outcome: 'stands' });
    expect(carried.filing).toMatchObject({ state: 'outcome_unknown' });
    expect(carried.story?.filter((kind) => kind === 'resolve_stands')).toHaveLength(1);
    await ledger.pool.query(`DELETE FROM certificates WHERE ebrc_number = $1`, [`EB-${filingId}`]);
  });
});

describe('an end', () => {
  it('is recorded with a refusal', async () => {
    const filingId = await attempts.filing();
    const error = { severity: 'error' as const, code: 'balance', row: null, field: null, message: 'too little' };
    const refusal = { ...(await held(filingId)), submission: null, answer: null, errors: [error] };
    const { returned, filing } = await twice(filingId, 'refuseFiling', refusal);
    expect(returned).toMatchObject({ filing: { state: 'needs_correction' }, errors: [error] });
    expect(filing).toMatchObject({ state: 'needs_correction' });
    expect((await heldOf(ledger, filingId)).releases).toMatchObject([{ ground: 'never_attempted' }]);
  });

  it('is recorded with a request that the service does not know', async () => {
    const { request, conclude } = await denied({ ackStatus: 'Failed' });
    const { filingId } = request;
    const { returned, filing } = await twice(filingId, 'concludeStatement', conclude);
    expect(returned).toMatchObject({ freed: true, filing: { state: 'needs_correction' } });
    expect(filing).toMatchObject({ state: 'needs_correction' });
    expect((await heldOf(ledger, filingId)).requests).toMatchObject([{ state: 'absent' }]);
    expect(await attempts.attempts(filingId)).toEqual(['absent']);
  });

  it('ends no submission once more whose release was taken back between two tries of the step', async () => {
    const { attemptId, request, conclude } = await denied();
    const { filingId, requestId } = request;
    const step = { activityId: 'conclude', workflowExecution: { workflowId: 'file/test/T', runId: filingId } };
    // Without errors of the service, what it said of the request is the reason.
    const unreasoned = { ...conclude, errors: [] };
    expect(await door.run('concludeStatement', unreasoned, step)).toMatchObject({ freed: true });
    const wordId = await said(filingId, attemptId, { kind: 'filed', requestId });
    const event = { kind: 'resolved', text: 'found' };
    await door.run('carryOutAfterEnd', { filingId, wordId, attemptId, event });
    await door.run('concludeStatement', unreasoned, step);
    expect((await heldOf(ledger, filingId)).submissions).toMatchObject([{ state: 'acknowledged' }]);
  });

  // Its record named a certificate that the row cannot have; or a person answered for other rows of it.
  it.each(['ended', 'absent'] as const)('is not recorded with a request that is %s', async (state) => {
    const { request, conclude } = await denied();
    const end = { state, processingStatus: null, errored: [], contradicted: [0], at: NOW };
    if (state === 'ended') await notePoll(ledger.pool, request, { ...UNKNOWN, statement: null });
    await endRequest(ledger.pool, request, end);
    const concluded = await door.run('concludeStatement', conclude);
    expect(concluded).toMatchObject({ freed: false, filing: { state: 'processing' } });
    expect((await heldOf(ledger, request.filingId)).releases).toEqual([]);
  });

  it.each([
    ['of a filing that was not sent', 'withdrawn', () => attempts.filing()],
    ['of one that may be at the service', 'abandoned', async () => (await unanswered()).filingId],
  ])('is recorded with a word to abandon it, %s', async (_of, kind, make) => {
    const filingId = await make();
    const wordId = await said(filingId, `${filingId}-1-1`, { kind: 'abandon', attemptId: null });
    const args = { ...(await held(filingId)), by: 'ravi', note: 'no', wordId };
    const { filing, story } = await twice(filingId, 'giveUpFiling', args);
    expect(filing).toMatchObject({ state: 'abandoned', note: 'no' });
    expect(story?.at(-1)).toBe(kind);
    await expectJudged(filingId, 'carried_out');
  });

  it.each<FilingState>(['collecting', 'overdue'])(
    'is recorded with what all rows have come to, from %s',
    async (from) => {
      const { filingId } = await unanswered('processing', from);
      await certify(filingId);
      const { returned, story, filing } = await twice(filingId, 'endFiling', await held(filingId));
      expect(returned).toMatchObject({ filing: { state: 'certified', seq: (await held(filingId)).seq } });
      expect([story?.at(-1), filing?.state]).toEqual(['certified', 'certified']);
    },
  );
});

it('writes nothing for a run that is behind its ledger', async () => {
  const { filingId, attemptId } = await unanswered();
  const wordId = await said(filingId, attemptId);
  const behind = { ...(await held(filingId)), seq: 0 };
  const late = { ...(await moveOf(filingId, 'outcome_unknown')), seq: 1 };
  const before = await heldOf(ledger, filingId);
  for (const returned of [
    await door.run('markRowsUnknown', { attemptId, move: late }),
    await door.run('carryOutWord', { wordId, attemptId, moves: { again: late, filed: late } }),
    await door.run('refuseFiling', { ...behind, submission: null, answer: null, errors: [] }),
    await door.run('giveUpFiling', { ...behind, by: 'ravi', note: 'no' }),
    await door.run('endFiling', behind),
    await door.run('concludeStatement', { ...behind, submission: 1, requestId: 'R', errors: [] }),
  ])
    expect(returned).toMatchObject({ filing: 'differs' });
  expect(await door.run('openAttempt', { ...behind, submission: 1 })).toEqual({ outcome: 'differs' });
  expect(await heldOf(ledger, filingId)).toEqual(before);
});
