/** JSON of others, within bounds. */

/** Deepest nesting that is parsed; what the service describes has six levels. */
const MAX_PARSED_DEPTH = 200;
/** A refusal of every cell of the largest workbook, and the largest filing, have some 150,000 values. */
const MAX_VALUES = 500_000;

/** Empty values take far more memory than their bytes, and deep nesting breaks readers. @throws SyntaxError */
export function refuseExcess(text: string, maxValues = MAX_VALUES): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '"':
        at = closingQuote(text, at);
        break;
      case '[':
      case '{':
        depth += 1;
        values += 1;
        break;
      case ']':
      case '}':
        depth -= 1;
        break;
      case ',':
        values += 1;
    }
    if (depth > MAX_PARSED_DEPTH) throw new SyntaxError('it is nested too deeply');
    if (values > maxValues) throw new SyntaxError('it has too many values');
  }
}

/** Where a text of JSON ends that the quotation mark at `from` begins: quotation marks and backslashes are escaped. */
export function closingQuote(json: string, from: number): number {
  let at = from + 1;
  for (; at < json.length && json.charAt(at) !== '"'; at += 1) if (json.charAt(at) === '\\') at += 1;
  return at;
}

/** @throws SyntaxError for what is not JSON, has too many values, is nested too deeply or gives a value twice */
export function parseBoundedJson(text: string): unknown {
  refuseExcess(text);
  const json: unknown = JSON.parse(text);
  refuseRepeatedNames(text);
  return json;
}

/** Of two values of one name the parser takes the last, and nobody knows which one is meant. `text` is JSON. */
function refuseRepeatedNames(text: string): void {
  const colon = /\s*:/y;
  // The names of each open object; null: a list is open.
  const open: (Set<string> | null)[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '{') open.push(new Set());
    else if (char === '[') open.push(null);
    else if (char === '}' || char === ']') open.pop();
    else if (char === '"') {
      const start = at;
      at = closingQuote(text, at);
      colon.lastIndex = at + 1;
      if (!colon.test(text)) continue;
      const quotedName = text.slice(start, at + 1);
      const name = JSON.parse(quotedName) as string;
      if (open.at(-1)?.has(name)) throw new SyntaxError(`${quotedName} at position ${start} is there twice`);
      open.at(-1)?.add(name);
    }
  }
}
