/** Changes of the SQL in a text: a lock or a condition that is gone, a comparison that is another. */

/** A change of a source: the text between two offsets is replaced. */
export interface Change {
  start: number;
  end: number;
  text: string;
  /** What was done, for people: `< becomes <=`. */
  what: string;
}

const IS_SQL = /\b(SELECT|UPDATE|INSERT INTO|DELETE FROM|WHERE|JOIN|EXISTS|AND)\b/u;
/** Words that end a condition at the depth of its own parentheses. */
const ENDS = /^(AND|OR|ORDER|GROUP|HAVING|LIMIT|RETURNING|FOR|THEN|ELSE|END|UNION|JOIN|LEFT|CROSS|WHERE|DO)\b/u;

const WORDS: readonly [RegExp, (found: string) => string][] = [
  [/\bFOR (NO KEY )?(UPDATE|SHARE)( OF \w+)?( SKIP LOCKED| NOWAIT)?/gu, () => ''],
  [/\bIS NOT NULL\b/gu, () => 'IS NULL'],
  [/\bIS NULL\b/gu, () => 'IS NOT NULL'],
  [/\bIS NOT DISTINCT FROM\b/gu, () => 'IS DISTINCT FROM'],
  [/\bIS DISTINCT FROM\b/gu, () => 'IS NOT DISTINCT FROM'],
  [/\bNOT EXISTS\b/gu, () => 'EXISTS'],
  [/(?<!NOT )\bEXISTS\b/gu, () => 'NOT EXISTS'],
  [/\bDESC\b/gu, () => 'ASC'],
  [/\b(least|greatest|min|max)(?=\()/gu, (found) => OTHERS[found] ?? found],
  [/(?<= )(<=|>=|<|>)(?= )/gu, (found) => (found.endsWith('=') ? found.slice(0, 1) : `${found}=`)],
  [/(?<=\b(?:WHERE|AND|OR|ON|WHEN) [\w.]+ )=(?= )/gu, () => '<>'],
  [/\bOR\b/gu, () => 'AND'],
];
const OTHERS: Readonly<Record<string, string>> = { least: 'greatest', greatest: 'least', min: 'max', max: 'min' };

/** Changes of the SQL between two offsets of a source. `holes`: the expressions in it, which are not SQL. */
export function sqlChanges(
  source: string,
  start: number,
  end: number,
  holes: readonly (readonly [start: number, end: number])[],
): Change[] {
  let sql = source.slice(start, end);
  if (!IS_SQL.test(sql)) return [];
  // A hole is one word of the same length.
  for (const [from, to] of holes)
    sql = sql.slice(0, from - start - 2) + 'x'.repeat(to - from + 3) + sql.slice(to - start + 1);
  const changes: Change[] = [];
  const add = (at: number, length: number, text: string, what: string) =>
    changes.push({ start: start + at, end: start + at + length, text, what });
  for (const [pattern, other] of WORDS)
    for (const { 0: found, index } of sql.matchAll(pattern)) {
      const text = other(found);
      add(index, found.length, text, text === '' ? `${found} is gone` : `${found} becomes ${text}`);
    }
  for (const { index } of sql.matchAll(/\bAND\b/gu)) {
    const length = conditionLength(sql.slice(index + 3));
    // The bound of a BETWEEN is no condition.
    if (length === null || /\bBETWEEN\s+\S+\s*$/u.test(sql.slice(0, index))) continue;
    const from = start + index + 3;
    const condition = source
      .slice(from, from + length)
      .replace(/\s+/gu, ' ')
      .trimEnd();
    add(index, 3 + length, '', `the condition${condition} is gone`);
  }
  return changes;
}

/** The length of the condition at the beginning of a text; null: it does not end in it. */
function conditionLength(text: string): number | null {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '(') depth += 1;
    if (char === ')' && depth === 0) return at;
    if (char === ')') depth -= 1;
    if (depth === 0 && /\s/u.test(text[at - 1] ?? '') && at > 1 && ENDS.test(text.slice(at))) return at - 1;
  }
  return depth === 0 ? text.length : null;
}
