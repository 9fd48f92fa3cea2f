/** Which free balance a drafted row takes. What is not sure is marked, and a person chooses. */
import { isFilingDate } from '../../domain/dates';
import { BANK_CHARGES, subtractAmounts } from '../../domain/money';
import { isCancelled } from '../../domain/rules/preflight';
import { listIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { irmViews } from '../../starter/exporters/views';
import type { DocumentFacts, FittingIrm, OpenIrm } from './cells';

/** An exporter's IRMs that have a free balance. */
export async function openIrms(db: Queryable, exporterId: string): Promise<OpenIrm[]> {
  const rows = await listIrms(db, exporterId);
  const views = await irmViews(db, exporterId, rows);
  return views.flatMap((irm): OpenIrm[] => {
    const { currency, free, irmIssueDate, remittanceDate } = irm;
    if (isCancelled(irm) || currency === null || free === null || Number(free) <= 0) return [];
    const { irmNumber, irmAdCode, irmIfscCode, purposeCode, amount } = irm;
    const irmDt = isFilingDate(irmIssueDate) ? irmIssueDate : (remittanceDate ?? irmIssueDate);
    return [{ irmNumber, irmAdCode, irmIfscCode, irmDt, currency, purpose: purposeCode ?? '', amount, free }];
  });
}

const MOST_ALTERNATIVES = 5;
const NONE: FittingIrm = { irm: null, amount: null, sure: false, why: 'no open remittance fits it', alternatives: [] };

/**
 * Gives each document, in the order given, a remittance of its currency: one whose free balance is its open amount, or
 * short of it by bank charges, or else the smallest that covers it.
 */
export function fitIrms(irms: readonly OpenIrm[], documents: readonly DocumentFacts[]): FittingIrm[] {
  const free = new Map(irms.map((irm) => [irm, irm.free]));
  return documents.map((document) => {
    const open = Number(document.open);
    const over = (irm: OpenIrm) => Number(free.get(irm)) - open;
    const rank = (irm: OpenIrm) => (over(irm) === 0 ? 0 : over(irm) < 0 ? 1 : 2);
    const fits = irms
      .filter((irm) => irm.currency === document.currency && Number(free.get(irm)) > 0)
      .filter((irm) => open > 0 && over(irm) >= -open * BANK_CHARGES)
      .sort((a, b) => rank(a) - rank(b) || over(a) - over(b));
    const [irm, ...others] = fits;
    if (!irm) return NONE;
    const left = free.get(irm) ?? '0';
    const amount = over(irm) < 0 ? left : document.open;
    const why = WHY[rank(irm)] ?? '';
    const sure = rank(irm) === 0 && (others[0] === undefined || rank(others[0]) > 0);
    free.set(irm, subtractAmounts(left, amount));
    return { irm, amount, sure, why, alternatives: others.slice(0, MOST_ALTERNATIVES) };
  });
}

const WHY = [
  'the amounts agree',
  'the remittance is short of it by what banks charge',
  'it is the smallest balance that covers it',
];
