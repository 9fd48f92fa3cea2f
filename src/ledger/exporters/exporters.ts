import type pg from 'pg';
import { readIec } from '../../domain/identity';
import { IEC_SOURCES, type IecSource, type Standing } from '../../domain/exporter/exporter';
import type { Mode } from '../../domain/names';
import { askAboutIec, attachByEmail, attachToIec, lockForPartyChange, lockPartyChanges, partyForNew } from './parties';
import type { KnownIec } from './parties';
import { ISO } from '../paging';
import { withTransaction, type Queryable } from '../pool';
import { credentialsHeld, type CredentialVersion } from '../vault/credentials';

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

export interface ExporterRow extends KnownIec {
  /** In the service's spelling; ids are compared in lower case. */
  exporterId: string;
  /** The party that its filings belong to. All clients of one IEC are one party. */
  partyId: number;
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

const COLUMNS = `exporter_id AS "exporterId", party_id AS "partyId", mode, name, email, company_name AS "companyName", iec,
  iec_source AS "iecSource", stated_iec AS "statedIec", address,
  is_active AS "isActive", has_credentials AS "hasCredentials", api_state AS "apiState",
  ${ISO('activates_at')} AS "activatesAt", shared_credentials_likely AS "sharedCredentialsLikely",
  requires_approval AS "requiresApproval", irms_refreshed_at AS "irmsRefreshedAt", read_at AS "readAt", state`;

/**
 * Stores a client as the service returned it at `at`. Omitted properties keep their values; an older answer changes
 * nothing. A new IEC attaches the client to that IEC's party, unless the portal showed one.
 */
export async function saveExporter(
  pool: pg.Pool,
  customer: CustomerRecord,
  mode: Mode,
  at: Date,
): Promise<ExporterRow> {
  const statedIec = readIec(customer.iec);
  return withTransaction(pool, async (client) => {
    const known = await getExporter(client, customer.id);
    const iec = known !== null && outranks(known.iecSource, 'client') ? known.iec : statedIec;
    const placed = known !== null && (iec === null || known.iec === iec);
    // Taken before any row is locked, because a change of a party locks its filings, clients and rows, in this order.
    if (!placed && iec === null) await lockPartyChanges(client, mode);
    if (!placed && iec !== null) {
      await lockForPartyChange(client, { mode, exporterId: customer.id, iec, email: customer.email });
    }
    const before = placed ? known : await getExporter(client, customer.id);
    const party = before?.partyId ?? (await partyForNew(client, { mode, iec, email: customer.email }));
    // Without the lock the IEC is left alone, because another one may have become known since it was read.
    const saved = await upsert(client, { customer, statedIec, iec: placed ? null : statedIec, party, mode, at });
    // Without a row the ledger has a newer state.
    if (!saved) return needExporter(client, customer.id);
    if (placed || iec === null) return saved;
    const { exporterId, email } = saved;
    await attachToIec(client, { mode, exporterId, iec: saved.iec ?? iec, at });
    if (before && before.iec !== null && before.iec !== iec)
      await askAboutIec(client, { exporterId, known: before, shown: iec, source: 'client', used: saved.iec, at });
    await attachByEmail(client, { mode, exporterId, email, at });
    return needExporter(client, exporterId);
  });
}

async function upsert(
  client: Queryable,
  args: {
    customer: CustomerRecord;
    statedIec: string | null;
    iec: string | null;
    party: number;
    mode: Mode;
    at: Date;
  },
): Promise<ExporterRow | undefined> {
  const { customer, statedIec, iec, party, mode, at } = args;
  const { id, name, email, companyName, address, isActive, hasDgftCredentials, dgftApiStatus: status } = customer;
  const stated = [id, mode, name, email, companyName, statedIec, address, isActive, hasDgftCredentials];
  const api = [status !== null, status?.state, timeOf(status?.activatesAt), status?.sharedCredentialsLikely];
  const { rows } = await client.query<ExporterRow>(
    `INSERT INTO exporters AS e (exporter_id, party_id, mode, name, email, company_name, stated_iec, iec, iec_source, address, is_active,
       has_credentials, api_state, activates_at, shared_credentials_likely, read_at)
     VALUES ($1, $15, $2, coalesce($3, ''), coalesce($4, ''), $5, $6, $16, CASE WHEN $16::text IS NOT NULL THEN 'client' END, $7,
       coalesce($8, false), coalesce($9, false), $11, $12, $13, $14)
     ON CONFLICT (lower(exporter_id)) DO UPDATE SET
       name = coalesce($3, e.name), email = coalesce($4, e.email), company_name = excluded.company_name,
       stated_iec = coalesce(excluded.stated_iec, e.stated_iec),
       iec = CASE WHEN e.iec_source <> 'client' THEN e.iec ELSE coalesce(excluded.iec, e.iec) END,
       iec_source = CASE WHEN e.iec_source <> 'client' THEN e.iec_source ELSE coalesce(excluded.iec_source, e.iec_source) END,
       address = excluded.address,
       is_active = coalesce($8, e.is_active), has_credentials = coalesce($9, e.has_credentials),
       api_state = CASE WHEN $10 THEN excluded.api_state ELSE e.api_state END,
       activates_at = CASE WHEN $10 THEN excluded.activates_at ELSE e.activates_at END,
       shared_credentials_likely = coalesce(excluded.shared_credentials_likely, e.shared_credentials_likely),
       read_at = excluded.read_at
     WHERE e.read_at <= excluded.read_at
     RETURNING ${COLUMNS}`,
    [...stated, ...api, at, party, iec],
  );
  return rows[0];
}

/**
 * Records an IEC that a source shows and attaches the exporter to its party, unless a stronger source, or another
 * status record, shows another IEC. Open filings ask about a difference.
 */
export async function learnIec(
  pool: pg.Pool,
  { exporterId, iec: shown, source, at }: { exporterId: string; iec: string | null; source: IecSource; at: Date },
): Promise<void> {
  const iec = readIec(shown);
  const seen = iec === null ? null : await getExporter(pool, exporterId);
  if (iec === null || !seen || !tellsIec(seen, iec, source)) return;
  const { mode, exporterId: id, email } = seen;
  await withTransaction(pool, async (client) => {
    await lockForPartyChange(client, { mode, exporterId: id, iec, email });
    const known = (await getExporter(client, id)) ?? seen;
    const taken = known.iec === iec ? !outranks(known.iecSource, source) : isReplacedBy(known, source);
    if (taken)
      await client.query('UPDATE exporters SET iec = $2, iec_source = $3 WHERE exporter_id = $1', [id, iec, source]);
    if (known.iec === iec) return;
    if (taken) await attachToIec(client, { mode, exporterId: id, iec, at });
    if (known.iec !== null)
      await askAboutIec(client, { exporterId: id, known, shown: iec, source, used: taken ? iec : known.iec, at });
  });
}

export const IEC_OF_CLIENT = 'e.iec, e.iec_source AS "iecSource"';

/** Whether an IEC that a source shows is news: another IEC, or the known one from a stronger source. */
export function tellsIec(known: KnownIec, iec: string | null, source: IecSource): boolean {
  const shown = readIec(iec);
  if (shown === null) return false;
  return known.iec !== shown || (known.iecSource !== source && !outranks(known.iecSource, source));
}

/** Whether a known IEC is replaced by another one of this source. One status record does not outweigh another. */
const isReplacedBy = ({ iec, iecSource }: KnownIec, source: IecSource): boolean =>
  iec === null || (!outranks(iecSource, source) && (iecSource !== source || source !== 'status'));

/** Whether one source of an IEC is stronger than another. */
function outranks(known: IecSource | null, other: IecSource): boolean {
  return known !== null && IEC_SOURCES.indexOf(known) > IEC_SOURCES.indexOf(other);
}

export async function getExporter(
  db: Queryable,
  exporterId: string,
  lock: '' | 'FOR SHARE' = '',
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

/** Locks an exporter against changes of its party and approval policy. Comes before rows in the order of locks. */
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

/** What a call of fetch-details needs of its client. */
export interface DetailsCaller {
  /** The client's IEC, or its party's; null: not known yet. */
  iecCode: string | null;
  credentials: CredentialVersion | null;
}

/** SQL: the {@link DetailsCaller} of client $1. */
export const DETAILS_CALLER = `SELECT coalesce(e.iec, p.iec) AS "iecCode", ${credentialsHeld('e.exporter_id')} AS credentials
    FROM exporters e JOIN parties p USING (party_id) WHERE lower(e.exporter_id) = lower($1)`;

export async function readDetailsCaller(db: Queryable, exporterId: string): Promise<DetailsCaller> {
  const { rows } = await db.query<DetailsCaller>(DETAILS_CALLER, [exporterId]);
  return rows[0] ?? { iecCode: null, credentials: null };
}

function timeOf(iso: string | null = null): Date | null {
  const time = Date.parse(iso ?? '');
  return Number.isNaN(time) ? null : new Date(time);
}
