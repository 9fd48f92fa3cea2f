import { oncePerCell, type Finding } from './finding';
import type { MappingRow } from '../filing/mapping';
import { uncheckedRow, type UncheckedRow } from './unchecked-row';
import { checkFields } from './fields';
import type { FileContext } from './file';
import { checkFile, checkSize } from './file';
import { checkRow } from './row';

/**
 * The rule table of a filing, the same for a JSON message and a workbook (spec: "Push message" and "POST
 * /genebrc/bulk-upload"). What the specification says is an error; what only public material says is a warning and
 * never blocks. Pure: nothing is looked up; balances are checked in preflight.ts.
 *
 * @param context `uploadType` of the filing, if it is known independently of the rows
 * @returns findings in row order, each failing cell once
 */
export function checkRows(rows: readonly MappingRow[], context: FileContext = {}): Finding[] {
  return checkUncheckedRows(rows.map(uncheckedRow), context);
}

/** {@link checkRows} for rows of which some cells could not be read; those cells are not reported again. */
export function checkUncheckedRows(unchecked: readonly UncheckedRow[], context: FileContext = {}): Finding[] {
  // Alone: the other rules would go through all of that text.
  const tooLarge = checkSize(unchecked);
  if (tooLarge) return [tooLarge];
  return oncePerCell([
    ...unchecked.flatMap((row) => [...checkFields(row), ...checkRow(row, context.uploadType)]),
    ...checkFile(unchecked, context),
  ]);
}
