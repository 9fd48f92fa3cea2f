import { warningAt, type Finding } from '../rules/finding';

/** Where an exporter's IEC comes from: the client object, status records of its filings, or its IRMs. */
export type IecSource = 'client' | 'status' | 'irms';

/** From weakest to strongest: filings are made for the IEC of the portal's login, whatever a client was given. */
export const IEC_SOURCES: readonly IecSource[] = ['client', 'status', 'irms'];

/** What shows an IEC, in words that it follows. */
export const SHOWN_BY: Readonly<Record<IecSource, string>> = {
  client: 'it was entered with',
  status: "the authority's status records carry",
  irms: 'its IRMs carry',
};

/** A warning if the IEC that was entered for a client is not the one that the portal shows. */
export function iecFindings(args: {
  iec: string | null;
  iecSource: IecSource | null;
  statedIec: string | null;
}): Finding[] {
  const { iec, iecSource, statedIec } = args;
  if (iec === null || statedIec === null || iec === statedIec) return [];
  const message = `The exporter was created with the IEC ${statedIec}, but ${SHOWN_BY[iecSource ?? 'client']} ${iec}, which is used. Find out which is right: a wrong entry does no harm, but where the portal login is another firm's, correct the credentials before anything is filed.`;
  return [warningAt(null, 'iec', 'iec_differs', message)];
}

/**
 * - `created`: never validated. `unvalidated`: credentials on file but unverified, or deactivated.
 * - `activation_pending`: the authority has not opened access yet.
 * - `ready`: nothing contradicts it. Of an unknown state the next call shows it (DGFT_IP_ACTIVATION_PENDING).
 */
export type Readiness = 'created' | 'unvalidated' | 'activation_pending' | 'ready';

/** The readiness, unless its portal credentials are known to be bad: it is not ready then, whatever it was. */
export type Standing = Readiness | 'needs_credentials';

/** The readiness of an exporter, from what the service returned of it (spec: "Readiness matrix"). */
export function readinessOf(args: {
  isActive: boolean;
  hasCredentials: boolean;
  /** The value of `dgftApiStatus.state`; null if the service never sent one. */
  apiState: string | null;
  /** ISO 8601, as the answer: there while the activation is pending and its time is known. */
  activatesAt: string | null;
}): { readiness: Readiness; activatesAt: string | null } {
  const { isActive, hasCredentials, apiState, activatesAt } = args;
  if (!isActive) return { readiness: hasCredentials ? 'unvalidated' : 'created', activatesAt: null };
  // (true, false) is not in the matrix: a client cannot have been validated without credentials on file.
  if (!hasCredentials) return { readiness: 'created', activatesAt: null };
  if (apiState?.trim().toLowerCase() === 'activation_pending') return { readiness: 'activation_pending', activatesAt };
  return { readiness: 'ready', activatesAt: null };
}
