import { filingDateFromAnything, isFilingDate } from '../../domain/dates';
import { canonicalAmount, subtractAmounts } from '../../domain/money';
import type { HeldIrm } from '../../domain/exporter/balance-sums';
import { CANCELLED_STATUS } from '../../domain/rules/preflight';
import { agreedIec, irmKey, readIec } from '../../domain/identity';
import { clientsOfCompany, type Company } from './exporters';
import { Conditions } from '../paging';
import type { Queryable } from '../pool';

/**
 * The properties of a saved IRM record that the ledger reads (spec: "Saved IRM record"). Others are stored unchanged.
 */
export interface IrmRecord {
  irmNumber: string;
  irmIssueDate: string | null;
  irmStatus: string | null;
  ifscCode: string | null;
  remittanceAdCode: string | null;
  remittanceDate: string | null;
  remittanceFCC: string | null;
  remittanceFCCAmount: number | null;
  irmAvailableAmt: number | null;
  irmUtilizedAmt: number | null;
  iecCode: string | null;
  remitterName: string | null;
  remitterCountry: string | null;
  purposeOfRemittance: string | null;
}

/**
 * An IRM of the ledger; the first five distinguish it (spec: "An IRM number alone is not unique"). Dates are DDMMYYYY
 * if they could be read, amounts exact text in `currency`.
 */
export interface IrmRow {
  exporterId: string;
  irmNumber: string;
  adCode: string;
  ifscCode: string;
  issueDate: string;
  remittanceDate: string | null;
  amount: string | null;
  available: string | null;
  utilized: string | null;
  currency: string | null;
  purposeCode: string | null;
  status: string | null;
  remitterName: string | null;
  remitterCountry: string | null;
  iec: string | null;
  readAt: Date;
  /** Since when the client's whole list lacks it; null: it is listed. */
  missingSince: Date | null;
}

const COLUMNS = `exporter_id AS "exporterId", irm_number AS "irmNumber", ad_code AS "adCode", ifsc_code AS "ifscCode",
  issue_date AS "issueDate", remittance_date AS "remittanceDate", currency, purpose_code AS "purposeCode",
  amount::text AS amount, available::text AS available, utilized::text AS utilized, status,
  remitter_name AS "remitterName", remitter_country AS "remitterCountry", iec, read_at AS "readAt",
  missing_since AS "missingSince"`;

/** Records per statement, which is a payload of a few hundred kilobytes. */
const BATCH = 1_000;

/** How a known IRM changed; several words if several things changed. */
export interface IrmChange {
  irmNumber: string;
  /**
   * - `balance`: the available amount changed, as it does when something is filed.
   * - `amended`: the remittance itself changed: amount, currency or purpose.
   * - `cancelled`: the status now reads as cancelled; `status`: the status changed otherwise.
   * - `missing`: a whole list lacks it.
   */
  what: ('balance' | 'amended' | 'cancelled' | 'status' | 'missing')[];
}

/**
 * Stores a client's IRMs by their full key (spec: "An IRM number alone is not unique") with the history of their
 * balances, and detects amendments and cancellations. `readAt`: the time of the balances; a record with a later time in
 * the ledger is left unchanged, and the same list again changes nothing. `whole`: the list is complete, so IRMs that it
 * lacks are missing and have no balance. Requires a transaction.
 */
export async function saveIrms(
  client: Queryable,
  args: { exporterId: string; records: readonly IrmRecord[]; readAt: Date; whole: boolean },
): Promise<{ count: number; changed: IrmChange[] }> {
  const { exporterId, records, readAt, whole } = args;
  const incoming = new Map(
    records.map((record) => {
      const row = rowOf(exporterId, record, readAt);
      const key = JSON.stringify([row.irmNumber, row.adCode, row.ifscCode, row.issueDate]);
      return [key, { ...row, irmKey: irmKey(row.irmNumber), record }];
    }),
  );
  const rows = [...incoming.values()];
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 5))', [`irms/${exporterId}`]);
  const changed: IrmChange[] = [];
  for (let from = 0; from < rows.length; from += BATCH) {
    const batch = JSON.stringify(rows.slice(from, from + BATCH));
    changed.push(...(await client.query<IrmChange>(SAVE, [batch])).rows);
  }
  if (whole) changed.push(...(await client.query<IrmChange>(MISSING, [exporterId, readAt])).rows);
  return { count: rows.length, changed };
}

/** The IEC on which a client's IRMs agree; null: they have none, or several. */
export async function iecOfIrms(db: Queryable, exporterId: string): Promise<string | null> {
  const { rows } = await db.query<{ iec: string }>(
    'SELECT DISTINCT iec FROM irms WHERE exporter_id = $1 AND iec IS NOT NULL AND missing_since IS NULL LIMIT 2',
    [exporterId],
  );
  return agreedIec(rows.map(({ iec }) => iec));
}

