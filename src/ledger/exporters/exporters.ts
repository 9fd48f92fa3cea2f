import type pg from 'pg';
import { readIec } from '../../domain/identity';
import { IEC_SOURCES, SHOWN_BY, type IecSource, type Standing } from '../../domain/exporter/exporter';
import type { Mode } from '../../domain/names';
import { closeFinding, openFinding } from '../findings';
import { ISO } from '../paging';
import { withTransaction, type Queryable } from '../pool';

/** The stored properties of a platform customer (spec: "Platform customer"); null: not stated. */
export interface CustomerRecord {
  id: string;
  name: string | null;
  email: string | null;
  companyName: string | null;
  iec: string | null;
  address: string | null;
  isActive: boolean | null;
  hasDgftCredentials: boolean | null;
  /** Omitted by the list, and until credentials are on file. */
  dgftApiStatus: { state: string | null; activatesAt: string | null; sharedCredentialsLikely: boolean | null } | null;
}

export interface ExporterRow {
  /** In the service's spelling; ids are compared in lower case. */
  exporterId: string;
  /** Ten upper-case letters and digits, by the strongest source. Clients of one IEC are one company. */
  iec: string | null;
  iecSource: IecSource | null;
  mode: Mode;
  name: string;
  email: string;
  companyName: string | null;
  /** The IEC that was entered for the client. */
  statedIec: string | null;
  address: string | null;
  isActive: boolean;
  hasCredentials: boolean;
  /** ready, activation_pending, or another word of the service; null: it never sent one. */
  apiState: string | null;
  /** ISO 8601. */
  activatesAt: string | null;
  sharedCredentialsLikely: boolean | null;
  /** Whether its filings wait for a second person's approval. */
  requiresApproval: boolean;
  /** When the last successful live refresh of its IRMs began; null: there was none. */
  irmsRefreshedAt: Date | null;
  readAt: Date;
  state: Standing;
}

const COLUMNS = `exporter_id AS "exporterId", mode, name, email, company_name AS "companyName", iec,
  iec_source AS "iecSource", stated_iec AS "statedIec", address,
  is_active AS "isActive", has_credentials AS "hasCredentials", api_state AS "apiState",
  ${ISO('activates_at')} AS "activatesAt", shared_credentials_likely AS "sharedCredentialsLikely",
  requires_approval AS "requiresApproval", irms_refreshed_at AS "irmsRefreshedAt", read_at AS "readAt", state`;

/**
 * Stores a client as the service returned it to a call that began at `at` (PostgreSQL's clock). Omitted properties keep
 * their values; an older answer changes nothing.
 */
export async function saveExporter(
  pool: pg.Pool,
  customer: CustomerRecord,
  mode: Mode,
  at: Date,
): Promise<ExporterRow> {
  const statedIec = readIec(customer.iec);
  return withTransaction(pool, async (client) => {
    const saved = await upsert(client, { customer, statedIec, mode, at });
    // Without a row the ledger has a newer state.
    if (!saved || statedIec === null) return saved ?? needExporter(client, customer.id);
    const { exporterId } = saved;
    await learnIec(client, { exporterId, iec: statedIec, source: 'client' });
    return needExporter(client, exporterId);
  });
}

async function upsert(
  client: Queryable,
  args: { customer: CustomerRecord; statedIec: string | null; mode: Mode; at: Date },
): Promise<ExporterRow | undefined> {
  const { customer, statedIec, mode, at } = args;
  const { id, name, email, companyName, address, isActive, hasDgftCredentials, dgftApiStatus: status } = customer;
  const stated = [id, mode, name, email, companyName, statedIec, address, isActive, hasDgftCredentials];
  const api = [status !== null, status?.state, timeOf(status?.activatesAt), status?.sharedCredentialsLikely];
  const { rows } = await client.query<ExporterRow>(
    `INSERT INTO exporters AS e (exporter_id, mode, name, email, company_name, stated_iec, address, is_active,
       has_credentials, api_state, activates_at, shared_credentials_likely, read_at)
     VALUES ($1, $2, coalesce($3, ''), coalesce($4, ''), $5, $6, $7, coalesce($8, false), coalesce($9, false), $11, $12, $13, $14)
     ON CONFLICT (lower(exporter_id)) DO UPDATE SET
       name = coalesce($3, e.name), email = coalesce($4, e.email), company_name = excluded.company_name,
       stated_iec = coalesce(excluded.stated_iec, e.stated_iec), address = excluded.address,
       is_active = coalesce($8, e.is_active), has_credentials = coalesce($9, e.has_credentials),
       api_state = CASE WHEN $10 THEN excluded.api_state ELSE e.api_state END,
       activates_at = CASE WHEN $10 THEN excluded.activates_at ELSE e.activates_at END,
       shared_credentials_likely = coalesce(excluded.shared_credentials_likely, e.shared_credentials_likely),
       read_at = excluded.read_at
     WHERE e.read_at <= excluded.read_at
     RETURNING ${COLUMNS}`,
    [...stated, ...api, at],
  );
  return rows[0];
}

