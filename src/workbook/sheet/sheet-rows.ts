import { damaged as damagedPart, tooLong, type WorkbookLimits, WorkbookRefused } from '../ooxml/limits';
import { xmlSteps } from '../ooxml/xml-reader';
import { columnLetter, columnNumber, LAST_COLUMN, LAST_ROW } from './addresses';

export interface RawCell {
  /** Column number, from 1. */
  column: number;
  /** `s` shared string, `str` and `inlineStr` text, `b` boolean, `e` error, `d` ISO date; empty for a number. */
  type: string;
  style: number;
  /** The stored value, or an inline string's text; undefined for a formula without a stored result. */
  data: string | undefined;
}

export interface RawRow {
  number: number;
  hidden: boolean;
  cells: RawCell[];
}

/** More than a bulk workbook needs. Cells of further ranges only get no hint. */
const MAX_MERGED_RANGES = 2000;

const CELL_ADDRESS = /^([A-Z]{1,3})([1-9]\d{0,6})$/;
const MERGED_RANGE = /^[A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7}$/;

/**
 * Reads a sheet's filled rows once, yielding them while it reads. Missing addresses follow from positions. An unknown
 * element between rows and cells is refused, because rows that somebody meant to file could be lost.
 */
export class SheetRows {
  private readonly reading: RowHandler;

  constructor(
    private readonly bytes: Buffer,
    limits: WorkbookLimits,
    /** The stored results of formulas are not read. */
    stale = false,
  ) {
    this.reading = new RowHandler(limits, stale);
  }

  /** @throws WorkbookRefused (`damaged`, `xml_entities`, `too_many_cells`, `too_many_rows`) */
  *rows(): Generator<RawRow> {
    for (const _ of xmlSteps(this.bytes, this.reading)) yield* this.reading.take();
  }

  /** Merged ranges such as `B2:B4`. They follow the rows, so they are known once all rows were read. */
  get merged(): readonly string[] {
    return this.reading.merged;
  }

  /** Whether a column (from 1) is hidden; known once a row was read. */
  readonly hidesColumn = (column: number): boolean =>
    this.reading.hiddenColumns.some(([first, last]) => column >= first && column <= last);
}

/** @param size name of the height or width: what has none is not shown either */
const isHidden = (attributes: Readonly<Record<string, string>>, size: 'ht' | 'width'): boolean =>
  /^(?:1|true|on)$/.test(attributes['hidden'] ?? '') || Number(attributes[size] ?? Number.NaN) === 0;

class RowHandler {
  readonly merged: string[] = [];
  /** First and last column of each hidden range. */
  readonly hiddenColumns: [number, number][] = [];
  private ready: RawRow[] = [];
  private place: 'part' | 'rows' | 'row' | 'cell' | 'value' | 'formula' | 'inline' | 'inlineText' = 'part';
  private depth = 0;
  /** Depth of the element that is being skipped; 0 if none. */
  private skippedDepth = 0;
  private cellCount = 0;
  private rowCount = 0;
  private readonly rowNumbers = new Set<number>();
  private row: RawRow = { number: 0, hidden: false, cells: [] };
  private column = 0;
  /** Columns of the row, once its cells come out of order. */
  private columns: Set<number> | undefined;
  private cell: OpenCell = NO_CELL;

  constructor(
    private readonly limits: WorkbookLimits,
    private readonly stale: boolean,
  ) {}

  /** Rows completed since the last call. */
  take(): RawRow[] {
    const rows = this.ready;
    this.ready = [];
    return rows;
  }

  readonly open = (name: string, attributes: Readonly<Record<string, string>>): void => {
    this.depth += 1;
    if (this.skippedDepth > 0) return;
    switch (this.place) {
      case 'part':
        if (name === 'sheetData' && this.depth === 2) this.place = 'rows';
        else if (name === 'mergeCell') this.addMerged(attributes['ref'] ?? '');
        else if (name === 'col' && isHidden(attributes, 'width') && this.hiddenColumns.length < LAST_COLUMN)
          this.hiddenColumns.push([Number(attributes['min']), Number(attributes['max'])]);
        return;
      case 'rows':
        if (name !== 'row') throw damaged(this.row.number, 0);
        return this.openRow(attributes);
      case 'row':
        if (name === 'c') this.openCell(attributes);
        else this.skip(name);
        return;
      case 'cell':
        return this.openInCell(name);
      case 'inline':
        if (name === 't') this.place = 'inlineText';
        // Phonetic guides of East Asian text repeat it in another script.
        else if (name === 'rPh' || name === 'rPr') this.skippedDepth = this.depth;
        return;
      default:
        throw damaged(this.row.number, this.column);
    }
  };

  readonly close = (name: string): void => {
    if (this.skippedDepth === this.depth) this.skippedDepth = 0;
    else if (this.skippedDepth === 0) this.leave(name);
    this.depth -= 1;
  };

  readonly text = (text: string): void => {
    if (this.skippedDepth > 0) return;
    switch (this.place) {
      case 'value':
      case 'inlineText':
        this.cell.data += text;
        if (this.cell.data.length > this.limits.cellText) throw tooLong(placeText(this.row.number, this.column));
        return;
      case 'part':
      case 'formula':
        return;
      default:
        if (text.trim() !== '') throw damaged(this.row.number, this.column);
    }
  };

