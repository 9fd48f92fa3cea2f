import { permittedRows, type PermittedDuplicate } from './duplicates';
import { isObject } from '../values';
import { errorAt, firstErrors, oncePerCell, type Finding } from './finding';
import { FIELD_NAMES, MAPPING_FIELDS } from '../filing/mapping';
import type { ExtraValues, FieldKind, MappingRow } from '../filing/mapping';
import { MAX_FILING_ROWS } from '../service/limits';
import { isFilingDate } from '../dates';
import { withoutNoise } from '../money';
import { type FileContext, tooManyRows } from './file';
import { checkUncheckedRows } from './rules';
import { cutText, isStorable } from '../text';
import { completeRow, emptyMapping, hasValue, type UncheckedRow } from './fields';
import { invalidDate, invalidNumber, invalidText, invalidYesNo, missing, quoted } from './value-messages';
import { BUILT_IN_TEMPLATE, BULK_COLUMNS, UPLOAD_TYPES, columnOfHeader, uploadTypeNamed } from './columns';
import type { BulkTemplate, ColumnField } from './columns';
import { OPTIONAL_COLUMNS, templateUnknown } from './optional-fields';

const NOT_A_MESSAGE =
  'This is not a push message: it must be one JSON object with uploadType, decalarationFlag, recordResCount and ebrcBulkGenDtos.';
const TOP_LEVEL = new Set([
  'platformCustomerId',
  'recordResCount',
  'uploadType',
  'decalarationFlag',
  'ebrcBulkGenDtos',
  'allowDuplicate',
]);
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Checks a JSON submission (spec: "Push message") and reports all findings; `message` is set only without errors. */
export function parsePushMessage(
  value: unknown,
  permitted: readonly PermittedDuplicate[] = [],
  { template = BUILT_IN_TEMPLATE, today }: { template?: BulkTemplate | undefined } & Pick<FileContext, 'today'> = {},
): {
  message?: {
    platformCustomerId?: string;
    /** The top-level code. */
    uploadType?: number;
    decalarationFlag?: 'Y' | 'N';
    /** Rows that may repeat a mapping; not sent to the service. */
    allowDuplicate: PermittedDuplicate[];
    rows: MappingRow[];
  };
  findings: Finding[];
} {
  if (!isObject(value)) return { findings: [errorAt(null, null, 'not_a_push_message', NOT_A_MESSAGE)] };
  const uploadType = typeof value.uploadType === 'string' ? Number(value.uploadType) : undefined;
  const known = uploadType !== undefined && Object.hasOwn(UPLOAD_TYPES, uploadType);
  const items = Array.isArray(value.ebrcBulkGenDtos) ? (value.ebrcBulkGenDtos as unknown[]) : [];
  // Check the number before reading items: a message of a few MB can hold millions.
  if (items.length > MAX_FILING_ROWS)
    return { findings: [tooManyRows(items.length, rowOfItem(items[MAX_FILING_ROWS], MAX_FILING_ROWS))] };
  const allowed = readAllowDuplicate(value.allowDuplicate);
  const found = firstErrors<Finding>();
  found.add([...checkTopLevel(value, items.length), ...allowed.findings]);
  const unchecked = items.map((item, index) => {
    const read = readItem(item, index, template);
    found.add(read.findings);
    return read.unchecked;
  });
  const rows = permittedRows([...permitted, ...allowed.permitted]);
  if (template.learnedAt === null) found.add(templateUnknown(unchecked));
  const context = { permitted: rows, isMessage: true, ...(known && { uploadType }), ...(today && { today }) };
  found.add(checkUncheckedRows(unchecked, context));
  const findings = oncePerCell(found.all());
  if (findings.some(({ severity }) => severity === 'error')) return { findings };
  return {
    message: {
      ...(typeof value.platformCustomerId === 'string' ? { platformCustomerId: value.platformCustomerId } : {}),
      ...(known ? { uploadType } : {}),
      decalarationFlag: value.decalarationFlag === 'Y' ? 'Y' : 'N',
      allowDuplicate: allowed.permitted,
      rows: unchecked.map(completeRow).filter((row) => row !== undefined),
    },
    findings,
  };
}

