import { BANK_CHARGES, formatAmount } from '../../domain/money';
import { counted } from '../../domain/text';
import { compareFilingDates, dayNumber, isFilingDate, type FilingDate } from '../../domain/dates';

/** An IRM with its free balance. */
export interface OpenIrm {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  /** DDMMYYYY, or the record's text. */
  irmDt: string;
  currency: string;
  purpose: string;
  /** Amount of the whole remittance; null if it is not known. */
  amount: string | null;
  /** The available balance minus the holds of our filings. */
  free: string;
  remitter: string | null;
  /** Texts of the record that the specification does not name, such as a remark of the bank. */
  remarks: string;
}

/** A document that is not fully certified. */
export interface OpenDocument {
  /** As in sbCumInvoiceNumber. */
  number: string;
  /** DDMMYYYY; null if it is not known. */
  date: FilingDate | null;
  currency: string;
  value: string;
  /** The part of the value that is not mapped. */
  open: string;
  uploadType: number | null;
  buyer: string | null;
  /** The exporter's own invoice number, if it differs. */
  billNo: string | null;
}

/** A payment this long after the document, or an advance this long before it, is unlikely to belong to it. */
const MAX_GAP_DAYS = 540;
const ADVANCE = 'P0103';
/** Purpose codes that fit an upload type. They come from public rules, so they affect only the score. */
const PURPOSES: Readonly<Record<number, RegExp>> = {
  101: /^P01/,
  102: /^P(0802|0803|0807|0103)$/,
  103: /^P(0[2-9]|1[0-7]|0103)/,
  104: /^P01/,
};
const COMPANY_WORDS = new Set(
  'INC LLC LTD LIMITED PVT PRIVATE CORP CORPORATION CO COMPANY GMBH AG SA SARL BV NV PLC PTE PTY LLP THE AND OF'.split(
    ' ',
  ),
);

/** An entry prepared for many comparisons. */
export interface Prepared<T> {
  entry: T;
  /** Open amount in minor units. */
  units: number;
  day: number | null;
  name: ReadonlySet<string>;
  texts: string[];
  remarks: string;
}

export const prepareIrm = (irm: OpenIrm): Prepared<OpenIrm> => ({
  entry: irm,
  units: minorUnits(irm.free),
  day: dayOf(irm.irmDt),
  name: nameWords(irm.remitter),
  texts: [],
  remarks: lettersAndDigits(irm.remarks),
});

export const prepareDocument = (document: OpenDocument): Prepared<OpenDocument> => ({
  entry: document,
  units: minorUnits(document.open),
  day: dayOf(document.date),
  name: nameWords(document.buyer),
  texts: [document.number, document.billNo ?? ''].map(lettersAndDigits).filter((text) => text.length >= 4),
  remarks: '',
});

/**
 * Hundredths, rounded down, so that no more than the balance is proposed. 0 for an invalid amount, or one too large to
 * count exactly.
 */
function minorUnits(amount: string): number {
  const [, whole = '', part = ''] = /^(\d{1,13})(?:\.(\d+))?$/.exec(amount) ?? [];
  return whole === '' ? 0 : Number(whole) * 100 + Number(part.slice(0, 2).padEnd(2, '0'));
}

/** How likely the IRM pays for the document; 0 for different currencies. {@link explain} adds the reasons. */
export function confidenceOf(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>): number {
  return weigh(irm, document, null);
}

/** Like {@link confidenceOf}, with reasons for people. */
export function explain(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>) {
  const reasons: string[] = [];
  const confidence = weigh(irm, document, reasons);
  return { confidence, reasons };
}

