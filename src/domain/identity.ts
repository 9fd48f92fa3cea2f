/** Identities of texts, exporters, IRMs and mappings: everything compares by these; sent texts keep their form. */
import { filingDateFromAnything } from './dates';
import { FIELD_NAMES, MAPPING_FIELDS } from './filing/mapping';
import type { ExtraValues, Mapping, MappingField, MappingRow } from './filing/mapping';
import { canonicalAmount, isAmount } from './money';
import { normaliseHeader } from './rules/columns';

/** Spaces, control and format characters, and what is drawn as nothing (zero-width, fillers, half a surrogate). */
const UNSEEN = /[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * A text in comparable form; leading zeros are dropped only in digits, as spreadsheets do. Refusing too much is the
 * safe mistake.
 */
export function comparableText(text: string): string {
  const plain = seen(seen(text.normalize('NFKC')).toUpperCase().normalize('NFKC'));
  return /^\d+$/.test(plain) ? plain.replace(/^0+(?=\d)/, '') : plain;
}

const seen = (text: string): string => text.replace(UNSEEN, '');

export function sameText(a: string, b: string): boolean {
  return comparableText(a) === comparableText(b);
}

/** An exporter id in comparable form. UUIDs are equal in either case; the service's own spelling is sent. */
function comparableId(exporterId: string): string {
  return exporterId.trim().toLowerCase();
}

export function sameId(a: string, b: string): boolean {
  return comparableId(a) === comparableId(b);
}

/** Ten letters and digits, upper-cased (spec: "Platform customer"); else null: a placeholder makes no party. */
export function readIec(text: string | null | undefined): string | null {
  const iec = seen((text ?? '').normalize('NFKC')).toUpperCase();
  return /^[A-Z0-9]{10}$/.test(iec) ? iec : null;
}

/** The only IEC that several records name; null if they name none, or more than one. */
export function agreedIec(texts: readonly (string | null)[]): string | null {
  const named = new Set(texts.map(readIec).filter((iec) => iec !== null));
  const [iec] = named;
  return named.size === 1 && iec !== undefined ? iec : null;
}

export type IrmNames = Pick<Mapping, 'irmNumber' | 'irmAdCode'>;

/** An IRM's number and AD code. Without IFSC and date: it has two, and either may be given. */
export function irmIdentity({ irmNumber, irmAdCode }: IrmNames): string {
  return `${comparableText(irmNumber)} ${comparableText(irmAdCode)}`;
}

/** A calendar date in comparable form: DDMMYYYY if it can be read, otherwise the comparable text. */
export function comparableDate(date: string): string {
  return filingDateFromAnything(date) ?? comparableText(date);
}

/** By which a certificate of fetch-details is matched to a row: an entry has no IRM. Null if a part is missing. */
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

/** The same of a row: what its certificate is matched by if the status does not name it. */
export const certificateOfMapping = ({
  sbCumInvoiceNumber: document,
  sbCumInvoiceDate: date,
  mappedIRMAmountFCC: amount,
  irmFCC: currency,
}: Mapping): string | null => certificateIdentity({ document, date, amount, currency });

/** A mapping of one party as text: IRM, document with its date, and mapped amount. */
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

/** What names one IRM of an exporter, and where the page of a list ends. */
export const irmCursor = (irm: Record<'irmNumber' | 'irmAdCode' | 'irmIfscCode' | 'irmIssueDate', string>): string =>
  [irm.irmNumber, irm.irmAdCode, irm.irmIfscCode, irm.irmIssueDate].map(encodeURIComponent).join('/');

/** The IRM that {@link irmCursor} names; null for another text. */
export function readIrmCursor(
  cursor: string,
): Record<'irmNumber' | 'adCode' | 'ifscCode' | 'issueDate', string> | null {
  try {
    const [irmNumber, adCode, ifscCode, issueDate, ...more] = cursor.split('/').map(decodeURIComponent);
    if (!irmNumber || adCode === undefined || ifscCode === undefined || issueDate === undefined || more.length > 0)
      return null;
    return { irmNumber, adCode, ifscCode, issueDate };
  } catch {
    // A stray percent sign.
    return null;
  }
}

export interface FilingContent {
  exporterId: string;
  uploadType: number;
  declaration: string;
  rows: readonly Pick<MappingRow, 'mapping' | 'extra'>[];
}

/** A filing's canonical text, whose SHA-256 is the content hash, whatever the order and spelling of its values. */
export function canonicalContent({ exporterId, uploadType, declaration, rows }: FilingContent): string {
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
