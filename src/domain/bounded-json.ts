/** JSON of others, within bounds. */

/** Deepest nesting that is parsed; what the service describes has six levels. */
const MAX_PARSED_DEPTH = 200;
/** A refusal of every cell of the largest workbook, and the largest filing, have some 150,000 values. */
const MAX_VALUES = 500_000;

/**
 * A short text may hold millions of empty values, each of which takes far more memory than its two bytes, or nest them
 * deeper than what reads them can follow.
 * @throws SyntaxError
 */
export function refuseExcess(text: string, maxValues = MAX_VALUES): void {
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
    if (depth > MAX_PARSED_DEPTH) throw new SyntaxError('it is nested too deeply');
    if (values > maxValues) throw new SyntaxError('it has too many values');
  }
}

/** @throws SyntaxError for what is not JSON, has too many values or is nested too deeply */
export function parseBoundedJson(text: string): unknown {
  refuseExcess(text);
  return JSON.parse(text);
}
