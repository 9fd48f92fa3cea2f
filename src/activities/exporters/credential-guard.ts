import { ApiError } from '../../api/errors/api-error';
import { currentCredentials, type CredentialVersion, markBad } from '../../ledger/vault/credentials';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { CREDENTIAL_KINDS } from '../../domain/service/retry-table';
import type { Deps } from '../dependencies';
import { refusal } from '../application-failure';

/** Retrying this is safe: the portal was not called, and the account may have been linked elsewhere since. */
const NONE_ON_FILE: ErrorKind = 'credentials_missing';

/**
 * Calls the service, unless the exporter's stored credentials are known to be bad, because 900 downloads would lock the
 * account. @param held the stored credentials, if they were read just before
 */
export async function withCredentials<T>(
  { pool, logger }: Pick<Deps, 'pool' | 'logger'>,
  exporterId: string,
  call: () => Promise<T>,
  held?: CredentialVersion | null,
): Promise<T> {
  const current = held === undefined ? await currentCredentials(pool, exporterId) : held;
  const version = current?.version ?? 0;
  if (current?.state === 'bad' && current.reason !== NONE_ON_FILE) {
    const kind =
      current.reason && CREDENTIAL_KINDS.includes(current.reason as ErrorKind) ? current.reason : 'credentials_invalid';
    throw refusal(
      kind,
      `The portal credentials of exporter ${exporterId} are known to be bad (${kind}); nothing was sent.`,
      { credentialsVersion: version },
    );
  }
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof ApiError) || !CREDENTIAL_KINDS.includes(error.kind)) throw error;
    // If this cannot be recorded, the service's answer is still the outcome, and the next call gets it again.
    if (error.kind !== NONE_ON_FILE) {
      await markBad(pool, exporterId, version, error.kind).catch((cause: unknown) =>
        logger.warn({ exporterId, version, err: cause }, 'bad credentials could not be marked as such'),
      );
    }
    error.credentialsVersion = version;
    throw error;
  }
}
