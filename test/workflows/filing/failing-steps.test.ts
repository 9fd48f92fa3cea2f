/** Steps that fail at a certain moment, or are refused: no door leads into these moments on purpose. */
import { ApplicationFailure } from '@temporalio/activity';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { randomUUID } from 'node:crypto';
import { abandonUpdate, filingQuery } from '../../../src/workflows/messages';
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
};
const settings = { ...TEST_SETTINGS, mode: 'test', searchAttributes: [] };

type Step = (args: never) => unknown;

async function withWorker<T>(activities: Record<string, Step>, use: (taskQueue: string) => Promise<T>): Promise<T> {
  const taskQueue = `steps-${randomUUID()}`;
  const connection = env.nativeConnection;
  const worker = await Worker.create({ connection, taskQueue, workflowBundle: { code }, activities });
  return worker.runUntil(() => use(taskQueue));
}

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
  const stage = {
    submission: 1,
    state: 'planned',
    rowCount: 1,
    attempt: null,
    attempts: 0,
    requests: [],
    ackErrors: [],
  };
  const opened = { ...filing, state: 'awaiting_approval', approvalNeeded: true, submissions: [stage] };
  const givenUp: string[] = [];
  const activities = {
    openFiling: () => ({ outcome: 'resumed', filing: opened, readiness: null, settings }),
    readReadiness: () => ({ apiState: 'active', balancesReadAt: Date.now() }),
    reserveBalances: () => ({ filing: null, errors: [] }),
    recordWord: refuse('unexpected'),
    giveUpFiling: ({ by }: { by: string }) => {
      givenUp.push(by);
      return { filing: { ...opened, seq: 5, state: 'abandoned' } };
    },
  };
  await withWorker(activities, async (taskQueue) => {
    const input = { mode: 'test', exporterId: 'E1', resume: 'F1' };
    const options = { workflowId: randomUUID(), taskQueue, args: [input] };
    const handle = await env.client.workflow.start('fileRemittances', options);
    await eventually(async () => (await handle.query(filingQuery)).state === 'awaiting_approval');
    const asked = handle.executeUpdate(abandonUpdate, { args: [{ by: 'ravi', note: 'a mistake' }] });
    await expect(asked).rejects.toMatchObject({ cause: { message: expect.stringContaining('refused') as string } });
    await eventually(async () => (await handle.query(filingQuery)).state === 'awaiting_approval');
    await handle.terminate();
  });
  expect(givenUp).toEqual([]);
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