/** SQL: the IRMs of client $1 that a whole list of the balances of $2 lacks. */
const MISSING = `WITH gone AS (
    UPDATE irms SET missing_since = $2, available = NULL, utilized = NULL, read_at = $2
     WHERE exporter_id = $1 AND read_at < $2 AND missing_since IS NULL RETURNING *
  ), noted AS (
    INSERT INTO irm_changes (exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, available, currency, purpose_code,
       status, what, seen_at)
    SELECT exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, NULL, currency, purpose_code, status, 'missing', $2 FROM gone
    RETURNING irm_number
  )
  SELECT irm_number AS "irmNumber", ARRAY['missing'] AS what FROM noted`;

/** Each IRM is looked up separately, because a join would read the IRMs of all exporters. */
const SAVE = `WITH incoming AS (
    SELECT r.*, CASE WHEN b.exporter_id IS NULL THEN 'first_seen' ELSE concat_ws(',',
        CASE WHEN (b.amount, b.currency, b.purpose_code) IS DISTINCT FROM (r.amount, r.currency, r."purposeCode") THEN 'amended' END,
        CASE WHEN b.available IS DISTINCT FROM r.available THEN 'balance' END,
        CASE WHEN b.status IS DISTINCT FROM r.status THEN CASE WHEN r.status ~* '${CANCELLED_STATUS}' THEN 'cancelled' ELSE 'status' END END) END AS what
      FROM jsonb_to_recordset($1::jsonb) AS r ("exporterId" text, "irmKey" text, "irmNumber" text, "adCode" text, "ifscCode" text,
        "issueDate" text, "remittanceDate" text, currency text, "purposeCode" text, amount numeric, available numeric,
        utilized numeric, status text, "remitterName" text, "remitterCountry" text, iec text, record jsonb, "readAt" timestamptz)
      LEFT JOIN LATERAL (SELECT * FROM irms b WHERE b.exporter_id = r."exporterId" AND b.irm_number = r."irmNumber"
         AND b.ad_code = r."adCode" AND b.ifsc_code = r."ifscCode" AND b.issue_date = r."issueDate" LIMIT 1) AS b ON true
     WHERE b.read_at IS NULL OR b.read_at <= r."readAt"
  ), saved AS (
    INSERT INTO irms (exporter_id, irm_key, irm_number, ad_code, ifsc_code, issue_date, remittance_date, currency, purpose_code,
       amount, available, utilized, status, remitter_name, remitter_country, iec, record, read_at)
    SELECT "exporterId", "irmKey", "irmNumber", "adCode", "ifscCode", "issueDate", "remittanceDate", currency, "purposeCode",
       amount, available, utilized, status, "remitterName", "remitterCountry", iec, record, "readAt" FROM incoming
    ON CONFLICT (exporter_id, irm_number, ad_code, ifsc_code, issue_date) DO UPDATE SET
       remittance_date = excluded.remittance_date, currency = excluded.currency, purpose_code = excluded.purpose_code,
       amount = excluded.amount, available = excluded.available, utilized = excluded.utilized, status = excluded.status,
       remitter_name = excluded.remitter_name, remitter_country = excluded.remitter_country, iec = excluded.iec,
       record = excluded.record, read_at = excluded.read_at, missing_since = NULL
  ), noted AS (
    INSERT INTO irm_changes (exporter_id, irm_number, ad_code, ifsc_code, issue_date, amount, available, currency, purpose_code,
       status, what, seen_at)
    SELECT "exporterId", "irmNumber", "adCode", "ifscCode", "issueDate", amount, available, currency, "purposeCode", status, what,
       "readAt" FROM incoming WHERE what <> '' RETURNING irm_number, what
  )
  SELECT irm_number AS "irmNumber", string_to_array(what, ',') AS what FROM noted WHERE what <> 'first_seen'`;

/** SQL: a DDMMYYYY date as a text that sorts by day. */
const issueDay = (date: string) => `substr(${date}, 5) || substr(${date}, 3, 2) || ${date}`;

/** IRMs of an exporter after one of them, newest issue first. */
export async function listIrms(
  db: Queryable,
  exporterId: string,
  { after, limit }: { after?: Pick<IrmRow, 'irmNumber' | 'adCode' | 'ifscCode' | 'issueDate'>; limit?: number } = {},
): Promise<IrmRow[]> {
  const where = new Conditions(exporterId, limit ?? null);
  if (after) {
    const [day, number, adCode, ifsc] = [after.issueDate, after.irmNumber, after.adCode, after.ifscCode].map(
      (value) => `$${where.values.push(value)}::text`,
    );
    where.add(
      true,
      (p) => `${p} AND (${issueDay('issue_date')} < ${issueDay(day ?? '')} OR (issue_date = ${day}
      AND (irm_number, ad_code, ifsc_code) > (${number}, ${adCode}, ${ifsc})))`,
    );
  }
  const { rows } = await db.query<IrmRow>(
    `SELECT ${COLUMNS} FROM irms WHERE exporter_id = $1 ${where.text}
      ORDER BY ${issueDay('issue_date')} DESC, irm_number, ad_code, ifsc_code LIMIT $2`,
    where.values,
  );
  return rows;
}

