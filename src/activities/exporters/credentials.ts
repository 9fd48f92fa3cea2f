import { ApplicationFailure, WorkflowNotFoundError, ApplicationFailureCategory } from '@temporalio/common';
import { ApiError } from '../../api/errors/api-error';
import type { CallContext } from '../../api/client-types';
import {
  recordConsent,
  addCredentials,
  checkableVersion,
  credentialVersion,
  currentCredentials,
  markRejected,
  markValid,
  removeWaiter,
  versionOfSecret,
  waitersOf,
} from '../../ledger/vault/credentials';
import { mayCheckCredentials, recordFailedCheck } from '../../ledger/vault/credential-fuse';
import { needExporter, saveExporter } from '../../ledger/exporters/exporters';
import { countIrms } from '../../ledger/exporters/irms';
import { VaultError } from '../../ledger/vault/vault';
import { withHeartbeat, keepTrying } from '../call-context';
import { countsAgainstFuse, outcomeOf, type CheckRefusal } from './credential-outcome';
import type { Deps } from '../dependencies';
import { exporterState, type ExporterState } from './exporters';

/** What the person who submits credentials agrees to. It is evidence: a changed text is a new consent. */
const CONSENT_STATEMENT =
  'I am authorised to use this DGFT portal account and consent to its credentials being submitted to the filing service, which logs in with them on the exporter’s behalf.';

export type CredentialCheck =
  | { outcome: 'validated'; exporter: ExporterState }
  /** The service took a newer submission meanwhile: this one was not sent. */
  | { outcome: 'superseded' }
  | CheckRefusal;

/** Name of the signal that `workflows/messages` defines; activities import no workflow code. */
const CREDENTIALS_RENEWED = 'credentialsRenewed';

/** Records a submission: the consent first (spec: "Submission is recorded as consent evidence"), then the version. */
async function acceptCredentials(
  { pool, vault, mode }: Deps,
  args: { exporterId: string; credentialsRef: string; by: string; at: string },
): Promise<{ outcome: 'accepted'; version: number } | { outcome: 'unknown'; message: string }> {
  const { exporterId, credentialsRef, by, at } = args;
  try {
    // A repeat: with its version the consent is on record, and the secret no longer opens as a submission.
    const known = await versionOfSecret(pool, exporterId, credentialsRef);
    if (known !== null) return { outcome: 'accepted', version: known };
    const { username } = await vault.open(pool, credentialsRef, { purpose: 'submission', mode });
    const consent = { mode, exporterId, username, givenBy: by, givenAt: new Date(at), statement: CONSENT_STATEMENT };
    await recordConsent(pool, consent);
    const version = await addCredentials(pool, vault, { mode, exporterId, secretRef: credentialsRef });
    return { outcome: 'accepted', version };
  } catch (error) {
    if (!(error instanceof VaultError) || error.code !== 'secret_missing') throw error;
    return { outcome: 'unknown', message: error.message };
  }
}

/**
 * Has the service log in with a submitted version (spec: "Validate credentials"). Refusals are outcomes; what may pass
 * (500, 502, time-out, 429, the fuse) is repeated. A refused version is never sent again.
 */
const checkCredentials = (deps: Deps, { exporterId, version }: { exporterId: string; version: number }) =>
  withHeartbeat(exporterId, (call) => check(deps, exporterId, version, call));

/** Tells every workflow that waits for better credentials than `version` that they have come. */
async function tellCredentialsRenewed(
  deps: Deps,
  { exporterId, version }: { exporterId: string; version: number },
): Promise<void> {
  const { pool, logger } = deps;
  for (const { workflowId, versionSeen } of await waitersOf(pool, exporterId)) {
    if (versionSeen >= version) continue;
    try {
      await deps.client().workflow.getHandle(workflowId).signal(CREDENTIALS_RENEWED, { version });
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
      logger.info({ workflowId }, 'a workflow that waited for credentials has ended');
    }
    await removeWaiter(pool, workflowId);
  }
}

/** Where the ledger sees an exporter and its credentials, without a call. */
async function exporterInLedger(
  { pool }: Deps,
  { exporterId }: { exporterId: string },
): Promise<ExporterState & { irmCount: number; currentVersion: number }> {
  const current = await currentCredentials(pool, exporterId);
  return {
    ...exporterState(await needExporter(pool, exporterId)),
    irmCount: (await countIrms(pool, [exporterId])).get(exporterId) ?? 0,
    currentVersion: current?.version ?? 0,
  };
}

/** Waits while the fuse is blown: a sixth check would be refused, and might lock the account. */
async function waitForFuse({ pool, mode, clock }: Deps, exporterId: string): Promise<void> {
  const { allowed, retryAt } = await mayCheckCredentials(pool, { mode, exporterId, at: new Date(clock()) });
  if (allowed || !retryAt) return;
  throw ApplicationFailure.create({
    message: `Five credential checks failed within fifteen minutes; the next one is made at ${retryAt.toISOString()}.`,
    type: 'credential_fuse',
    nextRetryDelay: Math.max(1_000, retryAt.getTime() - clock()),
    category: ApplicationFailureCategory.BENIGN,
    details: [{ kind: 'credential_fuse', retryAt: retryAt.toISOString() }],
  });
}

/** Has a version checked, unless an earlier attempt, or somebody else, has settled it already. */
async function check(deps: Deps, exporterId: string, version: number, call: CallContext): Promise<CredentialCheck> {
  const { pool, mode, vault, clock, api, logger } = deps;
  const known = await credentialVersion(pool, exporterId, version);
  if (known?.state === 'bad') return outcomeOf(known.reason ?? 'credentials_rejected');
  const current = known && (await currentCredentials(pool, exporterId));
  if (current && current.version > version && current.state === 'valid') return { outcome: 'superseded' };
  if (!known?.secretRef) return outcomeOf('secret_missing');
  await waitForFuse(deps, exporterId);
  const use = { purpose: 'portal-login', mode, exporterId, version } as const;
  const { username, password } = await vault.open(pool, known.secretRef, use);
  const readAt = new Date(clock());
  try {
    const customer = await api.checkCredentials(exporterId, { dgftUsername: username, dgftPassword: password }, call);
    const exporter = await saveExporter(pool, customer, mode, readAt);
    await markValid(pool, exporterId, version);
    return { outcome: 'validated', exporter: exporterState(exporter) };
  } catch (error) {
    const refused = error instanceof ApiError ? outcomeOf(error.kind, error) : null;
    if (!refused) throw error;
    // A refusal that is not recorded would be sent again by a retry of this activity, and count for the fuse.
    await keepTrying(
      async () => {
        if (countsAgainstFuse(refused)) await recordFailedCheck(pool, { mode, exporterId, at: new Date(clock()) });
        // Kept in the vault: the next look, or another start of the onboarding, may have it checked after all.
        if (refused.outcome !== 'undecided') await markRejected(pool, exporterId, version, refused.reason);
      },
      (cause) => logger.warn({ exporterId, err: cause }, 'the refusal of credentials is not on record yet'),
    );
    logger.info({ exporterId, version, reason: refused.reason }, 'credentials refused');
    return refused;
  }
}

export const credentialActivities = {
  acceptCredentials,
  checkCredentials,
  tellCredentialsRenewed,
  exporterInLedger,

  /** The version that could be validated without asking a person, where the vault still holds one. */
  storedCredentials: async ({ pool }: Deps, { exporterId }: { exporterId: string }) => ({
    version: await checkableVersion(pool, exporterId),
  }),
};
