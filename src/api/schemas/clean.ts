import { closingQuote, refuseExcess } from '../../domain/json';
import { cutText, printable, TEXT_BYTES } from '../../domain/text';

/** Options for cleaning an answer. The transport limits the length of the body. */
export interface CleanOptions {
  /** The most bytes of UTF-8 of one text. */
  textBytes?: number;
  /** Applied to every text before it is cut, because half a secret would not be recognised. */
  redact?: (text: string) => string;
}

/** The deepest nesting; deeper values are left out. */
const MAX_DEPTH = 20;

const NAME_BYTES = 200;
/** Before cleaning, a text is cut to this many UTF-16 units for each byte allowed, to limit the work. */
const UNITS_SCANNED = 4;

/** Cleans and cuts all texts and names of an answer: PostgreSQL and Temporal accept them, and a person sees all. */
export function cleanAnswer(value: unknown, options: CleanOptions = {}): unknown {
  return clean(value, options, MAX_DEPTH);
}

/** Cleans and cuts one text. */
export function cleanWords(text: string, maxBytes = TEXT_BYTES): string {
  return cutText(printable(text.slice(0, maxBytes * UNITS_SCANNED)), maxBytes);
}

function clean(value: unknown, options: CleanOptions, depth: number): unknown {
  if (typeof value === 'string') return cleanWords(options.redact?.(value) ?? value, options.textBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '(nested too deeply, left out)';
  if (Array.isArray(value)) return value.map((entry) => clean(entry, options, depth - 1));
  const cleaned: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value)) {
    const kept = cleanWords(options.redact?.(name) ?? name, NAME_BYTES);
    // Assigning this name would change the record's prototype.
    if (kept !== '__proto__') cleaned[kept] = clean(part, options, depth - 1);
  }
  return cleaned;
}

/** Replaces raw control characters by spaces; byte by byte, as a pattern's matches in a long body would fill memory. */
function withoutRawControls(text: string): string {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1) if ((bytes[at] ?? 0) < 0x20) bytes[at] = 0x20;
  return bytes.toString();
}

/** The start of a string, or an integer that a double may not hold, which is an id and never an amount. */
const QUOTE_OR_LONG_NUMBER = /"|(?<![\w.+-])-?\d{16,40}(?![\w.])/gu;

/** Quotes long integers in JSON; digits inside a string stay as they are. */
function withLongNumbersQuoted(json: string): string {
  const pattern = new RegExp(QUOTE_OR_LONG_NUMBER);
  let quoted = '';
  let copied = 0;
  for (let found = pattern.exec(json); found !== null; found = pattern.exec(json)) {
    const [token] = found;
    if (token === '"') pattern.lastIndex = closingQuote(json, found.index) + 1;
    else if (!Number.isSafeInteger(Number(token))) {
      quoted += `${json.slice(copied, found.index)}"${token}"`;
      copied = pattern.lastIndex;
    }
  }
  return quoted + json.slice(copied);
}

/**
 * Parses JSON that may have a byte order mark or raw control characters. Integers too long for a double become texts,
 * because a rounded request id would be wrong.
 * @throws SyntaxError, also for too many values or too deep nesting
 */
export function parseJson(text: string): unknown {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  refuseExcess(body);
  const quoted = withLongNumbersQuoted(body);
  try {
    return JSON.parse(quoted);
  } catch {
    return JSON.parse(withoutRawControls(quoted));
  }
}

/** Parses and cleans JSON; null for invalid JSON. */
export function readJson(text: string, options?: CleanOptions): unknown {
  try {
    return cleanAnswer(parseJson(text), options);
  } catch {
    return null;
  }
}

/** A non-blank text; undefined for any other value. */
export function filledText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** An integer, also from a text; undefined for any other value. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : Number.NaN;
  return Number.isInteger(number) ? number : undefined;
}
