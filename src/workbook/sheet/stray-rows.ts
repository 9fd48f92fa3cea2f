/** Rows below the headers that are no mappings. */
import { columnOfHeader } from '../../domain/rules/columns';
import { errorAt, type Finding } from '../../domain/rules/finding';
import type { CellContent } from './cell-content';
import type { Headers } from './headers';

const TOTAL = /^(?:(?:grand|sub|net|page)[\s-]*)?totals?\b/i;
/** A mapping has no cell that is the name of its own column; one may be chance. */
const REPEATED = 2;

/** One finding for a total or a repeated header, instead of one for each of its cells; undefined for other rows. */
export function strayRow(
  contents: readonly (CellContent | undefined)[],
  { columns }: Headers,
  row: number,
): Finding | undefined {
  const textAt = (index: number | undefined): string => {
    const content = contents[index ?? 0];
    return content?.kind === 'text' ? content.text : '';
  };
  const headers = [...columns].filter(([field, { index }]) => columnOfHeader(textAt(index))?.field === field);
  if (headers.length >= REPEATED) {
    return errorAt(row, null, 'repeated_header', 'This row repeats the headers. Delete it.');
  }
  const label = contents.findIndex((content) => content?.kind === 'text' && TOTAL.test(content.text));
  const isFilled = (field: 'irmNumber' | 'sbCumInvoiceNumber') => {
    const index = columns.get(field)?.index;
    return index !== label && contents[index ?? 0] !== undefined;
  };
  if (label > 0 && !(isFilled('irmNumber') && isFilled('sbCumInvoiceNumber'))) {
    return errorAt(row, null, 'total_row', 'This row is a total. Delete it: every row is filed.');
  }
  const amounts = [...columns.values()].filter(({ column }) => column.kind === 'amount');
  const filled = contents.filter((content) => content !== undefined).length;
  const ofAmounts = amounts.filter(({ index }) => contents[index] !== undefined).length;
  if (filled === 0 || ofAmounts < filled) return undefined;
  const message = 'This row has only amounts. Delete it if it is a total; otherwise fill in its other columns.';
  return errorAt(row, null, 'total_row', message);
}
