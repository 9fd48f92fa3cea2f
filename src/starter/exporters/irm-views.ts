import type { Queryable } from '../../ledger/pool';
import { listIrms } from '../../ledger/exporters/irms';
import { holdsOn } from '../../ledger/rows/balance-reservation';
import { irmView, type IrmView } from './views';

/** The IRMs of an exporter with their balances, as last read, and what our own filings hold of them. */
export async function readIrmViews(db: Queryable, exporterId: string): Promise<IrmView[]> {
  const rows = await listIrms(db, exporterId);
  const irmNumbers = [...new Set(rows.map(({ irmNumber }) => irmNumber))];
  const holds = await holdsOn(db, { exporterId, irmNumbers, exceptFiling: null });
  return rows.map((row) => irmView(row, rows, holds));
}
