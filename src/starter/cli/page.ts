/** What a command prints for people. The layout depends on the output stream. */
import { styleText } from 'node:util';
import Table from 'cli-table3';
import stringWidth from 'string-width';
import { withTimes } from '../../domain/dates';
import { printable, printableLines } from '../../domain/text';

export type Tone = 'good' | 'waits' | 'bad';

/** A cell with a colour for its meaning, if the terminal has colours. */
export interface Toned {
  text: string;
  tone: Tone | null;
}

interface TableColumn {
  title: string;
  align?: 'left' | 'right';
  /** Left out on a terminal that is too narrow, the last such column first. */
  optional?: boolean;
}

export type Part =
  | string
  | { kind: 'table'; columns: readonly TableColumn[]; rows: readonly (readonly unknown[])[] }
  | { kind: 'fields'; pairs: readonly (readonly [string, unknown])[] };
/** Parts below each other. Null and false are left out; an empty text is an empty line. */
export type Page = Part | readonly (Part | null | false | undefined)[];

/** `width` of the terminal; null for a pipe or a file, which gets a line per row, separated by tabs. */
export interface Layout {
  width: number | null;
  colour: boolean;
}

const STYLES = { good: 'green', waits: 'yellow', bad: 'red' } as const;
const GAP = '  ';
/** Indentation of a text's continuation lines. */
const HANGING_INDENT = '  ';
/** Longer words are broken, so that a path or reference does not make all other columns narrow. */
const MAX_WORD_WIDTH = 36;

/** Minimum width of a column of prose, which cannot be read word by word. */
const MIN_PROSE_WIDTH = 16;

/** A table. Missing values are empty cells. */
export function table(columns: readonly (string | TableColumn)[], rows: readonly (readonly unknown[])[]): Part {
  const named = columns.map((column) => (typeof column === 'string' ? { title: column } : column));
  return { kind: 'table', columns: named.map((column) => ({ ...column, title: printable(column.title) })), rows };
}

/** A right-aligned column, for amounts and counts. */
export const right = (title: string): TableColumn => ({ title, align: 'right' });
/** A column that is left out on a narrow terminal. */
export const optional = (column: string | TableColumn): TableColumn => ({
  ...(typeof column === 'string' ? { title: column } : column),
  optional: true,
});

export const toned = (text: string, tone: Tone | null): Toned => ({ text, tone });

/** `name  value` lines with the names aligned; empty values are left out. */
export function fields(pairs: readonly (readonly [string, unknown])[]) {
  return { kind: 'fields' as const, pairs: pairs.filter(([, value]) => !(value == null || value === '')) };
}

/** Parts with an empty line between them. */
export function apart(parts: readonly (Part | null | false | undefined)[]): Part[] {
  const shown = parts.filter((part) => isShown(part) && part !== '') as Part[];
  return shown.flatMap((part, index) => (index === 0 ? [part] : ['', part]));
}

export function render(page: Page, layout: Layout): string {
  const parts = Array.isArray(page) ? (page as readonly (Part | null | false | undefined)[]) : [page as Part];
  return parts
    .filter(isShown)
    .map((part) => {
      if (typeof part === 'string') return prose(part, layout.width);
      return part.kind === 'table' ? renderTable(part, layout) : renderFields(part, layout);
    })
    .join('\n');
}

