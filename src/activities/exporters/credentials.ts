import { ApiError } from '../../api/errors/api-error';
import type { CallContext } from '../../api/http/call';
import {
  recordConsent,
  addCredentials,
  checkableVersion,
  credentialVersion,
  currentCredentials,
  markRejected,
  filingsWithoutCredentials,
  markValid,
  versionOfSecret,
} from '../../ledger/vault/credentials';
import { fuseBlownUntil, recordFailedCheck } from '../../ledger/vault/credential-fuse';
import { needExporter, saveExporter } from '../../ledger/exporters/exporters';
import { countIrms } from '../../ledger/exporters/irms';
import { readClock } from '../../ledger/readings';
import { VaultError } from '../../ledger/vault/vault';
import { notYet } from '../application-failure';
import { withHeartbeat, keepTrying } from '../call-context';
import type { KindWith } from '../../domain/service/retry-table';
import type { Deps } from '../dependencies';
import { exporterState, type ExporterState } from './exporters';

/** What the person who submits credentials agrees to. It is evidence, so a changed text is a new consent. */
const CONSENT_STATEMENT =
  'I am authorised to use this DGFT portal account and consent to its credentials being submitted to the filing service, which logs in with them on the exporter’s behalf.';

/**
 * The outcome of a refused check (spec: "Validate credentials"). Other credentials can help with all but the last.
 * - `username_differs`: the service holds another user name for this exporter and accepts no other.
 * - `incomplete`: user name or password is missing, or the secret is gone from the vault.
 * - `username_taken`: the user name belongs to another client of the account.
 * - `undecided`: the reason is not documented; the credentials are kept.
 */
interface CheckRefusal {
  outcome: 'rejected' | 'username_differs' | 'incomplete' | 'username_taken' | 'undecided' | 'exporter_unknown';
  reason: string;
  message: string;
}

export type CredentialCheck =
  | { outcome: 'validated'; exporter: ExporterState }
  /** The service has accepted a newer version meanwhile, so this one was not sent. */
  | { outcome: 'superseded' }
  | CheckRefusal;

