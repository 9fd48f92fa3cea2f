/** Where the overdue mark falls between a queued move and its write; no door leads into that moment on purpose. */
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { timeSkippingEnvironment } from '../../support/temporal';
import { TEST_SETTINGS } from '../../support/settings';
import type { overdueBehindItsEnd } from './overdue-workflow';

let env: TestWorkflowEnvironment;

beforeAll(async () => {
  env = await timeSkippingEnvironment();
});
afterAll(() => env.teardown());

it('asks for no move that does not follow from the one before it', async () => {
  const moves: string[] = [];
  const { code } = await bundleWorkflowCode({
    workflowsPath: require.resolve('./overdue-workflow'),
    logger: new DefaultLogger('ERROR'),
  });
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'overdue',
    workflowBundle: { code },
    activities: {
      recordProgress: ({ state }: { state: string }) => {
        moves.push(state);
        return { filing: null };
      },
    },
  });
  const counts = { rows: 1, certified: 1, archived: 1, errored: 0, open: 0 };
  const filing = {
    ...{ filingId: 'F1', exporterId: 'E1', reference: 'R', n: 1, workflowId: 'overdue', contentHash: '', seq: 4 },
    ...{
      state: 'collecting',
      attention: null,
      needsAttention: false,
      asked: false,
      dueAt: null,
      waitsFor: null,
      asks: null,
      late: null,
    },
    ...{ channel: 'push', approvalNeeded: false, approvedBy: null, madeBy: 'asha', words: {}, sends: [] },
    ...{ collectingSince: null, hasWorkbook: false, counts, submissions: [], standing: null },
  };
  const settings = { ...TEST_SETTINGS, mode: 'test', searchAttributes: [] };
  const ended = await worker.runUntil(
    env.client.workflow.execute<typeof overdueBehindItsEnd>('overdueBehindItsEnd', {
      workflowId: 'overdue',
      taskQueue: 'overdue',
      args: [{}, filing, settings] as unknown as Parameters<typeof overdueBehindItsEnd>,
    }),
  );
  expect(ended).toBe('certified');
  expect(moves).toEqual([]);
});
