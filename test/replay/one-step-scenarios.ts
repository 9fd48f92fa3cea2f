/** Workflows of one call that are recorded: a document that is read, and the daily report. */
import { createHash } from 'node:crypto';
import type { WorkflowHandle } from '@temporalio/client';
import { extractionWorkflowId } from '../../src/assistant/extraction/contracts';
import type { ExtractionStage } from '../assistant/extraction-stage';
import { scriptedPdf } from '../support/scripted-pdf';
import type { Scenario } from './scenario';

async function ended({ worker }: ExtractionStage, workflow: string, workflowId: string, input: object) {
  const { taskQueue, client } = worker;
  const handle: WorkflowHandle = await client.workflow.start(workflow, { taskQueue, workflowId, args: [input] });
  await handle.result();
  return handle;
}

export const ONE_STEP_SCENARIOS: readonly Scenario<ExtractionStage>[] = [
  {
    name: 'extract-document',
    workflow: 'extractDocument',
    ends: { state: 'extracted', kept: false, error: null },
    play: async (stage) => {
      const buffer = scriptedPdf({});
      const sha256 = createHash('sha256').update(buffer).digest('hex');
      const { name } = await stage.worker.deps.documents.put({ name: `input-${sha256}`, kind: 'pdf', buffer });
      const input = { kind: 'shipping-bill', document: name, sha256 };
      return ended(stage, 'extractDocument', extractionWorkflowId('shipping-bill', sha256), input);
    },
  },
  {
    name: 'daily-report',
    workflow: 'dailyReport',
    ends: { on: '2026-11-01' },
    play: (stage) => ended(stage, 'dailyReport', 'report/test/2026-11-01', { mode: 'test', on: '2026-11-01' }),
  },
];
