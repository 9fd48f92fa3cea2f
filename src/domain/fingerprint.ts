import { irmKeyText, type IrmKey, type Mapping } from './mapping';
import { canonicalAmount } from './money';

/**
 * A document number as it is compared: case and blanks aside, and without the leading zeros that a spreadsheet drops.
 * Two documents of one exporter that differ in nothing else are taken for one: refusing to file is the safe mistake.
 */
export function comparableDocument(documentNumber: string): string {
  const trimmed = documentNumber.trim().toUpperCase();
  return /^\d+$/.test(trimmed) ? trimmed.replace(/^0+(?=\d)/, '') : trimmed;
}

/** The IRM key of a mapping (number, AD code, IFSC, date) as text. */
export function mappingIrmKey(mapping: Mapping): string {
  return irmKeyText(mapping satisfies IrmKey);
}

/**
 * What makes two mappings the same filing: exporter, IRM (number, AD code, IFSC, date), document (number, date) and the
 * mapped amount. The text is hashed by the ledger, which keeps it unique among live rows.
 */
export function mappingFingerprint(exporterId: string, mapping: Mapping): string {
  return JSON.stringify([
    exporterId,
    mappingIrmKey(mapping),
    comparableDocument(mapping.sbCumInvoiceNumber),
    mapping.sbCumInvoiceDate,
    canonicalAmount(mapping.mappedIRMAmountFCC),
  ]);
}
