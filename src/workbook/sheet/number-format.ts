import { oversized, type WorkbookLimits } from '../ooxml/limits';
import { readXml } from '../ooxml/xml-reader';

/** How a cell shows a number. */
export interface ShownNumber {
  /**
   * `value`: unchanged; `digits`: rounded, grouped or with leading zeros; `decorated`: with other characters, such as a
   * currency; `else`: another number (a percentage, a time, a count of thousands, another sign), or nothing.
   */
  shows: 'value' | 'digits' | 'decorated' | 'date' | 'else';
  /** Digits that a format such as `0000000` shows at least, by leading zeros that the number lacks; otherwise 0. */
  zeros: number;
  /** To how many decimals it is rounded; absent: to none. */
  decimals?: number;
}

export type NumberFormat = (value: number) => ShownNumber;

const ELSE: ShownNumber = { shows: 'else', zeros: 0 };
const DATE: ShownNumber = { shows: 'date', zeros: 0 };
const DIGITS: ShownNumber = { shows: 'digits', zeros: 0 };
const VALUE: ShownNumber = { shows: 'value', zeros: 0 };

export const GENERAL: NumberFormat = () => VALUE;

/** Built-in date formats by number. 27 to 36 and 50 to 58 are dates in East Asian versions. */
const BUILT_IN_DATES = [
  [14, 17],
  [22, 22],
  [27, 36],
  [50, 58],
] as const;

/** Built-in percentages, fractions (12, 13) and times. Other built-in formats show digits, some with a currency. */
const BUILT_IN_ELSE = [
  [9, 10],
  [12, 13],
  [18, 21],
  [45, 47],
] as const;

/** Built-in formats that round: `0`, `#,##0` and currencies without decimals, and those with two. */
const BUILT_IN_DECIMALS: ReadonlyMap<number, number> = new Map([
  ...[1, 3, 5, 6, 37, 38, 41, 42].map((id) => [id, 0] as const),
  ...[2, 4, 7, 8, 39, 40, 43, 44].map((id) => [id, 2] as const),
]);

/** A cell's number format by its style index, from the workbook's styles part. @throws WorkbookRefused */
export function readNumberFormats(styles: Buffer, limits: WorkbookLimits): (style: number) => NumberFormat {
  const codes = new Map<number, NumberFormat>();
  const formats: NumberFormat[] = [];
  let inCellStyles = false;
  readXml(styles, {
    open: (name, { numFmtId = '0', formatCode = '' }) => {
      if (name === 'numFmt') codes.set(Number(numFmtId), readCode(formatCode));
      else if (name === 'cellXfs') inCellStyles = true;
      else if (name === 'xf' && inCellStyles) formats.push(codes.get(Number(numFmtId)) ?? builtIn(Number(numFmtId)));
      if (formats.length > limits.styles)
        throw oversized('too_many_styles', 'The workbook has more cell styles than Excel takes');
    },
    close: (name) => {
      if (name === 'cellXfs') inCellStyles = false;
    },
  });
  return (style) => formats[style] ?? GENERAL;
}

function builtIn(id: number): NumberFormat {
  const isOneOf = (ranges: readonly (readonly [number, number])[]) =>
    ranges.some(([from, to]) => id >= from && id <= to);
  if (isOneOf(BUILT_IN_DATES)) return () => DATE;
  if (isOneOf(BUILT_IN_ELSE)) return () => ELSE;
  if (id === 0 || id === 49) return GENERAL;
  const decimals = BUILT_IN_DECIMALS.get(id);
  return () => (decimals === undefined ? DIGITS : { ...DIGITS, decimals });
}

/** One of the sections of a format, which are for different numbers. */
interface Section {
  /** The codes alone, without literals, colours, conditions and currencies, whose letters are no codes. */
  codes: string;
  /** Shown before the first digit, between digits, and after the last digit. */
  before: string;
  /** The places of digits; a literal grouping sign is `g`, any other literal `x`. */
  places: string;
  after: string;
  condition: ((value: number) => boolean) | undefined;
}

/** An empty code is General, as some programs write it. */
function readCode(code: string): NumberFormat {
  if (code === '') return GENERAL;
  const sections = readSections(code);
  const last = sections.at(-1);
  // A last section with @ is for texts, as is a fourth one.
  const numeric = sections.length > 1 && last?.codes.includes('@') ? sections.slice(0, -1) : sections.slice(0, 3);
  const [first, second = first, third = first] = numeric;
  if (!first || !second || !third) return GENERAL;
  return (value) => {
    if (!first.condition && !second.condition) return shownBy(value > 0 ? first : value < 0 ? second : third, value);
    if (first.condition?.(value)) return shownBy(first, value);
    if (second.condition?.(value)) return shownBy(second, value);
    return shownBy(first.condition ? (second.condition ? third : second) : first, value);
  };
}

