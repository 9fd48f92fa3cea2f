import { ApiError } from '../../api/errors/api-error';
import { currentCredentials, type CredentialVersion, markBad } from '../../ledger/vault/credentials';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { CREDENTIAL_KINDS } from '../../domain/service/retry-table';
import type { Deps } from '../dependencies';
import { refusal } from '../application-failure';

/** The portal was not asked, so that retrying cannot lock the account; they may have been linked outside of here. */
const NONE_ON_FILE: ErrorKind = 'credentials_missing';

/**
 * Calls with the exporter's stored credentials, unless they are bad: 900 downloads would lock the account.
 * @param held those on file, where they were read just before
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
    // The service's answer is the outcome, whether or not it could be recorded; the next call gets the same answer.
    if (error.kind !== NONE_ON_FILE) {
      await markBad(pool, exporterId, version, error.kind).catch((cause: unknown) =>
        logger.warn({ exporterId, version, err: cause }, 'bad credentials could not be marked as such'),
      );
    }
    error.credentialsVersion = version;
    throw error;
  }
}
