import { readFile, stat } from 'node:fs/promises';
import { isObject } from '../../domain/values';
import { basename, extname } from 'node:path';
import { filingDateInKolkata } from '../../domain/dates';
import { BUILT_IN_TEMPLATE, type BulkTemplate } from '../../domain/rules/columns';
import { permittedRows, type PermittedDuplicate } from '../../domain/rules/duplicates';
import { MAX_MESSAGE_BYTES } from '../../domain/service/limits';
import { sameId } from '../../domain/identity';
import type { FileContext } from '../../domain/rules/file';
import { errorAt, type Finding } from '../../domain/rules/finding';
import type { MappingRow } from '../../domain/filing/mapping';
import { TEMPLATE_UNKNOWN } from '../../domain/rules/optional-fields';
import { parsePushMessage } from '../../domain/rules/push-message';
import { readBulkTemplate } from '../../ledger/service/bulk-templates';
import type { CheckedWorkbook } from '../../workbook/check';
import { WorkbookRefused, type ColumnAt, type NewCell, type WorkbookReading } from '../../workbook/read';
import { workbooksInProcess, type Workbooks } from '../../workbook/workbooks';
import type { LedgerDependencies } from '../dependencies';
import { RefusedError, refusal, unreadable, UsageError } from '../errors';
import { jsonOf } from '../input-files';

/** Options that the caller gives for what the file does not contain. */
export interface StatedOptions {
  uploadType?: number;
  declaration?: 'Y' | 'N';
  /** Rows that two persons let pass although something stands against them. */
  allowDuplicate?: PermittedDuplicate[];
}

/** A column of the caller's workbook by its letter and its header. */
export interface SheetColumn {
  column: string;
  header: string;
}

/** The columns of a workbook by what is done with them. */
export interface SheetColumns {
  /** Columns of every filing. */
  sent: SheetColumn[];
  /** Other columns of the template: if one is filled, the filing is sent by bulk upload. */
  optional: (SheetColumn & { filled: boolean })[];
  /** The user's own columns, which are not sent. */
  own: SheetColumn[];
  /** When the service's template was read, ISO 8601; null while assumed labels are used. */
  templateReadAt: string | null;
}

/** A file that was read and checked by the rules, without balances. */
export interface FilingFile {
  kind: 'json' | 'workbook';
  name: string;
  /** The workbook as .xlsx, for the document store. */
  bytes: Buffer;
  /** A message as parsed, to be read again with the labels of the service's template. */
  json?: unknown;
  rows: MappingRow[];
  exporterInFile: string | undefined;
  uploadType: number | undefined;
  declaration: 'Y' | 'N' | undefined;
  /** Permitted duplicates from the options and from the message itself. */
  allowDuplicate: PermittedDuplicate[];
  findings: Finding[];
  /** Positions of a workbook's fields, for findings that are made later. */
  columns: ReadonlyMap<string, ColumnAt>;
  /** Which columns of a workbook are sent and which are not; undefined for a message. */
  sheet?: SheetColumns;
  /** Number of rows in the file, including those that could not be read. */
  rowCount: number;
}

/** A FILE of the command line, or its content in memory. */
export type FilingSource =
  | { path: string }
  | { name: string; bytes: Buffer }
  /** The first sheet of a workbook that is not written yet, headers first. */
  | { name: string; cells: readonly (readonly NewCell[])[] }
  | { message: Record<string, unknown> }
  /** Already read with the same options. */
  | { read: FilingFile };

/**
 * Reads and checks a message or workbook; problems are in `findings`. Which columns of a workbook are sent depends on
 * the labels of the service's template, which come from the ledger if one is given. A `read` source is returned
 * unchanged if it was read with the same labels.
 * @throws UsageError if it cannot be read
 */
