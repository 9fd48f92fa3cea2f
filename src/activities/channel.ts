import type { MappingRow } from '../domain/mapping';

/** Rows from which one workbook is kinder to the service than one JSON message. */
const ROWS_FOR_BULK = 200;

/**
 * The channel of a filing. `auto`: bulk for many rows and wherever an optional workbook column is filled, because the
 * JSON items cannot carry it; push otherwise.
 */
export function chooseChannel(asked: 'auto' | 'push' | 'bulk', rows: readonly MappingRow[]): 'push' | 'bulk' {
  if (rows.some((row) => row.extra && Object.keys(row.extra).length > 0)) return 'bulk';
  if (asked !== 'auto') return asked;
  return rows.length >= ROWS_FOR_BULK ? 'bulk' : 'push';
}
