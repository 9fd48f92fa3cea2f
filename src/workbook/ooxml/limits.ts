import { MAX_FILING_BYTES, MAX_READ_ROWS, MAX_WORKBOOK_BYTES } from '../../domain/service/limits';

/** Limits for reading. The defaults accept every realistic workbook, and refuse a malicious one cheaply. */
export interface WorkbookLimits {
  fileBytes: number;
  parts: number;
  /** Bytes of all parts together, as the zip directory declares them; unpacking stops at the declared size. */
  unpackedBytes: number;
  /** Bytes of an XML part that is parsed. */
  partBytes: number;
  /** Unpacked divided by packed size of a part. XML reaches about 100, a zip bomb 1,000. */
  ratio: number;
  /** Cells with a value. */
  cells: number;
  /** Characters of a cell. The format allows 32,767; some programs write more. */
  cellText: number;
  /** UTF-8 bytes of all texts read from cells, which may share one long text. */
  texts: number;
  sharedStrings: number;
  styles: number;
  rows: number;
}

const MIB = 1024 * 1024;

export const WORKBOOK_LIMITS: Readonly<WorkbookLimits> = {
  fileBytes: MAX_WORKBOOK_BYTES,
  parts: 1000,
  unpackedBytes: 96 * MIB,
  partBytes: 32 * MIB,
  ratio: 400,
  cells: 250_000,
  cellText: 100_000,
  texts: MAX_FILING_BYTES,
  sharedStrings: 1_000_000,
  styles: 100_000,
  rows: MAX_READ_ROWS,
};

/** The file is refused: not a workbook, too large, or malicious. `message` says what to do instead. */
export class WorkbookRefused extends Error {
  override readonly name = 'WorkbookRefused';

  /** @param code stable and snake_case, such as `xls_format` or `macros`; callers branch on it */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** @param opened what the person should open; `it` if the sentence is about the file itself */
export const damaged = (what: string, opened = 'it') =>
  new WorkbookRefused('damaged', `${what}. Open ${opened} in Excel and save it anew as .xlsx.`);

export const encrypted = () =>
  new WorkbookRefused('encrypted', 'The workbook is protected by a password. Remove the password and save it again.');

export const declaresEntities = () =>
  new WorkbookRefused(
    'xml_entities',
    'The workbook declares XML entities, which no spreadsheet program writes. Save it anew as .xlsx.',
  );

/** @param cell such as `Cell B2` */
export const tooLong = (cell: string) =>
  new WorkbookRefused(
    'too_long',
    `${cell} holds more text than a cell of Excel can. Shorten it and save the workbook.`,
  );

/** A refusal for too much of something other than rows, so copying the rows helps. */
export const oversized = (code: string, what: string) =>
  new WorkbookRefused(code, `${what}. Copy the filled rows into a new workbook and save that.`);
