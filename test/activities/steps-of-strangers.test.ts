/** What whoever can schedule steps on the workers' queues, without any grant, cannot do. */
import type { SubmitContext } from '../../src/api/http/call';
import type { FilingState } from '../../src/domain/filing/states';
import { sentAs } from '../../src/domain/filing/attempt';
import { saveIrms } from '../../src/ledger/exporters/irms';
import { readFilingView } from '../../src/ledger/filings/filing-view';
import { needFiling } from '../../src/ledger/filings/filings';
import { EXPORTER, irmRecord, knowExporter, move, open, rowsOf } from '../ledger/filing-support';
import { attemptSteps, WORD } from '../ledger/submissions/attempt-support';
import { useTestDatabase } from '../support/postgres';
import { TEST_CADENCE } from '../support/settings';
import { useDoor } from './door';

const OTHER = 'exporter-9';
const ledger = useTestDatabase(knowExporter);
let pushed = 0;
const attempts = attemptSteps(ledger);
const door = useDoor(ledger, {
  pushIrm: async (_message: unknown, context: SubmitContext) => {
    await context.beforeWrite();
    pushed += 1;
    const parsed = { requestId: `R${pushed}`, dgftAckId: null, ackStatus: null, recordResCount: 1 };
    return { status: 200, warnings: [], parsed };
  },
});

beforeAll(() => knowExporter(ledger, OTHER, 'AAGCM9999K'));

/** A run's move, so many after the one that the ledger has. */
const stepOf = (of: { filingId: string; seq: number }, n: number, state: FilingState, kind: string = state) => ({
  ...{ filingId: of.filingId, seq: of.seq + n, state, attention: null, event: { kind, text: kind } },
});

it('sends nothing of an unapproved filing under the attempt of another one, nor under another client', async () => {
  const rows = rowsOf({ sbCumInvoiceNumber: '7700001', mappedIRMAmountFCC: 1 });
  const held = await open(ledger, 'UNAPPROVED', rows, { approvalNeeded: true });
  const cover = await attempts.filing();
  const attemptId = await attempts.opened(cover);
  const own = { filingId: cover, submission: 1, exporterId: EXPORTER, attemptId };
  for (const other of [{ filingId: held }, { submission: 2 }, { exporterId: OTHER }]) {
    expect(await door.failure('submitPush', { ...own, ...other })).toMatchObject({ type: 'unexpected' });
  }
  expect([pushed, await attempts.attempts(cover)]).toEqual([0, ['open']]);
  await door.run('submitPush', own);
  expect(pushed).toBe(1);
});

it('records nothing under a reference that reads as the name of another filing', async () => {
  const asked = { mode: 'test' as const, exporterId: EXPORTER, message: {} };
  for (const reference of ['A#2', 'A#B#10', 'file/test/A', 'F0123456789ABCDE']) {
    const input = { ...asked, reference };
    expect(await door.run('openFiling', { input, workflowId: 'w' })).toMatchObject({
      outcome: 'refused',
      errors: [{ code: 'invalid_input', field: 'reference' }],
    });
    // One that was recorded before goes on.
    const again = { ...asked, reference, message: undefined, resume: 'F-NONE' };
    expect(await door.run('openFiling', { input: again, workflowId: 'w' })).toMatchObject({
      outcome: 'filing_unknown',
    });
  }
});

it('leaves a filing that has ended as it is, whatever sends a run says that it knows of', async () => {
  const rows = rowsOf({ sbCumInvoiceNumber: '7700002', mappedIRMAmountFCC: 1 }).map(({ mapping }) => mapping);
  const message = { recordResCount: 1, uploadType: '101', decalarationFlag: 'Y', ebrcBulkGenDtos: rows };
  const asked = { mode: 'test', exporterId: EXPORTER, reference: 'ENDED', madeBy: 'asha' } as const;
  const run = { input: { ...asked, message }, workflowId: 'file/test/ENDED' };
  const opened = await door.run('openFiling', run);
  if (opened.outcome !== 'opened') throw new Error(JSON.stringify(opened));
  const { filingId, seq } = opened.filing;
  await door.run('giveUpFiling', { filingId, seq, by: 'ravi', note: 'a mistake' });
  const sends = [sentAs(`${filingId}-1-1`, { requestId: null, sentAt: 0 })];
  for (const input of [run.input, { ...asked, resume: filingId }]) {
    expect(await door.run('openFiling', { ...run, input, sends })).toMatchObject({
      outcome: 'recorded',
      filing: { filingId, state: 'abandoned' },
    });
  }
});

