import { subtractAmounts, sumAmounts } from '../../domain/money';
import { irmKeyText } from '../../domain/mapping';
import type { Hold } from '../../domain/preflight';
import { readinessOf, type Readiness } from '../../domain/readiness';
import type { ExporterRow } from '../../ledger/exporters';
import type { IrmRow } from '../../ledger/irms';

/** An exporter as `ebrc exporters` prints it, in the spec's spelling. */
export interface ExporterView {
  exporterId: string;
  name: string;
  email: string;
  companyName: string | null;
  iec: string | null;
  address: string | null;
  isActive: boolean;
  hasDgftCredentials: boolean;
  /** The specification's readiness matrix, then `dgftApiStatus.state`. */
  readiness: Readiness;
  /** ISO 8601, while activation is pending. */
  activatesAt: string | null;
  sharedCredentialsLikely: boolean | null;
  requiresApproval: boolean;
  /** When the service last said so, ISO 8601. */
  readAt: string;
}

export function exporterView(row: ExporterRow): ExporterView {
  const activatesAt = row.activatesAt?.toISOString() ?? null;
  return {
    exporterId: row.exporterId,
    name: row.name,
    email: row.email,
    companyName: row.companyName,
    iec: row.iec,
    address: row.address,
    isActive: row.isActive,
    hasDgftCredentials: row.hasCredentials,
    ...readinessOf({ ...row, activatesAt }),
    sharedCredentialsLikely: row.sharedCredentialsLikely,
    requiresApproval: row.requiresApproval,
    readAt: row.readAt.toISOString(),
  };
}

/** An IRM as `ebrc irms` prints it: the service's balance, and what our own filings hold of it. Amounts are exact decimal text. */
export interface IrmView {
  irmNumber: string;
  irmAdCode: string;
  irmIfscCode: string;
  /** DDMMYYYY, as all filing dates. */
  irmIssueDate: string;
  remittanceDate: string | null;
  currency: string | null;
  purposeCode: string | null;
  amount: string | null;
  available: string | null;
  /** Mapped by live filings of ours that the balance cannot know yet: not sent, of unknown outcome, or sent after it was read. */
  held: string;
  /** `available` less `held`. */
  free: string | null;
  heldBy: { filingId: string; reference: string; state: string; amount: string }[];
  status: string | null;
  remitterName: string | null;
  readAt: string;
}

export function irmView(row: IrmRow, holds: readonly Hold[]): IrmView {
  const own = holds.filter((hold) => keysOf(row).has(hold.irmKey) && !isInBalance(hold, row));
  const held = sumAmounts(own.map(({ amount }) => amount));
  return {
    irmNumber: row.irmNumber,
    irmAdCode: row.adCode,
    irmIfscCode: row.ifscCode,
    irmIssueDate: row.issueDate,
    remittanceDate: row.remittanceDate,
    currency: row.currency,
    purposeCode: row.purposeCode,
    amount: row.amount,
    available: row.available,
    held,
    free: row.available === null ? null : subtractAmounts(row.available, held),
    heldBy: own.map(({ filingId, reference, state, amount }) => ({ filingId, reference, state, amount })),
    status: row.status,
    remitterName: row.remitterName,
    readAt: row.readAt.toISOString(),
  };
}

/** A filing whose outcome is known and that was sent before the balance was read is in the balance already. */
function isInBalance(hold: Hold, row: IrmRow): boolean {
  return hold.outcomeKnown && hold.submittedAt !== null && hold.submittedAt < row.readAt.getTime();
}

/** A mapping may name the IRM by its issue date or by its remittance date. */
function keysOf(row: IrmRow): Set<string> {
  const key = { irmNumber: row.irmNumber, irmAdCode: row.adCode, irmIfscCode: row.ifscCode };
  const dates = [row.issueDate, ...(row.remittanceDate === null ? [] : [row.remittanceDate])];
  return new Set(dates.map((irmDt) => irmKeyText({ ...key, irmDt })));
}
