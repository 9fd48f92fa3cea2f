import { warningAt, type Finding } from '../rules/finding';

/** The source of an exporter's IEC: the client object, status records of its filings, or its IRMs. */
export type IecSource = 'client' | 'status' | 'irms';

/** From weakest to strongest, because filings are made for the IEC of the portal login and not the one entered. */
export const IEC_SOURCES: readonly IecSource[] = ['client', 'status', 'irms'];

/** Names a source in a message, followed by the IEC. */
export const SHOWN_BY: Readonly<Record<IecSource, string>> = {
  client: 'it was entered with',
  status: "the authority's status records carry",
  irms: 'its IRMs carry',
};

const IEC_UNKNOWN =
  'The IEC of the exporter is not known: its client, its IRMs and its status records have none. Without it no ' +
  'certificates can be listed, and only persons can settle a submission whose answer is lost. `ebrc irms EXPORTER --refresh` reads the IRMs again.';

/** Warnings about an exporter's IEC before a filing. */
export function iecWarnings(exporter: Parameters<typeof iecFindings>[0]): Finding[] {
  return exporter.iec === null ? [warningAt(null, 'iec', 'iec_unknown', IEC_UNKNOWN)] : iecFindings(exporter);
}

/** A warning if the IEC that was entered for a client differs from the one that is used. */
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
 * - `ready`: nothing contradicts it. In an unknown state the next call shows whether access is still pending.
 */
export type Readiness = 'created' | 'unvalidated' | 'activation_pending' | 'ready';

/** The readiness, or `needs_credentials` if the portal credentials are known to be bad. */
export type Standing = Readiness | 'needs_credentials';

/** The readiness of an exporter, from the client object (spec: "Readiness matrix"). */
export function readinessOf(args: {
  isActive: boolean;
  hasCredentials: boolean;
  /** `dgftApiStatus.state`; null if the service never sent it. */
  apiState: string | null;
  /** ISO 8601; returned only while the activation is pending. */
  activatesAt: string | null;
}): { readiness: Readiness; activatesAt: string | null } {
  const { isActive, hasCredentials, apiState, activatesAt } = args;
  if (!isActive) return { readiness: hasCredentials ? 'unvalidated' : 'created', activatesAt: null };
  // (true, false) is not in the matrix: a client cannot have been validated without credentials on file.
  if (!hasCredentials) return { readiness: 'created', activatesAt: null };
  if (apiState?.trim().toLowerCase() === 'activation_pending') return { readiness: 'activation_pending', activatesAt };
  return { readiness: 'ready', activatesAt: null };
}
