/** What stands around an activity that Temporal runs: its context and a worker's interceptor. Nothing is mocked. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createActivities, type Activities } from '../../src/activities/create-activities';
import type { Deps } from '../../src/activities/dependencies';
import { FailureInterceptor } from '../../src/activities/interceptor';
import type { FilingApi } from '../../src/api/client';
import { createDocumentStore } from '../../src/documents/document-store';
import { createSeenTime } from '../../src/ledger/time';
import { createVault } from '../../src/ledger/vault/vault';
import { reportsInProcess } from '../../src/reports/render';
import { workbooksInProcess } from '../../src/workbook/workbooks';
import type { TestDatabase } from '../support/postgres';

const QUIET = new DefaultLogger('ERROR', () => undefined);
const MINUTE_MS = 60_000;

interface ActivityRun<R> {
  /** What it returns; rejects with what Temporal would be told. */
  outcome: Promise<R>;
  /** Details of every heartbeat so far. */
  heartbeats: unknown[];
  cancel(): void;
}

export interface ActivityStage {
  deps: Deps;
  logs: string[];
  /** Begins an activity as a worker would; `info` replaces parts of its context. */
  begin<K extends keyof Activities>(
    name: K,
    args: Parameters<Activities[K]>[0],
    info?: Partial<Info>,
  ): ActivityRun<Awaited<ReturnType<Activities[K]>>>;
  /** Runs an activity to its end. */
  run<K extends keyof Activities>(
    name: K,
    args: Parameters<Activities[K]>[0],
    info?: Partial<Info>,
  ): Promise<Awaited<ReturnType<Activities[K]>>>;
  /** What an activity fails with. @throws Error where it does not */
  failure<K extends keyof Activities>(
    name: K,
    args: Parameters<Activities[K]>[0],
    info?: Partial<Info>,
  ): Promise<unknown>;
  close(): Promise<void>;
}

/** @param adjust replaces dependencies before the activities are made of them */
export async function openActivities(
  ledger: TestDatabase,
  api: FilingApi,
  adjust: (deps: Deps) => Deps = (deps) => deps,
): Promise<ActivityStage> {
  const documents = await mkdtemp(join(tmpdir(), 'ebrc-activities-'));
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const deps = adjust({
    mode: 'test',
    pool: ledger.pool,
    api,
    vault: createVault({ keys: [{ id: 'k', key: randomBytes(32) }] }),
    documents: createDocumentStore({ root: documents }),
    workbooks: workbooksInProcess,
    reports: reportsInProcess,
    clock: Date.now,
    logger,
    settings: {
      httpTimeoutMs: 2_000,
      rateWindowMs: 45_000,
      overdueAfterMs: 240 * MINUTE_MS,
      settleAfterMs: 240 * MINUTE_MS,
      historyMs: 550 * 24 * 60 * MINUTE_MS,
      pollFirstMs: 20 * MINUTE_MS,
      pollMinMs: MINUTE_MS,
      singlePerson: false,
      pollMaxMs: 15 * MINUTE_MS,
    },
    searchAttributes: [],
    seen: createSeenTime(),
    queueing: () => Promise.resolve(new Map()),
    poke: () => Promise.resolve(),
    pokeOrStart: () => Promise.resolve(),
  });
  await deps.vault.publish(ledger.pool, 'test');
  const activities = createActivities(deps);

  const begin: ActivityStage['begin'] = (name, args, info = {}) => {
    const surroundings = new MockActivityEnvironment(
      {
        activityType: name,
        currentAttemptScheduledTimestampMs: Date.now(),
        startToCloseTimeoutMs: 30 * MINUTE_MS,
        heartbeatTimeoutMs: 1_000,
        ...info,
      },
      {
        logger: QUIET,
        interceptors: [() => ({ inbound: new FailureInterceptor({ logger, settings: deps.settings }) })],
      },
    );
    const heartbeats: unknown[] = [];
    surroundings.on('heartbeat', (details: unknown) => heartbeats.push(details));
    const activity = activities[name] as (input: unknown) => Promise<never>;
    return { outcome: surroundings.run(activity, args), heartbeats, cancel: () => surroundings.cancel() };
  };
  const run: ActivityStage['run'] = (name, args, info) => begin(name, args, info).outcome;

  return {
    deps,
    logs,
    begin,
    run,
    failure: (name, args, info) =>
      run(name, args, info).then(
        (result) => {
          throw new Error(`${name} did not fail: ${JSON.stringify(result)}`);
        },
        (error: unknown) => error,
      ),
    close: () => rm(documents, { recursive: true, force: true }),
  };
}
