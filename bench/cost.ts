/**
 * What a one-row push filing costs Temporal's server, over the two hours that the authority takes, on the time-skipping
 * server with the whole worker, a real ledger and the sandbox.
 *
 * Targets: 5 normal activities with fresh balances and 7 with a refresh; 70 events; 4 upserts of search attributes.
 */
import type { WorkflowHandle } from '@temporalio/client';
import globalSetup from '../test/support/jest/global-setup';
import globalTeardown from '../test/support/jest/global-teardown';
import { openFilingStage, type FilingStage, type TestExporter } from '../test/workflows/filing/filing-stage';
import { searchAttributes } from '../src/workflows/search-attributes';

interface Cost {
  activities: number;
  local: number;
  events: number;
  upserts: number;
  timers: number;
  workflowTasks: number;
}

const TARGETS = { events: 70, upserts: 4 };

async function costOf(filing: WorkflowHandle): Promise<Cost> {
  const { events } = await filing.fetchHistory();
  const count = (key: keyof NonNullable<typeof events>[number]) => events?.filter((event) => event[key]).length ?? 0;
  return {
    activities: count('activityTaskScheduledEventAttributes'),
    local: count('markerRecordedEventAttributes'),
    events: events?.length ?? 0,
    upserts: count('upsertWorkflowSearchAttributesEventAttributes'),
    timers: count('timerStartedEventAttributes'),
    workflowTasks: count('workflowTaskCompletedEventAttributes'),
  };
}

/** Starts a filing with its attributes, as `ebrc file` does, and waits for its end. */
async function file(stage: FilingStage, exporter: TestExporter, reference: string): Promise<Cost> {
  const { exporterId } = exporter;
  const attributes = { exporterId, state: 'checking', mode: 'test', reference, needsAttention: false };
  const message = {
    recordResCount: 1,
    uploadType: '101',
    decalarationFlag: 'Y',
    ebrcBulkGenDtos: [stage.mapping(exporter)],
  };
  const filing = await stage.env.client.workflow.start('fileRemittances', {
    taskQueue: stage.worker.taskQueue,
    workflowId: `file/test/${reference}`,
    typedSearchAttributes: searchAttributes(attributes),
    args: [{ mode: 'test', exporterId, reference, madeBy: 'bench', message }],
  });
  await filing.result();
  return costOf(filing);
}

async function main(): Promise<void> {
  await globalSetup();
  const stage = await openFilingStage({ worker: { replayEveryTask: false } });
  try {
    const exporter = await stage.exporter();
    // The first filing of an exporter reads the exporter too.
    await file(stage, exporter, 'FIRST');
    const refreshed = await file(stage, exporter, 'REFRESHED');
    // The skipping server's clock may be years ahead.
    await stage.ledger.pool.query(`UPDATE irms SET read_at = now() + interval '100 years'`);
    const fresh = await file(stage, exporter, 'FRESH');
    console.table({ 'fresh balances': fresh, 'with a refresh': refreshed });
    const within = ({ events, upserts }: Cost) => events <= TARGETS.events && upserts <= TARGETS.upserts;
    if (fresh.activities > 5 || refreshed.activities > 7 || !within(fresh) || !within(refreshed)) process.exitCode = 1;
  } finally {
    await stage.close();
    await globalTeardown();
  }
}

void main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
