/** The filings that are recorded, each on the real worker and the sandbox under time skipping. */
import { WithStartWorkflowOperation } from '@temporalio/client';
import { credentialsWorkflowId } from '../../src/domain/names';
import { submitCredentialsUpdate } from '../../src/workflows/messages';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { HOUR_MS, MINUTE_MS, type Filing, type FilingStage, type TestExporter } from '../scenes/stage';
import { REFUSED_BILL } from './refusing-proxy';
import type { Scenario } from './scenario';
import { filingForRun } from '../../src/ledger/runs';
import { startRun } from '../../src/temporal/runs';
import { handIn } from '../../src/ledger/vault/vault';

type FilingScenario = Scenario<FilingStage>;

async function ended(filing: Filing): Promise<Filing> {
  await filing.result();
  return filing;
}

/** Nobody is known to have made it, so that its approval takes two. */
async function approvedByTwo(stage: FilingStage, filing: Filing): Promise<Filing> {
  for (const by of ['meera', 'ravi']) await stage.decide(filing, 'approve', { by });
  return ended(filing);
}

/** A new filing of one row by an exporter of its own. */
async function fileOne(stage: FilingStage, more: { approval?: boolean; billNo?: string } = {}) {
  const exporter = await stage.exporter();
  const { billNo, ...input } = more;
  const row = stage.mapping(exporter, billNo === undefined ? {} : { billNo });
  return { exporter, filing: await stage.file(exporter, [row], input) };
}

function faulty(name: string, ends: string, fault: Parameters<FilingStage['sandbox']['addFault']>[0]): FilingScenario {
  return {
    name,
    workflow: 'fileRemittances',
    ends: { state: ends },
    play: async (stage) => {
      stage.sandbox.addFault(fault);
      return ended((await fileOne(stage)).filing);
    },
  };
}

async function renewCredentials(stage: FilingStage, { exporterId, username }: TestExporter, password: string) {
  const { pool } = stage.worker.deps;
  const workflowId = credentialsWorkflowId('test', exporterId);
  const credentialsRef = await handIn(pool, { mode: 'test', workflowId, username, password });
  const startWorkflowOperation = new WithStartWorkflowOperation('updateCredentials', {
    workflowId,
    taskQueue: stage.worker.taskQueue,
    args: [{ mode: 'test', exporterId, startedBy: 'ravi' }],
    workflowIdConflictPolicy: 'USE_EXISTING',
  });
  await stage.env.client.workflow.executeUpdateWithStart(submitCredentialsUpdate, {
    args: [{ credentialsRef, by: 'ravi' }],
    startWorkflowOperation,
  });
  return stage.env.client.workflow.getHandle(workflowId);
}

/** A filing whose password expires with its push, and the new credentials that it then waits for. */
async function expireAndRenew(stage: FilingStage) {
  const password = 'New-Donkey-2!';
  stage.sandbox.addFault({ operation: 'push-irm', kind: 'password-expired', newPassword: password });
  const { exporter, filing } = await fileOne(stage);
  await stage.until(filing, 'needs_credentials');
  const renewal = await renewCredentials(stage, exporter, password);
  await filing.result();
  await renewal.result();
  return { filing, renewal };
}

