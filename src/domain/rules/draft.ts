import type { Finding } from './finding';
import type { ExtraValues, Mapping, MappingField, MappingRow } from '../filing/mapping';
import { MAPPING_FIELDS } from '../filing/mapping';

/**
 * A row while it is being checked: what could be read of it, and which fields a finding was already made about. The
 * rules run on drafts, so that a row with one unreadable cell still has its other cells checked in the same pass.
 */
export interface DraftRow {
  /** Excel row for a workbook, `serialNo` (or place in the list) for a JSON message. */
  row: number;
  mapping: Partial<Mapping>;
  /** Fields with a finding already: never reported a second time. */
  failed: ReadonlySet<string>;
  extra?: ExtraValues;
}

export function draftOf(row: MappingRow): DraftRow {
  return { ...row, failed: new Set() };
}

/** Fields that may be empty, and are null then; all others need a value in every row. */
export const NULLABLE_FIELDS: ReadonlySet<MappingField> = new Set(['gstinInvoiceNumber', 'gstinInvoiceDate']);

/** Every field of a mapping, in the spec's order. */
export const FIELD_NAMES = Object.keys(MAPPING_FIELDS) as MappingField[];

/** The draft as a mapping row when nothing failed and nothing is missing, otherwise undefined. */
export function completeRow({ row, mapping, failed, extra }: DraftRow): MappingRow | undefined {
  if (failed.size > 0 || !isWhole(mapping)) return undefined;
  return { row, mapping, ...(extra ? { extra } : {}) };
}

/** A mapping to be filled: the fields that may stay empty are null from the start. */
export function emptyMapping(): Record<string, unknown> {
  return { gstinInvoiceNumber: null, gstinInvoiceDate: null };
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

export function errorAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'error', code, row, field, message };
}

export function warningAt(row: number | null, field: string | null, code: string, message: string): Finding {
  return { severity: 'warning', code, row, field, message };
}

/**
 * Each failing cell once: the first error about a cell stays and later errors and all warnings about it go. Findings
 * about a row or the filing as a whole all stay. The result is in row order, those about the filing first.
 */
export function oncePerCell(findings: readonly Finding[]): Finding[] {
  const failing = new Set<string>();
  const kept = findings.filter((finding) => {
    if (finding.severity !== 'error' || finding.field === null || finding.row === null) return true;
    const cell = `${finding.row}/${finding.field}`;
    if (failing.has(cell)) return false;
    failing.add(cell);
    return true;
  });
  return kept
    .filter((finding) => finding.severity === 'error' || !failing.has(`${finding.row}/${finding.field}`))
    .sort((a, b) => (a.row ?? 0) - (b.row ?? 0));
}