  private leave(name: string): void {
    switch (this.place) {
      case 'inlineText':
        this.place = 'inline';
        return;
      case 'value':
      case 'formula':
        this.place = 'cell';
        return;
      case 'inline':
        if (name === 'is') this.place = 'cell';
        return;
      case 'cell':
        this.place = 'row';
        return this.closeCell();
      case 'row':
        this.place = 'rows';
        return this.closeRow();
      case 'rows':
        this.place = 'part';
    }
  }

  private openRow(attributes: Readonly<Record<string, string>>): void {
    const given = attributes['r'];
    const number = given === undefined ? this.row.number + 1 : /^\d{1,7}$/.test(given) ? Number(given) : 0;
    if (number < 1 || number > LAST_ROW) throw damaged(number, 0);
    this.row = { number, hidden: isHidden(attributes, 'ht'), cells: [] };
    this.column = 0;
    this.columns = undefined;
    this.place = 'row';
  }

  private closeRow(): void {
    const { row } = this;
    if (row.cells.length === 0) return;
    // Programs differ in which of two rows with the same number they show.
    if (this.rowNumbers.has(row.number)) throw damaged(row.number, 0);
    this.rowNumbers.add(row.number);
    this.rowCount += 1;
    if (this.rowCount > this.limits.rows + 1) {
      const message = `The first worksheet has more than the ${this.limits.rows} data rows that are taken; a serial number alone makes a row one. Clear the unused rows, or split it into several workbooks.`;
      throw new WorkbookRefused('too_many_rows', message);
    }
    this.ready.push(row);
  }

  private openCell(attributes: Readonly<Record<string, string>>): void {
    const given = attributes['r'];
    if (given === undefined) this.column += 1;
    else {
      const [, letters = '', row] = CELL_ADDRESS.exec(given) ?? [];
      this.column = columnNumber(letters);
      // Programs differ in whether they trust the cell's address or its row.
      if (Number(row) !== this.row.number) throw damaged(this.row.number, 0);
    }
    if (this.column < 1 || this.column > LAST_COLUMN) throw damaged(this.row.number, 0);
    this.cell = { ...NO_CELL, type: attributes['t'] ?? '', style: attributes['s'] };
    this.place = 'cell';
  }

  private openInCell(name: string): void {
    const { cell } = this;
    if (name === 'f' && !cell.formula) {
      cell.formula = true;
      this.place = 'formula';
    } else if (name === 'v' && !cell.value && !cell.inline) {
      cell.value = true;
      this.place = 'value';
    } else if (name === 'is' && !cell.value && !cell.inline) {
      cell.inline = true;
      this.place = 'inline';
    } else this.skip(name);
  }

  private skip(name: string): void {
    if (name !== 'extLst') throw damaged(this.row.number, this.column);
    this.skippedDepth = this.depth;
  }

  private closeCell(): void {
    const filled = filledCell(this.cell, this.column, this.stale);
    if (!filled) return;
    const { cells } = this.row;
    const last = cells.at(-1);
    if (this.columns || (last && filled.column <= last.column)) {
      this.columns ??= new Set(cells.map(({ column }) => column));
      if (this.columns.has(filled.column)) throw damaged(this.row.number, filled.column);
      this.columns.add(filled.column);
    }
    this.cellCount += 1;
    if (this.cellCount > this.limits.cells) {
      const message = `The first worksheet has more than ${this.limits.cells} filled cells. Split it into several workbooks.`;
      throw new WorkbookRefused('too_many_cells', message);
    }
    cells.push(filled);
  }

  private addMerged(reference: string): void {
    if (this.merged.length < MAX_MERGED_RANGES && MERGED_RANGE.test(reference)) this.merged.push(reference);
  }
}

interface OpenCell {
  type: string;
  style: string | undefined;
  data: string;
  value: boolean;
  formula: boolean;
  inline: boolean;
}

const NO_CELL: OpenCell = { type: '', style: undefined, data: '', value: false, formula: false, inline: false };

/** The cell's content; undefined if it is empty. */
function filledCell(cell: OpenCell, column: number, stale: boolean): RawCell | undefined {
  const { type, style, data, value, formula, inline } = cell;
  if (formula && stale) return rawCell(column, type, style, undefined);
  if (inline) return rawCell(column, 'inlineStr', style, data);
  // A formula may have an empty text as its result; otherwise no data means that no result is stored.
  if (formula && data === '') return type === 'str' && value ? undefined : rawCell(column, type, style, undefined);
  if (data === '') return undefined;
  return rawCell(column, type === 'n' ? '' : type, style, data);
}

function rawCell(column: number, type: string, style: string | undefined, data: string | undefined): RawCell {
  // A cell without a style has the first one.
  return { column, type, style: Number(style ?? 0), data };
}

function placeText(row: number, column: number): string {
  return row >= 1 && column >= 1 ? `Cell ${columnLetter(column)}${row}` : 'A row of the first worksheet';
}

const damaged = (row: number, column: number) =>
  damagedPart(`${placeText(row, column)} cannot be read`, 'the workbook');
