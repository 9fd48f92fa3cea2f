/**
 * What a one-row push filing costs Temporal's server, over the two hours that the authority takes, on the time-skipping
 * server with the whole worker, a real ledger and the sandbox; beside it the plain way: an activity for each step, a
 * timer and an activity for each poll.
 *
 * Billable actions are those of Temporal Cloud: the start, each start of an activity with every retry, each workflow
 * task with local activities, timers and upserts. The PDF is left out of them: it costs the same either way.
 *
 * Statements are all that the worker sends to PostgreSQL, BEGIN and COMMIT among them.
 *
 * Targets: half of the plain way's actions; 5 normal activities with fresh balances and 7 with a refresh; 70 events; 4
 * upserts of search attributes; 45 statements with fresh balances, and those of its polls.
 */
import { join } from 'node:path';
import type { WorkflowHandle } from '@temporalio/client';
import { bundleWorkflowCode, Worker } from '@temporalio/worker';
import globalSetup from '../test/support/jest/global-setup';
import globalTeardown from '../test/support/jest/global-teardown';
import { messageOf } from '../dev/sample-mapping';
import { openFilingStage, type FilingStage, type TestExporter } from '../test/scenes/stage';
import { searchAttributes } from '../src/domain/names';
import { report } from './support/report';
import { runBench } from './support/run-bench';
import { statementsOf, textOf } from './support/statements';

interface Cost {
  activities: number;
  local: number;
  events: number;
  upserts: number;
  timers: number;
  workflowTasks: number;
  'billable actions': number;
  statements: number;
  polls: number;
}

/** What keeps the ledger's clock and beats with the server's, which skips time. */
const OF_THE_SKIPPED_CLOCK = /test\.offset_ms|UPDATE ledger SET beat = beat \+/u;

/** The defaults of a worker. */
const POLLING = { pollFirstMs: 15 * 60_000, pollMinMs: 2 * 60_000, pollMaxMs: 15 * 60_000 };
const SHARE_OF_PLAIN = 0.5;
const TARGETS = { events: 70, upserts: 4, statements: 45, statementsOfPoll: 12 };
/** What each poll sends once. */
const POLL = 'WITH before AS (SELECT * FROM attempts';

/** Texts of the last filing's statements; with STATEMENTS=1 they are printed. */
let sent: string[] = [];

async function costOf(filing: WorkflowHandle, statements: readonly string[]): Promise<Cost> {
  const { events } = await filing.fetchHistory();
  const count = (key: keyof NonNullable<typeof events>[number]) => events?.filter((event) => event[key]).length ?? 0;
  const starts = events?.reduce((sum, event) => sum + (event.activityTaskStartedEventAttributes?.attempt ?? 0), 0) ?? 0;
  const downloads =
    events?.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'downloadCertificate')
      .length ?? 0;
  const tasksWithSteps = new Set(
    events?.flatMap((event) => event.markerRecordedEventAttributes?.workflowTaskCompletedEventId?.toString() ?? []),
  );
  const upserts = count('upsertWorkflowSearchAttributesEventAttributes');
  const timers = count('timerStartedEventAttributes');
  return {
    'billable actions': 1 + starts - downloads + tasksWithSteps.size + upserts + timers,
    activities: count('activityTaskScheduledEventAttributes'),
    local: count('markerRecordedEventAttributes'),
    events: events?.length ?? 0,
    upserts,
    timers,
    workflowTasks: count('workflowTaskCompletedEventAttributes'),
    statements: statements.length,
    polls: statements.filter((text) => text.startsWith(POLL)).length,
  };
}

/** Starts a filing with its attributes, as `ebrc file` does, and waits for its end. */
async function file(stage: FilingStage, exporter: TestExporter, reference: string): Promise<Cost> {
  const { exporterId } = exporter;
  const attributes = { exporterId, mode: 'test', reference };
  const message = messageOf([stage.mapping(exporter)]);
  const { workflow } = stage.env.client;
  const workflowId = `file/test/${reference}`;
  const statements = await statementsOf(() =>
    workflow.execute('fileRemittances', {
      taskQueue: stage.worker.taskQueue,
      workflowId,
      typedSearchAttributes: searchAttributes(attributes),
      args: [{ mode: 'test', exporterId, reference, madeBy: 'bench', message }],
    }),
  );
  sent = statements
    .map((statement) => textOf(statement).replaceAll(/\s+/gu, ' '))
    .filter((text) => !OF_THE_SKIPPED_CLOCK.test(text));
  return costOf(workflow.getHandle(workflowId), sent);
}

async function fileInThePlainWay({ env }: FilingStage): Promise<Cost> {
  const workflowBundle = await bundleWorkflowCode({ workflowsPath: join(__dirname, 'support', 'workflows.ts') });
  const activities = { doNothing: () => Promise.resolve() };
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'plain',
    workflowBundle,
    activities,
  });
  return worker.runUntil(async () => {
    const filing = await env.client.workflow.start('fileInThePlainWay', { taskQueue: 'plain', workflowId: 'plain' });
    await filing.result();
    return costOf(filing, []);
  });
}

async function main(): Promise<void> {
  await globalSetup();
  const stage = await openFilingStage({ worker: { replayEveryTask: false, settings: POLLING } });
  try {
    const exporter = await stage.exporter();
    // The first filing of an exporter reads the exporter too.
    await file(stage, exporter, 'FIRST');
    const refreshed = await file(stage, exporter, 'REFRESHED');
    await stage.ledger.pool.query(`UPDATE exporters SET irms_refreshed_at = clock_timestamp()`);
    const fresh = await file(stage, exporter, 'FRESH');
    if (process.env['STATEMENTS'] === '1')
      console.log(sent.map((text, index) => `${index + 1} ${text.slice(0, 150)}`).join('\n'));
    const plain = await fileInThePlainWay(stage);
    const within = ({ events, upserts }: Cost) => events <= TARGETS.events && upserts <= TARGETS.upserts;
    const share = ({ 'billable actions': actions }: Cost) => actions / plain['billable actions'];
    const rows = { 'fresh balances': fresh, 'with a refresh': refreshed, 'the plain way': plain };
    report('cost', Object.fromEntries(Object.entries(rows).map(([name, cost]) => [name, { ...cost }])), [
      {
        goal: 'at most 5 normal activities with fresh balances, 7 with a refresh',
        met: fresh.activities <= 5 && refreshed.activities <= 7,
      },
      {
        goal: `at most ${TARGETS.events} events and ${TARGETS.upserts} upserts`,
        met: within(fresh) && within(refreshed),
      },
      {
        goal: `at most ${TARGETS.statements} statements with fresh balances, and ${TARGETS.statementsOfPoll} for each poll`,
        met: fresh.statements <= TARGETS.statements + TARGETS.statementsOfPoll * fresh.polls,
      },
      {
        goal: `billable actions at most ${SHARE_OF_PLAIN} of the plain way (${share(fresh).toFixed(2)}, ${share(refreshed).toFixed(2)})`,
        met: share(refreshed) <= SHARE_OF_PLAIN,
      },
    ]);
  } finally {
    await stage.close();
    await globalTeardown();
  }
}

runBench(main);
