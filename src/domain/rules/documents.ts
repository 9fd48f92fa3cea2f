/** A document has an account, as an IRM has one: its certificates and what is held for it may not exceed its value. */
import { isoFromAnything } from '../dates';
import { documentKey } from '../identity';
import type { MappingRow } from '../filing/mapping';
import { amountText, compareAmounts, sumAmounts } from '../money';
import { groupBy } from '../values';
import type { Objection } from './duplicates';
import { warningAt, type Finding } from './finding';
import { listed } from './value-messages';

/** What a held row of another filing, or a certificate that is nobody's, takes of a document. */
export interface DocumentUse {
  document: string;
  /** The document's day, YYYY-MM-DD; null if it is not known. */
  on: string | null;
  amount: string;
  currency: string;
  filingId: string | null;
  /** Of a certificate that is nobody's. */
  eBRCNumber: string | null;
  unknown: boolean;
}

/**
 * Objects to rows with which a document is overdrawn. Uses of the same number, but of another or an unknown date, may
 * be of another document, and only warn; amounts of another currency are not added.
 */
export function judgeDocuments(
  rows: readonly MappingRow[],
  uses: readonly DocumentUse[],
): { objections: Objection[]; warnings: Finding[] } {
  const usesOf = groupBy(uses, ({ document }) => document);
  const positions = new Map(rows.map((row, position) => [row, position]));
  const objections: Objection[] = [];
  const warnings: Finding[] = [];
  for (const group of groupBy(rows, accountOf).values()) {
    const [{ mapping: named }] = group;
    const { sbCumInvoiceNumber: number, sbCumInvoiceFCC: currency } = named;
    const same = (usesOf.get(documentKey(number)) ?? []).filter((use) => sameCurrency(use.currency, currency));
    const on = isoFromAnything(named.sbCumInvoiceDate);
    const sure = same.filter((use) => use.on === on);
    const value = group.map(({ mapping }) => mapping.sbCumInvoiceValueinFCC).reduce((a, b) => Math.max(a, b));
    let sum = sumAmounts(sure.map(({ amount }) => amount));
    const before = objections.length;
    for (const row of group) {
      sum = sumAmounts([sum, row.mapping.mappedIRMAmountFCC]);
      if (compareAmounts(sum, value) <= 0) continue;
      const message = `Document ${number} of ${named.sbCumInvoiceDate} is worth ${amountText(value, currency)}, but ${amountText(sum, currency)} is mapped, held and certified for it${usedBy(sure)}.`;
      objections.push({
        ...{ position: positions.get(row) ?? 0, row: row.row, code: 'document_overdrawn', message },
        filings: [...new Set(sure.flatMap(({ filingId }) => filingId ?? []))],
        certificates: sure.flatMap(({ eBRCNumber }) => eBRCNumber ?? []),
        unknown: sure.some(({ unknown }) => unknown),
      });
    }
    const all = sumAmounts([sum, ...same.filter((use) => use.on !== on).map(({ amount }) => amount)]);
    if (objections.length > before || compareAmounts(all, value) <= 0) continue;
    const message = `With what has the number ${number} and another date, ${amountText(all, currency)} is mapped, held and certified, more than the ${amountText(value, currency)} that the document is worth${usedBy(same)}. Check that they are different documents.`;
    warnings.push(warningAt(group.at(-1)?.row ?? null, 'mappedIRMAmountFCC', 'document_overdrawn', message));
  }
  return { objections, warnings };
}

/** Number, date and currency of a row's document; undefined if its IRM is in another currency, which is not added. */
function accountOf({ mapping }: MappingRow): string | undefined {
  const { sbCumInvoiceNumber, sbCumInvoiceDate, sbCumInvoiceFCC, irmFCC } = mapping;
  if (!sameCurrency(irmFCC, sbCumInvoiceFCC)) return undefined;
  return JSON.stringify([documentKey(sbCumInvoiceNumber), isoFromAnything(sbCumInvoiceDate), sbCumInvoiceFCC]);
}

const sameCurrency = (a: string, b: string): boolean => a.trim().toUpperCase() === b.trim().toUpperCase();

function usedBy(uses: readonly DocumentUse[]): string {
  const names = uses.map(({ amount, currency, filingId, eBRCNumber }) => {
    const holder = eBRCNumber === null ? `filing ${filingId}` : `certificate ${eBRCNumber}`;
    return `${amountText(amount, currency)} by ${holder}`;
  });
  return names.length === 0 ? '' : `: ${listed(names, 4)}`;
}

/** Objects to rows for whose document, currency and amount the authority has a certificate that no row has. */
export function judgeCertified(rows: readonly MappingRow[], uses: readonly DocumentUse[]): Objection[] {
  const certificates = groupBy(
    uses.filter(({ eBRCNumber }) => eBRCNumber !== null),
    ({ document }) => document,
  );
  return rows.flatMap((row, position) => {
    const { sbCumInvoiceNumber, irmFCC, mappedIRMAmountFCC } = row.mapping;
    const equal = (certificates.get(documentKey(sbCumInvoiceNumber)) ?? []).filter(
      ({ amount, currency }) => sameCurrency(currency, irmFCC) && compareAmounts(amount, mappedIRMAmountFCC) === 0,
    );
    if (equal.length === 0) return [];
    const numbers = equal.flatMap(({ eBRCNumber }) => eBRCNumber ?? []);
    const message = `The authority has certificate ${listed(numbers, 3)} for this document, currency and amount, which no row here has: filing the row makes a second one.`;
    const against = { filings: [], certificates: numbers, unknown: false };
    return [{ position, row: row.row, code: 'already_certified', message, ...against }];
  });
}