function checkTopLevel(message: Record<string, unknown>, count: number): Finding[] {
  const { platformCustomerId: id, uploadType, decalarationFlag: flag, ebrcBulkGenDtos: items } = message;
  const codes = Object.keys(UPLOAD_TYPES);
  const findings = unknownProperties(message, TOP_LEVEL, null);
  /** Reports a field: as missing, with `hint`, or else with the message `say`. */
  const wrong = (field: string, hint: string, code = 'missing', say?: string) =>
    findings.push(
      say === undefined || isAbsent(message[field])
        ? errorAt(null, field, 'missing', missing(field, hint))
        : errorAt(null, field, code, say),
    );
  if (!isAbsent(id) && !(typeof id === 'string' && UUID.test(id))) {
    const say = `platformCustomerId ${quoted(id)} is not a UUID. Use the exporter's id, or leave it out.`;
    wrong('platformCustomerId', '', 'invalid_uuid', say);
  }
  if (typeof uploadType !== 'string' || !codes.includes(uploadType)) {
    const named = typeof uploadType === 'string' ? uploadTypeNamed(uploadType) : undefined;
    const write = named === undefined ? `one of "${codes.join('", "')}"` : `"${named}"`;
    const say = `uploadType ${quoted(uploadType)} is not a code as text. At top level write ${write}, in quotes.`;
    wrong('uploadType', `write one of ${codes.join(', ')}, as text`, 'unknown_upload_type', say);
  }
  if (flag !== 'Y' && flag !== 'N') {
    const say = invalidYesNo('decalarationFlag', flag);
    wrong('decalarationFlag', 'it is the legal declaration, Y or N', 'invalid_yes_no', say);
  }
  if (!Array.isArray(items) || items.length === 0) {
    wrong('ebrcBulkGenDtos', 'it must be a list with one item per mapping');
  }
  if (message.recordResCount !== count) {
    const say = `recordResCount is ${quoted(message.recordResCount)}, but ebrcBulkGenDtos has ${count} items. Write ${count}, as a number.`;
    wrong('recordResCount', `write ${count}, the number of items`, 'count_differs', say);
  }
  return findings;
}

const isAbsent = (value: unknown): value is null | undefined => value === undefined || value === null;

/** `allowDuplicate: [{row, besides, reason}]`; `besides` is a filing id or a list of them. */
function readAllowDuplicate(value: unknown): { permitted: PermittedDuplicate[]; findings: Finding[] } {
  if (value === undefined || value === null) return { permitted: [], findings: [] };
  const read = Array.isArray(value) ? value.map(readPermitted) : [null];
  const permitted = read.filter((entry) => entry !== null);
  if (permitted.length === read.length) return { permitted, findings: [] };
  const say =
    'allowDuplicate is a list of objects with row (the serialNo), reason and, where it is to name the holders, besides (filing ids).';
  return { permitted: [], findings: [errorAt(null, 'allowDuplicate', 'invalid_allow_duplicate', say)] };
}

const isText = (value: unknown): value is string => typeof value === 'string' && isStorable(value);

function readPermitted(value: unknown): PermittedDuplicate | null {
  if (!isObject(value) || !Number.isSafeInteger(value.row) || !isText(value.reason)) return null;
  const besides = typeof value.besides === 'string' ? [value.besides] : (value.besides ?? undefined);
  const isIds = (ids: unknown): ids is string[] => Array.isArray(ids) && ids.every(isText);
  if (value.reason.trim() === '' || (besides !== undefined && !isIds(besides))) return null;
  return { row: Number(value.row), reason: value.reason.trim(), ...(besides && { besides }) };
}

/** The most unknown properties that are reported for one object, and the most bytes of their names. */
const MAX_UNKNOWN = 50;
const PROPERTY_BYTES = 100;

function unknownProperties(object: object, known: ReadonlySet<string>, row: number | null): Finding[] {
  return Object.keys(object)
    .filter((name) => !known.has(name))
    .slice(0, MAX_UNKNOWN)
    .map((name) => {
      const shortened = cutText(name, PROPERTY_BYTES);
      const field = row === null ? undefined : columnOfHeader(name)?.field;
      const advice = field === undefined ? 'Remove it, or correct its spelling.' : `Write it as ${field}.`;
      return errorAt(row, shortened, 'unknown_property', `property ${shortened} should not exist. ${advice}`);
    });
}

