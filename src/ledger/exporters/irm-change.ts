import { compareAmounts } from '../../domain/money';

/** The properties of an IRM that the history stores; amounts are exact text. */
export interface IrmFacts {
  amount: string | null;
  available: string | null;
  currency: string | null;
  purposeCode: string | null;
  status: string | null;
}

/** The key that distinguishes the IRM records of an exporter (spec: "An IRM number alone is not unique"). */
export interface IrmKey {
  irmNumber: string;
  adCode: string;
  ifscCode: string;
  /** DDMMYYYY if it could be read. */
  issueDate: string;
}

/**
 * - `balance`: the available amount changed, as it does when something is filed.
 * - `amended`: the remittance itself changed: amount, currency or purpose.
 * - `cancelled`: the status now reads as cancelled; `status`: the status changed otherwise.
 */
type IrmChangeKind = 'first_seen' | 'balance' | 'amended' | 'cancelled' | 'status';

export interface IrmChange extends IrmKey {
  what: IrmChangeKind[];
  after: IrmFacts;
}

/** The status is documented as `fresh` only; what starts with "cancel", or is a single C, counts as cancelled. */
const CANCELLED = /^c(ancel|$)/iu;

export function changeOf(before: IrmFacts | null, now: IrmKey & IrmFacts): IrmChange | null {
  const { irmNumber, adCode, ifscCode, issueDate, amount, available, currency, purposeCode, status } = now;
  const what = before ? kindsOfChange(before, now) : (['first_seen'] satisfies IrmChangeKind[]);
  if (what.length === 0) return null;
  const after = { amount, available, currency, purposeCode, status };
  return { irmNumber, adCode, ifscCode, issueDate, what, after };
}

function kindsOfChange(before: IrmFacts, after: IrmFacts): IrmChangeKind[] {
  const what: IrmChangeKind[] = [];
  const amended =
    !sameAmount(before.amount, after.amount) ||
    before.currency !== after.currency ||
    before.purposeCode !== after.purposeCode;
  if (amended) what.push('amended');
  if (!sameAmount(before.available, after.available)) what.push('balance');
  if (before.status !== after.status) what.push(isCancelled(after.status) ? 'cancelled' : 'status');
  return what;
}

function isCancelled(status: string | null): boolean {
  return status !== null && CANCELLED.test(status);
}

function sameAmount(a: string | null, b: string | null): boolean {
  return a === null || b === null ? a === b : compareAmounts(a, b) === 0;
}
