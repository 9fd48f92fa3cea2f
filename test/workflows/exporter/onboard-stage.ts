import { randomUUID } from 'node:crypto';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { WorkflowHandle } from '@temporalio/client';
import pino from 'pino';
import type { ExporterProgress, OnboardInput } from '../../../src/domain/contracts';
import { createSandbox, type Sandbox } from '../../../src/sandbox/sandbox';
import type { SandboxOptions } from '../../../src/sandbox/options';
import type { onboardExporter } from '../../../src/workflows/onboard-exporter';
import type { updateCredentials } from '../../../src/workflows/update-credentials';
import { exporterQuery, submitCredentialsUpdate } from '../../../src/workflows/messages';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { eventually } from '../../support/processes';
import { timeSkippingEnvironment } from '../../support/temporal';
import { startTestWorker, type TestWorker, type TestWorkerOptions } from '../../support/worker';
import { handIn } from '../../../src/ledger/vault/vault';

export const PASSWORD = 'Right-Horse-1!';
export const WRONG = 'Wrong-Battery-2!';
export const HOUR_MS = 3_600_000;

type Onboarding = WorkflowHandle<typeof onboardExporter>;
export type Update = WorkflowHandle<typeof updateCredentials>;

/** Everything an onboarding needs, with the real worker, the real sandbox and a real ledger on the skipping clock. */
export interface OnboardStage {
  env: TestWorkflowEnvironment;
  sandbox: Sandbox;
  ledger: TestDatabase;
  worker: TestWorker;
  /** Everything that was logged, line by line. */
  logs: string[];
  /** Of every onboarding that was started. */
  workflowIds: string[];
  /**
   * The time that a workflow took, in ms on its own clock. (The server's clock runs on to its far time-outs once
   * nothing is left to do.)
   */
  lasted(handle: Onboarding | Update): Promise<number>;
  /** A portal account of its own at the sandbox, with two IRMs; answers its user name. */
  account(options?: { activationDelayMs?: number; irms?: number }): Promise<string>;
  secret(username: string, password?: string): Promise<string>;
  onboard(input: Partial<OnboardInput> & { email: string }): Promise<Onboarding>;
  until(handle: Onboarding | Update, state: ExporterProgress['state']): Promise<ExporterProgress>;
  submit(handle: Onboarding | Update, credentialsRef: string): Promise<ExporterProgress>;
  /** Only with `replayEveryTask`. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export async function openStage(
  options: SandboxOptions = {},
  workerOptions: Pick<TestWorkerOptions, 'replayEveryTask'> = {},
): Promise<OnboardStage> {
  const env = await timeSkippingEnvironment();
  const ledger = await createTestDatabase();
  // The window is tiny: these tests are about the fuse and the outcomes, not about the rate.
  const sandbox = await createSandbox({ clock: () => env.currentTimeMs(), rateWindowMs: 1, ...options });
  const logs: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void logs.push(line) });
  const worker = await startTestWorker({ env, sandbox, ledger, logger, ...workerOptions });
  let accounts = 0;

  const stage: OnboardStage = {
    env,
    sandbox,
    ledger,
    worker,
    logs,
    workflowIds: [],
    async lasted(handle) {
      const { startTime, closeTime } = await handle.describe();
      return (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
    },
    async account({ activationDelayMs, irms = 2 } = {}) {
      accounts += 1;
      const username = `portal.user.${accounts}`;
      const { accounts: world } = await sandbox.state();
      const [pattern] = world;
      if (!pattern) throw new Error('the sandbox has no account to copy');
      const number = String(accounts).padStart(4, '0');
      world.push({
        ...pattern,
        username,
        password: PASSWORD,
        iec: `IEC000${number}`,
        activationDelayMs,
        irms: pattern.irms.slice(0, irms).map((irm, index) => ({ ...irm, irmNumber: `IRM${number}${index}` })),
        certificates: [],
        logins: 0,
        failedLogins: 0,
        failedLoginsInARow: 0,
      });
      return username;
    },
    secret: (username, password = PASSWORD) =>
      handIn(ledger.pool, { mode: 'test', workflowId: 'onboard/test', username, password }),
    onboard(input) {
      const workflowId = `onboard/test/${randomUUID()}`;
      stage.workflowIds.push(workflowId);
      return env.client.workflow.start<typeof onboardExporter>('onboardExporter', {
        taskQueue: worker.taskQueue,
        workflowId,
        args: [{ mode: 'test', name: 'Asha Exports', startedBy: 'asha', ...input }],
      });
    },
    async until(handle, state) {
      let progress: ExporterProgress | undefined;
      await eventually(async () => {
        progress = await handle.query(exporterQuery);
        return progress.state === state;
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(progress)}`);
      });
      return progress as ExporterProgress;
    },
    submit: (handle, credentialsRef) =>
      handle.executeUpdate(submitCredentialsUpdate, { args: [{ credentialsRef, by: 'ravi' }] }),
    async restart() {
      await worker.stop();
      await worker.start();
    },
    async close() {
      await worker.close();
      await sandbox.close();
      await ledger.drop();
      await env.teardown();
    },
  };
  return stage;
}

/** One stage for a whole test file; after each test its faults are gone. */
export function useOnboardStage(...options: Parameters<typeof openStage>): OnboardStage {
  const stage = {} as OnboardStage;
  beforeAll(async () => {
    Object.assign(stage, await openStage(...options));
  });
  afterEach(() => stage.sandbox?.clearFaults());
  afterAll(() => stage.close?.());
  return stage;
}
