import { FIELD_NAMES, NULLABLE_FIELDS, type ExtraValues, type Mapping, type MappingRow } from '../filing/mapping';

/**
 * A row during its check: the values that could be read, and the fields that already have a finding. The rules run on
 * such rows, so that a row with one unreadable cell still has its other cells checked in the same pass.
 */
export interface UncheckedRow {
  /** Excel row for a workbook, `serialNo` (or place in the list) for a JSON message. */
  row: number;
  mapping: Partial<Mapping>;
  /** Fields that already have a finding: never reported a second time. */
  failed: ReadonlySet<string>;
  extra?: ExtraValues;
}

export function uncheckedRow(row: MappingRow): UncheckedRow {
  return { ...row, failed: new Set() };
}

/** The mapping row, if nothing failed and nothing is missing; otherwise undefined. */
export function completeRow({ row, mapping, failed, extra }: UncheckedRow): MappingRow | undefined {
  if (failed.size > 0 || !isWhole(mapping)) return undefined;
  return { row, mapping, ...(extra ? { extra } : {}) };
}

/** An empty mapping: fields that may stay empty are null from the start. */
export function emptyMapping(): Record<string, unknown> {
  return Object.fromEntries([...NULLABLE_FIELDS].map((field) => [field, null]));
}

function isWhole(mapping: Partial<Mapping>): mapping is Mapping {
  return FIELD_NAMES.every((field) =>
    NULLABLE_FIELDS.has(field) ? mapping[field] !== undefined : hasValue(mapping[field]),
  );
}

/** Whether a cell or property holds anything; blank text does not. */
export function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');
}
