/** Comparable forms of texts, ids, IRMs, documents and mappings; what is sent keeps its spelling. */
import { filingDateFromAnything } from './dates';
import { FIELD_NAMES, MAPPING_FIELDS } from './filing/mapping';
import type { ExtraValues, Mapping, MappingField, MappingRow } from './filing/mapping';
import { canonicalAmount } from './money';
import { normaliseHeader } from './rules/columns';

/** White space, control and format characters, and others that are invisible (zero-width, fillers, half surrogates). */
const INVISIBLE = /[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Every hyphen, dash and minus, and every slash of either direction. */
const DASH = /[\p{Pd}\u02d7\u2043\u2212\u2796]/gu;
const SLASH = /[\\\u2044\u2215\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9]/gu;

/**
 * A text in comparable form: without case, blanks and format characters; every dash is `-`, every slash `/`. Leading
 * zeros are dropped from texts of digits only, as spreadsheets do. Where this treats two different texts as equal, a
 * filing is refused, which is the safe mistake.
 */
export function comparableText(text: string): string {
  const upper = withoutInvisible(withoutInvisible(text.normalize('NFKC')).toUpperCase().normalize('NFKC'));
  const plain = upper.replace(DASH, '-').replace(SLASH, '/');
  return /^\d+$/.test(plain) ? plain.replace(/^0+(?=\d)/, '') : plain;
}

const withoutInvisible = (text: string): string => text.replace(INVISIBLE, '');

export function sameText(a: string, b: string): boolean {
  return comparableText(a) === comparableText(b);
}

/** An exporter id in comparable form: UUIDs are equal in either case. The service's own spelling is sent. */
function comparableId(exporterId: string): string {
  return exporterId.trim().toLowerCase();
}

export function sameId(a: string, b: string): boolean {
  return comparableId(a) === comparableId(b);
}

/** An IEC in upper case, ten letters and digits (spec: "Platform customer"); null for anything else. */
export function readIec(text: string | null | undefined): string | null {
  const iec = withoutInvisible((text ?? '').normalize('NFKC')).toUpperCase();
  return /^[A-Z0-9]{10}$/.test(iec) ? iec : null;
}

/** The IEC that all records with one share; null if they name none, or different ones. */
export function agreedIec(texts: readonly (string | null)[]): string | null {
  const named = new Set(texts.map(readIec).filter((iec) => iec !== null));
  const [iec] = named;
  return named.size === 1 && iec !== undefined ? iec : null;
}

/** What identifies an IRM for rows and locks: its number alone, because a bank merger changes AD code and IFSC. */
export const irmKey = (irmNumber: string): string => comparableText(irmNumber);

/** A document or bill number in comparable form; empty if there is none. */
export const documentKey = (number: string | null): string => comparableText(number ?? '');
export const billKey = (number: string | null): string => comparableText(number ?? '');

/**
 * Whether a document number has only printable ASCII characters in comparable form. Others (a Cyrillic A) look like one
 * and would let a mapping pass beside itself.
 */
export const isPlainNumber = (number: string): boolean => /^[\x21-\x7e]+$/.test(comparableText(number));

/**
 * The identity of a mapping: mode, company, IRM number and document number. Nothing else, because a mapping with
 * another date, amount or bill number may be the same one. `company`: the IEC, or `exporter:ID` until it is known.
 */
export const fingerprintOf = (of: {
  mode: string;
  company: string;
  irmNumber: string;
  documentNumber: string;
}): string => JSON.stringify([of.mode, of.company, irmKey(of.irmNumber), documentKey(of.documentNumber)]);

/** The company part of a fingerprint. */
export const companyOf = ({ iec, exporterId }: { iec: string | null; exporterId: string }): string =>
  iec ?? `exporter:${comparableId(exporterId)}`;

export type IrmNames = Pick<Mapping, 'irmNumber' | 'irmAdCode'>;

/** Distinguishes IRM records of one number by their AD code; not by date, because a row may give either of the two. */
export function irmIdentity({ irmNumber, irmAdCode }: IrmNames): string {
  return `${comparableText(irmNumber)} ${comparableText(irmAdCode)}`;
}

/** A calendar date in comparable form: DDMMYYYY if it can be read, otherwise the comparable text. */
export function comparableDate(date: string): string {
  return filingDateFromAnything(date) ?? comparableText(date);
}

/** Names one IRM of an exporter; also the cursor of a page of IRMs. */
export const irmCursor = (irm: Record<'irmNumber' | 'irmAdCode' | 'irmIfscCode' | 'irmIssueDate', string>): string =>
  [irm.irmNumber, irm.irmAdCode, irm.irmIfscCode, irm.irmIssueDate].map(encodeURIComponent).join('/');

/** Parses an {@link irmCursor}; null for any other text. */
export function readIrmCursor(
  cursor: string,
): Record<'irmNumber' | 'adCode' | 'ifscCode' | 'issueDate', string> | null {
  try {
    const [irmNumber, adCode, ifscCode, issueDate, ...more] = cursor.split('/').map(decodeURIComponent);
    if (!irmNumber || adCode === undefined || ifscCode === undefined || issueDate === undefined || more.length > 0)
      return null;
    return { irmNumber, adCode, ifscCode, issueDate };
  } catch {
    // decodeURIComponent throws at a stray percent sign.
    return null;
  }
}

/** A filing's canonical text, independent of row order and spelling. Its SHA-256 is the content hash. */
export function canonicalContent({
  exporterId,
  uploadType,
  declaration,
  rows,
}: {
  exporterId: string;
  uploadType: number;
  declaration: string;
  rows: readonly Pick<MappingRow, 'mapping' | 'extra'>[];
}): string {
  const texts = rows.map(({ mapping, extra }) => JSON.stringify([canonicalMapping(mapping), canonicalExtra(extra)]));
  return JSON.stringify([comparableId(exporterId), uploadType, declaration, texts.sort()]);
}

function canonicalMapping(mapping: Mapping): unknown[] {
  return FIELD_NAMES.map((field) => canonicalValue(field, mapping[field]));
}

function canonicalValue(field: MappingField, value: Mapping[MappingField]): unknown {
  if (value === null) return null;
  if (MAPPING_FIELDS[field] === 'amount') return canonicalAmount(value);
  if (field === 'sbCumInvoiceNumber') return comparableText(String(value));
  return typeof value === 'string' ? value.trim() : value;
}

function canonicalExtra(extra: ExtraValues = {}): unknown[] {
  return Object.entries(extra)
    .map(([label, value]) => [normaliseHeader(label), typeof value === 'string' ? value.trim() : value])
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
