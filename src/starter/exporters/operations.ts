import { markdownText, summaryText } from '../../domain/text';
import { createHash } from 'node:crypto';
import { WithStartWorkflowOperation, WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { onboardInput, type ExporterProgress, type RefreshIrmsResult } from '../../domain/contracts';
import { credentialsWorkflowId, onboardWorkflowId, type Mode } from '../../domain/names';
import { findExporter } from '../../ledger/exporters/exporters';
import { discard, handIn, publishedKey } from '../../ledger/vault/vault';
import { exporterQuery, submitCredentialsUpdate } from '../../workflows/messages';
import type { EbrcClientDependencies } from '../dependencies';
import { checkedInput, RefusedError } from '../errors';
import { exporterIdOf } from '../lookup';
import { follow } from '../../temporal/follow';
import { answeredByWorker, waitForFirstWorker } from '../../temporal/workers-present';

const STARTED_WITHIN_MS = 10_000;

/** A portal account's login. It is stored in the vault; only its reference is passed on. */
export interface Credentials {
  username: string;
  password: string;
}

export interface OnboardRequest {
  name: string;
  email: string;
  iec?: string;
  companyName?: string;
  address?: string;
  /** Leave out for an exporter that was onboarded elsewhere: it is adopted with the credentials it has. */
  credentials?: Credentials;
  /** Who consents to submitting the credentials. */
  by: string;
}

export interface ExporterWait {
  /** Wait until the exporter is ready, refused, or needs other credentials; that can take a day. */
  wait?: boolean;
  onProgress?: (progress: ExporterProgress) => void;
  onNotice?: (notice: string) => void;
}

export interface ExporterOutcome extends ExporterProgress {
  notice: string | null;
}

/** `onboard/<mode>/<hash of the e-mail>`. The address is hashed, because workflow ids are never encrypted. */
function onboardingIdOf(mode: Mode, email: string): string {
  const hash = createHash('sha256').update(email.trim().toLowerCase()).digest('hex');
  return onboardWorkflowId(mode, hash.slice(0, 32));
}

/** Creates or adopts an exporter, validates its credentials and continues until it is ready. Safe to repeat. */
export async function onboard(
  deps: EbrcClientDependencies,
  request: OnboardRequest,
  wait: ExporterWait = {},
): Promise<ExporterOutcome> {
  const { temporal, pool, mode, taskQueue } = deps;
  const { credentials, by, ...customer } = request;
  // Checked before the password enters the vault, so that a refusal leaves nothing behind.
  const input = checkedInput(onboardInput, { mode, ...customer, startedBy: by }, { state: 'refused' });
  const workflowId = onboardingIdOf(mode, request.email);
  const credentialsRef = credentials && (await sealCredentials(deps, workflowId, credentials));
  if (credentialsRef && (await submitToOnboarding(deps, workflowId, credentialsRef, by))) {
    return followExporter(deps, workflowId, wait);
  }
  await temporal.workflow.start('onboardExporter', {
    workflowId,
    taskQueue,
    args: [{ ...input, credentialsRef }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: summaryText(`Onboard ${input.name}`),
    staticDetails:
      'Creates the client at the service, has its login checked, waits for API access, and reads its IRMs.',
    memo: { credentialsRef: credentialsRef ?? null },
  });
  const { memo } = await temporal.workflow.getHandle(workflowId).describe();
  // A run that has already checked its credentials would never read these.
  const unread = credentialsRef !== undefined && memo?.credentialsRef !== credentialsRef;
  if (unread) await discard(pool, credentialsRef);
  const outcome = await followExporter(deps, workflowId, wait);
  // If the caller does not wait for the refusal, the worker's sweep removes the credentials.
  if (credentialsRef && outcome.state === 'refused') await discard(pool, credentialsRef);
  return unread ? { ...outcome, notice: outcome.notice ?? CREDENTIALS_NOT_KEPT } : outcome;
}

/** Submits new credentials to the exporter's onboarding if it waits for them, otherwise to `updateCredentials`. */
export async function updateCredentials(
  deps: EbrcClientDependencies,
  idOrEmail: string,
  credentials: Credentials,
  { by, ...wait }: ExporterWait & { by: string },
): Promise<ExporterOutcome> {
  const { temporal, pool, mode, taskQueue } = deps;
  const exporter = await findExporter(pool, mode, idOrEmail);
  const exporterId = exporter?.exporterId ?? (await exporterIdOf(pool, mode, idOrEmail));
  const onboardingId = exporter && onboardingIdOf(mode, exporter.email);
  if (onboardingId) {
    const submitted = await sealCredentials(deps, onboardingId, credentials);
    if (await submitToOnboarding(deps, onboardingId, submitted, by)) return followExporter(deps, onboardingId, wait);
    await discard(pool, submitted);
  }
  const workflowId = credentialsWorkflowId(mode, exporterId);
  const credentialsRef = await sealCredentials(deps, workflowId, credentials);
  try {
    await answeredByWorker(deps, workflowId, () =>
      temporal.workflow.executeUpdateWithStart(submitCredentialsUpdate, {
        args: [{ credentialsRef, by }],
        startWorkflowOperation: new WithStartWorkflowOperation('updateCredentials', {
          workflowId,
          taskQueue,
          args: [{ mode, exporterId, startedBy: by }],
          workflowIdConflictPolicy: 'USE_EXISTING',
          staticSummary: summaryText(`New portal credentials of ${idOrEmail}`),
          staticDetails: `Exporter ${markdownText(exporterId)}. Has them checked, and wakes the filings that wait for them.`,
        }),
      }),
    );
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    await discard(pool, credentialsRef);
    const message = error.cause?.message ?? error.message;
    throw new RefusedError([{ code: 'credentials_refused', message }], { state: 'refused' });
  }
  return followExporter(deps, workflowId, wait);
}

/** Seals the credentials. Waits for the first worker of a new ledger, which publishes the key to seal them to. */
async function sealCredentials(
  deps: EbrcClientDependencies,
  workflowId: string,
  credentials: Credentials,
): Promise<string> {
  const { pool, mode } = deps;
  await waitForFirstWorker(deps, async () => (await publishedKey(pool, mode)) !== null);
  return handIn(pool, { mode, workflowId, ...credentials });
}

/** Whether a running onboarding accepted the credentials. One that has ended, or never existed, does not. */
async function submitToOnboarding(
  deps: EbrcClientDependencies,
  workflowId: string,
  credentialsRef: string,
  by: string,
): Promise<boolean> {
  const handle = deps.temporal.workflow.getHandle(workflowId);
  try {
    await answeredByWorker(deps, workflowId, () =>
      handle.executeUpdate(submitCredentialsUpdate, { args: [{ credentialsRef, by }] }),
    );
    return true;
  } catch (error) {
    // A validator's refusal means that the onboarding does not wait for credentials.
    if (error instanceof WorkflowNotFoundError || error instanceof WorkflowUpdateFailedError) return false;
    throw error;
  }
}

async function followExporter(
  deps: EbrcClientDependencies,
  workflowId: string,
  { wait = false, onProgress, onNotice }: ExporterWait,
): Promise<ExporterOutcome> {
  const { progress, notice } = await follow(deps, workflowId, {
    query: exporterQuery,
    until: ({ state, exporterId }) =>
      // A ready onboarding goes on to read the certificates of the past.
      wait ? state === 'needs_credentials' || state === 'ready' : exporterId !== null || state !== 'started',
    onProgress,
    onNotice,
    ...(!wait && { withinMs: STARTED_WITHIN_MS }),
  });
  return { ...(progress ?? { ...NO_PROGRESS, workflowId }), notice };
}

/** Progress of the newest onboarding of this e-mail; null if there is none or no worker answers. */
export async function onboarding(deps: EbrcClientDependencies, email: string): Promise<ExporterProgress | null> {
  try {
    const options = { query: exporterQuery, until: () => true, withinMs: STARTED_WITHIN_MS };
    return (await follow(deps, onboardingIdOf(deps.mode, email), options)).progress;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return null;
    throw error;
  }
}

/** Reads the IRMs from the authority, of one exporter or of all that are ready, and waits for the result. */
export async function refreshIrms(deps: EbrcClientDependencies, idOrEmail?: string): Promise<RefreshIrmsResult> {
  const { temporal, pool, mode, taskQueue } = deps;
  const exporterId = idOrEmail === undefined ? undefined : await exporterIdOf(pool, mode, idOrEmail);
  const workflowId = `refresh-irms/${mode}/${exporterId ?? 'all'}`;
  await temporal.workflow.start('refreshIrms', {
    workflowId,
    taskQueue,
    args: [{ mode, exporterId }],
    workflowIdConflictPolicy: 'USE_EXISTING',
    staticSummary: summaryText(`Refresh the IRMs of ${idOrEmail ?? 'all exporters'}`),
    staticDetails: 'Reads balances from the authority into the ledger. A failing exporter is skipped, with the reason.',
  });
  const handle = temporal.workflow.getHandle(workflowId);
  return answeredByWorker(deps, workflowId, () => handle.result() as Promise<RefreshIrmsResult>);
}

const CREDENTIALS_NOT_KEPT =
  'An onboarding of this exporter is under way whose credentials the service has accepted; the ones handed in now were not kept. To replace them, renew the credentials of the exporter.';

const NO_PROGRESS: Omit<ExporterProgress, 'workflowId'> = {
  exporterId: null,
  state: 'started',
  activatesAt: null,
  irmCount: null,
  message: null,
  errors: [],
};
