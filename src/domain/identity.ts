/**
 * Identities of texts, exporters, IRMs and mappings. Rules, fingerprints, holds, locks, status matching, settling and
 * reconciliation compare by these functions only; what is sent keeps the original spelling.
 */
import { filingDateFromAnything } from './dates';
import type { Mapping } from './filing/mapping';
import { canonicalAmount, isAmount } from './money';

/**
 * Blanks, control and format characters, and what is drawn as nothing (zero-width characters, fillers, half a
 * surrogate).
 */
const UNSEEN = /[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A text as it is compared: Unicode NFKC (full-width forms become plain ones), without blanks, control and format
 * characters, upper-cased; leading zeros are dropped only in a text that is digits throughout, because spreadsheets
 * drop those. Two texts that differ in nothing else are taken for one: refusing to file is the safe mistake.
 */
export function comparableText(text: string): string {
  const plain = seen(seen(text.normalize('NFKC')).toUpperCase().normalize('NFKC'));
  return /^\d+$/.test(plain) ? plain.replace(/^0+(?=\d)/, '') : plain;
}

const seen = (text: string): string => text.replace(UNSEEN, '');

/** Whether two texts are the same one, see {@link comparableText}. */
export function sameText(a: string, b: string): boolean {
  return comparableText(a) === comparableText(b);
}

/** An exporter id as it is compared. UUIDs are the same in either case; what is sent is the service's own spelling. */
export function comparableId(exporterId: string): string {
  return exporterId.trim().toLowerCase();
}

/** Whether two exporter ids are one. */
export function sameId(a: string, b: string): boolean {
  return comparableId(a) === comparableId(b);
}

/**
 * An IEC as the service stores it: exactly ten letters and digits, upper-cased (spec: "Platform customer"). Null for
 * anything else, such as a placeholder in an IRM's `iecCode`, so that no party is created from it.
 */
export function readIec(text: string | null | undefined): string | null {
  const iec = text?.trim().toUpperCase() ?? '';
  return /^[A-Z0-9]{10}$/.test(iec) ? iec : null;
}

/** The one IEC that several records name; null where they name none, or more than one. */
export function agreedIec(texts: readonly (string | null)[]): string | null {
  const named = new Set(texts.map(readIec).filter((iec) => iec !== null));
  const [iec] = named;
  return named.size === 1 && iec !== undefined ? iec : null;
}

/** The names of an IRM that make its identity. */
export type IrmNames = Pick<Mapping, 'irmNumber' | 'irmAdCode'>;

/**
 * An IRM: its number and AD code, with a blank between them that neither can hold. Its IFSC is no part of it (spec:
 * "The same number can recur under a different AD code or date"), and its date is not, because it has two, and either
 * may be given.
 */
export function irmIdentity({ irmNumber, irmAdCode }: IrmNames): string {
  return `${comparableText(irmNumber)} ${comparableText(irmAdCode)}`;
}

/** A calendar date as it is compared: DDMMYYYY where it can be read, the comparable text otherwise. */
export function comparableDate(date: string): string {
  return filingDateFromAnything(date) ?? comparableText(date);
}

/**
 * What a certificate of fetch-details is matched to a row by: document, its date, amount and currency (an entry names
 * no IRM). Null where not all of them are told.
 */
export function certificateIdentity({
  document,
  date,
  amount,
  currency,
}: {
  document: string | null;
  date: string | null;
  amount: number | string | null;
  currency: string | null;
}): string | null {
  const day = filingDateFromAnything(date);
  if (!document || !day || !currency || amount === null || !isAmount(amount)) return null;
  return JSON.stringify([comparableText(document), day, canonicalAmount(amount), comparableText(currency)]);
}

/** What of a mapping makes it the same filing again. */
export type MappingNames = IrmNames & Pick<Mapping, 'sbCumInvoiceNumber' | 'sbCumInvoiceDate' | 'mappedIRMAmountFCC'>;

/**
 * A mapping of one party: IRM, document (number and date) and mapped amount, as text. The ledger puts the party before
 * its hash and keeps that fingerprint unique among live rows.
 */
export function mappingIdentity(mapping: MappingNames): string {
  return JSON.stringify([
    irmIdentity(mapping),
    comparableText(mapping.sbCumInvoiceNumber),
    comparableDate(mapping.sbCumInvoiceDate),
    canonicalAmount(mapping.mappedIRMAmountFCC),
  ]);
}