it('asks what became of rows that such sends hold again, and says so where they are certified although it ended', async () => {
  const filingId = await attempts.filing();
  const { seq, reference, workflowId } = await needFiling(ledger.pool, filingId);
  await door.run('refuseFiling', { filingId, seq, submission: null, answer: null, errors: [] });
  const asked = async () => {
    const view = await readFilingView(ledger.pool, filingId, TEST_CADENCE);
    return [view?.state, ...(view?.questions ?? []).map(({ kind, text }) => [kind, text])];
  };
  expect(await asked()).toEqual(['needs_correction', ['needs_correction', expect.stringContaining('1 row') as string]]);
  const sends = [sentAs(`${filingId}-1-1`, { requestId: null, sentAt: 0 })];
  const input = { mode: 'test', exporterId: EXPORTER, reference, madeBy: 'asha', resume: filingId } as const;
  await door.run('openFiling', { input, workflowId, sends });
  const changed = (text: string) => [
    'needs_correction',
    ['changed_after_end', expect.stringContaining(text) as string],
  ];
  expect(await asked()).toEqual(changed(`say what became of them: ebrc resolve ${filingId}`));
  const certificates = [{ row: 1, eBRCNumber: 'EB-AFTER' }];
  const word = { ...WORD, filingId, kind: 'filed' as const, certificates, grantId: null };
  for (const by of ['ravi', 'meera']) {
    const wordId = await door.run('recordWord', { ...word, by, saidBy: by });
    const event = { kind: 'resolved', who: by, text: 'looked' };
    await door.run('carryOutAfterEnd', { filingId, wordId, attemptId: null, event });
  }
  expect(await asked()).toEqual(changed('1 of its 1 rows are certified since'));
});

it('judges no send as refused or accepted on the claim of another execution', async () => {
  const filingId = await attempts.filing();
  const attemptId = await attempts.opened(filingId);
  await attempts.count(attemptId, door.deps.documents);
  await move(ledger, filingId, 'submitting', 'outcome_unknown');
  const [row] = await ledger.select('SELECT sender FROM attempts WHERE attempt_id = $1', attemptId);
  // What the ledger shows of the sender is no proof either.
  for (const sentBy of ['whoever', row?.['sender'] as string]) {
    const refusal = { reason: 'validation_failed', sentBy };
    expect(await door.run('readAttempt', { attemptId, refusal, seq: 0 })).toMatchObject({ verdict: 'marked' });
    const answer = { kind: 'accepted', requestId: 'FORGED' };
    expect(await door.run('adoptAnswer', { attemptId, answer, sentBy })).toMatchObject({ filing: 'differs' });
    const sends = [sentAs(attemptId, { requestId: 'FORGED', sentAt: 0, sentBy })];
    const poll = { filingId, submission: 1, ackErrors: [], once: true, sends };
    expect(await door.run('pollStatus', poll)).toMatchObject({ outcome: 'doubt', requestId: null });
  }
  expect(await attempts.attempts(filingId)).toEqual(['marked']);
});

it('ends no filing with an outcome that its rows do not have', async () => {
  const filingId = await attempts.filing();
  const { seq } = await needFiling(ledger.pool, filingId);
  const step = (n: number, state: FilingState) => stepOf({ filingId, seq }, n, state);
  for (const [n, state] of (['submitting', 'processing', 'collecting'] as const).entries())
    await door.run('recordProgress', step(n + 1, state), { activityId: state });
  expect(await door.failure('recordProgress', step(4, 'certified'))).toMatchObject({ type: 'unexpected' });
  expect(await needFiling(ledger.pool, filingId)).toMatchObject({ state: 'collecting', closedAt: null });
});

it('keeps the event of every move, whichever step records it', async () => {
  const filingId = await attempts.filing();
  const { seq } = await needFiling(ledger.pool, filingId);
  const info = { activityId: 'same', workflowExecution: { workflowId: 'w', runId: 'r' } };
  for (const [n, kind] of ['first', 'second'].entries())
    await door.run('recordProgress', stepOf({ filingId, seq }, n + 1, 'submitting', kind), info);
  const kept = 'SELECT kind FROM filing_events WHERE filing_id = $1 AND seq > $2 ORDER BY seq';
  expect(await ledger.select(kept, filingId, seq)).toEqual([{ kind: 'first' }, { kind: 'second' }]);
});

it('reserves the balances of the filing’s own exporter, whichever is read', async () => {
  const rows = rowsOf({ sbCumInvoiceNumber: '7900003', mappedIRMAmountFCC: 9_999_999 });
  const filingId = await open(ledger, 'OVERDRAWN', rows);
  const irm = { ...irmRecord(99_999_999, 'AAGCM9999K'), remittanceFCCAmount: 99_999_999, irmUtilizedAmt: 0 };
  await saveIrms(ledger.pool, OTHER, [irm], new Date());
  const { errors } = await door.run('reserveBalances', { filingId });
  expect(errors.map(({ severity }) => severity)).toContain('error');
  const checked = 'SELECT checked FROM filing_rows WHERE filing_id = $1';
  expect(await ledger.select(checked, filingId)).toEqual([{ checked: false }]);
});
