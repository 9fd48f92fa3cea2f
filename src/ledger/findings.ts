/** Differences and contradictions that somebody has to look at: opened, renewed, acknowledged and closed here. */
import {
  adviceOfKind,
  FINDING_KINDS,
  isOfCompany,
  noFindings,
  type FindingKind,
  type FindingView,
} from '../domain/reconciliation/findings';
import type { Mode } from '../domain/names';
import { ISO } from './paging';
import type { Queryable } from './pool';

/** What identifies an open finding. The same one keeps its age until a fact closes it. */
export interface FindingKey {
  mode: Mode;
  /** The company; null if it concerns none, or its IEC is not known. */
  iec: string | null;
  kind: FindingKind;
  /** The certificate, row, IRM, filing or exporter that it is about. */
  subject: string;
}

export interface NewFinding extends FindingKey {
  /** What a person should know and do. Default: the advice of its kind. */
  text?: string;
  reason?: string;
  exporterId?: string | null;
  filingId?: string | null;
  /** The Excel row or `serialNo`. */
  row?: number | null;
  eBRCNumber?: string | null;
  irmNumber?: string | null;
  /** The day that a reading must cover before the comparison may close it; YYYY-MM-DD. */
  onDate?: string | null;
  /** Exact decimal text. */
  amount?: string | null;
  currency?: string | null;
  ours?: unknown;
  theirs?: unknown;
}

/** The key of a finding. The ids of filings and exporters are unique, and their IEC may become known only later. */
export const keyOfFinding = ({ iec, kind, subject }: Omit<FindingKey, 'mode'>): string =>
  [kind, ...(isOfCompany(kind) ? [iec ?? ''] : []), subject].join('|');

/** SQL: whether an acknowledgement of finding `f` still holds for what is found now: the same amount, or status. */
export const SAME_AS_ACKNOWLEDGED = (now: string) =>
  `f.amount IS NOT DISTINCT FROM ${now}.amount AND (f.kind <> 'status_changed' OR f.reason IS NOT DISTINCT FROM ${now}.reason)`;

/** Opens a finding, or renews the open one. @returns whether it is new */
export async function openFinding(db: Queryable, finding: NewFinding): Promise<boolean> {
  const { mode, iec, kind, text, reason, exporterId, filingId, row, eBRCNumber, irmNumber, onDate } = finding;
  const { amount, currency, ours, theirs } = finding;
  const { rows } = await db.query<{ fresh: boolean }>(
    `INSERT INTO findings AS f (mode, iec, key, kind, text, reason, exporter_id, filing_id, source_row, ebrc_number, irm_number,
        on_date, amount, currency, ours, theirs, first_seen_at, last_seen_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, clock_timestamp(), clock_timestamp())
     ON CONFLICT (mode, key) WHERE closed_at IS NULL DO UPDATE SET last_seen_at = excluded.last_seen_at, text = excluded.text,
        reason = excluded.reason, exporter_id = excluded.exporter_id, filing_id = excluded.filing_id, amount = excluded.amount,
        currency = excluded.currency, ours = excluded.ours, theirs = excluded.theirs,
        acknowledged_at = CASE WHEN ${SAME_AS_ACKNOWLEDGED('excluded')} THEN f.acknowledged_at END
     RETURNING xmax = 0 AS fresh`,
    [
      ...[
        mode,
        iec,
        keyOfFinding(finding),
        kind,
        text,
        reason,
        exporterId,
        filingId,
        row,
        eBRCNumber,
        irmNumber,
        onDate,
      ],
      ...[amount, currency, jsonOf(ours), jsonOf(theirs)],
    ],
  );
  return rows[0]?.fresh ?? false;
}

const jsonOf = (value: unknown): string | null =>
  value === undefined || value === null ? null : JSON.stringify(value);

