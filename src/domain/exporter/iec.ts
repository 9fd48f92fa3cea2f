import { warningAt, type Finding } from '../rules/finding';

/** Where an exporter's IEC comes from: the client object, status records of its filings, or its IRMs. */
export type IecSource = 'client' | 'status' | 'irms';

/**
 * The sources from the weakest to the strongest. What the portal shows outranks what somebody entered for the client:
 * fetch-details answers for the IEC of the portal's login alone, and filings are made for it.
 */
export const IEC_SOURCES: readonly IecSource[] = ['client', 'status', 'irms'];

/** A warning if the IEC that was entered for a client is not the one that the portal shows. */
export function iecFindings({
  iec,
  iecSource,
  statedIec,
}: {
  iec: string | null;
  iecSource: IecSource | null;
  statedIec: string | null;
}): Finding[] {
  if (iec === null || statedIec === null || iec === statedIec) return [];
  const shownBy = iecSource === 'irms' ? 'its IRMs carry' : "the authority's status records carry";
  const message = `The exporter was created with the IEC ${statedIec}, but ${shownBy} ${iec}, which is used. Find out which is right: a wrong entry does no harm, but where the portal login is another firm's, correct the credentials before anything is filed.`;
  return [warningAt(null, 'iec', 'iec_differs', message)];
}