export async function readFilingFile(
  source: FilingSource,
  stated: StatedOptions = {},
  { pool, mode, workbooks = workbooksInProcess }: Partial<LedgerDependencies> & { workbooks?: Workbooks } = {},
): Promise<FilingFile> {
  refuseNoSource(source);
  const read = 'read' in source ? source.read : null;
  // Without optional fields no template matters to a message.
  if (read?.kind === 'json' && !read.findings.some(({ code }) => code === TEMPLATE_UNKNOWN)) return read;
  const template = (pool && mode && (await readBulkTemplate(pool, mode))) || undefined;
  if (read && (!template || read.sheet?.templateReadAt === template.learnedAt)) return read;
  if (read?.kind === 'json') return readMessage(read.name, read.bytes, read.json, { stated, template });
  if ('message' in source) {
    return readMessage('message.json', Buffer.alloc(0), source.message, { stated, template });
  }
  if ('cells' in source) {
    const { readCells } = await import('../../workbook/read.js');
    const { checkReading } = await import('../../workbook/check.js');
    const checked = checkReading(readCells(source.cells, { template }), contextOf(stated));
    return bookOf({ name: source.name, bytes: Buffer.alloc(0) }, checked, stated, template);
  }
  const file = 'path' in source ? await load(source.path) : 'read' in source ? source.read : source;
  const { name, bytes } = file;
  switch (extname(name).toLowerCase()) {
    case '.json':
      return readMessage(name, bytes, jsonOf(bytes), { stated, template });
    case '.xlsx':
    case '.xls':
    case '.csv':
    // Not accepted, but read, so that the refusal can say what to do.
    case '.xlsm':
    case '.xlsb':
      return readBook(file, { workbooks, stated, template });
    default: {
      const message = `${name} is neither a push message (.json) nor a workbook (.xlsx, .xls or .csv).`;
      throw new UsageError(message, 'unknown_file_type');
    }
  }
}

async function readBook(
  { name, bytes: given }: { name: string; bytes: Buffer },
  args: { workbooks: Workbooks; stated: StatedOptions; template: BulkTemplate | undefined },
): Promise<FilingFile> {
  const { workbooks, stated, template } = args;
  const bytes = await workbooks.toXlsx(name, given).catch((error: unknown) => {
    if (error instanceof WorkbookRefused) return error;
    throw error;
  });
  if (!Buffer.isBuffer(bytes)) {
    const { refusedWorkbook } = await import('../../workbook/check.js');
    return bookOf({ name, bytes: given }, refusedWorkbook(bytes), stated, template);
  }
  return bookOf({ name, bytes }, await workbooks.check(bytes, contextOf(stated), template), stated, template);
}

/** Reports a missing source to callers without type checks. @throws RefusedError */
function refuseNoSource(source: unknown): void {
  if (isObject(source)) {
    const { path, message, read, name, bytes, cells } = source;
    if (path ?? message ?? read ?? (name && (bytes ?? cells))) return;
  }
  const message = `source: is ${source === undefined ? 'missing' : 'of no known form'}; allowed: {path}, {name, bytes}, {message}`;
  throw refusal('invalid_input', message, { field: 'source' });
}

