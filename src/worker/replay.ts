/** Replays the histories of open runs on this build, as its workers will have to. */
import type { Client } from '@temporalio/client';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import type { Config } from '../config/config';
import { boundedConverter, dataConverterOf } from '../encryption/payload-codec';
import { FILING_WORKFLOW } from '../temporal/runs';
import { access } from 'node:fs/promises';
import { workflowBundlePath } from './workflows-bundle';

export interface ReplayedRun {
  workflowId: string;
  workflowType: string;
  /** Why this build cannot go on with it; null: it can. */
  error: string | null;
  /** A filing's run is replaced by one that goes on from the ledger; another stands until its build is back. */
  replaced: boolean;
}

/** Keeps the SDK silent: what does not replay is told by its error. Before any worker of this process. */
export function silenceRuntime(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR', () => undefined),
    telemetryOptions: { logging: { filter: 'OFF', forward: {} } },
  });
}

/** @param onReplayed called after each @throws Error without a bundle; whatever Temporal answers */
export async function replayOpenRuns(
  {
    temporal,
    taskQueue,
    payloadKeys,
    payloads,
    codePath = workflowBundlePath({ encrypted: payloadKeys.length > 0, traced: false }),
  }: { temporal: Client; taskQueue: string; codePath?: string } & Pick<Config, 'payloadKeys' | 'payloads'>,
  onReplayed: (run: ReplayedRun) => void,
): Promise<ReplayedRun[]> {
  await access(codePath).catch(() => {
    throw new Error(`The workflow bundle is missing (${codePath}). Run: npm run build`);
  });
  const query = `TaskQueue = '${taskQueue.replaceAll("'", "''")}' AND ExecutionStatus = 'Running'`;
  const types = new Map<string, string>();
  async function* histories() {
    for await (const { workflowId, runId, type } of temporal.workflow.list({ query })) {
      types.set(workflowId, type);
      yield { workflowId, history: await temporal.workflow.getHandle(workflowId, runId).fetchHistory() };
    }
  }
  const options = {
    workflowBundle: { codePath },
    dataConverter: boundedConverter(
      dataConverterOf(payloadKeys, { plaintext: payloads === 'any' ? 'taken' : 'replaced' }),
    ),
    maxCachedWorkflows: 0,
  };
  const replayed: ReplayedRun[] = [];
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories())) {
    const workflowType = types.get(workflowId) ?? '';
    const run: ReplayedRun = {
      ...{ workflowId, workflowType, error: error ? (error.message.split('\n', 1)[0] ?? error.name) : null },
      replaced: error !== undefined && workflowType === FILING_WORKFLOW,
    };
    replayed.push(run);
    onReplayed(run);
  }
  return replayed;
}
