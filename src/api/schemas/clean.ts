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

/** Longest name of a field. */
const NAME_BYTES = 200;
/** A text is cut to this many UTF-16 units before it is cleaned, to bound the work. */
const UNITS_SCANNED = 4;

/**
 * Cleans all texts and names of a parsed answer, so that nothing of unbounded length, and nothing that PostgreSQL or
 * Temporal refuses, gets further than this.
 */
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

/** Control characters that JSON does not allow outside an escape; between values they are treated as spaces. */
const RAW_CONTROLS = /[\u0000-\u001f]/gu;
/** A whole number after a colon, comma or bracket that a double cannot hold: an id, never an amount. */
const LONG_NUMBER = /([:[,]\s{0,9})(-?\d{16,40})(?=\s{0,9}[,}\]])/gu;

/** Deepest nesting that is parsed; what the service describes has six levels. */
const MAX_PARSED_DEPTH = 200;
/** Values of one answer; a refusal of every cell of the largest workbook has some 150,000. */
const MAX_VALUES = 500_000;

/** A short body may hold millions of empty values, each of which takes far more memory than its two bytes. */
function refuseExcess(text: string): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22: // A text, to its end: quotation marks and backslashes in it are escaped.
        for (at += 1; at < text.length && text.charCodeAt(at) !== 0x22; at += 1) {
          if (text.charCodeAt(at) === 0x5c) at += 1;
        }
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth += 1;
        values += 1;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        depth -= 1;
        break;
      case 0x2c: // ,
        values += 1;
    }
    if (depth > MAX_PARSED_DEPTH) throw new SyntaxError('the answer is nested too deeply');
    if (values > MAX_VALUES) throw new SyntaxError('the answer has too many values');
  }
}

/**
 * Parses JSON as tolerantly as is safe: with a byte order mark, with raw control characters in its texts, and with
 * numbers too long for a double, which are kept as texts (a rounded request id would be a wrong one).
 * @throws SyntaxError, also for more values or a deeper nesting than any normal answer has
 */
export function parseJson(text: string): unknown {
  const body = text.startsWith('\ufeff') ? text.slice(1) : text;
  refuseExcess(body);
  const quoted = body.replace(LONG_NUMBER, (all, before: string, digits: string) =>
    Number.isSafeInteger(Number(digits)) ? all : `${before}"${digits}"`,
  );
  for (const attempt of quoted === body ? [body] : [quoted, body]) {
    try {
      return JSON.parse(attempt);
    } catch {
      // Digits inside a text look the same, and quoting them would break it: then the body is parsed as it came.
    }
  }
  return JSON.parse(body.replace(RAW_CONTROLS, ' '));
}
