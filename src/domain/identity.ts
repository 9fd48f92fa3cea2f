/** Identities of texts, exporters, IRMs and mappings, for comparing only; what is sent keeps its spelling. */
import { filingDateFromAnything } from './dates';
import { FIELD_NAMES, MAPPING_FIELDS } from './filing/mapping';
import type { ExtraValues, Mapping, MappingField, MappingRow } from './filing/mapping';
import { canonicalAmount, isAmount } from './money';
import { normaliseHeader } from './rules/columns';

/** White space, control and format characters, and others that are invisible (zero-width, fillers, half surrogates). */
const INVISIBLE = /[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * A text in comparable form. Leading zeros are dropped from texts of digits only, as spreadsheets do. Where this treats
 * two different texts as equal, a filing is refused, which is the safe mistake.
 */
export function comparableText(text: string): string {
  const plain = withoutInvisible(withoutInvisible(text.normalize('NFKC')).toUpperCase().normalize('NFKC'));
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

export type IrmNames = Pick<Mapping, 'irmNumber' | 'irmAdCode'>;

/** An IRM's number and AD code; not its date, because an IRM has two and a row may give either. */
export function irmIdentity({ irmNumber, irmAdCode }: IrmNames): string {
  return `${comparableText(irmNumber)} ${comparableText(irmAdCode)}`;
}

/** A calendar date in comparable form: DDMMYYYY if it can be read, otherwise the comparable text. */
export function comparableDate(date: string): string {
  return filingDateFromAnything(date) ?? comparableText(date);
}

/** Matches a fetch-details entry, which names no IRM, to a row. Null if a part is missing. */
export function certificateIdentity(args: {
  document: string | null;
  date: string | null;
  amount: number | string | null;
  currency: string | null;
}): string | null {
  const { document, date, amount, currency } = args;
  const day = filingDateFromAnything(date);
  if (!document || !day || !currency || amount === null || !isAmount(amount)) return null;
  return JSON.stringify([comparableText(document), day, canonicalAmount(amount), comparableText(currency)]);
}

/** The {@link certificateIdentity} of the certificate that a row would get. */
export const certificateOfMapping = ({
  sbCumInvoiceNumber: document,
  sbCumInvoiceDate: date,
  mappedIRMAmountFCC: amount,
  irmFCC: currency,
}: Mapping): string | null => certificateIdentity({ document, date, amount, currency });

/** The identity of a mapping within its party: IRM, document with date, and mapped amount. */
export function mappingIdentity(
  mapping: IrmNames & Pick<Mapping, 'sbCumInvoiceNumber' | 'sbCumInvoiceDate' | 'mappedIRMAmountFCC'>,
): string {
  return JSON.stringify([
    irmIdentity(mapping),
    comparableText(mapping.sbCumInvoiceNumber),
    comparableDate(mapping.sbCumInvoiceDate),
    canonicalAmount(mapping.mappedIRMAmountFCC),
  ]);
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
