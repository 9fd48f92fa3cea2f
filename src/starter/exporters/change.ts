import { markdownText, summaryText } from '../../domain/text';
import { createHash } from 'node:crypto';
import { changeExporterInput, type ChangeExporterResult } from '../../domain/contracts';
import type { changeExporter as workflow } from '../../workflows/one-step';
import type { EbrcClientDependencies } from '../dependencies';
import { checkedInput, RefusedError, refusal } from '../errors';
import { answeredByWorker } from '../../temporal/workers-present';
import { exporterIdOf } from '../lookup';
import { readExporterView, type ExporterView } from './views';
import type pg from 'pg';
import type { Principal } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import { setApprovalPolicy } from '../../ledger/exporters/policy';
import { withTransaction } from '../../ledger/pool';

/** Changes an exporter at the service and in the ledger. @throws RefusedError if unknown, or if the service refuses */
export async function changeExporter(
  deps: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'temporal' | 'taskQueue' | 'lookForWorkerEveryMs'>,
  exporter: string,
  change: { name?: string; companyName?: string; address?: string },
): Promise<ExporterView> {
  const { pool, mode, temporal, taskQueue } = deps;
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const input = checkedInput(changeExporterInput, { mode, exporterId, ...change });
  const { name, companyName, address } = input;
  const asked = createHash('sha256')
    .update(JSON.stringify([name, companyName, address]))
    .digest('hex');
  const workflowId = `change/${mode}/${exporterId}/${asked.slice(0, 16)}`;
  await temporal.workflow.start<typeof workflow>('changeExporter', {
    workflowId,
    taskQueue,
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: summaryText(`Change ${exporter}`),
    staticDetails: `Exporter ${markdownText(exporterId)}: ${Object.keys(change).join(', ')}.`,
  });
  const result = () => temporal.workflow.getHandle(workflowId).result() as Promise<ChangeExporterResult>;
  const { errors } = await answeredByWorker(deps, workflowId, result);
  if (errors.length > 0) throw new RefusedError(errors, { exporterId });
  return readExporterView(pool, exporterId);
}

const SECOND =
  'Noted. A second principal with the role admin has to ask for the same within a day; until then it stays on.';

/**
 * Sets whether an exporter's filings need approval. Only the ledger has this; switching it off takes two principals.
 * @returns the exporter, and what is still needed (null: nothing) @throws RefusedError if a principal is needed
 */
export async function requireApproval(
  { pool, mode, principal }: { pool: pg.Pool; mode: Mode; principal?: Principal },
  exporter: string,
  { required, by }: { required: boolean; by: string },
): Promise<{ exporter: ExporterView; waits: string | null }> {
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const approval = required ? 'required' : 'off';
  const outcome = await withTransaction(pool, (client) =>
    setApprovalPolicy(client, { exporterId, approval, by, principal }),
  );
  if (typeof outcome === 'object') throw refusal('policy_refused', `The policy was not changed: ${outcome.refused}.`);
  return { exporter: await readExporterView(pool, exporterId), waits: outcome === 'asked' ? SECOND : null };
}
