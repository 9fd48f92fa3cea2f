/** The readiness of an exporter, from what the service returned (spec: "Readiness matrix"). Pure. */

export interface ExporterFlags {
  isActive: boolean;
  hasCredentials: boolean;
  /** The value of `dgftApiStatus.state`; null if the service never sent one. */
  apiState: string | null;
  /** ISO 8601; null where it is not known. */
  activatesAt: string | null;
}

/**
 * - `created`: (false, false), never validated.
 * - `unvalidated`: (false, true), on file but unverified, or deactivated: validate again.
 * - `activation_pending`: (true, true), and the authority has not opened access yet.
 * - `ready`: (true, true), and nothing contradicts it. If the service sent no state, or an unknown one, the next call
 *   shows it: it fails with DGFT_IP_ACTIVATION_PENDING if access is not open.
 */
export type Readiness = 'created' | 'unvalidated' | 'activation_pending' | 'ready';

export interface ExporterReadiness {
  readiness: Readiness;
  /** ISO 8601, while the activation is pending and its time is known. */
  activatesAt: string | null;
}

/** The readiness of an exporter. */
export function readinessOf({ isActive, hasCredentials, apiState, activatesAt }: ExporterFlags): ExporterReadiness {
  if (!isActive) return { readiness: hasCredentials ? 'unvalidated' : 'created', activatesAt: null };
  // (true, false) is not in the matrix: a client cannot have been validated without credentials on file.
  if (!hasCredentials) return { readiness: 'created', activatesAt: null };
  if (apiState?.trim().toLowerCase() === 'activation_pending') return { readiness: 'activation_pending', activatesAt };
  return { readiness: 'ready', activatesAt: null };
}
