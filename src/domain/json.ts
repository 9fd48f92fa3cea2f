/** Parses foreign JSON within limits. */
import { isSameButNoise } from './money';

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

/** A number that would become another one: JSON has any number of digits, a double about 15. */
export class InexactNumberError extends SyntaxError {
  override readonly name = 'InexactNumberError';

  /** @param place such as `items[3].amount` */
  constructor(literal: string, place: string) {
    const at = place === '' ? 'The number' : place;
    super(`${at} ${literal} has more digits than a number of JSON is read with, and would become another number`);
  }
}

/**
 * @throws SyntaxError for invalid JSON, too many values or names, too deep nesting or a repeated name in an object;
 * InexactNumberError, which is one, for a number that cannot be held
 */
export function parseBoundedJson(text: string): unknown {
  refuseExcess(text, { maxNames: MAX_NAMES });
  const json: unknown = JSON.parse(text);
  refuseAmbiguity(text);
  return json;
}

/** What is open: an object with its names so far and the last of them, or a list with its index. */
type Open = { names: Set<string>; name: string } | { index: number };

/** Refuses what `JSON.parse` reads silently: repeated names, of which it keeps the last, and inexact numbers. */
function refuseAmbiguity(text: string): void {
  const colon = /\s*:/y;
  const number = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/iy;
  const open: Open[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    const inside = open.at(-1);
    if (char === '{') open.push({ names: new Set(), name: '' });
    else if (char === '[') open.push({ index: 0 });
    else if (char === '}' || char === ']') open.pop();
    else if (char === ',' && inside && 'index' in inside) inside.index += 1;
    else if (char === '-' || (char >= '0' && char <= '9')) {
      number.lastIndex = at;
      const literal = number.exec(text)?.[0] ?? char;
      at += literal.length - 1;
      if (!isHeld(literal)) throw new InexactNumberError(literal, placeOf(open));
    } else if (char === '"') {
      const start = at;
      at = closingQuote(text, at);
      colon.lastIndex = at + 1;
      if (!inside || !('names' in inside) || !colon.test(text)) continue;
      const quotedName = text.slice(start, at + 1);
      const name = JSON.parse(quotedName) as string;
      if (inside.names.has(name)) throw new SyntaxError(`${quotedName} at position ${start} is there twice`);
      inside.names.add(name);
      inside.name = name;
    }
  }
}

/** Whether a number keeps its value, apart from the noise of binary arithmetic. */
function isHeld(literal: string): boolean {
  // A double holds every number of 15 digits, and most have fewer.
  if (literal.length <= 15 && !/e/i.test(literal)) return true;
  const value = Number(literal);
  return Number.isFinite(value) && isSameButNoise(literal, value);
}

const placeOf = (open: readonly Open[]): string =>
  open.map((each, depth) => ('index' in each ? `[${each.index}]` : `${depth === 0 ? '' : '.'}${each.name}`)).join('');