async function load(path: string): Promise<{ name: string; bytes: Buffer }> {
  try {
    const { size } = await stat(path);
    // Workbooks have their own limit, whose message says what to do.
    if (size > MAX_MESSAGE_BYTES) throw new UsageError(`${path}: it is larger than any filing may be.`, 'too_large');
    return { name: basename(path), bytes: await readFile(path) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unreadable(path, error as NodeJS.ErrnoException);
  }
}

function readMessage(
  name: string,
  bytes: Buffer,
  json: unknown,
  { stated, template }: { stated: StatedOptions; template: BulkTemplate | undefined },
): FilingFile {
  const { allowDuplicate = [] } = stated;
  const today = filingDateInKolkata(Date.now());
  const { message, findings } = parsePushMessage(completed(json, stated), allowDuplicate, { template, today });
  const items = isObject(json) && Array.isArray(json.ebrcBulkGenDtos) ? json.ebrcBulkGenDtos.length : 0;
  return {
    kind: 'json',
    name,
    bytes,
    json,
    rows: message?.rows ?? [],
    rowCount: items,
    exporterInFile: message?.platformCustomerId,
    uploadType: message?.uploadType,
    declaration: message?.decalarationFlag,
    allowDuplicate: [...allowDuplicate, ...(message?.allowDuplicate ?? [])],
    findings: [
      ...findings,
      ...(isObject(json) ? contradictions(json, stated) : []),
      ...(message ? unknownRows(message.rows, [...allowDuplicate, ...message.allowDuplicate]) : []),
    ],
    columns: new Map(),
  };
}

/** Fills in what the message leaves out from the options. */
function completed(json: unknown, { uploadType, declaration }: StatedOptions): unknown {
  if (!isObject(json)) return json;
  return {
    ...json,
    ...(json.uploadType === undefined && uploadType !== undefined && { uploadType: String(uploadType) }),
    ...(json.decalarationFlag === undefined && declaration !== undefined && { decalarationFlag: declaration }),
  };
}

function contradictions(json: Record<string, unknown>, { uploadType, declaration }: StatedOptions): Finding[] {
  const findings: Finding[] = [];
  if (uploadType !== undefined && typeof json.uploadType === 'string' && json.uploadType !== String(uploadType)) {
    findings.push(contradiction('uploadType', json.uploadType, String(uploadType)));
  }
  if (declaration && typeof json.decalarationFlag === 'string' && json.decalarationFlag !== declaration) {
    findings.push(contradiction('decalarationFlag', json.decalarationFlag, declaration));
  }
  return findings;
}

function contradiction(field: string, inFile: string, inCommand: string): Finding {
  const message = `The file has ${field} ${inFile}, the command has ${inCommand}. Make them agree, or leave one out.`;
  return errorAt(null, field, 'contradiction', message);
}

/** Reports permits for rows that are not in the file: the intended row would be refused, or another filed twice. */
function unknownRows(rows: readonly MappingRow[], allowDuplicate: readonly PermittedDuplicate[]): Finding[] {
  const rowNumbers = new Set(rows.map(({ row }) => row));
  return [...permittedRows(allowDuplicate)]
    .filter((row) => !rowNumbers.has(row))
    .map((row) => {
      const message = `--allow-duplicate names row ${row}, which the file does not have. Rows are Excel rows (the header is 1), or the serialNo of a push message.`;
      return errorAt(null, null, 'unknown_row', message);
    });
}

function contextOf({ uploadType, allowDuplicate = [] }: StatedOptions): FileContext {
  return {
    permitted: permittedRows(allowDuplicate),
    today: filingDateInKolkata(Date.now()),
    ...(uploadType !== undefined && { uploadType }),
  };
}

function bookOf(
  { name, bytes }: Pick<FilingFile, 'name' | 'bytes'>,
  checked: CheckedWorkbook,
  { uploadType, declaration, allowDuplicate = [] }: StatedOptions,
  template?: BulkTemplate,
): FilingFile {
  return {
    kind: 'workbook',
    name,
    bytes,
    rows: checked.rows,
    rowCount: checked.rowCount,
    exporterInFile: undefined,
    uploadType: uploadType ?? checked.rows[0]?.mapping.uploadType,
    declaration,
    allowDuplicate,
    findings: [
      ...checked.errors,
      ...checked.warnings,
      ...(checked.ok ? unknownRows(checked.rows, allowDuplicate) : []),
    ],
    columns: checked.reading.columns,
    sheet: sheetOf(checked.reading, template),
  };
}

function sheetOf(reading: WorkbookReading, template: BulkTemplate = BUILT_IN_TEMPLATE) {
  const { unchecked, columns, optionalColumns, ownColumns } = reading;
  const filled = new Set(unchecked.flatMap(({ extra = {} }) => Object.keys(extra)));
  const brief = ({ letter, header }: { letter: string; header: string }) => ({ column: letter, header });
  return {
    sent: [...columns.values()].map(brief),
    optional: optionalColumns.map((column) => ({ ...brief(column), filled: filled.has(column.label) })),
    own: ownColumns.map(brief),
    templateReadAt: template.learnedAt,
  };
}

/** Reports that a push message names another exporter than the one it is filed for; null if it does not. */
export function otherExporter({ exporterInFile }: FilingFile, exporterId: string): Finding | null {
  if (exporterInFile === undefined || sameId(exporterInFile, exporterId)) return null;
  const message = `The message is for ${exporterInFile}, but --exporter is ${exporterId}. Leave platformCustomerId out, or make them agree.`;
  return errorAt(null, 'platformCustomerId', 'exporter_differs', message);
}

/** @throws RefusedError with all errors and warnings, if there is an error */
export function refuseErrors(findings: readonly Finding[], details: Record<string, unknown> = {}): void {
  const errors = findings.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const warnings = findings.filter(({ severity }) => severity === 'warning');
  throw new RefusedError(errors, { state: 'refused', filingId: null, ...details, warnings });
}
