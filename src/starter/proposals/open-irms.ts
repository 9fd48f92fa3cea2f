import { isFilingDate } from '../../domain/dates';
import type { OpenIrm } from '../../domain/proposals/score';
import { listIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { irmRemarks, remarksKey } from '../../ledger/proposals/open-documents';
import { holdsOn } from '../../ledger/rows/balance-reservation';
import { irmView } from '../exporters/views';

/**
 * Statuses of IRMs from which nothing can be mapped any more; the specification documents only `fresh`, so only
 * unambiguous words count.
 */
const CLOSED = /cancel|^c$/i;

/** The IRMs of an exporter with a free balance, as the ledger read them last. */
export async function openIrms(db: Queryable, exporterId: string): Promise<OpenIrm[]> {
  const rows = await listIrms(db, exporterId);
  const irmNumbers = [...new Set(rows.map(({ irmNumber }) => irmNumber))];
  const holds = await holdsOn(db, { exporterId, irmNumbers, exceptFiling: null });
  const remarks = await irmRemarks(db, exporterId);
  return rows
    .filter(({ status }) => !CLOSED.test(status ?? ''))
    .flatMap((row): OpenIrm[] => {
      const { free, currency, purposeCode, remittanceDate, issueDate } = { ...row, ...irmView(row, rows, holds) };
      if (free === null || currency === null || Number(free) <= 0) return [];
      return [
        {
          irmNumber: row.irmNumber,
          irmAdCode: row.adCode,
          irmIfscCode: row.ifscCode,
          irmDt: isFilingDate(issueDate) ? issueDate : (remittanceDate ?? issueDate),
          currency,
          purpose: purposeCode ?? '',
          amount: row.amount,
          free,
          remitter: row.remitterName,
          remarks: remarks.get(remarksKey(row)) ?? '',
        },
      ];
    });
}