function weigh(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>, reasons: string[] | null): number {
  if (irm.entry.currency !== document.entry.currency) return 0;
  const named = sameNames(irm, document, reasons);
  let sum =
    0.1 +
    0.35 * amounts(irm, document, reasons) +
    0.3 * (named ?? 0.5) +
    0.15 * dates(irm, document, reasons) +
    0.1 * purposes(irm, document, reasons);
  if (named !== null && named < 0.3) sum *= 0.6;
  if (document.texts.some((text) => irm.remarks.includes(text))) {
    reasons?.unshift('the document number is in the remarks of the remittance');
    sum = 0.5 + 0.5 * sum;
  }
  return Math.min(1, Math.round(sum * 200) / 200);
}

function amounts(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>, reasons: string[] | null): number {
  const { currency } = irm.entry;
  const short = document.units - irm.units;
  if (short === 0) {
    reasons?.push(`the amounts agree: ${currency} ${formatAmount(irm.entry.free)}`);
    return 1;
  }
  if (short > 0 && short <= document.units * BANK_CHARGES) {
    reasons?.push(`the remittance is ${formatAmount(short / 100)} ${currency} short, as with bank charges`);
    return 0.9;
  }
  if (short < 0) {
    reasons?.push('the remittance is larger than what is open of the document');
    return 0.5;
  }
  reasons?.push('the remittance pays a part of the document');
  return 0.4;
}

/** Similarity from 0 to 1; null if a name is not known. */
function sameNames(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>, reasons: string[] | null): number | null {
  if (irm.name.size === 0 || document.name.size === 0) {
    reasons?.push('remitter or buyer is not known');
    return null;
  }
  let common = 0;
  for (const word of irm.name) if (document.name.has(word)) common += 1;
  const likeness = (2 * common) / (irm.name.size + document.name.size);
  const both = `remitter ${irm.entry.remitter ?? ''}, buyer ${document.entry.buyer ?? ''}`;
  reasons?.push(
    likeness === 1
      ? `the remitter is the buyer: ${irm.entry.remitter ?? ''}`
      : likeness < 0.3
        ? `different names: ${both}`
        : `similar names: ${both}`,
  );
  return likeness;
}

function dates(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>, reasons: string[] | null): number {
  if (irm.day === null || document.day === null) {
    reasons?.push('a date is not known');
    return 0.5;
  }
  const after = irm.day - document.day;
  const advance = irm.entry.purpose === ADVANCE;
  const days = Math.abs(after);
  if (after === 0) reasons?.push('remittance and document have the same date');
  else reasons?.push(`the remittance came ${counted(days, 'day')} ${after > 0 ? 'after' : 'before'} the document`);
  if (after !== 0 && advance === after > 0) return 0.1;
  if (days > MAX_GAP_DAYS) return 0.1;
  return days <= 90 ? 1 : days <= 270 ? 0.7 : 0.4;
}

function purposes(irm: Prepared<OpenIrm>, document: Prepared<OpenDocument>, reasons: string[] | null): number {
  const { purpose } = irm.entry;
  const suits = document.entry.uploadType === null ? undefined : PURPOSES[document.entry.uploadType];
  if (!suits || purpose === '') return 0.5;
  const fits = suits.test(purpose);
  reasons?.push(`purpose ${purpose} ${fits ? 'fits' : 'is unusual for'} upload type ${document.entry.uploadType}`);
  return fits ? 1 : 0.1;
}

function nameWords(name: string | null): ReadonlySet<string> {
  const words = (name ?? '')
    .normalize('NFKD')
    .toUpperCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1 && !COMPANY_WORDS.has(word));
  return new Set(words);
}

function lettersAndDigits(text: string): string {
  return text
    .normalize('NFKC')
    .toUpperCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

const dayOf = (date: string | null): number | null => (isFilingDate(date) ? dayNumber(date) : null);

/** Orders by date, then by number, so that two runs over the same data propose the same. */
export function byDate(a: OpenDocument, b: OpenDocument): number {
  const order = a.date && b.date ? compareFilingDates(a.date, b.date) : 0;
  return order || (a.number < b.number ? -1 : a.number > b.number ? 1 : 0);
}
