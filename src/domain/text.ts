/** Makes external texts safe to store, print and show in Markdown, HTML and spreadsheets. */

export const TEXT_BYTES = 2_048;

/** Line separators; each becomes a space, so that words stay separate. */
const LINE_ENDS = /[\t\n\v\f\r\u0085\u2028\u2029]+/gu;
/** With the flag u, `\p{Cs}` matches only unpaired surrogates. */
const CONTROLS = /[\p{Cc}\p{Cs}]/gu;
/**
 * What nobody sees, or what changes the order in which the rest is seen: the one rule for texts that a person compares.
 * Joiners are kept behind letters that they shape, those of the Indic scripts and Arabic. The empty Braille pattern
 * looks blank, and is no white space to Unicode.
 */
const HIDDEN =
  /(?![\u200c\u200d])[\p{Default_Ignorable_Code_Point}\u2800\ufff9-\ufffb]|(?<![\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Arab}])[\u200c\u200d]/gu;

/** A text without what nobody sees. */
export const withoutHidden = (text: string): string => text.replace(HIDDEN, '');

const LATIN = /\p{sc=Latin}/u;
/** Scripts with letters that look like Latin ones. */
const LIKE_LATIN = /[\p{sc=Cyrillic}\p{sc=Greek}\p{sc=Armenian}\p{sc=Cherokee}\p{sc=Coptic}\p{sc=Lisu}]/u;

/** Whether letters of two alphabets that look alike stand together, such as A and the Cyrillic А in one reference. */
export const mixesAlphabets = (text: string): boolean =>
  text.split(/\s+/u).some((word) => LATIN.test(word) && LIKE_LATIN.test(word));

/** A letter or digit in another dress, such as a full-width or mathematical one. */
const isDressed = (character: string): boolean => character.normalize('NFKC') !== character.normalize('NFC');

/** Whether a person who reads a text knows what it is: nothing is hidden, and no letter stands for another. */
export const isAsItLooks = (text: string): boolean =>
  printable(text) === text && !mixesAlphabets(text) && !(text.match(/[\p{L}\p{Nd}]/gu) ?? []).some(isDressed);

/** Removes control characters and unpaired surrogates, which PostgreSQL and Temporal do not accept. */
export function cleanText(text: string): string {
  return text.replace(LINE_ENDS, ' ').replace(CONTROLS, '');
}

/** NUL and unpaired surrogates, which PostgreSQL does not accept. */
const UNSTORABLE = /\u0000|\p{Cs}/u;

/** Whether PostgreSQL can store a text. */
export const isStorable = (text: string): boolean => !UNSTORABLE.test(text);

/** Cuts a text to at most `maxBytes` bytes of UTF-8; a cut text ends in `…`. */
export function cutText(text: string, maxBytes = TEXT_BYTES): string {
  // No UTF-16 unit takes more than three bytes.
  if (text.length * 3 <= maxBytes) return text;
  let bytes = 0;
  let units = 0;
  let kept = 0;
  for (const character of text) {
    bytes += utf8Bytes(character);
    if (bytes > maxBytes) return `${text.slice(0, kept)}…`;
    units += character.length;
    if (bytes <= maxBytes - 3) kept = units;
  }
  return text;
}

const NO_VALUE = /^(?:-{0,3}|n\.?\/?a\.?|null|nil)$/iu;

/** Whether a text of the service means "no value". Trimmed first, because a pattern for blanks would backtrack. */
export function meansNoValue(text: string): boolean {
  return NO_VALUE.test(text.trim());
}

/** Ends a text with one full stop, so that another sentence may follow. */
export function asSentence(text: string): string {
  // A loop, because a pattern anchored at the end would be tried at each blank in the text.
  let end = text.length;
  while (end > 0 && /[\s.]/u.test(text[end - 1] ?? '')) end -= 1;
  return `${text.slice(0, end)}.`;
}

/** `1 error`, `2 errors`. */
export function counted(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // Each half of a surrogate pair counts as two of its four bytes.
    bytes += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}

/** One line for a terminal, a cell or a person who compares it, without control sequences and hidden characters. */
export function printable(text: string): string {
  return withoutHidden(cleanText(text));
}

/** {@link printable} for each line of a text that we compose ourselves. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

/** Escapes a text for the Markdown of the Temporal UI: no mark-up, HTML or links. */
export function markdownText(text: string): string {
  return (
    printable(text)
      .replace(/[\\`*[\]<>|~#&!]/gu, '\\$&')
      // An underscore between letters is no mark-up; leaving it keeps terms such as outcome_unknown readable.
      .replace(/(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\_')
      .replace(/:(?=\/\/)/gu, '\\:')
      .replace(/\bwww\./giu, 'www\\.')
      .replace(/^(\s*)([-+])(?=\s)/u, '$1\\$2')
      .replace(/^(\s*\d+)([.)])(?=\s)/u, '$1\\$2')
  );
}

/** Temporal fails the workflow task for a summary that is much longer. */
const SUMMARY_BYTES = 200;

/** {@link markdownText} for a summary of the Temporal UI. */
export function summaryText(text: string): string {
  return cutText(markdownText(text), SUMMARY_BYTES);
}

/** JSON that is safe on a terminal: escapes more characters than JSON has to, which does not change its value. */
export function printableJson(document: unknown, indent = 2): string {
  return JSON.stringify(document, null, indent)
    .replace(/[\u007f-\u009f\u2028\u2029]/gu, escaped)
    .replace(HIDDEN, escaped);
}

/** As JSON escapes it: each half of a surrogate pair on its own. */
const escaped = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** Quotes a text that a spreadsheet may take for a formula. For display only: filed values are never changed. */
export function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Printable text, escaped for HTML text and quoted attribute values. */
export function htmlText(text: string): string {
  return printable(text).replace(/[&<>"']/gu, (character) => ENTITIES[character] ?? character);
}

/** Spreadsheets treat full-width signs as the plain ones and skip blanks before them. */
const FORMULA = /^[\s\p{C}\p{Default_Ignorable_Code_Point}]*[=+\-@＝＋－＠]|^[\t\r\n]/u;
const NUMBER = /^\s*-[\d.,]+\s*$/u;

/** Whether a spreadsheet may take a value for a formula; a negative number is none. */
export function valueReadsAsFormula(value: string): boolean {
  return FORMULA.test(value) && !NUMBER.test(value);
}

/** A value as text for people: `field: text; field: text`, at any depth, without empty parts. */
export function plainText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value !== 'object') return typeof value === 'string' ? value : JSON.stringify(value);
  const parts = Object.entries(value)
    .map(([name, part]) => [name, plainText(part)] as const)
    .filter(([, text]) => text.trim() !== '')
    .map(([name, text]) => (Array.isArray(value) ? text : `${name}: ${text}`));
  return parts.length > 0 ? parts.join('; ') : JSON.stringify(value);
}
