/** What speaks against "it was not filed". An entry's name is compared, its text is for people. */
import { HOUR_MS } from '../dates';

/**
 * - `certificate`: one that agrees with a row. `irm_fell`: the balance fell by more than is certified on the IRM;
 *   `irm_rose`: something was given back, which may hide a use; `irm_amended`, `irm_cancelled`; `irm_unread`: its
 *   balance is not known before or after; `irm_unjudged`: another filing on its way may have used it.
 * - `reading`: there is no whole reading. `request`: the filing has one; `request_errored`: what it reports failed;
 *   `refusal`: the service answered with an error that may prove that it has the rows; `request_open`: one of about the
 *   same time has no outcome, so the authority is behind.
 */
export type EvidenceKind =
  | 'certificate'
  | 'irm_fell'
  | 'irm_rose'
  | 'irm_amended'
  | 'irm_cancelled'
  | 'irm_unread'
  | 'irm_unjudged'
  | 'reading'
  | 'request'
  | 'refusal'
  | 'request_errored'
  | 'request_open';

/** One piece of evidence. Its name has no amount and no time, so that only new evidence gets a new name. */
export interface EvidenceEntry {
  name: string;
  text: string;
}

/** Evidence as `attempts.evidence` stores it. `readAt`: when the reading began that it rests on, ISO 8601. */
export interface Evidence {
  readAt: string | null;
  names: string[];
  entries: EvidenceEntry[];
}

/** The name of evidence: its kind and the certificate, IRM or request alone. */
export const evidenceName = (kind: EvidenceKind, subject: string): string => `${kind}:${subject}`;

export const evidenceEntry = (kind: EvidenceKind, subject: string, text: string): EvidenceEntry => ({
  name: evidenceName(kind, subject),
  text,
});

/** How long a reading is fresh. */
export const FRESH_MS = HOUR_MS;

export const NO_READING = evidenceName('reading', 'none');

/** Readings of certificates as of `now`, in epoch ms: the last whole one, and since when they fail. */
export interface CertificatesRead {
  wholeAt: number | null;
  failingSince: number | null;
  /** What stands against sending wants a reading that began after this; null: nothing does. */
  readAfter: number | null;
  now: number;
}

/** The certificates were not read whole lately, or not since they have to be. */
export const isUnread = ({ wholeAt, readAfter, now }: Omit<CertificatesRead, 'failingSince'>): boolean =>
  wholeAt === null || wholeAt < Math.max(now - FRESH_MS, readAfter ?? 0);

/** They could not be read whole for a settle time, so that persons decide. */
export const isUnreadable = (read: CertificatesRead, settleMs: number): boolean =>
  isUnread(read) && read.failingSince !== null && read.failingSince < read.now - settleMs;

/** Evidence without repeated names, in the order of names. */
export function evidenceOf(entries: readonly EvidenceEntry[], readAt: string | null): Evidence {
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  const names = [...byName.keys()].sort();
  return { readAt, names, entries: names.flatMap((name) => byName.get(name) ?? []) };
}

/** The names that were not shown: what has gone since voids nothing, what was added does. */
export function addedTo(shown: readonly string[], names: readonly string[]): string[] {
  return names.filter((name) => !shown.includes(name));
}

/** Wider than the words themselves, because a refusal that is taken for a proof only asks a person. */
const DUPLICATE =
  /duplicat|already|previously|\brepeated\b|\bexists for\b|\bhas been (?:filed|generated|issued|processed|submitted|utili[sz]ed)\b/;

/** Whether words of the service may mean that it has the mapping: "duplicate", "already exists". */
export function speaksOfDuplicate(text: string): boolean {
  // Underscores and capitals separate the words of a code: ALREADY_EXISTS, alreadyExists.
  const words = text
    .normalize('NFKC')
    .replace(/[_\s]+/gu, ' ')
    .toLowerCase();
  return DUPLICATE.test(words);
}
