import { subtractAmounts, sumAmounts } from '../../domain/money';
import { groupBy } from '../../domain/values';
import { irmCursor, irmKey } from '../../domain/identity';
import { holdsOf, pendingHolds, type Hold } from '../../domain/exporter/balance-sums';
import { iecFindings, readinessOf, type Readiness, type Standing } from '../../domain/exporter/exporter';
import type { Finding } from '../../domain/rules/finding';
import { needExporter, type ExporterRow } from '../../ledger/exporters/exporters';
import { heldIrmOf, irmsWithKeys, type IrmRow, listIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { badCredentials } from '../../ledger/vault/credentials';
import { holdsOn } from '../../ledger/filings/reserve';

/** An exporter as `ebrc exporters` prints it, in the spec's spelling. */
export interface ExporterView {
  exporterId: string;
  name: string;
  email: string;
  companyName: string | null;
  /** The IEC in use: the portal's, or the entered one until the portal shows it. */
  iec: string | null;
  address: string | null;
  isActive: boolean;
  hasDgftCredentials: boolean;
  /** The state in the specification's readiness matrix, then `dgftApiStatus.state`. */
  readiness: Readiness;
  state: Standing;
  /** ISO 8601, while activation is pending. */
  activatesAt: string | null;
  sharedCredentialsLikely: boolean | null;
  requiresApproval: boolean;
  /** Why the stored portal credentials are bad; null if they are not known to be. */
  credentialsProblem: string | null;
  /** What a person should check. */
  warnings: Finding[];
  /** When the service last reported this, ISO 8601. */
  readAt: string;
}

/** @throws Error if the ledger does not know the exporter */
export async function readExporterView(db: Queryable, exporterId: string): Promise<ExporterView> {
  const [view] = await exporterViews(db, [await needExporter(db, exporterId)]);
  return view as ExporterView;
}

/** Exporters with what is known about their credentials, in the order given. */
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
 * An IRM as `ebrc irms` prints it: the service's balance, and what our filings hold of it. Amounts are decimal text.
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
  /** Mapped by our live filings and not certainly in `available`: without a certificate, or with a newer one. */
  held: string;
  /** `available` minus `held`. */
  free: string | null;
  heldBy: { filingId: string; reference: string; state: string; amount: string }[];
  status: string | null;
  /** The service no longer lists it: it has no balance. */
  missing: boolean;
  remitterName: string | null;
  readAt: string;
}

/**
 * Views of these IRMs, in the order given. `rows` must have all records of each number, because a hold is matched to
 * one of them.
 */
export async function irmViews(db: Queryable, exporterId: string, rows: readonly IrmRow[]): Promise<IrmView[]> {
  const { mode, iec } = await needExporter(db, exporterId);
  const records = rows.map((row) => ({ ...heldIrmOf(row), row, irmKey: irmKey(row.irmNumber) }));
  const recordsOf = groupBy(records, (record) => record.irmKey);
  const holds = await holdsOn(db, { mode, iec, exporterId, irmKeys: [...recordsOf.keys()] });
  const byKey = groupBy(holds, (hold) => hold.irmKey);
  return records.map((record) => {
    const own = holdsOf(record, recordsOf.get(record.irmKey) ?? [], byKey.get(record.irmKey) ?? []);
    return irmView(record.row, pendingHolds(own, record));
  });
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
    missing: row.missingSince !== null,
    remitterName: row.remitterName,
    readAt: row.readAt.toISOString(),
  };
}

/** An exporter's IRMs with the balances last read and the holds of our filings: all of them, or a page. */
export async function readIrmViews(
  db: Queryable,
  exporterId: string,
  page: Parameters<typeof listIrms>[2] = {},
): Promise<IrmView[]> {
  const rows = await listIrms(db, exporterId, page);
  if (page.limit === undefined) return irmViews(db, exporterId, rows);
  const keys = new Set(rows.map(({ irmNumber }) => irmKey(irmNumber)));
  const views = await irmViews(db, exporterId, await irmsWithKeys(db, exporterId, [...keys]));
  const byKey = new Map(views.map((view) => [irmCursor(view), view]));
  return rows.flatMap((row) => byKey.get(cursorOf(row)) ?? []);
}

const cursorOf = ({ irmNumber, adCode, ifscCode, issueDate }: IrmRow): string =>
  irmCursor({ irmNumber, irmAdCode: adCode, irmIfscCode: ifscCode, irmIssueDate: issueDate });
