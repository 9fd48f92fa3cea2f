/** Worker deployment versions on Temporal: which one is current, and which ones still have workflows. */
import type { Client } from '@temporalio/client';
import { UsageError } from './errors';

/** One version of the deployment, as `ebrc deploy` prints it. */
export interface DeployedVersion {
  deployment: string;
  buildId: string;
  /** Whether new workflows, and every next task of existing ones, go to it. */
  current: boolean;
  /** `current`, `ramping`, `draining`, `drained` or `inactive`, as Temporal has it. */
  state: string;
  createdAt: string | null;
}

/** `temporal.api.enums.v1.WorkerDeploymentVersionStatus`. */
const STATES = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained'];

/** @throws UsageError if no worker of the deployment has ever polled */
export async function readDeployment(client: Client, deployment: string): Promise<DeployedVersion[]> {
  const { namespace } = client.options;
  const { workerDeploymentInfo } = await client.workflowService
    .describeWorkerDeployment({ namespace, deploymentName: deployment })
    .catch((error: unknown) => {
      throw notFound(
        error,
        `No worker of the deployment ${deployment} has polled yet. Start one with EBRC_DEPLOYMENT set.`,
      );
    });
  const currentId = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
  return (workerDeploymentInfo?.versionSummaries ?? [])
    .map(({ deploymentVersion, status, createTime }) => {
      const buildId = deploymentVersion?.buildId ?? '';
      const seconds = Number(createTime?.seconds ?? 0);
      return {
        deployment,
        buildId,
        current: buildId === currentId,
        state: STATES[status ?? 0] ?? 'unknown',
        createdAt: seconds > 0 ? new Date(seconds * 1_000).toISOString() : null,
      };
    })
    .sort((one, other) => (one.createdAt ?? '').localeCompare(other.createdAt ?? ''));
}

/**
 * Makes a version the current one. The server refuses a version that does not poll every queue that the previous one
 * polled.
 * @throws UsageError if no worker of that version has polled
 */
export async function makeCurrent(
  client: Client,
  { deployment, buildId }: { deployment: string; buildId: string },
): Promise<void> {
  const { namespace, identity } = client.options;
  const request = { namespace, deploymentName: deployment, buildId, identity };
  await client.workflowService.setWorkerDeploymentCurrentVersion(request).catch((error: unknown) => {
    throw notFound(error, `No worker of ${deployment} with build id ${buildId} has polled yet. Start one first.`);
  });
}

/** gRPC `NOT_FOUND` and `FAILED_PRECONDITION`. */
const UNKNOWN_VERSION = [5, 9];

function notFound(error: unknown, message: string): unknown {
  const { code, details } = error as { code?: number; details?: string };
  if (code === undefined || !UNKNOWN_VERSION.includes(code)) return error;
  return new UsageError(details ? `${message} (${details})` : message);
}