/** Records submitted credentials: first the consent (spec: "recorded as consent evidence"), then the version. */
async function acceptCredentials(
  { pool, vault, mode }: Deps,
  args: { exporterId: string; credentialsRef: string; by: string; at: string },
): Promise<{ outcome: 'accepted'; version: number } | { outcome: 'unknown'; message: string }> {
  const { exporterId, credentialsRef, by, at } = args;
  try {
    // On a repeat the version exists: its consent is recorded, and the secret no longer opens as a submission.
    const existing = await versionOfSecret(pool, exporterId, credentialsRef);
    if (existing !== null) return { outcome: 'accepted', version: existing };
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

/** Has the service log in with a version. Temporary failures (500, 429, the fuse) are retried, refusals never. */
const checkCredentials = (deps: Deps, { exporterId, version }: { exporterId: string; version: number }) =>
  withHeartbeat(exporterId, (call) => check(deps, exporterId, version, call));

/** Wakes the filings that wait for newer credentials now that some are valid. */
async function tellCredentialsRenewed({ pool, poke }: Deps, { exporterId }: { exporterId: string }): Promise<void> {
  for (const workflowId of await filingsWithoutCredentials(pool, exporterId)) await poke(workflowId);
}

/** The state of an exporter and its credentials in the ledger, without a call. */
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

/** Waits while the fuse is blown, because a sixth check would be refused and might lock the account. */
async function waitForFuse({ pool, mode, clock }: Deps, exporterId: string): Promise<void> {
  const until = await fuseBlownUntil(pool, { mode, exporterId, at: new Date(clock()) });
  if (until === null) return;
  const text = `Five credential checks failed within fifteen minutes; the next one is made at ${until.toISOString()}.`;
  throw notYet(text, Math.max(1_000, until.getTime() - clock()), 'credential_fuse');
}

/** Has a version checked, unless its outcome is known already or a newer version is valid. */
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
  const readAt = await readClock(pool);
  try {
    const customer = await api.checkCredentials(exporterId, { dgftUsername: username, dgftPassword: password }, call);
    const exporter = await saveExporter(pool, customer, mode, readAt);
    await markValid(pool, exporterId, version);
    return { outcome: 'validated', exporter: exporterState(exporter) };
  } catch (error) {
    const refused = error instanceof ApiError ? outcomeOf(error.kind, error) : null;
    if (!refused) throw error;
    const at = new Date(clock());
    // If the refusal is not recorded, a retry of this activity sends the login again, which counts for the fuse.
    await keepTrying(
      async () => {
        // For every other outcome the service made a login, which it counts.
        if (refused.outcome !== 'incomplete' && refused.outcome !== 'exporter_unknown')
          await recordFailedCheck(pool, { mode, exporterId, at });
        // An undecided version stays in the vault, so that it can be checked again.
        if (refused.outcome !== 'undecided') await markRejected(pool, exporterId, version, refused.reason);
      },
      (cause) => logger.warn({ exporterId, err: cause }, 'the refusal of credentials is not on record yet'),
    );
    logger.info({ exporterId, version, reason: refused.reason }, 'credentials refused');
    return refused;
  }
}

const REJECTED: Omit<CheckRefusal, 'reason'> = {
  outcome: 'rejected',
  message: 'The DGFT portal rejected the user name or password. Check them at the portal and submit them again.',
};

const UNDECIDED: typeof REJECTED = {
  outcome: 'undecided',
  message:
    'The service refused the check for a reason that is not documented; the submitted credentials are kept. Resolve what it names, then submit them again.',
};

/** Null: not an answer of the check, which is retried. */
const REFUSALS: Readonly<
  Record<
    KindWith<{ action: 'refuse' } | { action: 'pause'; state: 'needs_credentials' }> | 'secret_missing',
    typeof REJECTED | null
  >
> = {
  credentials_rejected: REJECTED,
  // The same refusal of the login, in the words of another endpoint.
  credentials_invalid: REJECTED,
  account_locked: {
    outcome: 'rejected',
    message: 'The DGFT portal account is locked. Reset it at the portal, then submit the new password.',
  },
  credentials_already_set: {
    outcome: 'username_differs',
    message:
      'The service holds another DGFT user name for this exporter and takes no other. Submit that user name with its current password; to change the user name itself, ask the service.',
  },
  validation_failed: {
    outcome: 'incomplete',
    message: 'The service found the user name or the password missing or empty. Submit both again.',
  },
  secret_missing: {
    outcome: 'incomplete',
    message: 'The submitted credentials are no longer in the vault. Submit them again.',
  },
  dgft_username_taken: {
    outcome: 'username_taken',
    message:
      'Another client of this account uses the same DGFT user name. Submit the user name that is this exporter’s own, use that client, or have the service release the user name.',
  },
  customer_not_found: {
    outcome: 'exporter_unknown',
    message: 'The service has no such client in the mode of the API key. Check the key, or onboard the exporter again.',
  },
  // Refusals that prove nothing about the credentials.
  refused: UNDECIDED,
  conflict: UNDECIDED,
  credentials_missing: UNDECIDED,
  workbook_rejected: null,
  too_large: null,
  email_taken: null,
  window_too_wide: null,
  not_found: null,
  attempt_closed: null,
  cancelled: null,
  extraction_unconfigured: null,
};

/** The outcome of a kind of refusal; null for a temporary failure. Without `error` the kind was recorded earlier. */
function outcomeOf(reason: string): CheckRefusal;
function outcomeOf(reason: string, error: ApiError): CheckRefusal | null;
function outcomeOf(reason: string, error?: ApiError): CheckRefusal | null {
  const row = Object.hasOwn(REFUSALS, reason) ? REFUSALS[reason as keyof typeof REFUSALS] : null;
  // The service's message distinguishes two meanings ("in use", "already aligned with another").
  const words = error?.message.trim();
  if (row) return { ...row, reason, message: words ? `${row.message} (The service: "${words}")` : row.message };
  if (error) return null;
  return { ...REJECTED, reason };
}

export const credentialActivities = {
  acceptCredentials,
  checkCredentials,
  tellCredentialsRenewed,
  exporterInLedger,

  /** The version that can be validated without asking a person, if the vault still holds one. */
  storedCredentials: async ({ pool }: Deps, { exporterId }: { exporterId: string }) => ({
    version: await checkableVersion(pool, exporterId),
  }),
};