/** Closes a finding because a fact removed it. `healed`: what was done about it. @returns whether it was open */
export async function closeFinding(db: Queryable, key: FindingKey, healed?: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE findings SET closed_at = clock_timestamp(), healed = coalesce($3, healed)
      WHERE mode = $1 AND key = $2 AND closed_at IS NULL`,
    [key.mode, keyOfFinding(key), healed],
  );
  return rowCount === 1;
}

/** Closes what was found of a filing's delay, because it ended. */
export async function closeDelay(db: Queryable, { mode, filingId }: { mode: Mode; filingId: string }): Promise<void> {
  const kinds = ['filing_overdue', 'outcome_unknown'] as const;
  await db.query(
    'UPDATE findings SET closed_at = clock_timestamp() WHERE mode = $1 AND key = ANY($2) AND closed_at IS NULL',
    [mode, kinds.map((kind) => keyOfFinding({ iec: null, kind, subject: filingId }))],
  );
}

/** Records what was done about a finding; the repair may have closed it already. */
export async function noteHealed(db: Queryable, key: FindingKey, healed: string): Promise<void> {
  await db.query(
    `UPDATE findings SET healed = $3 WHERE finding_id =
       (SELECT finding_id FROM findings WHERE mode = $1 AND key = $2 ORDER BY first_seen_at DESC LIMIT 1)`,
    [key.mode, keyOfFinding(key), healed],
  );
}

/** SQL: the columns of a finding for who sees these exporters (lower-cased ids; null: all). */
const COLUMNS = (exporters: string) => `finding_id AS id, kind, exporter_id AS "exporterId",
  (SELECT name FROM exporters e WHERE e.exporter_id = findings.exporter_id) AS "exporterName", ebrc_number AS "eBRCNumber",
  filing_id AS "filingId", source_row AS row, irm_number AS "irmNumber", ours, theirs, amount::text AS amount, currency,
  coalesce(reason, text) AS reason, greatest(0, extract(day FROM coalesce(closed_at, last_seen_at) - first_seen_at))::int AS "ageDays",
  ${ISO('first_seen_at')} AS "firstSeenAt", ${ISO('last_seen_at')} AS "lastSeenAt", ${ISO('closed_at')} AS "closedAt", healed,
  ${ISO('acknowledged_at')} AS "acknowledgedAt", acknowledged_by AS "acknowledgedBy", note,
  kind = 'outcome_unknown' AND EXISTS (SELECT FROM filings l WHERE l.filing_id = findings.filing_id AND l.closed_at IS NULL
    AND NOT l.asked) AS "gathering",
  ${exporters}::text[] IS NULL OR exporter_id IS NULL OR lower(exporter_id) = ANY(${exporters}) AS "isOwn"`;

/**
 * `gathering`: evidence of an unknown outcome is gathered, and nobody is asked yet. `isOwn`: it is of no exporter, or
 * of one that the reader sees; otherwise it is of another client of the company.
 */
type StoredFinding = Omit<FindingView, 'advice'> & { gathering: boolean; isOwn: boolean };

const GATHERING =
  'Evidence of whether it was filed is gathered: nothing has to be done yet. If it is not conclusive, a person is asked.';

/** Of another client of the company it names no filing. */
const viewOf = ({ gathering, isOwn, ...row }: StoredFinding): FindingView => ({
  ...row,
  ...(!isOwn && { filingId: null, ours: null, reason: row.filingId === null ? row.reason : null }),
  advice: gathering ? GATHERING : adviceOfKind(row.kind),
});

/** SQL: whether a finding is of one of these exporters (lower-cased ids; null: all), or of its company. */
const isOfExporters = (ids: string) =>
  `(${ids}::text[] IS NULL OR lower(exporter_id) = ANY(${ids}) OR (mode, iec) IN (
     SELECT e.mode, e.iec FROM exporters e WHERE lower(e.exporter_id) = ANY(${ids}) AND e.iec IS NOT NULL))`;

/** Findings, oldest first: open ones that nobody has acknowledged, or all. */
export async function listFindings(
  db: Queryable,
  filter: {
    mode: Mode;
    /** Lower-cased ids of exporters whose companies' findings are listed; null: all. */
    exporters?: readonly string[] | null;
    filingId?: string;
    kind?: FindingKind;
    all?: boolean;
    /** The id of the last one that was read. */
    after?: string;
    limit?: number;
  },
): Promise<FindingView[]> {
  const { mode, exporters, filingId, kind, all = false, after, limit } = filter;
  const { rows } = await db.query<StoredFinding>(
    `SELECT ${COLUMNS('$2')} FROM findings
      WHERE mode = $1 AND ${isOfExporters('$2')} AND ($3::text IS NULL OR kind = $3)
        AND ($4 OR (closed_at IS NULL AND acknowledged_at IS NULL))
        AND ($6::text IS NULL OR (first_seen_at, finding_id) > (SELECT first_seen_at, finding_id FROM findings WHERE finding_id = $6))
        AND ($7::text IS NULL OR filing_id = $7)
      ORDER BY first_seen_at, finding_id LIMIT $5`,
    [mode, exporters, kind, all, limit, after, filingId],
  );
  return rows.map(viewOf);
}

/** Findings of exporters' companies (null: all) that repairs closed since a reconciliation began. */
export async function healedFindings(
  db: Queryable,
  { mode, exporters, runId }: { mode: Mode; exporters: readonly string[] | null; runId: string },
): Promise<FindingView[]> {
  const { rows } = await db.query<StoredFinding>(
    `SELECT ${COLUMNS('$2')} FROM findings
      WHERE mode = $1 AND ${isOfExporters('$2')} AND healed IS NOT NULL
        AND closed_at >= (SELECT started_at FROM reconciliation_runs WHERE run_id = $3)
      ORDER BY first_seen_at, finding_id`,
    [mode, exporters, runId],
  );
  return rows.map(viewOf);
}

/** Open findings by kind, acknowledged ones included; of exporters' companies, null: of all. */
export async function countFindings(
  db: Queryable,
  { mode, exporters }: { mode: Mode; exporters: readonly string[] | null },
): Promise<Record<FindingKind, number>> {
  const { rows } = await db.query<{ kind: FindingKind; n: number }>(
    `SELECT kind, count(*)::int AS n FROM findings
      WHERE mode = $1 AND ${isOfExporters('$2')} AND closed_at IS NULL AND kind = ANY($3) GROUP BY kind`,
    [mode, exporters, FINDING_KINDS],
  );
  return { ...noFindings(), ...Object.fromEntries(rows.map(({ kind, n }) => [kind, n])) };
}

/** Acknowledges a finding without closing it. Null: there is none of that id, or only facts close it. */
export async function acknowledgeFinding(
  db: Queryable,
  args: { mode: Mode; id: string; by: string; note: string; exporters?: readonly string[] | null },
): Promise<FindingView | null> {
  const { mode, id, by, note, exporters } = args;
  const { rows } = await db.query<StoredFinding>(
    `UPDATE findings SET acknowledged_at = clock_timestamp(), acknowledged_by = $3, note = $4
      WHERE mode = $1 AND finding_id = $2 AND kind <> 'ledger_went_back' AND ${isOfExporters('$5')}
      RETURNING ${COLUMNS('$5')}`,
    [mode, id, by, note, exporters],
  );
  return rows[0] ? viewOf(rows[0]) : null;
}
