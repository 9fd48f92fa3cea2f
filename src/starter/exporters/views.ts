import { subtractAmounts, sumAmounts } from '../../domain/money';
import { groupBy } from '../../domain/values';
import { irmCursor, irmIdentity } from '../../domain/identity';
import { pendingHolds } from '../../domain/exporter/balance-sums';
import type { Hold } from '../../domain/exporter/balance-sums';
import { holdsOf } from '../../domain/rules/preflight';
import { iecFindings, readinessOf, type Readiness, type Standing } from '../../domain/exporter/exporter';
import type { Finding } from '../../domain/rules/finding';
import { needExporter, type ExporterRow } from '../../ledger/exporters/exporters';
import { heldIrmOf, type IrmKey, irmsWithNumbers, type IrmRow, listIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { badCredentials } from '../../ledger/vault/credentials';
import { holdsOn, numbersHeld } from '../../ledger/rows/balance-reservation';

/** An exporter as `ebrc exporters` prints it, in the spec's spelling. */
export interface ExporterView {
  exporterId: string;
  name: string;
  email: string;
  companyName: string | null;
  /** The one that is used: what the portal shows or, until it shows any, what was entered. */
  iec: string | null;
  address: string | null;
  isActive: boolean;
  hasDgftCredentials: boolean;
  /** The specification's readiness matrix, then `dgftApiStatus.state`. */
  readiness: Readiness;
  state: Standing;
  /** ISO 8601, while activation is pending. */
  activatesAt: string | null;
  sharedCredentialsLikely: boolean | null;
  requiresApproval: boolean;
  /** Why the portal credentials on file are known to be bad; null: nothing bad is known of them. */
  credentialsProblem: string | null;
  /** What somebody should look at. */
  warnings: Finding[];
  /** When the service last reported this, ISO 8601. */
  readAt: string;
}

/** @throws Error for one that the ledger does not know */
export async function readExporterView(db: Queryable, exporterId: string): Promise<ExporterView> {
  const [view] = await exporterViews(db, [await needExporter(db, exporterId)]);
  return view as ExporterView;
}

/** Exporters with what is known of their credentials, in the order given. */
export async function exporterViews(db: Queryable, rows: readonly ExporterRow[]): Promise<ExporterView[]> {
  const ids = rows.map(({ exporterId }) => exporterId);
  const bad = await badCredentials(db, ids);
  return rows.map((row) => ({
    exporterId: row.exporterId,
    name: row.name,
    email: row.email,
    companyName: row.companyName,
    iec: row.iec,
    address: row.address,
    isActive: row.isActive,
    hasDgftCredentials: row.hasCredentials,
    ...readinessOf(row),
    state: row.state,
    sharedCredentialsLikely: row.sharedCredentialsLikely,
    requiresApproval: row.requiresApproval,
    credentialsProblem: bad.get(row.exporterId) ?? null,
    warnings: iecFindings(row),
    readAt: row.readAt.toISOString(),
  }));
}

/**
 * An IRM as `ebrc irms` prints it: the service's balance, and what our own filings hold of it. Amounts are exact
 * decimal text.
 */
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
  /** Mapped by our live filings and not surely in the balance: no certificate yet, or one that is newer than it. */
  held: string;
  /** `available` less `held`. */
  free: string | null;
  heldBy: { filingId: string; reference: string; state: string; amount: string }[];
  status: string | null;
  remitterName: string | null;
  readAt: string;
}

/**
 * These IRMs, in their order. Which of them a hold means depends on the others of the same number and AD code: they
 * have to be among the rows.
 */
export async function irmViews(db: Queryable, exporterId: string, rows: readonly IrmRow[]): Promise<IrmView[]> {
  const holds = await holdsOn(db, { exporterId, irmNumbers: await heldOf(db, exporterId, rows), exceptFiling: null });
  const records = rows.map((row) => ({ ...heldIrmOf(row), row, identity: identityOf(row) }));
  const recordsOf = groupBy(records, ({ identity }) => identity);
  const byIdentity = groupBy(holds, ({ irmKey }) => irmKey);
  return records.map((record) => {
    const own = holdsOf(record, recordsOf.get(record.identity) ?? [], byIdentity.get(record.identity) ?? []);
    return irmView(record.row, pendingHolds(own, record));
  });
}

/** Above this many IRMs it is cheaper to ask first of which of them anything is held. */
const FEW_IRMS = 1_000;

async function heldOf(db: Queryable, exporterId: string, rows: readonly IrmRow[]): Promise<string[]> {
  const numbers = [...new Set(rows.map(({ irmNumber }) => irmNumber))];
  if (numbers.length <= FEW_IRMS) return numbers;
  const readAt = new Date(rows.reduce((oldest, row) => Math.min(oldest, row.readAt.getTime()), Infinity));
  return numbersHeld(db, { exporterId, readAt });
}

function irmView(row: IrmRow, pending: readonly Hold[]): IrmView {
  const held = sumAmounts(pending.map(({ amount }) => amount));
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
    heldBy: pending.map(({ filingId, reference, state, amount }) => ({ filingId, reference, state, amount })),
    status: row.status,
    remitterName: row.remitterName,
    readAt: row.readAt.toISOString(),
  };
}

const identityOf = ({ irmNumber, adCode }: IrmRow): string => irmIdentity({ irmNumber, irmAdCode: adCode });

/**
 * The IRMs of an exporter with their balances, as last read, and what our own filings hold of them: all of them, or a
 * page.
 */
export async function readIrmViews(
  db: Queryable,
  exporterId: string,
  page: { after?: IrmKey; limit?: number } = {},
): Promise<IrmView[]> {
  const rows = await listIrms(db, exporterId, page);
  if (page.limit === undefined) return irmViews(db, exporterId, rows);
  const numbers = new Set(rows.map(({ irmNumber }) => irmNumber));
  const views = await irmViews(db, exporterId, await irmsWithNumbers(db, exporterId, [...numbers]));
  const byKey = new Map(views.map((view) => [irmCursor(view), view]));
  return rows.flatMap((row) => byKey.get(cursorOf(row)) ?? []);
}

const cursorOf = ({ irmNumber, adCode, ifscCode, issueDate }: IrmRow): string =>
  irmCursor({ irmNumber, irmAdCode: adCode, irmIfscCode: ifscCode, irmIssueDate: issueDate });