const ITEM_FIELDS: ReadonlySet<string> = new Set(BULK_COLUMNS.map(({ field }) => field));

/** What names an item in findings: its serial number, or else its place from 1. */
const rowOfItem = (item: unknown, index: number): number =>
  isObject(item) && Number.isSafeInteger(item.serialNo) ? Number(item.serialNo) : index + 1;

function readItem(
  item: unknown,
  index: number,
  template: BulkTemplate,
): { unchecked: UncheckedRow; findings: Finding[] } {
  if (!isObject(item)) {
    const row = index + 1;
    const message = `Item ${row} of ebrcBulkGenDtos is not a JSON object. Write one object per mapping.`;
    const findings = [errorAt(row, null, 'not_an_item', message)];
    return { unchecked: { row, mapping: {}, failed: ITEM_FIELDS }, findings };
  }
  const row = rowOfItem(item, index);
  const findings = unknownProperties(item, ITEM_FIELDS, row);
  const mapping = emptyMapping();
  const failed = new Set<string>();
  for (const field of FIELD_NAMES) {
    const value = item[field];
    if (!hasValue(value)) continue;
    const problem = wrongType(field, MAPPING_FIELDS[field], value);
    if (problem) {
      failed.add(field);
      findings.push(errorAt(row, field, problem.code, problem.say));
    } else mapping[field] = valueOf(MAPPING_FIELDS[field], value);
  }
  const { extra, findings: ofOptional } = readOptional(item, row, template);
  for (const { field } of ofOptional) failed.add(field ?? '');
  findings.push(...ofOptional);
  // The loop above checked each value against the type of its field in Mapping.
  return { unchecked: { row, mapping, failed, ...(Object.keys(extra).length > 0 && { extra }) }, findings };
}

/** Fields that only the bulk upload has, by the template's labels. N means the same as no value. */
function readOptional(item: Record<string, unknown>, row: number, { labels, learnedAt }: BulkTemplate) {
  const extra: ExtraValues = {};
  const findings: Finding[] = [];
  for (const { field, kind } of OPTIONAL_COLUMNS) {
    const value = item[field];
    if (!hasValue(value) || (kind === 'yesNo' && value === 'N')) continue;
    const problem = wrongType(field, kind, value);
    const label = labels.find((each) => columnOfHeader(each)?.field === field);
    if (problem) findings.push(errorAt(row, field, problem.code, problem.say));
    else if (label !== undefined) extra[label] = valueOf(kind, value) as string | number;
    else {
      const message = `${field} cannot be sent: push messages have no such field, and the service's bulk template (read ${learnedAt ?? 'never'}) has no such column. File this row at the authority's portal, or ask the service.`;
      findings.push(errorAt(row, field, 'no_channel', message));
    }
  }
  return { extra, findings };
}

const valueOf = (kind: FieldKind, value: unknown): unknown =>
  kind === 'amount' && typeof value === 'number' ? withoutNoise(value) : value;

function wrongType(field: ColumnField, kind: FieldKind, value: unknown): { code: string; say: string } | undefined {
  switch (kind) {
    case 'integer':
    case 'amount': {
      if (typeof value === 'number') return undefined;
      const unquoted =
        typeof value === 'string' && Number.isFinite(Number(value)) ? `: write ${Number(value)} without quotes` : '';
      return { code: 'invalid_number', say: invalidNumber(field, value, `It must be a JSON number${unquoted}.`) };
    }
    case 'date':
      return isFilingDate(value)
        ? undefined
        : { code: 'invalid_date', say: `${invalidDate(field, value)} In JSON write it as DDMMYYYY text.` };
    case 'yesNo':
      return value === 'Y' || value === 'N' ? undefined : { code: 'invalid_yes_no', say: invalidYesNo(field, value) };
    case 'text':
      return typeof value === 'string'
        ? undefined
        : { code: 'invalid_text', say: invalidText(field, value, 'Write it as text, in quotes.') };
  }
}
