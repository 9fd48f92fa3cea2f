import type { ColumnField } from '../rules/columns';
import { errorAt, type Finding } from '../rules/finding';

/** An authority code's column. The list is second-hand ("Annexure 6.3"); it decides only which cell is marked. */
const FIELDS: Readonly<Record<string, ColumnField>> = {
  ERR11: 'serialNo',
  ERR14: 'irmIfscCode',
  ERR15: 'irmIfscCode',
  ERR16: 'irmAdCode',
  ERR19: 'irmNumber',
  ERR20: 'irmFCC',
  ERR21: 'irmPurposeCode',
  ERR22: 'irmPurposeCode',
  ERR23: 'irmRemitAmtFCC',
  ERR25: 'sbCumInvoiceNumber',
  ERR26: 'sbCumInvoiceNumber',
  ERR27: 'sbCumInvoiceNumber',
  ERR28: 'sbCumInvoiceDate',
  ERR29: 'portCode',
  ERR30: 'portCode',
  ERR31: 'billNo',
  ERR32: 'isVostro',
  ERR33: 'vostroType',
  ERR34: 'isThirdPartyExport',
  ERR35: 'mappedORMAmountFCC',
  ERR38: 'mappedIRMAmountFCC',
  ERR39: 'irmPurposeCode',
};

/** The field that the authority's words about a row name by their code; null where they have none that is known. */
export function fieldOfAuthority(message: string): ColumnField | null {
  const [code = ''] = /\bERR\d{2}\b/u.exec(message) ?? [];
  return FIELDS[code] ?? null;
}

/** The authority's messages about single rows as findings, but for those that are known as such already. */
export function authorityErrors(
  rows: readonly { row: number; errors: readonly string[] }[],
  known: readonly Finding[],
): Finding[] {
  const shown = new Set(known.map(({ row, message }) => `${row}|${message}`));
  return rows.flatMap(({ row, errors }) =>
    errors
      .filter((message) => !shown.has(`${row}|${message}`))
      .map((message) => errorAt(row, fieldOfAuthority(message), 'authority', message)),
  );
}