/** Names of multiples, and further digits (`0",000"` shows 5 as 5,000). */
const MULTIPLIES = /\d|\b(?:k|mn?|bn|hundreds?|thousands?|l(?:a(?:kh|c)s?)?|cr(?:s|ores?)?|millions?|billions?)\b/i;
/** A sign before or after the digits, as `(5)` or `5-` for a negative number; `5/-` is a sum of money. */
const NEGATIVE = { before: /[-\u2212(]\s*$/, after: /^\s*[-\u2212)]/ };
/** Grouping signs within digits, the last group of three or more: `12\,34` is a decimal number. */
const GROUPED = /^[0#?,]*(?:g[0#?,]+)*g[0#?,]{3,}(?:\.|$)/;

function shownBy({ codes, before, places, after }: Section, value: number): ShownNumber {
  const general = /general/i.test(codes);
  if (/[dy]/i.test(codes) && !general) return DATE;
  const placed = codes.replace(/general|E[+-](?=0)/gi, '');
  const isTime = /[hms]/i.test(placed) && !/[#?]/.test(placed);
  const isScaled = /%|[0#?],+(?![0#?,])/.test(placed);
  const hasPlace = general || /[0#?@]/.test(placed);
  const isAnother = places.includes('x') || (places.includes('g') && !GROUPED.test(places));
  const changesSign = value > 0 && (NEGATIVE.before.test(before) || NEGATIVE.after.test(after));
  if (isTime || isScaled || !hasPlace || isAnother || changesSign || MULTIPLIES.test(`${before} ${after}`)) return ELSE;
  const zeros = (places.split('.')[0] ?? '').replace(/[g,]/g, '').replace(/^[#?]+/, '').length;
  const hasDigits = /[0#?]/.test(placed);
  const decimals = hasDigits && !/E[+-]/i.test(codes) ? { decimals: (places.split('.')[1] ?? '').length } : {};
  if (/[^\s,]/.test(before + after)) return { shows: 'decorated', zeros, ...decimals };
  return hasDigits ? { shows: 'digits', zeros, ...decimals } : VALUE;
}

function readSections(code: string): Section[] {
  const sections: Section[] = [];
  /** What is shown since the last place of a digit. */
  let pending = '';
  const open = (): Section => {
    const section = { codes: '', before: '', places: '', after: '', condition: undefined };
    sections.push(section);
    return section;
  };
  const close = (section: Section) => {
    section.after = pending.replace(/general|@/gi, '');
    pending = '';
  };
  let section = open();
  for (const { text, as } of piecesOf(code)) {
    if (as === 'condition') section.condition ??= conditionOf(text);
    else if (as === 'literal') pending += text;
    else if (text === ';') {
      close(section);
      section = open();
    } else {
      section.codes += text;
      if (!/^[0#?.,]$/.test(text)) pending += text;
      else {
        if (section.places === '') section.before = pending;
        else
          section.places += pending
            .replace(/^E[+-]$/i, '')
            .replace(/[\s,'\u2019]/g, 'g')
            .replace(/[^g]/g, 'x');
        section.places += text;
        pending = '';
      }
    }
  }
  close(section);
  return sections;
}

function conditionOf(text: string): Section['condition'] {
  const [, sign, limit] = /^([<>]=?|=|<>)\s*(-?\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const to = Number(limit);
  const conditions: Readonly<Record<string, (value: number) => boolean>> = {
    '<': (value) => value < to,
    '<=': (value) => value <= to,
    '>': (value) => value > to,
    '>=': (value) => value >= to,
    '=': (value) => value === to,
    '<>': (value) => value !== to,
  };
  return conditions[sign ?? ''];
}

interface Piece {
  text: string;
  as: 'code' | 'literal' | 'condition';
}

function* piecesOf(code: string): Generator<Piece> {
  for (let at = 0; at < code.length; at += 1) {
    const character = code.charAt(at);
    const closing = character === '"' ? '"' : character === '[' ? ']' : undefined;
    const end = closing === undefined ? at : code.indexOf(closing, at + 1);
    // An unclosed quote or bracket is no literal.
    if (closing !== undefined && end > at) {
      const inside = code.slice(at + 1, end);
      yield closing === '"' ? { text: inside, as: 'literal' } : bracketed(inside);
      at = end;
    } else if (character === '\\' || character === '_' || character === '*') {
      at += 1;
      if (character === '\\') yield { text: code.charAt(at), as: 'literal' };
    } else yield { text: character, as: 'code' };
  }
}

/** `[h]` counts hours; `[$USD-409]` is a currency with its language, whose letters name no multiple. */
function bracketed(inside: string): Piece {
  if (/^(?:h+|m+|s+)$/i.test(inside)) return { text: inside, as: 'code' };
  const [, currency, language] = /^\$([^-]*)(-.*)?$/.exec(inside) ?? [];
  if (currency === undefined) return { text: inside, as: 'condition' };
  return { text: language !== undefined && currency !== '' ? '\u00a4' : currency, as: 'literal' };
}