export const FILING_SCENARIOS: readonly FilingScenario[] = [
  {
    name: 'file-certified',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => ended((await fileOne(stage)).filing),
  },
  {
    name: 'file-six-rows',
    workflow: 'fileRemittances',
    ends: { state: 'certified', counts: { archived: 6 } },
    play: async (stage) => {
      const exporter = await stage.exporter();
      return ended(
        await stage.file(
          exporter,
          Array.from({ length: 6 }, () => stage.mapping(exporter)),
        ),
      );
    },
  },
  {
    name: 'file-partly-certified',
    workflow: 'fileRemittances',
    ends: { state: 'partly_certified' },
    play: async (stage) => {
      const exporter = await stage.exporter();
      const rows = [stage.mapping(exporter), stage.mapping(exporter, { irmPurposeCode: 'P0999' })];
      return ended(await stage.file(exporter, rows));
    },
  },
  {
    ...faulty('file-lost-answer-settled', 'certified', { operation: 'push-irm', kind: 'accept-then-drop' }),
    pace: { ackDelayMs: 12 * MINUTE_MS },
  },
  {
    name: 'file-lost-answer-asked-resolved',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    pace: { settleAfterMs: 10_000 },
    play: async (stage) => {
      stage.sandbox.addFault({ operation: 'push-irm', kind: 'drop-before-accept' });
      const { filing } = await fileOne(stage);
      await stage.until(filing, ({ asked }) => asked);
      await stage.decide(filing, 'not_filed', { by: 'meera' });
      return ended(filing);
    },
  },
  {
    name: 'file-refused-at-once',
    workflow: 'fileRemittances',
    ends: { state: 'needs_correction' },
    play: async (stage) => ended((await fileOne(stage, { billNo: REFUSED_BILL })).filing),
  },
  {
    name: 'file-needs-credentials-resumed',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => (await expireAndRenew(stage)).filing,
  },
  {
    name: 'credentials-renewed',
    workflow: 'updateCredentials',
    ends: { state: 'ready' },
    play: async (stage) => (await expireAndRenew(stage)).renewal,
  },
  {
    name: 'file-approval',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => {
      const { filing } = await fileOne(stage, { approval: true });
      await stage.until(filing, 'awaiting_approval');
      return approvedByTwo(stage, filing);
    },
  },
  {
    name: 'file-abandoned',
    workflow: 'fileRemittances',
    ends: { state: 'abandoned' },
    play: async (stage) => {
      const { filing } = await fileOne(stage, { approval: true });
      await stage.until(filing, 'awaiting_approval');
      await stage.decide(filing, 'abandon', { by: 'meera' });
      return ended(filing);
    },
  },
  {
    name: 'file-cancelled-before-send',
    workflow: 'fileRemittances',
    ends: { state: 'abandoned', requestId: null },
    play: async (stage) => {
      const { filing } = await fileOne(stage, { approval: true });
      await stage.until(filing, 'awaiting_approval');
      await filing.cancel();
      return ended(filing);
    },
  },
  {
    name: 'file-replaced',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => {
      const { filing } = await fileOne(stage, { approval: true });
      const { filingId } = await stage.until(filing, 'awaiting_approval');
      await stage.untilAsleep(filing);
      await filing.terminate('a new run goes on from the ledger');
      const open = await filingForRun(stage.worker.deps.pool, filingId ?? '');
      if (open) await startRun(stage.env.client, stage.worker.taskQueue, open);
      const replaced = stage.env.client.workflow.getHandle<typeof fileRemittances>(filing.workflowId);
      await stage.until(replaced, 'awaiting_approval');
      return approvedByTwo(stage, replaced);
    },
  },
  {
    name: 'file-continued',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => {
      const { exporter, filing } = await fileOne(stage, { approval: true });
      const { filingId, reference } = await stage.until(filing, 'awaiting_approval');
      await stage.untilAsleep(filing);
      const { runId } = await filing.describe();
      await filing.terminate('it is continued, as by a run whose history has become long');
      const input = { mode: 'test' as const, exporterId: exporter.exporterId, reference };
      const carried = { filingId: filingId ?? '', continues: runId, told: null, shared: false };
      const continued = await stage.env.client.workflow.start<typeof fileRemittances>('fileRemittances', {
        taskQueue: stage.worker.taskQueue,
        workflowId: filing.workflowId,
        args: [input, carried],
      });
      await stage.until(continued, 'awaiting_approval');
      return approvedByTwo(stage, continued);
    },
  },
  {
    name: 'reconcile',
    workflow: 'reconcile',
    ends: { state: 'done', companies: 1, skipped: [] },
    play: async (stage) => {
      await ended((await fileOne(stage)).filing);
      const handle = await stage.env.client.workflow.start('reconcile', {
        taskQueue: stage.worker.taskQueue,
        workflowId: 'reconcile/test/all/..',
        args: [{ mode: 'test' }],
      });
      await handle.result();
      return handle;
    },
  },
  faulty('file-overdue', 'certified', {
    operation: 'push-irm',
    kind: 'accepted-but-invisible',
    delayMs: 5 * HOUR_MS,
  }),
];
