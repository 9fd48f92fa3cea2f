/** What an exporter lives through that is recorded, on the real worker and the sandbox under time skipping. */
import { randomUUID } from 'node:crypto';
import type { changeExporter } from '../../src/workflows/one-step';
import { WRONG, type OnboardStage } from '../workflows/exporter/onboard-stage';
import type { Scenario } from './scenario';

export const ONBOARDING_SCENARIOS: readonly Scenario<OnboardStage>[] = [
  {
    name: 'onboard-ready',
    workflow: 'onboardExporter',
    ends: { state: 'ready', irmCount: 2 },
    play: async (stage) => {
      const credentialsRef = await stage.secret(await stage.account());
      const handle = await stage.onboard({ email: 'ready@example.test', iec: 'AAGCM4521K', credentialsRef });
      await handle.result();
      return handle;
    },
  },
  {
    name: 'onboard-wrong-password',
    workflow: 'onboardExporter',
    ends: { state: 'ready' },
    play: async (stage) => {
      const username = await stage.account({ activationDelayMs: 0 });
      const credentialsRef = await stage.secret(username, WRONG);
      const handle = await stage.onboard({ email: 'wrong@example.test', credentialsRef });
      await stage.until(handle, 'needs_credentials');
      await stage.submit(handle, await stage.secret(username));
      await handle.result();
      return handle;
    },
  },
  {
    name: 'change-exporter',
    workflow: 'changeExporter',
    ends: { state: 'changed', errors: [] },
    play: async (stage) => {
      const username = await stage.account({ activationDelayMs: 0 });
      const onboarding = await stage.onboard({
        email: 'changed@example.test',
        credentialsRef: await stage.secret(username),
      });
      const { exporterId } = await onboarding.result();
      const handle = await stage.env.client.workflow.start<typeof changeExporter>('changeExporter', {
        taskQueue: stage.worker.taskQueue,
        workflowId: `change/test/${exporterId}/x`,
        args: [{ mode: 'test', exporterId: exporterId ?? '', companyName: 'Changed Exports' }],
      });
      await handle.result();
      return handle;
    },
  },
  {
    name: 'refresh-irms',
    workflow: 'refreshIrms',
    ends: { exporters: 2, refreshed: 1 },
    play: async (stage) => {
      const ready = async (email: string) => {
        const username = await stage.account({ activationDelayMs: 0 });
        await (await stage.onboard({ email, credentialsRef: await stage.secret(username) })).result();
        return username;
      };
      await ready('refreshed@example.test');
      const skipped = await ready('skipped@example.test');
      const account = (await stage.sandbox.state()).accounts.find(({ username }) => username === skipped);
      if (account) account.password = 'Changed-At-The-Portal-7';
      const handle = await stage.env.client.workflow.start('refreshIrms', {
        taskQueue: stage.worker.taskQueue,
        workflowId: `refresh/test/${randomUUID()}`,
        args: [{ mode: 'test' }],
      });
      await handle.result();
      return handle;
    },
  },
];
