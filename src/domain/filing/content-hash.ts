import { normaliseHeader } from '../rules/columns';
import { comparableId, comparableText } from '../identity';
import { FIELD_NAMES, MAPPING_FIELDS } from './mapping';
import type { ExtraValues, Mapping, MappingField, MappingRow } from './mapping';
import { canonicalAmount } from '../money';

export interface FilingContent {
  exporterId: string;
  uploadType: number;
  declaration: string;
  rows: readonly Pick<MappingRow, 'mapping' | 'extra'>[];
}

/**
 * A filing's canonical text, whose SHA-256 is the content hash, whatever the order of properties and rows: properties
 * as in the item table, amounts in one spelling, rows sorted by text.
 */
export function canonicalContent({ exporterId, uploadType, declaration, rows }: FilingContent): string {
  const texts = rows.map(({ mapping, extra }) => JSON.stringify([canonicalMapping(mapping), canonicalExtra(extra)]));
  return JSON.stringify([comparableId(exporterId), uploadType, declaration, texts.sort()]);
}

function canonicalMapping(mapping: Mapping): unknown[] {
  return FIELD_NAMES.map((field) => canonicalValue(field, mapping[field]));
}

function canonicalValue(field: MappingField, value: Mapping[MappingField]): unknown {
  if (value === null) return null;
  if (MAPPING_FIELDS[field] === 'amount') return canonicalAmount(value);
  if (field === 'sbCumInvoiceNumber') return comparableText(String(value));
  return typeof value === 'string' ? value.trim() : value;
}

function canonicalExtra(extra: ExtraValues = {}): unknown[] {
  return Object.entries(extra)
    .map(([label, value]) => [normaliseHeader(label), typeof value === 'string' ? value.trim() : value])
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
