/**
 * A local step is repeated with its workflow task: when its worker is killed in the middle of it, and when the task
 * times out while the step still runs. Nothing is filed twice, and no step leaves its effect twice.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import type { Deps } from '../../../src/activities/dependencies';
import type { FilingResult } from '../../../src/domain/contracts';
import { createDocumentStore } from '../../../src/documents/document-store';
import { testFolder } from '../../support/folder';
import { gate } from '../../support/gate';
import { startTcpProxy } from '../../support/tcp-proxy';
import { startTestWorker } from '../../support/worker';
import type { DyingWorker } from './dying-worker';
import type { Filing, TestExporter } from './filing-stage';
import { stoppingPool, type StopPoint } from './stopping-pool';
import { IN_REAL_TIME, useRealServerStage } from './use-filing-stage';

const ROOT = join(__dirname, '../../..');
const documents = testFolder();
const withDocuments = (deps: Deps): Deps => ({ ...deps, documents: createDocumentStore({ root: documents }) });
const stage = useRealServerStage({ worker: { adjust: withDocuments } });

/** The events of a filing that nothing disturbed, and what became of its attempts. */
let undisturbed: { story: string[]; attempts: string[] };

beforeAll(async () => {
  const filing = await fileForApproval(await stage.exporter());
  await stage.approve(filing, 'meera');
  undisturbed = await leftOf(await filing.result());
  // From here on the workers of the tests do its work.
  await stage.worker.stop();
});

/**
 * A filing whose workflow tasks are taken for lost after three seconds and not after ten: a busy machine needs more
 * than one for a replay.
 */
const file = (exporter: TestExporter): Promise<Filing> =>
  stage.file(exporter, [stage.mapping(exporter)], {}, { workflowTaskTimeout: '3s' });

/** A filing that waits for its approval, and that the authority rejects: most of its steps are local ones. */
async function fileForApproval(exporter: TestExporter): Promise<Filing> {
  const rows = [stage.mapping(exporter)];
  await stage.reject(rows[0]?.sbCumInvoiceNumber);
  const filing = await stage.file(exporter, rows, { approval: true }, { workflowTaskTimeout: '3s' });
  await stage.until(filing, 'awaiting_approval');
  return filing;
}

/**
 * On a busy machine the next worker may start later than the filing's state explains, which the filing then says. Where
 * an answer is recorded just before that, the ledger has moved on, and the run takes it up and goes on.
 */
const withoutDelays = (story: readonly string[]): string[] =>
  story
    .filter((kind) => kind !== 'not_moving' && kind !== 'taken_up')
    .filter((kind, at, all) => kind !== 'processing' || all[at - 1] !== kind);

const leftOf = async ({ filingId }: FilingResult) => ({
  story: withoutDelays(await stage.story(filingId)),
  attempts: await stage.verdicts(filingId),
});

/** Runs one worker process after the other, each of which dies at its point; the last one lives until `stop`. */
function workersThatDie(points: readonly StopPoint[]) {
  const program = join(__dirname, 'dying-worker.ts');
  const died: (StopPoint | undefined)[] = [];
  let said = '';
  let stopped = false;
  let child: ChildProcess;
  const left = [...points];
  const next = () => {
    const dies = left.shift();
    const work: DyingWorker = {
      address: stage.env.address,
      namespace: stage.env.namespace ?? 'default',
      taskQueue: stage.worker.taskQueue,
      databaseUrl: stage.ledger.url,
      sandboxUrl: stage.sandbox.url,
      documents,
      settings: IN_REAL_TIME,
      dies,
    };
    const loader = join(ROOT, 'scripts/typescript.cjs');
    child = spawn(process.execPath, ['-r', loader, program, JSON.stringify(work)], { cwd: ROOT });
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()));
    child.once('close', (_code, signal) => {
      if (stopped) return;
      died.push(signal === 'SIGKILL' ? dies : undefined);
      next();
    });
  };
  next();
  return {
    /** The points at which workers have died so far. */
    died,
    said: () => said,
    stop: () =>
      new Promise<void>((resolve) => {
        stopped = true;
        child.once('close', () => resolve());
        child.kill('SIGKILL');
      }),
  };
}