/** A client's IRMs with these comparable numbers. */
export async function irmsWithKeys(db: Queryable, exporterId: string, irmKeys: readonly string[]): Promise<IrmRow[]> {
  const { rows } = await db.query<IrmRow>(`SELECT ${COLUMNS} FROM irms WHERE exporter_id = $1 AND irm_key = ANY($2)`, [
    exporterId,
    irmKeys,
  ]);
  return rows;
}

/** An IRM of a company, as the client that read it last has it. */
export interface CompanyIrm extends HeldIrm {
  /** Its comparable number, by which rows and locks name it. */
  irmKey: string;
  /** The whole list of each client lacks it: it has no balance, and a row that names it is refused. */
  missing: boolean;
}

/** The IRMs with these comparable numbers, of all clients of a company, without missing ones of a listed number. */
export async function heldIrms(db: Queryable, company: Company, irmKeys: readonly string[]): Promise<CompanyIrm[]> {
  const { rows } = await db.query<IrmRow & { irmKey: string }>(
    `SELECT DISTINCT ON (irm_key, issue_date, ad_code, ifsc_code) ${COLUMNS}, irm_key AS "irmKey"
       FROM irms WHERE exporter_id IN ${clientsOfCompany('$1', '$2', '$3')} AND irm_key = ANY($4)
      ORDER BY irm_key, issue_date, ad_code, ifsc_code, missing_since IS NOT NULL, read_at DESC`,
    [company.mode, company.iec, company.exporterId, irmKeys],
  );
  const listed = new Set(rows.filter(({ missingSince }) => missingSince === null).map((row) => row.irmKey));
  return rows
    .filter((row) => row.missingSince === null || !listed.has(row.irmKey))
    .map((row) => ({ ...heldIrmOf(row), irmKey: row.irmKey, missing: row.missingSince !== null }));
}

/** A missing amount is unknown, not 0, and so is a balance that follows neither from the record nor from its amount. */
export function heldIrmOf(row: IrmRow): HeldIrm {
  const { amount, utilized, missingSince } = row;
  const left = amount === null || utilized === null ? amount : subtractAmounts(amount, utilized);
  return {
    irmNumber: row.irmNumber,
    irmAdCode: row.adCode,
    irmIfscCode: row.ifscCode,
    issueDate: isFilingDate(row.issueDate) ? row.issueDate : null,
    remittanceDate: isFilingDate(row.remittanceDate) ? row.remittanceDate : null,
    currency: row.currency ?? '',
    purpose: row.purposeCode ?? '',
    amount,
    available: missingSince === null ? (row.available ?? left) : null,
    status: row.status,
    readAt: row.readAt.getTime(),
  };
}

function rowOf(exporterId: string, record: IrmRecord, readAt: Date): IrmRow {
  return {
    exporterId,
    irmNumber: record.irmNumber.trim(),
    adCode: record.remittanceAdCode?.trim() ?? '',
    ifscCode: record.ifscCode?.trim() ?? '',
    issueDate: dateOf(record.irmIssueDate) ?? '',
    remittanceDate: dateOf(record.remittanceDate),
    currency: record.remittanceFCC?.trim().toUpperCase() || null,
    purposeCode: record.purposeOfRemittance?.trim() || null,
    amount: amountOf(record.remittanceFCCAmount),
    available: amountOf(record.irmAvailableAmt),
    utilized: amountOf(record.irmUtilizedAmt),
    status: record.irmStatus?.trim() || null,
    remitterName: record.remitterName,
    remitterCountry: record.remitterCountry,
    iec: readIec(record.iecCode),
    readAt,
    missingSince: null,
  };
}

/** A date that cannot be read is stored unchanged, so that two records remain two. */
function dateOf(value: string | null): string | null {
  return filingDateFromAnything(value) ?? (value?.trim() || null);
}

function amountOf(value: number | null): string | null {
  return value === null ? null : canonicalAmount(value);
}

/** How many IRMs the ledger has of each exporter; exporters without IRMs are absent. */
export async function countIrms(db: Queryable, exporterIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ exporterId: string; count: number }>(
    'SELECT exporter_id AS "exporterId", count(*)::int AS count FROM irms WHERE exporter_id = ANY($1) GROUP BY exporter_id',
    [exporterIds],
  );
  return new Map(rows.map(({ exporterId, count }) => [exporterId, count]));
}
