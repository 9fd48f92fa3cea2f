import { randomUUID } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import type { ExporterProgress, OnboardInput } from '../../../src/domain/contracts';
import { createSandbox } from '../../../sandbox/sandbox';
import type { onboardExporter } from '../../../src/workflows/onboard-exporter';
import type { updateCredentials } from '../../../src/workflows/update-credentials';
import { exporterQuery, submitCredentialsUpdate } from '../../../src/workflows/messages';
import { createTestDatabase } from '../../support/postgres';
import { eventually } from '../../support/processes';
import { addAccount } from '../../support/sandbox';
import { timeSkippingEnvironment } from '../../support/temporal';
import { startTestWorker } from '../../support/worker';
import { handIn } from '../../../src/ledger/vault/vault';

export const PASSWORD = 'Right-Horse-1!';
export const WRONG = 'Wrong-Battery-2!';
export const HOUR_MS = 3_600_000;

type Onboarding = WorkflowHandle<typeof onboardExporter>;
export type Update = WorkflowHandle<typeof updateCredentials>;

/** Everything an onboarding needs, with the real worker, the real sandbox and a real ledger on the skipping clock. */
export type OnboardStage = Awaited<ReturnType<typeof openStage>>;

export async function openStage() {
  const env = await timeSkippingEnvironment();
  const ledger = await createTestDatabase();
  // The window is tiny: these tests are about the fuse and the outcomes, not about the rate.
  const sandbox = await createSandbox({ clock: () => env.currentTimeMs(), rateWindowMs: 1 });
  const worker = await startTestWorker({ env, sandbox, ledger });
  let accounts = 0;

  const stage = {
    env,
    sandbox,
    ledger,
    worker,
    /**
     * The time that a workflow took, in ms on its own clock. (The server's clock runs on to its far time-outs once
     * nothing is left to do.)
     */
    async lasted(handle: Onboarding | Update): Promise<number> {
      const { startTime, closeTime } = await handle.describe();
      return (closeTime?.getTime() ?? Number.NaN) - startTime.getTime();
    },
    /** A portal account of its own at the sandbox, with two IRMs; answers its user name. */
    async account({ activationDelayMs }: { activationDelayMs?: number } = {}): Promise<string> {
      accounts += 1;
      const number = String(accounts).padStart(4, '0');
      const own = {
        username: `portal.user.${accounts}`,
        password: PASSWORD,
        iec: `IEC000${number}`,
        activationDelayMs,
      };
      const { username } = await addAccount(sandbox, ({ irms }) => ({
        ...own,
        irms: irms.slice(0, 2).map((irm, index) => ({ ...irm, irmNumber: `IRM${number}${index}` })),
      }));
      return username;
    },
    secret: (username: string, password = PASSWORD): Promise<string> =>
      handIn(ledger.pool, { mode: 'test', workflowId: 'onboard/test', username, password }),
    onboard(input: Partial<OnboardInput> & { email: string }): Promise<Onboarding> {
      const workflowId = `onboard/test/${randomUUID()}`;
      return env.client.workflow.start<typeof onboardExporter>('onboardExporter', {
        taskQueue: worker.taskQueue,
        workflowId,
        args: [{ mode: 'test', name: 'Asha Exports', startedBy: 'asha', ...input }],
      });
    },
    /** Onboards an account of its own, whose access is open at once. */
    async onboardOpen(email: string): Promise<Onboarding> {
      const username = await stage.account({ activationDelayMs: 0 });
      return stage.onboard({ email, credentialsRef: await stage.secret(username) });
    },
    async until(handle: Onboarding | Update, state: ExporterProgress['state']): Promise<ExporterProgress> {
      let progress: ExporterProgress | undefined;
      await eventually(async () => {
        progress = await handle.query(exporterQuery);
        return progress.state === state;
      }).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(progress)}`);
      });
      return progress as ExporterProgress;
    },
    submit: (handle: Onboarding | Update, credentialsRef: string): Promise<ExporterProgress> =>
      handle.executeUpdate(submitCredentialsUpdate, { args: [{ credentialsRef, by: 'ravi' }] }),
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
export function useOnboardStage(): OnboardStage {
  const stage = {} as OnboardStage;
  beforeAll(async () => {
    Object.assign(stage, await openStage());
  });
  afterEach(() => stage.sandbox?.clearFaults());
  afterAll(() => stage.close?.());
  return stage;
}