/** Wraps our own text at blanks. Long words and text in backquotes stay whole, so that they can be copied. */
export function prose(text: string, width: number | null): string {
  const whole = inLocalTime(printableLines(text));
  if (width === null) return whole;
  const broken = (line: string) => {
    // Indented lines, such as a script, are already laid out.
    if (stringWidth(line) <= width || /^\s/u.test(line)) return line;
    const shown = [''];
    for (const word of line.match(/`[^`]*`\S*|\S+/gu) ?? []) {
      const last = shown.at(-1) ?? '';
      const longer = last === '' ? word : `${last} ${word}`;
      if (stringWidth(longer) <= width || last === '') shown[shown.length - 1] = longer;
      else shown.push(`${HANGING_INDENT}${word}`);
    }
    return shown.join('\n');
  };
  return whole.split('\n').map(broken).join('\n');
}

const isShown = (part: Part | null | false | undefined): part is Part =>
  part !== null && part !== undefined && part !== false;

/** Nearer times show seconds: `14:05` says little about a wait that ends at 14:05:20. */
const WITH_SECONDS_MS = 10 * 60_000;

/** An instant in this machine's time zone, such as `2026-07-31 14:05 IST`; with seconds if it is near. */
export function localTime(at: Date | string | null | undefined): string | null {
  if (at === null || at === undefined || at === '') return null;
  const ahead = new Date(at).getTime() - Date.now();
  const parts = new Intl.DateTimeFormat('en-IN', {
    ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
    ...({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const),
    ...(ahead > 0 && ahead < WITH_SECONDS_MS && { second: '2-digit' as const }),
  }).formatToParts(new Date(at));
  const partOf = (type: Intl.DateTimeFormatPartTypes) => parts.find((part) => part.type === type)?.value ?? '';
  return `${partOf('year')}-${partOf('month')}-${partOf('day')} ${[partOf('hour'), partOf('minute'), partOf('second')].filter(Boolean).join(':')} ${partOf('timeZoneName')}`;
}

/** Our own text, with its instants as {@link localTime} writes them. */
export const inLocalTime = (text: string): string => withTimes(text, (at) => localTime(at) ?? at);

function renderFields({ pairs }: Extract<Part, { kind: 'fields' }>, layout: Layout): string {
  if (layout.width === null) return lines(pairs.map(([name, value]) => [name, cell(value).text]));
  const widest = Math.max(0, ...pairs.map(([name]) => stringWidth(name)));
  return draw(
    pairs.map(([name, value]) => [toned(name, null), cell(value)]),
    [widest, Math.max(layout.width - widest - GAP.length, MAX_WORD_WIDTH)],
    { aligns: ['left', 'left'], colour: layout.colour },
  );
}

function renderTable({ columns, rows }: Extract<Part, { kind: 'table' }>, layout: Layout): string {
  const titles = columns.map(({ title }) => title);
  const cells = rows.map((row) => row.map(cell));
  const texts = [titles, ...cells.map(textsOf)];
  if (layout.width === null) return lines(texts);
  // Empty optional columns would take room from the others.
  let shown = columns
    .map((column, index) => ({ ...column, index, texts: texts.map((row) => row[index] ?? '') }))
    .filter(({ optional, index }) => !optional || cells.some((row) => row[index]?.text));
  let fitted = fit(shown, layout.width);
  while (!fitted.fits) {
    const dropped = shown.findLast(({ optional }) => optional);
    if (!dropped) break;
    shown = shown.filter((column) => column !== dropped);
    fitted = fit(shown, layout.width);
  }
  const head = shown.map(({ title }) => toned(styled(title, 'bold', layout.colour), null));
  const body = cells.map((row) => shown.map(({ index }) => row[index] ?? toned('', null)));
  return draw([head, ...body], fitted.widths, {
    aligns: shown.map(({ align }) => align ?? 'left'),
    colour: layout.colour,
  });
}

const textsOf = (row: readonly Toned[]): string[] => row.map(({ text }) => text);
const lines = (rows: readonly (readonly string[])[]): string => rows.map((row) => row.join('\t')).join('\n');

/** Column widths, and whether every word fits the terminal with them. */
function fit(columns: readonly (Pick<TableColumn, 'align'> & { texts: readonly string[] })[], width: number) {
  const widest = columns.map(({ texts }) => Math.max(1, ...texts.map((text) => stringWidth(text))));
  const narrowest = columns.map(({ texts, align }, index) => {
    if (align === 'right') return widest[index] ?? 1;
    const word = Math.max(1, ...texts.flatMap((text) => text.split(' ').map((part) => stringWidth(part))));
    const prose = Math.min(widest[index] ?? 1, MIN_PROSE_WIDTH);
    return Math.max(Math.min(word, MAX_WORD_WIDTH), (widest[index] ?? 1) > 3 * MIN_PROSE_WIDTH ? prose : 1);
  });
  const room = width - GAP.length * (columns.length - 1);
  const least = narrowest.reduce((sum, each) => sum + each, 0);
  const widths = [...narrowest];
  let left = Math.max(0, room - least);
  // The smallest first, so that dates and names stay on one line and prose wraps.
  const extras = widest.map((width, index) => ({ index, extra: width - (narrowest[index] ?? 0) }));
  extras
    .sort((a, b) => a.extra - b.extra)
    .forEach(({ index, extra }, place) => {
      const given = Math.min(extra, Math.floor(left / (extras.length - place)));
      widths[index] = (widths[index] ?? 0) + given;
      left -= given;
    });
  return { widths, fits: least <= room };
}

function draw(
  rows: readonly (readonly Toned[])[],
  widths: readonly number[],
  { aligns, colour }: { aligns: ('left' | 'right')[]; colour: boolean },
): string {
  const none = ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right'];
  const inner = ['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'];
  const output = new Table({
    chars: { ...Object.fromEntries([...none, ...inner].map((name) => [name, ''])), middle: GAP },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    colWidths: [...widths],
    colAligns: aligns,
    wordWrap: true,
  });
  for (const row of rows) {
    output.push(
      row.map(({ text, tone }, index) => {
        const broken = breakWords(text, widths[index] ?? 1);
        return tone === null ? broken : styled(broken, STYLES[tone], colour);
      }),
    );
  }
  return output
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function breakWords(text: string, width: number): string {
  return text
    .split(' ')
    .map((word) =>
      stringWidth(word) <= width ? word : (word.match(new RegExp(`.{1,${width}}`, 'gu')) ?? []).join('\n'),
    )
    .join(' ');
}

function styled(text: string, style: 'bold' | (typeof STYLES)[Tone], colour: boolean): string {
  // `colour` was already decided for this stream.
  return colour && text !== '' ? styleText(style, text, { validateStream: false }) : text;
}

function cell(value: unknown): Toned {
  if (value === null || value === undefined || value === false) return toned('', null);
  if (isToned(value)) return toned(inLocalTime(printable(value.text)), value.tone);
  return toned(inLocalTime(printable(typeof value === 'string' ? value : JSON.stringify(value))), null);
}

const isToned = (value: unknown): value is Toned => typeof value === 'object' && value !== null && 'tone' in value;
