/** The filings that are recorded, each on the real worker and the sandbox under time skipping. */
import { WithStartWorkflowOperation } from '@temporalio/client';
import { credentialsWorkflowId } from '../../src/domain/names';
import { saveInput } from '../../src/ledger/filings/filing-inputs';
import { abandonUpdate, filingQuery, resolveUpdate, submitCredentialsUpdate } from '../../src/workflows/messages';
import { HOUR_MS, MINUTE_MS, type Filing, type FilingStage, type TestExporter } from '../scenes/stage';
import { REFUSED_BILL } from './refusing-proxy';
import type { Scenario } from './scenario';
import { handIn } from '../../src/ledger/vault/vault';

type FilingScenario = Scenario<FilingStage>;

async function ended(filing: Filing): Promise<Filing> {
  await filing.result();
  return filing;
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

/**
 * More rows than a submission takes; all but the last are Errored, so that the recording needs one certificate only.
 */
async function fileThousand(stage: FilingStage) {
  const exporter = await stage.exporter();
  const rows = Array.from({ length: 1_000 }, (_, index) => ({
    row: index + 1,
    mapping: stage.mapping(exporter, { serialNo: index + 1, mappedIRMAmountFCC: 1, sbCumInvoiceValueinFCC: 1 }),
  }));
  const { outcomes } = await stage.sandbox.state();
  const match = { irmNumber: exporter.irmNumber };
  const script = { match, processingStatus: 'Errored' as const, errorDetails: ['ERR36: Declaration flag'] };
  outcomes.push({ script, left: rows.length - 1 });
  const inputRef = await saveInput(stage.ledger.pool, { rows, sourceKind: 'json' });
  const reference = 'REPLAY-1000';
  return stage.env.client.workflow.start('fileRemittances', {
    taskQueue: stage.worker.taskQueue,
    workflowId: `file/test/${reference}`,
    args: [
      {
        mode: 'test',
        exporterId: exporter.exporterId,
        reference,
        uploadType: 101,
        declaration: 'Y',
        inputRef,
        channel: 'push',
        madeBy: 'asha',
      },
    ],
  });
}

export const FILING_SCENARIOS: readonly FilingScenario[] = [
  {
    name: 'file-certified',
    workflow: 'fileRemittances',
    ends: { state: 'certified' },
    play: async (stage) => ended((await fileOne(stage)).filing),
  },
  {
    name: 'collect-certificates',
    workflow: 'collectCertificates',
    ends: { archived: 6, failure: null },
    play: async (stage) => {
      const exporter = await stage.exporter();
      // A few PDFs would be collected without a child.
      const rows = Array.from({ length: 6 }, () => stage.mapping(exporter));
      const { workflowId } = await (await stage.file(exporter, rows)).result();
      return stage.env.client.workflow.getHandle(`${workflowId}/certificates/1`);
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
      await stage.until(filing, 'outcome_unknown');
      await stage.env.sleep(MINUTE_MS);
      await stage.until(filing, ({ attention }) => attention?.includes('ebrc resolve') ?? false);
      const note = 'The portal does not show it.';
      const { filingId } = await filing.query(filingQuery);
      const attemptId = `${filingId}-1-1`;
      await filing.executeUpdate(resolveUpdate, { args: [{ as: 'not-filed', attemptId, note, by: 'meera' }] });
      return ended(filing);
    },
  },
  {
    name: 'file-refused-at-the-door',
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
      await stage.approve(filing, 'meera');
      return ended(filing);
    },
  },
  {
    name: 'file-abandoned',
    workflow: 'fileRemittances',
    ends: { state: 'abandoned' },
    play: async (stage) => {
      const { filing } = await fileOne(stage);
      await stage.until(filing, 'processing');
      await filing.executeUpdate(abandonUpdate, { args: [{ note: 'the buyer went back', by: 'meera' }] });
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
  faulty('file-overdue', 'certified', {
    operation: 'push-irm',
    kind: 'accepted-but-invisible',
    delayMs: 5 * HOUR_MS,
  }),
  {
    name: 'file-two-submissions',
    workflow: 'fileRemittances',
    ends: { state: 'partly_certified' },
    play: async (stage) => {
      const filing = await fileThousand(stage);
      await filing.result();
      return filing;
    },
  },
];
