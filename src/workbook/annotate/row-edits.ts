import { columnLetter, columnNumber, LAST_ROW } from '../sheet/addresses';
import { type ElementAt, elements, withAttribute, attribute, textElement } from '../ooxml/xml-edit';

export interface CellEdit {
  /** New text; null clears the cell, undefined keeps its value. */
  text?: string | null;
  /** Computes the new style from the present one. */
  style?: (before: number) => number;
}

/** Changes to a sheet's cells by row and column, both from 1. */
export class RowEdits {
  private readonly rows = new Map<number, Map<number, CellEdit>>();
  formulasGone = false;
  private copy: { row: number; from: number; to: readonly number[] } | undefined;

  /** Adds a change. If a cell is changed twice, both style functions run in order. */
  edit(row: number, column: number, { text, style }: CellEdit): void {
    if (!(row >= 1 && row <= LAST_ROW)) return;
    const cells = this.rows.get(row) ?? new Map<number, CellEdit>();
    this.rows.set(row, cells);
    const before = cells.get(column);
    const earlier = before?.style;
    cells.set(column, {
      text: text === undefined ? before?.text : text,
      style: earlier && style ? (now) => style(earlier(now)) : (style ?? earlier),
    });
  }

  /** Gives cells the style of another cell in the row. */
  copyStyle(row: number, from: number, to: readonly number[]): void {
    this.copy = { row, from, to };
  }

  /**
   * Applies the changes; other rows stay byte for byte the same.
   * @param xml addressed rows (sheet-frame.ts)
   * @returns pieces; {@link formulasGone} is known after the last one
   */
  *apply(xml: string): Generator<string> {
    const there = new Set<number>();
    for (const [, attributes = ''] of xml.matchAll(/<row(?=[\s/>])([^<>]*)>/g)) there.add(rowNumber({ attributes }));
    const absent = [...this.rows.keys()].filter((row) => !there.has(row)).sort((a, b) => b - a);
    let copied = 0;
    for (const element of elements(xml, 'row')) {
      const number = rowNumber(element);
      yield xml.slice(copied, element.start);
      copied = element.start;
      yield this.absentRows(absent, number);
      const changes = this.rows.get(number);
      if (!changes) continue;
      if (this.copy?.row === number) this.copyIn(element.content, this.copy);
      const edited = editCells(element.content, number, changes);
      this.formulasGone ||= edited.formulaGone;
      // `spans` is a hint about the used columns, which is no longer right.
      yield `<row${withAttribute(element.attributes, 'spans', undefined)}>${edited.cells}</row>`;
      copied = element.end;
    }
    yield xml.slice(copied);
    yield this.absentRows(absent, Number.POSITIVE_INFINITY);
  }

  /** New rows before an existing one; they are taken from `absent`, which is in descending order. */
  private absentRows(absent: number[], below: number): string {
    let rows = '';
    for (let row = absent.at(-1); row !== undefined && row < below; row = absent.at(-1)) {
      absent.pop();
      const { cells } = editCells('', row, this.rows.get(row));
      if (cells !== '') rows += `<row r="${row}">${cells}</row>`;
    }
    return rows;
  }

  private copyIn(content: string, { row, from, to }: { row: number; from: number; to: readonly number[] }): void {
    const source = [...elements(content, 'c')].find(({ attributes }) => columnOf(attributes) === from);
    const style = Number(attribute(`<c${source?.attributes ?? ''}>`, 's') ?? 0);
    for (const column of to) {
      const marked = this.rows.get(row)?.get(column)?.style;
      this.edit(row, column, { style: () => marked?.(style) ?? style });
    }
  }
}

function columnOf(attributes: string): number {
  return columnNumber(/\sr="([A-Z]+)/.exec(attributes)?.[1] ?? '');
}

function rowNumber({ attributes }: Pick<ElementAt, 'attributes'>): number {
  return Number(/\sr="(\d+)"/.exec(attributes)?.[1]);
}

function editCells(content: string, row: number, changes: ReadonlyMap<number, CellEdit> = new Map<number, CellEdit>()) {
  const cells = [...elements(content, 'c')].map((element) => ({ element, column: columnOf(element.attributes) }));
  const there = new Set(cells.map(({ column }) => column));
  const absent = [...changes.keys()].filter((column) => !there.has(column)).sort((a, b) => b - a);
  const parts: string[] = [];
  let formulaGone = false;
  let copied = 0;
  const addAbsent = (before: number) => {
    for (let column = absent.at(-1); column !== undefined && column < before; column = absent.at(-1)) {
      absent.pop();
      parts.push(newCell(`${columnLetter(column)}${row}`, changes.get(column)));
    }
  };
  for (const { element, column } of cells) {
    parts.push(content.slice(copied, element.start));
    copied = element.start;
    addAbsent(column);
    const change = changes.get(column);
    if (!change) continue;
    formulaGone ||= change.text !== undefined && element.content.includes('<f');
    parts.push(changedCell(element, change));
    copied = element.end;
  }
  const last = cells.at(-1)?.element.end ?? 0;
  parts.push(content.slice(copied, last));
  addAbsent(Number.POSITIVE_INFINITY);
  parts.push(content.slice(last));
  return { cells: parts.join(''), formulaGone };
}

function newCell(address: string, { text, style }: CellEdit = {}): string {
  const number = style?.(0) ?? 0;
  if (number === 0 && typeof text !== 'string') return '';
  return cell(withAttribute(` r="${address}"`, 's', number === 0 ? undefined : number), text);
}

function changedCell({ attributes, content }: ElementAt, { text, style }: CellEdit): string {
  const styled = style
    ? withAttribute(attributes, 's', style(Number(attribute(`<c${attributes}>`, 's') ?? 0)))
    : attributes;
  if (text === undefined) return content === '' ? `<c${styled}/>` : `<c${styled}>${content}</c>`;
  // The type and the metadata belong to the old value.
  return cell(
    ['t', 'cm', 'vm'].reduce((rest, name) => withAttribute(rest, name, undefined), styled),
    text,
  );
}

function cell(attributes: string, text: string | null | undefined): string {
  return typeof text === 'string'
    ? `<c${attributes} t="inlineStr"><is>${textElement(text)}</is></c>`
    : `<c${attributes}/>`;
}