describe('a worker that is killed in the middle of a local step', () => {
  it('before its commit, or after it and before the workflow task is completed: the step takes effect once', async () => {
    const points: StopPoint[] = [
      { activity: 'openFiling', when: 'before its commit' },
      { activity: 'recordApproval', when: 'before its commit' },
      { activity: 'reserveBalances', when: 'after its commit' },
      { activity: 'endFiling', when: 'after its commit' },
    ];
    const exporter = await stage.exporter();
    const workers = workersThatDie(points);
    const filing = await fileForApproval(exporter);
    const approved = stage.approve(filing, 'meera');
    const result = await filing.result().finally(() => workers.stop());
    expect(workers.died).toEqual(points);
    expect(await approved).toMatchObject({ state: expect.any(String) as string });
    expect(result).toMatchObject({ state: 'rejected', counts: { errored: 1 } });
    expect(await leftOf(result)).toEqual(undisturbed);
    expect(stage.pushes(exporter)).toBe(1);
  });

  it('while a person answers for an unknown outcome: the answer is carried out once', async () => {
    const points: StopPoint[] = [
      { activity: 'markRowsUnknown', when: 'after its commit' },
      { activity: 'carryOutWord', when: 'after its commit' },
    ];
    const exporter = await stage.exporter();
    stage.fault(exporter, 'push-irm', 'drop-before-accept');
    const workers = workersThatDie(points);
    const filing = await file(exporter);
    try {
      await stage.until(filing, 'outcome_unknown');
      await stage.settleWindowOver(filing);
      await stage.resolve(filing, 'not-filed');
      expect(await filing.result()).toMatchObject({ state: 'certified' });
    } finally {
      await workers.stop();
    }
    expect(workers.died).toEqual(points);
    const { filingId } = await filing.result();
    const story = await stage.story(filingId);
    // What was read before the move is read again after it, so the run goes on from the ledger; on a busy machine a
    // later worker may take the filing up once more.
    expect(story).toContain('taken_up');
    const moves = story.filter((kind) => kind === 'outcome_unknown' || kind === 'resolved');
    expect(moves).toEqual(['outcome_unknown', 'outcome_unknown', 'resolved']);
    expect(await stage.verdicts(filingId)).toEqual(['absent', 'accepted']);
    expect(await stage.requestsOf(exporter)).toHaveLength(1);
  });
});

it.each<StopPoint>([
  { activity: 'recordApproval', when: 'before its commit' },
  { activity: 'reserveBalances', when: 'after its commit' },
])('goes on at another worker when a workflow task times out during $activity, $when', async (point) => {
  const proxy = await startTcpProxy(`http://${stage.env.address}`);
  const [there, held] = [gate(), gate()];
  const nativeConnection = await NativeConnection.connect({ address: `127.0.0.1:${proxy.port}` });
  const { client, namespace } = stage.env;
  let wanted: StopPoint | undefined = point;
  const workerOn = (connection: NativeConnection, adjust: (deps: Deps) => Deps) =>
    startTestWorker({
      ...{ sandbox: stage.sandbox, ledger: stage.ledger, taskQueue: stage.worker.taskQueue, settings: IN_REAL_TIME },
      env: { client, namespace, nativeConnection: connection, currentTimeMs: () => Promise.resolve(Date.now()) },
      adjust: (deps) => withDocuments(adjust(deps)),
    });
  const stop = async () => {
    wanted = undefined;
    there.open();
    await held.passed;
  };
  const cutOff = await workerOn(nativeConnection, (deps) => ({
    ...deps,
    pool: stoppingPool(deps.pool, () => wanted, stop),
  }));
  const exporter = await stage.exporter();
  const filing = await fileForApproval(exporter);
  const approved = stage.approve(filing, 'meera');
  await there.passed;
  // Nothing that the worker says reaches the server any more, and its polls are gone.
  proxy.swallow(true);
  proxy.reset();
  const other = await workerOn(stage.env.nativeConnection, (deps) => deps);
  const result = await filing.result();
  await approved;
  held.open();
  proxy.swallow(false);
  await Promise.all([cutOff.close(), other.close()]);
  await nativeConnection.close();
  await proxy.close();
  expect(result).toMatchObject({ state: 'rejected', counts: { errored: 1 } });
  expect(await leftOf(result)).toEqual(undisturbed);
  expect(stage.pushes(exporter)).toBe(1);
  const { events } = await filing.fetchHistory();
  expect(events?.some((event) => event.workflowTaskTimedOutEventAttributes)).toBe(true);
});
