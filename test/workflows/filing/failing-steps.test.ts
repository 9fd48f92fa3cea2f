/** Steps that fail at a certain moment, or are refused: no door leads into these moments on purpose. */
import { ApplicationFailure } from '@temporalio/activity';
import { WithStartWorkflowOperation, type WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import type { FileInput, FilingResult } from '../../../src/domain/contracts';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import { queueOfClass, type RateClass } from '../../../src/domain/names';
import { abandonUpdate, approveUpdate, filingQuery, resolveUpdate } from '../../../src/workflows/messages';
import { eventually } from '../../support/processes';
import { timeSkippingEnvironment } from '../../support/temporal';
import { TEST_SETTINGS } from '../../support/settings';

let env: TestWorkflowEnvironment;
let code: string;

beforeAll(async () => {
  env = await timeSkippingEnvironment();
  const bundled = await bundleWorkflowCode({
    workflowsPath: require.resolve('./stepped-workflows'),
    logger: new DefaultLogger('ERROR'),
  });
  code = bundled.code;
});
afterAll(() => env.teardown());

const counts = { rows: 1, certified: 1, archived: 1, errored: 0, open: 0 };
const filing = {
  ...{ filingId: 'F1', exporterId: 'E1', reference: 'R', n: 1, workflowId: 'overdue', contentHash: '', seq: 4 },
  ...{ state: 'collecting', attention: null, needsAttention: false, asked: false, dueAt: null, waitsFor: null },
  ...{ asks: null, late: null, channel: 'push', approvalNeeded: false, approvedBy: null, madeBy: 'asha' },
  ...{ words: {}, sends: [], collectingSince: null, hasWorkbook: false, counts, submissions: [], standing: null },
  ...{ kind: '', text: '', since: 0 },
};
const unsent = {
  submission: 1,
  state: 'planned',
  rowCount: 1,
  attempt: null,
  attempts: 0,
  requests: [],
  ackErrors: [],
};
const INPUT: FileInput = { mode: 'test', exporterId: 'E1', madeBy: 'asha', resume: 'F1' };
const settings = { ...TEST_SETTINGS, mode: 'test', searchAttributes: [] };

type Step = (args: never) => unknown;

/** @param classes whose calls are made too */
async function withWorker<T>(
  activities: Record<string, Step>,
  use: (taskQueue: string) => Promise<T>,
  classes: RateClass[] = [],
): Promise<T> {
  const main = `steps-${randomUUID()}`;
  const connection = env.nativeConnection;
  let run = () => use(main);
  for (const taskQueue of [main, ...classes.map((each) => queueOfClass(main, each))]) {
    const worker = await Worker.create({ connection, taskQueue, workflowBundle: { code }, activities });
    const inner = run;
    run = () => worker.runUntil(inner);
  }
  return run();
}

/** A filing's run, from when it has come so far on. */
const running = (
  activities: Record<string, Step>,
  soFar: (progress: FilingResult) => boolean,
  use: (filing: WorkflowHandle<typeof fileRemittances>) => Promise<void>,
  classes?: RateClass[],
) =>
  withWorker(
    activities,
    async (taskQueue) => {
      const options = { workflowId: randomUUID(), taskQueue, args: [INPUT] as [FileInput] };
      const run = await env.client.workflow.start<typeof fileRemittances>('fileRemittances', options);
      await eventually(async () => soFar(await run.query(filingQuery)));
      await use(run);
    },
    classes,
  );
const isWaiting = ({ state }: FilingResult) => state === 'awaiting_approval';
const ABANDON = { by: 'ravi', note: 'a mistake' };

/** A task that fails for ever ends with the run's time. */
const execute = (workflow: string, activities: Record<string, Step>, args: unknown[] = [filing, settings]) =>
  withWorker(activities, (taskQueue) =>
    env.client.workflow.execute(workflow, { workflowId: randomUUID(), taskQueue, args, workflowRunTimeout: '3h' }),
  );

const refuse = (type: string) => () => {
  throw ApplicationFailure.nonRetryable(`refused: ${type}`, type);
};

it('asks for no move that does not follow from the one before it', async () => {
  const moves: string[] = [];
  const recordProgress = ({ state }: { state: string }) => {
    moves.push(state);
    return { filing: null };
  };
  expect(await execute('overdueBehindItsEnd', { recordProgress })).toBe('certified');
  expect(moves).toEqual([]);
});

it('meets the failure of an overdue move at the end of the work, and fails no workflow task until then', async () => {
  expect(await execute('overdueDuringWork', { recordProgress: refuse('unexpected') })).toBe('ActivityFailure');
});

it('goes on without its watchdog where that fails, and notes it', async () => {
  const notes: string[] = [];
  const noteEvent = ({ kind }: { kind: string }) => void notes.push(kind);
  expect(await execute('notMoving', { recordProgress: refuse('unexpected'), noteEvent })).toBe('collecting');
  expect(notes).toEqual(['not_watched']);
});

it.each<[string, () => never, number]>([
  ['filing_missing', refuse('filing_missing'), 1],
  ['not_local', refuse('not_local'), 2],
])('makes a step that is refused as %s as often as it can help', async (type, readFiling, times) => {
  let made = 0;
  const step = () => {
    made += 1;
    readFiling();
  };
  expect(await execute('oneStep', { readFiling: step }, [])).toBe(type);
  expect(made).toBe(times);
});

it('hands activities out of async functions', async () => {
  expect(await execute('handedOut', {}, [])).toEqual(['object', 'object', 'object']);
});

it('is not given up where the word that gives it up could not be recorded', async () => {
  const opened = { ...filing, state: 'awaiting_approval', approvalNeeded: true, submissions: [unsent] };
  const givenUp: string[] = [];
  const activities = {
    openFiling: () => ({ outcome: 'resumed', filing: opened, readiness: null, settings }),
    readReadiness: () => ({ apiState: 'active', balancesReadAt: Number.MAX_SAFE_INTEGER }),
    reserveBalances: () => ({ filing: null, errors: [] }),
    recordWord: refuse('unexpected'),
    giveUpFiling: ({ by }: { by: string }) => {
      givenUp.push(by);
      return { filing: { ...opened, seq: 5, state: 'abandoned' } };
    },
  };
  await running(activities, isWaiting, async (run) => {
    const asked = run.executeUpdate(abandonUpdate, { args: [ABANDON] });
    await expect(asked).rejects.toMatchObject({ cause: { message: expect.stringContaining('refused') as string } });
    await eventually(async () => isWaiting(await run.query(filingQuery)));
    await run.terminate();
  });
  expect(givenUp).toEqual([]);
});

it('judges a request that comes with its start by what the ledger holds, once that was read', async () => {
  const opened = { ...filing, state: 'awaiting_approval', approvalNeeded: true, submissions: [unsent] };
  const activities = {
    openFiling: () => ({ outcome: 'resumed', filing: opened, readiness: null, settings }),
    readReadiness: () => ({ apiState: 'active', balancesReadAt: Number.MAX_SAFE_INTEGER }),
    reserveBalances: () => ({ filing: null, errors: [] }),
    recordWord: () => '7',
    recordApproval: () => ({ filing: null, refused: 'meera is no checker' }),
  };
  await withWorker(activities, async (taskQueue) => {
    const options = { workflowId: randomUUID(), taskQueue, workflowIdConflictPolicy: 'FAIL' as const };
    const startWorkflowOperation = new WithStartWorkflowOperation<typeof fileRemittances>('fileRemittances', {
      ...options,
      args: [INPUT],
    });
    const approve = { args: [{ by: 'meera' }] as [{ by: string }], startWorkflowOperation };
    const asked = env.client.workflow.executeUpdateWithStart(approveUpdate, approve);
    await expect(asked).rejects.toMatchObject({ cause: { message: 'meera is no checker.' } });
    await (await startWorkflowOperation.workflowHandle()).terminate();
  });
});

it('leaves what its end asks, where the step that ended it had to wait for the document store', async () => {
  const opened = { ...filing, state: 'checking', submissions: [unsent] };
  const ended = { ...opened, seq: 7, state: 'needs_correction', kind: 'needs_correction', asks: 'correct it' };
  const moves: string[] = [];
  let tries = 0;
  const result = await execute(
    'fileRemittances',
    {
      openFiling: () => ({ outcome: 'resumed', filing: opened, readiness: null, settings }),
      readReadiness: () => ({ apiState: 'active', balancesReadAt: Number.MAX_SAFE_INTEGER }),
      reserveBalances: () => ({
        filing: null,
        errors: [{ severity: 'error', row: 1, code: 'balance', message: 'no' }],
      }),
      refuseFiling: () => ((tries += 1) === 1 ? refuse('documents_unavailable')() : { filing: ended, errors: [] }),
      recordProgress: ({ seq, event }: { seq: number; event: { kind: string; text: string } }) => {
        moves.push(event.kind);
        return { filing: { ...opened, seq, ...event } };
      },
    },
    [INPUT],
  );
  expect(result).toMatchObject({ state: 'needs_correction', attention: 'correct it' });
  expect(moves).toEqual(['checking', 'documents_unavailable']);
});

it('tells who gives a filing up that it ended otherwise meanwhile', async () => {
  const opened = { ...filing, state: 'awaiting_approval', approvalNeeded: true, submissions: [unsent] };
  const certified = { ...opened, seq: 9, state: 'certified' };
  const closed: unknown[] = [];
  let moved = false;
  const activities = {
    openFiling: () => ({ outcome: moved ? 'recorded' : 'resumed', filing: moved ? certified : opened, settings }),
    readReadiness: () => ({ apiState: 'active', balancesReadAt: Number.MAX_SAFE_INTEGER }),
    reserveBalances: () => ({ filing: null, errors: [] }),
    recordWord: () => '7',
    giveUpFiling: () => ((moved = true), { filing: 'differs' }),
    closeWord: ({ wordId }: { wordId: string }) => (closed.push(wordId), { carriedOut: false }),
  };
  await running(activities, isWaiting, async (run) => {
    const asked = run.executeUpdate(abandonUpdate, { args: [ABANDON] });
    await expect(asked).rejects.toMatchObject({ cause: { message: expect.stringContaining('certified') as string } });
    expect(await run.result()).toMatchObject({ state: 'certified' });
  });
  expect(closed).toEqual(['7']);
});

it('reads the filing again, and goes no further, where its step finds a move of another run before its own', async () => {
  const opened = { ...filing, state: 'checking', submissions: [unsent] };
  const certified = { ...opened, seq: 9, state: 'certified' };
  const reserved: unknown[] = [];
  let moved = false;
  const activities = {
    openFiling: () => ({ outcome: moved ? 'recorded' : 'resumed', filing: moved ? certified : opened, settings }),
    recordProgress: ({ seq }: { seq: number }) => ((moved = true), { filing: { ...opened, seq: seq + 1 } }),
    readReadiness: () => ({ apiState: 'active', balancesReadAt: Number.MAX_SAFE_INTEGER }),
    reserveBalances: (args: unknown) => (reserved.push(args), { filing: 'differs', errors: [] }),
  };
  expect(await execute('fileRemittances', activities, [INPUT])).toMatchObject({ state: 'certified' });
  expect(reserved).toEqual([]);
});

it('stops a collection for what a person has to put right, whatever another download fails with after it', async () => {
  let refused: () => void;
  const first = new Promise<void>((resolve) => (refused = resolve));
  const activities = {
    listToArchive: () => ({ due: ['E1', 'E2'], nextInMs: null }),
    downloadCertificate: async ({ eBRCNumber }: { eBRCNumber: string }) => {
      if (eBRCNumber === 'E1') setTimeout(refused, 1_000);
      else await first;
      refuse(eBRCNumber === 'E1' ? 'account_locked' : 'not_found')();
    },
  };
  const collect = (taskQueue: string) =>
    env.client.workflow.execute('collectCertificates', {
      ...{ workflowId: randomUUID(), taskQueue, args: [{ filingId: 'F1', exporterId: 'E1' }] },
    });
  expect(await withWorker(activities, collect, ['pdf'])).toMatchObject({ failure: { kind: 'account_locked' } });
});

it('does not refuse an answer that was carried out by a step whose own answer was lost', async () => {
  const attempt = { attemptId: 'F1-1-1', number: 1, verdict: 'marked', refusedSince: false };
  const doubtful = { ...filing, state: 'outcome_unknown', submissions: [{ ...unsent, attempt, attempts: 1 }] };
  // Its sender has said that the exchange is over: no answer is waited for, however new the mark is.
  const markedAt = (await env.currentTimeMs()) + 3_600_000;
  const reading = { ...attempt, underWay: false, reason: 'lost', answer: null, markedAt, filingEnded: false };
  const ended = { ...doubtful, seq: 7, state: 'abandoned' };
  let carried = false;
  const activities = {
    openFiling: () => ({ outcome: carried ? 'recorded' : 'resumed', filing: carried ? ended : doubtful, settings }),
    readAttempt: () => ({ ...reading, filing: null }),
    markRowsUnknown: () => ({ filing: { ...doubtful, seq: 5 } }),
    recordProgress: ({ seq, event }: { seq: number; event: object }) => ({ filing: { ...doubtful, seq, ...event } }),
    refreshIrms: () => null,
    readIrms: () => ({ irmCount: 1, reserved: null }),
    gatherEvidence: () => ({ adopted: [], openRows: 1, ambiguous: [], contradicted: [], agreeing: [], filing: null }),
    noteEvent: () => null,
    recordWord: () => '7',
    carryOutWord: () => ((carried = true), { filing: 'differs' }),
    closeWord: () => ({ carriedOut: carried }),
  };
  const answered = async (run: WorkflowHandle<typeof fileRemittances>) => {
    const answer = { as: 'not-filed', attemptId: 'F1-1-1', by: 'ravi', note: 'looked at the portal' } as const;
    expect(await run.executeUpdate(resolveUpdate, { args: [answer] })).toMatchObject({ filingId: 'F1' });
    expect(await run.result()).toMatchObject({ state: 'abandoned' });
  };
  await running(activities, (progress) => progress.attempt === 'F1-1-1', answered, ['irm-refresh', 'api', 'details']);
});

describe('a result says of each that was skipped why, in less than the 2 MB of a payload:', () => {
  const skip = 'the service says no. '.repeat(200);
  const run = async (workflow: string, activities: Record<string, Step>) => {
    const result = (await execute(workflow, activities, [{ mode: 'test' }])) as { skipped: { reason: string }[] };
    return { told: result.skipped.length, longest: Math.max(...result.skipped.map(({ reason }) => reason.length)) };
  };

  it('refreshIrms', async () => {
    const page = Array.from({ length: 100 }, (_, index) => ({ exporterId: `E${index}`, skip, readFirst: false }));
    const exportersToRefresh = ({ after }: { after: string }) => ({
      candidates: page,
      next: after.length < 11 ? `${after}+` : null,
    });
    const activities = { readSettings: () => settings, exportersToRefresh };
    const { told, longest } = await run('refreshIrms', activities);
    expect(told).toBe(1_000);
    expect(longest).toBeLessThanOrEqual(500);
  });

  it('reconcile', async () => {
    const party = { partyId: 1, callAs: 'E1', iecCode: 'IEC0000001', skip };
    const { longest } = await run('reconcile', {
      planReconciliation: () => ({ problems: [], from: '2026-01-01', to: '2026-01-31' }),
      partiesToReconcile: () => ({ parties: [party], next: null }),
      checkDocuments: () => ({ next: null }),
      compareLedger: () => ({ opened: 0, closed: 0, open: 0 }),
      endReconciliation: () => ({ counts: {} }),
    });
    expect(longest).toBeLessThanOrEqual(500);
  });
});
