/** Sign-ins at the pages, with a token or at an identity provider. Only the hash of a session's secret is kept. */
import { createHash } from 'node:crypto';
import type { Mode } from '../../domain/names';
import type { Principal } from '../../domain/principal';
import { NEEDS_ATTENTION } from '../filings/filing';
import type { Queryable } from '../pool';
import { hashOfToken, PRINCIPAL_COLUMNS } from './principals';

export interface Session {
  principal: Principal;
  /** Signed in within the last minutes, so that a decision is not made at a screen that somebody left. */
  fresh: boolean;
  /** Opened at the identity provider, where the person signs in again. */
  atProvider: boolean;
}

/** How long a sign-in lasts at most, and how long decisions may be made after one. */
export const SIGNED_IN_S = 12 * 3_600;
export const FRESH_S = 15 * 60;
const LASTS = `interval '${SIGNED_IN_S} s'`;
const FRESH = `interval '${FRESH_S} s'`;

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/** Opens a session with a token that is valid now. Sessions that have ended are removed. */
export async function openSession(db: Queryable, secret: string, { token }: { token: string }): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM sessions WHERE ends_at < clock_timestamp())
     INSERT INTO sessions (session_hash, principal_id, token_hash, ends_at)
     SELECT $1, principal_id, token_hash, clock_timestamp() + ${LASTS} FROM principal_tokens WHERE token_hash = $2`,
    [hashOf(secret), hashOfToken(token)],
  );
}

/** Opens a session of a person whom the identity provider last asked at `signedInAt` who this is; null: unknown. */
export async function openSessionAtProvider(
  db: Queryable,
  secret: string,
  { principalId, signedInAt }: { principalId: string; signedInAt: Date | null },
): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM sessions WHERE ends_at < clock_timestamp())
     INSERT INTO sessions (session_hash, principal_id, signed_in_at, ends_at)
     VALUES ($1, $2, coalesce(least($3, clock_timestamp()), '-infinity'), clock_timestamp() + ${LASTS})`,
    [hashOf(secret), principalId, signedInAt],
  );
}

/** SQL: sessions `s` that are valid now, with their principals `p`; $1 their hashes, $2 the mode. */
const VALID = `FROM sessions s JOIN principals p USING (principal_id) LEFT JOIN principal_tokens t ON t.token_hash = s.token_hash
  WHERE s.session_hash = ANY($1::bytea[]) AND p.mode = $2 AND p.removed_at IS NULL AND s.ends_at > clock_timestamp()
    AND (t.ends_at IS NULL OR t.ends_at > clock_timestamp()) AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())`;

/** The session of a secret, if it is valid now; otherwise null. */
export async function readSession(db: Queryable, mode: Mode, secret: string): Promise<Session | null> {
  const { rows } = await db.query<Principal & Omit<Session, 'principal'>>(
    `SELECT ${PRINCIPAL_COLUMNS}, s.signed_in_at > clock_timestamp() - ${FRESH} AS fresh, s.token_hash IS NULL AS "atProvider" ${VALID}`,
    [[hashOf(secret)], mode],
  );
  if (!rows[0]) return null;
  const { fresh, atProvider, ...principal } = rows[0];
  return { principal, fresh, atProvider };
}

/** Signs in again: decisions may be made for the next minutes. */
export async function renewSession(db: Queryable, secret: string): Promise<void> {
  await db.query('UPDATE sessions SET signed_in_at = clock_timestamp() WHERE session_hash = $1', [hashOf(secret)]);
}

export async function endSession(db: Queryable, secret: string): Promise<void> {
  await db.query('DELETE FROM sessions WHERE session_hash = $1', [hashOf(secret)]);
}

/** Ends the sessions of a person whom the identity provider gives no role any more. */
export async function endSessionsAtProvider(db: Queryable, issuer: string, subject: string): Promise<void> {
  await db.query(
    'DELETE FROM sessions s USING principals p WHERE p.principal_id = s.principal_id AND p.issuer = $1 AND p.subject = $2',
    [issuer, subject],
  );
}

/** Signs a principal out everywhere. */
export async function endSessionsOf(db: Queryable, principalId: string): Promise<void> {
  await db.query('DELETE FROM sessions WHERE principal_id = $1', [principalId]);
}

export interface PagesLook {
  /** The sessions that are valid now, by their secrets: ids of the exporters that each may see; null: all. */
  sessions: ReadonlyMap<string, readonly string[] | null>;
  /** For each filing, and for `needs-you`: a text that is another one as soon as something changed. */
  versions: ReadonlyMap<string, { version: string; exporterId: string | null }>;
}

/** SQL: the version of filing `f`. */
const VERSION = `f.moves || '.' || coalesce((SELECT max(ordinal) FROM events e WHERE e.filing_id = f.filing_id), 0)`;

/** SQL: the version of everything that needs somebody; $2 the mode. */
const NEEDS = `SELECT count(*) || '.' || coalesce(sum(moves), 0) || '.' || (SELECT count(*) || '.' || coalesce(max(extract(epoch FROM first_seen_at)), 0)
    FROM findings WHERE mode = $2 AND closed_at IS NULL AND acknowledged_at IS NULL) FROM filings f WHERE f.mode = $2 AND ${NEEDS_ATTENTION}`;

/** The name under which {@link lookForPages} tells of everything that needs somebody. */
export const NEEDS_YOU = 'needs-you';

/** What the open pages wait for, with one statement for all of them. */
export async function lookForPages(
  db: Queryable,
  { mode, secrets, about }: { mode: Mode; secrets: readonly string[]; about: readonly string[] },
): Promise<PagesLook> {
  const hashes = new Map(secrets.map((secret) => [hashOf(secret).toString('hex'), secret]));
  const { rows } = await db.query<{ key: string; version: string | null; exporters: string[] | null }>(
    `SELECT encode(s.session_hash, 'hex') AS key, NULL AS version, p.exporters ${VALID}
     UNION ALL SELECT f.filing_id, ${VERSION}, ARRAY[lower(f.exporter_id)] FROM filings f WHERE f.filing_id = ANY($3) AND f.mode = $2
     UNION ALL SELECT '${NEEDS_YOU}', (${NEEDS}), NULL WHERE '${NEEDS_YOU}' = ANY($3)`,
    [[...hashes.keys()].map((hash) => Buffer.from(hash, 'hex')), mode, about],
  );
  const sessions = new Map<string, string[] | null>();
  const versions = new Map<string, { version: string; exporterId: string | null }>();
  for (const { key, version, exporters } of rows) {
    if (version === null) sessions.set(hashes.get(key) ?? '', exporters);
    else versions.set(key, { version, exporterId: exporters?.[0] ?? null });
  }
  return { sessions, versions };
}