/**
 * Takes an IEC that a source shows, unless a stronger source, another status record, or held rows of the exporter have
 * another one: then it is refused with a finding. Requires a transaction; the exporter is locked.
 */
export async function learnIec(
  client: Queryable,
  { exporterId, iec: shown, source }: { exporterId: string; iec: string | null; source: IecSource },
): Promise<'known' | 'learned' | 'differs'> {
  const iec = readIec(shown);
  const known = iec === null ? null : await getExporter(client, exporterId, 'FOR NO KEY UPDATE');
  if (iec === null || !known) return 'known';
  const about = {
    mode: known.mode,
    iec: known.iec,
    kind: 'iec_differs',
    subject: `${known.exporterId}/${source}`,
  } as const;
  if (known.iec !== null && known.iec !== iec && !(await mayReplace(client, known, source))) {
    const text =
      `Two IECs are shown for the exporter: ${SHOWN_BY[known.iecSource ?? 'client']} ${known.iec}, which is used, and ` +
      `${SHOWN_BY[source]} ${iec}. Find out at the portal which is right: filings and certificates are those of the used one.`;
    const sides = { ours: { iec: known.iec }, theirs: { iec } };
    await openFinding(client, { ...about, exporterId: known.exporterId, text, ...sides });
    return 'differs';
  }
  const news = known.iec !== iec;
  if (news || outranks(source, known.iecSource)) {
    await client.query('UPDATE exporters SET iec = $2, iec_source = $3 WHERE exporter_id = $1', [
      ...[known.exporterId, iec, source],
    ]);
  }
  await closeFinding(client, about);
  return news ? 'learned' : 'known';
}

/** Whether another IEC of this source replaces the known one. One status record does not outweigh another. */
async function mayReplace(client: Queryable, known: ExporterRow, source: IecSource): Promise<boolean> {
  if (outranks(known.iecSource, source) || (known.iecSource === source && source === 'status')) return false;
  const { rows } = await client.query<{ held: boolean }>(
    `SELECT EXISTS (SELECT FROM filings f JOIN filing_rows r USING (filing_id)
       WHERE f.exporter_id = $1 AND r.iec = $2 AND r.held) AS held`,
    [known.exporterId, known.iec],
  );
  return rows[0]?.held === false;
}

/** Whether one source of an IEC is stronger than another. */
function outranks(one: IecSource | null, other: IecSource | null): boolean {
  const rank = (source: IecSource | null) => (source === null ? -1 : IEC_SOURCES.indexOf(source));
  return rank(one) > rank(other);
}

export async function getExporter(
  db: Queryable,
  exporterId: string,
  lock: '' | 'FOR SHARE' | 'FOR NO KEY UPDATE' = '',
): Promise<ExporterRow | null> {
  const { rows } = await db.query<ExporterRow>(
    `SELECT ${COLUMNS} FROM exporters WHERE lower(exporter_id) = lower($1) ${lock}`,
    [exporterId.trim()],
  );
  return rows[0] ?? null;
}

/** @throws Error naming the id, if the ledger does not hold the exporter */
export async function needExporter(db: Queryable, exporterId: string, lock?: 'FOR SHARE'): Promise<ExporterRow> {
  const exporter = await getExporter(db, exporterId, lock);
  if (exporter) return exporter;
  throw new Error(`Exporter ${exporterId} is not in this ledger. Onboard it, or check DATABASE_URL.`);
}

