import { columnLetter, columnNumber, LAST_COLUMN } from '../sheet/addresses';
import { elements, withAttribute, attribute } from '../ooxml/xml-edit';

const ROWS_END = '</sheetData>';

/** Undefined for a sheet without a place for rows, which no spreadsheet program writes. */
export function openFrame(xml: string): { head: string; rows: string; tail: string } | undefined {
  const start = xml.indexOf('<sheetData');
  if (start < 0) return undefined;
  const inside = xml.indexOf('>', start) + 1;
  const end = xml.lastIndexOf(ROWS_END);
  if (end >= inside)
    return { head: xml.slice(0, inside), rows: addressed(xml.slice(inside, end)), tail: xml.slice(end) };
  return { head: `${xml.slice(0, start)}<sheetData>`, rows: '', tail: ROWS_END + xml.slice(inside) };
}

/** Sets column widths, and shows hidden columns. @param widths by column number */
export function withColumnWidths(head: string, widths: ReadonlyMap<number, number>): string {
  const [cols] = elements(head, 'cols');
  const entries = [...elements(cols?.content ?? '', 'col')].flatMap(({ attributes }) => split(attributes, widths));
  for (const [column, width] of widths)
    entries.push({ min: column, max: column, attributes: ` width="${width}" customWidth="1"` });
  const list = entries
    .sort((a, b) => a.min - b.min)
    .map(({ min, max, attributes }) => `<col min="${min}" max="${max}"${attributes}/>`)
    .join('');
  const start = cols?.start ?? head.indexOf('<sheetData');
  return `${head.slice(0, start)}<cols>${list}</cols>${head.slice(cols?.end ?? start)}`;
}

/** Splits an entry for several columns around those that get their own entry. */
function split(attributes: string, without: ReadonlyMap<number, number>) {
  const tag = `<col${attributes}>`;
  const rest = withAttribute(withAttribute(attributes, 'min', undefined), 'max', undefined);
  const last = Math.min(Number(attribute(tag, 'max')), LAST_COLUMN);
  const entries: { min: number; max: number; attributes: string }[] = [];
  let min = Number(attribute(tag, 'min'));
  for (const column of [...without.keys()].sort((a, b) => a - b)) {
    if (column < min || column > last) continue;
    if (column > min) entries.push({ min, max: column - 1, attributes: rest });
    min = column + 1;
  }
  if (min <= last) entries.push({ min, max: last, attributes: rest });
  return entries;
}

/** Extends the used range, on which some readers rely, to a column. */
export function withLastColumn(head: string, column: number): string {
  return head.replace(
    /(<dimension\s[^<>]*ref=")([A-Z]+)(\d+)(?::([A-Z]+)(\d+))?"/,
    (_, start: string, left: string, top: string, right: string = left, bottom: string = top) =>
      `${start}${left}${top}:${columnLetter(Math.max(column, columnNumber(right)))}${bottom}"`,
  );
}

/** Adds the addresses of rows and cells, which writers may omit. */
function addressed(rows: string): string {
  if (!/<(?:c|row)(?=[\s/>])(?![^<>]*\sr=")/.test(rows)) return rows;
  let row = 0;
  let column = 0;
  return rows.replace(/<(row|c)(?=[\s/>])([^<>]*)>/g, (tag: string, name: string, attributes: string) => {
    const given = /\sr="([^"]*)"/.exec(attributes)?.[1];
    if (name === 'row') {
      row = given === undefined ? row + 1 : Number(given);
      column = 0;
      return given === undefined ? `<row r="${row}"${attributes}>` : tag;
    }
    column = given === undefined ? column + 1 : columnNumber(given.replace(/(?<!\d)\d+$/, ''));
    return given === undefined ? `<c r="${columnLetter(column)}${row}"${attributes}>` : tag;
  });
}
