import type { ApiError } from '../../api/errors/api-error';
import type { CredentialKind, RefusalKind } from '../../domain/service/retry-table';

/**
 * What a refused check means (spec: "Validate credentials", the error table). Other credentials can help with all but
 * `exporter_unknown`.
 * - `rejected`: the portal refused the login; a person has to give other credentials.
 * - `username_differs`: the service holds another user name for this exporter and takes no other.
 * - `incomplete`: what was submitted cannot be sent, or is gone; it has to be submitted again.
 * - `username_taken`: the user name belongs to another client of the account; another user name can help.
 * - `undecided`: refused for a reason that nobody has shown; nothing is known of the credentials, so they are kept.
 * - `exporter_unknown`: the service has no such client in the mode of the key.
 */
export interface CheckRefusal {
  outcome: 'rejected' | 'username_differs' | 'incomplete' | 'username_taken' | 'undecided' | 'exporter_unknown';
  reason: string;
  message: string;
}

type ListedRefusal = Omit<CheckRefusal, 'reason'>;

/** Whether the service made a login of it, which it counts. */
export const countsAgainstFuse = ({ outcome }: CheckRefusal): boolean =>
  outcome !== 'incomplete' && outcome !== 'exporter_unknown';

const REJECTED: ListedRefusal = {
  outcome: 'rejected',
  message: 'The DGFT portal rejected the user name or password. Check them at the portal and submit them again.',
};

const UNDECIDED: ListedRefusal = {
  outcome: 'undecided',
  message:
    'The service refused the check for a reason that is not documented; the submitted credentials are kept. Resolve what it names, then submit them again.',
};

/** Null: no answer of the check; it is tried again. */
const REFUSALS: Readonly<Record<RefusalKind | CredentialKind | 'secret_missing', ListedRefusal | null>> = {
  credentials_rejected: REJECTED,
  // The portal refuses the login, spoken by another endpoint.
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

/** The outcome of a kind of refusal; null for a failure that may pass. Without an error: a kind recorded earlier. */
export function outcomeOf(reason: string): CheckRefusal;
export function outcomeOf(reason: string, error: ApiError): CheckRefusal | null;
export function outcomeOf(reason: string, error?: ApiError): CheckRefusal | null {
  const row = Object.hasOwn(REFUSALS, reason) ? REFUSALS[reason as keyof typeof REFUSALS] : null;
  if (row) return { ...row, reason, message: withServiceWords(row.message, error) };
  if (error) return null;
  return { ...REJECTED, reason };
}

/** The service's message tells the two meanings apart ("in use", "already aligned with another"). */
function withServiceWords(message: string, error?: ApiError): string {
  const words = error?.message.trim();
  return words ? `${message} (The service: "${words}")` : message;
}