/** Locks an exporter against changes of its IEC and approval policy. Comes before rows in the order of locks. */
export const lockExporter = (client: Queryable, exporterId: string): Promise<ExporterRow> =>
  needExporter(client, exporterId, 'FOR SHARE');

/** An exporter by id or e-mail, in any letter case; the last one read, if a client was deleted and created again. */
export async function findExporter(db: Queryable, mode: Mode, idOrEmail: string): Promise<ExporterRow | null> {
  const { rows } = await db.query<ExporterRow>(
    `SELECT ${COLUMNS} FROM exporters WHERE mode = $1 AND (lower(exporter_id) = lower($2) OR lower(email) = lower($2))
      ORDER BY (lower(exporter_id) = lower($2)) DESC, read_at DESC LIMIT 1`,
    [mode, idOrEmail.trim()],
  );
  return rows[0] ?? null;
}

export async function exporterNames(db: Queryable, exporterIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ id: string; name: string }>(
    `SELECT asked.id, e.name FROM unnest($1::text[]) AS asked (id)
       JOIN exporters e ON lower(e.exporter_id) = lower(asked.id)`,
    [exporterIds],
  );
  return new Map(rows.map(({ id, name }) => [id, name]));
}

export async function listExporters(
  db: Queryable,
  mode: Mode,
  { after = null, limit = null }: { after?: string | null; limit?: number | null } = {},
): Promise<ExporterRow[]> {
  const { rows } = await db.query<ExporterRow>(
    `SELECT ${COLUMNS} FROM exporters
      WHERE mode = $1 AND ($2::text IS NULL OR (lower(name), exporter_id) >
        (SELECT lower(e.name), e.exporter_id FROM exporters e WHERE e.exporter_id = $2))
      ORDER BY lower(name), exporter_id LIMIT $3`,
    [mode, after, limit],
  );
  return rows;
}

/** A page of a mode's exporters after the id `after`. @param exporters lower-cased ids to include; null: all */
export async function exportersAfter(
  db: Queryable,
  { mode, after, limit, exporters = null }: { mode: Mode; after: string; limit: number; exporters?: string[] | null },
): Promise<ExporterRow[]> {
  const { rows } = await db.query<ExporterRow>(
    `SELECT ${COLUMNS} FROM exporters WHERE mode = $1 AND exporter_id > $2 AND ($4::text[] IS NULL OR lower(exporter_id) = ANY($4))
      ORDER BY exporter_id LIMIT $3`,
    [mode, after, limit, exporters],
  );
  return rows;
}

/** Records that a live refresh that began at `at` succeeded; an earlier time changes nothing. */
export async function noteIrmsRefreshed(db: Queryable, exporterId: string, at: Date): Promise<void> {
  await db.query('UPDATE exporters SET irms_refreshed_at = greatest(irms_refreshed_at, $2) WHERE exporter_id = $1', [
    exporterId,
    at,
  ]);
}

/** Whose filings are: the company with this IEC, or, until it is known, the client alone. */
export interface Company {
  mode: Mode;
  iec: string | null;
  exporterId: string;
}

/** SQL: the ids of a company's clients, by its mode, IEC and client. */
export const clientsOfCompany = (mode: string, iec: string, exporterId: string): string =>
  `(SELECT exporter_id FROM exporters WHERE (mode = ${mode} AND iec = ${iec}) OR exporter_id = ${exporterId})`;

/** The clients of a company that can be called, with `exporterId` first, whatever its state. */
export async function callableClients(db: Queryable, { mode, iec, exporterId }: Company): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT exporter_id AS id FROM exporters WHERE mode = $1 AND iec = $2 AND state = 'ready' AND exporter_id <> $3
      ORDER BY exporter_id`,
    [mode, iec, exporterId],
  );
  return [exporterId, ...rows.map(({ id }) => id)];
}

function timeOf(iso: string | null = null): Date | null {
  const time = Date.parse(iso ?? '');
  return Number.isNaN(time) ? null : new Date(time);
}
