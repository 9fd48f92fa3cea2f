import { closingQuote, refuseExcess } from '../../domain/json';
import { cleanText, cutText, TEXT_BYTES } from '../../domain/text';

/** Options for cleaning an answer; the length of the body itself is limited where it is read. */
export interface CleanOptions {
  /** Longest text, in bytes of UTF-8. */
  textBytes?: number;
  /** Applied to every complete text before it is cut: half a secret would not be recognised. */
  redact?: (text: string) => string;
}

/** Deepest nesting; anything deeper is left out. */
const MAX_DEPTH = 20;

const NAME_BYTES = 200;
/** A text is cut to this many UTF-16 units before it is cleaned, to bound the work. */
const UNITS_SCANNED = 4;

/** Cleans all texts and names of an answer: nothing unbounded, or refused by PostgreSQL or Temporal, gets further. */
export function cleanAnswer(value: unknown, options: CleanOptions = {}): unknown {
  return clean(value, options, MAX_DEPTH);
}

/** Cleans and cuts one text. */
export function cleanWords(text: string, maxBytes = TEXT_BYTES): string {
  return cutText(cleanText(text.slice(0, maxBytes * UNITS_SCANNED)), maxBytes);
}

function clean(value: unknown, options: CleanOptions, depth: number): unknown {
  if (typeof value === 'string') return cleanWords(options.redact?.(value) ?? value, options.textBytes);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === 0) return '(nested too deeply, left out)';
  if (Array.isArray(value)) return value.map((entry) => clean(entry, options, depth - 1));
  const cleaned: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(value)) {
    const kept = cleanWords(options.redact?.(name) ?? name, NAME_BYTES);
    // As a property, this name would change the record's prototype instead.
    if (kept !== '__proto__') cleaned[kept] = clean(part, options, depth - 1);
  }
  return cleaned;
}

/** Raw control characters as spaces. Byte by byte: the matches of a pattern in a long body would fill the memory. */
function withoutRawControls(text: string): string {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1) if ((bytes[at] ?? 0) < 0x20) bytes[at] = 0x20;
  return bytes.toString();
}

/** The beginning of a text, or a whole number that a double may not hold: an id, never an amount. */
const QUOTE_OR_LONG_NUMBER = /"|(?<![\w.+-])-?\d{16,40}(?![\w.])/gu;

/** JSON with its long numbers as texts; digits inside a text stay as they are. */
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
 * Parses JSON with a byte order mark, raw control characters, and numbers too long for a double as texts (a rounded
 * request id would be a wrong one).
 * @throws SyntaxError, also for excess values or nesting
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

/** As {@link parseJson}, cleaned; null for what is no JSON. */
export function readJson(text: string, options?: CleanOptions): unknown {
  try {
    return cleanAnswer(parseJson(text), options);
  } catch {
    return null;
  }
}

/** A text that says something; undefined for any other value. */
export function filledText(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** A whole number, also one that comes as a text; undefined for any other value. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'number' || (typeof value === 'string' && value !== '') ? Number(value) : Number.NaN;
  return Number.isInteger(number) ? number : undefined;
}
