/** Parses foreign JSON within limits. */

/** The deepest nesting that is parsed; the specification's answers have six levels. */
const MAX_PARSED_DEPTH = 200;
/** The most values: a refusal of every cell of the largest workbook has about 150,000, as has the largest filing. */
const MAX_VALUES = 500_000;

/** The most names in one object of a document that is handed in; a row of a filing has about 30. */
const MAX_NAMES = 1_000;

/**
 * Limits the values (empty ones take far more memory than their bytes), the nesting, and the names of one object.
 * @throws SyntaxError
 */
export function refuseExcess(text: string, { maxValues = MAX_VALUES, maxNames = Infinity } = {}): void {
  let depth = 0;
  let values = 0;
  // The names so far of each open object; a list has none.
  const names: number[] = [];
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charAt(at)) {
      case '"':
        at = closingQuote(text, at);
        break;
      case '[':
      case '{':
        names[depth] = text.charAt(at) === '{' ? 1 : -Infinity;
        depth += 1;
        values += 1;
        break;
      case ']':
      case '}':
        depth -= 1;
        break;
      case ',':
        values += 1;
        names[depth - 1] = (names[depth - 1] ?? 0) + 1;
        if ((names[depth - 1] ?? 0) > maxNames) throw new SyntaxError('an object has too many names');
    }
    if (depth > MAX_PARSED_DEPTH) throw new SyntaxError('it is nested too deeply');
    if (values > maxValues) throw new SyntaxError('it has too many values');
  }
}

/** The position of the quotation mark that closes the string which starts at `from`. */
export function closingQuote(json: string, from: number): number {
  let at = from + 1;
  for (; at < json.length && json.charAt(at) !== '"'; at += 1) if (json.charAt(at) === '\\') at += 1;
  return at;
}

/** @throws SyntaxError for invalid JSON, too many values or names, too deep nesting, or a repeated name in an object */
export function parseBoundedJson(text: string): unknown {
  refuseExcess(text, { maxNames: MAX_NAMES });
  const json: unknown = JSON.parse(text);
  refuseRepeatedNames(text);
  return json;
}

/** Refuses repeated names in valid JSON: `JSON.parse` keeps only the last value, and either may be meant. */
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
