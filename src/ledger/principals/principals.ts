/** The persons and systems that may use the HTTP API, their tokens, and the audit of what they did. */
import { type Principal, type Role, personKey } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import { cleanText, cutText } from '../../domain/text';
import type { Queryable } from '../pool';
import { createHash, randomBytes } from 'node:crypto';

export const PRINCIPAL_COLUMNS = `p.principal_id AS "principalId", p.mode, p.name, p.is_system AS "isSystem", p.roles, p.exporters,
  p.expires_at AS "expiresAt"`;

/** Adds a principal, also under the name of a removed one. @returns null if the name is in use */
export async function addPrincipal(
  db: Queryable,
  principal: {
    mode: Mode;
    name: string;
    isSystem: boolean;
    roles: readonly Role[];
    exporters: readonly string[] | null;
    expiresAt: Date | null;
  },
): Promise<Principal | null> {
  const { mode, name, isSystem, roles, exporters, expiresAt } = principal;
  const { rows } = await db.query<Principal>(
    `INSERT INTO principals AS p (mode, name, name_key, is_system, roles, exporters, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (mode, name_key) DO UPDATE SET name = $2, is_system = $4, roles = $5, exporters = $6, expires_at = $7, removed_at = NULL, created_at = now()
       WHERE p.removed_at IS NOT NULL
     RETURNING ${PRINCIPAL_COLUMNS}`,
    [mode, name, personKey(name), isSystem, roles, exporters?.map((id) => id.toLowerCase()) ?? null, expiresAt],
  );
  return rows[0] ?? null;
}

/** The principal with this name, in any spelling; null if there is none or it was removed. */
export async function findPrincipal(db: Queryable, mode: Mode, name: string): Promise<Principal | null> {
  const { rows } = await db.query<Principal>(
    `SELECT ${PRINCIPAL_COLUMNS} FROM principals p WHERE mode = $1 AND name_key = $2 AND removed_at IS NULL`,
    [mode, personKey(name)],
  );
  return rows[0] ?? null;
}

export async function listPrincipals(db: Queryable, mode: Mode) {
  const { rows } = await db.query<
    Principal & {
      createdAt: Date;
      /** The identity provider where this person signs in; null: only with a token. */
      issuer: string | null;
      tokens: number;
    }
  >(
    `SELECT ${PRINCIPAL_COLUMNS}, p.created_at AS "createdAt", p.issuer,
            (SELECT count(*)::int FROM principal_tokens t WHERE t.principal_id = p.principal_id
               AND (t.ends_at IS NULL OR t.ends_at > now())) AS tokens
       FROM principals p WHERE mode = $1 AND removed_at IS NULL ORDER BY name_key`,
    [mode],
  );
  return rows;
}

/** Removes a principal. Records of what it did keep its name. */
export async function removePrincipal(db: Queryable, principalId: string): Promise<void> {
  await db.query('UPDATE principals SET removed_at = now() WHERE principal_id = $1', [principalId]);
}

/** How long the previous token is valid after a rotation. */
const OVERLAP = "interval '1 day'";

/** `ebrc_test_…` or `ebrc_live_…` with 256 random bits. The prefix lets a leaked token be recognised. */
export function createToken(mode: Mode): string {
  return `ebrc_${mode}_${randomBytes(32).toString('base64url')}`;
}

/** A fast hash is enough, because nobody can guess 256 random bits. */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export async function saveToken(db: Queryable, principalId: string, token: string): Promise<void> {
  await db.query('INSERT INTO principal_tokens (token_hash, principal_id) VALUES ($1, $2)', [
    hashOfToken(token),
    principalId,
  ]);
}

/** Ends the newest token in a day and earlier ones at once. @returns when the newest ends; null: there was none */
export async function endTokensLater(db: Queryable, principalId: string): Promise<Date | null> {
  const { rows } = await db.query<{ endsAt: Date | null }>(
    `WITH newest AS (
       SELECT token_hash FROM principal_tokens WHERE principal_id = $1 AND ends_at IS NULL ORDER BY created_at DESC LIMIT 1
     ), gone AS (
       DELETE FROM principal_tokens t WHERE principal_id = $1 AND NOT EXISTS (SELECT FROM newest n WHERE n.token_hash = t.token_hash)
     ) UPDATE principal_tokens t SET ends_at = now() + ${OVERLAP} FROM newest n WHERE t.token_hash = n.token_hash
       RETURNING t.ends_at AS "endsAt"`,
    [principalId],
  );
  return rows[0]?.endsAt ?? null;
}

/** Ends all tokens. @returns when: now; null: there was none */
export async function endTokens(db: Queryable, principalId: string): Promise<Date | null> {
  const { rows } = await db.query<{ endedAt: Date }>(
    'DELETE FROM principal_tokens WHERE principal_id = $1 RETURNING now() AS "endedAt"',
    [principalId],
  );
  return rows[0]?.endedAt ?? null;
}

/** The principal of a token, if both are valid now; otherwise null. */
export async function principalOfToken(db: Queryable, mode: Mode, token: string): Promise<Principal | null> {
  const { rows } = await db.query<Principal>(
    `SELECT ${PRINCIPAL_COLUMNS} FROM principal_tokens t JOIN principals p USING (principal_id)
      WHERE t.token_hash = $1 AND p.mode = $2 AND p.removed_at IS NULL
        AND (t.ends_at IS NULL OR t.ends_at > now()) AND (p.expires_at IS NULL OR p.expires_at > now())`,
    [hashOfToken(token), mode],
  );
  return rows[0] ?? null;
}

/** Who signs in at an identity provider, and the names that it may have here: the first that is free, for good. */
export interface PersonOfProvider {
  issuer: string;
  subject: string;
  names: readonly string[];
  roles: readonly Role[];
}

/** The person's principal, made at the first sign-in, with the roles of now. Null: it was removed, or has ended. */
export async function principalOfProvider(
  db: Queryable,
  mode: Mode,
  { issuer, subject, names, roles }: PersonOfProvider,
): Promise<Principal | null> {
  for (const name of names) {
    const { rows } = await db.query<{ id: string | null }>('SELECT person_of_provider($1, $2, $3, $4, $5, $6) AS id', [
      ...[mode, issuer, subject, name, personKey(name), roles],
    ]);
    const id = rows[0]?.id ?? null;
    if (id !== null) return principalById(db, id);
  }
  return null;
}

async function principalById(db: Queryable, principalId: string): Promise<Principal | null> {
  const { rows } = await db.query<Principal>(
    `SELECT ${PRINCIPAL_COLUMNS} FROM principals p
      WHERE principal_id = $1 AND removed_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    [principalId],
  );
  return rows[0] ?? null;
}

const SUBJECT_BYTES = 300;

export interface AuditEvent {
  mode: Mode;
  at: Date;
  /** Null: the caller had no valid token. */
  principal: { principalId: string; name: string } | null;
  /** A route such as `POST /v1/filings`, or a command such as `principals rotate`. */
  action: string;
  outcome: 'used' | 'refused';
  subject?: string;
  code?: string;
  requestId?: string;
  /** How often, since `at`; default 1. */
  uses?: number;
}

export async function recordAudit(db: Queryable, events: readonly AuditEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map(({ principal, ...event }) => ({
    ...event,
    principal_id: principal?.principalId ?? null,
    principal: principal?.name ?? null,
    request_id: event.requestId ?? null,
    // Written by a caller: text that cannot be stored would fail the whole batch.
    subject: event.subject === undefined ? null : cutText(cleanText(event.subject), SUBJECT_BYTES),
    uses: event.uses ?? 1,
  }));
  await db.query(
    `INSERT INTO audit_events (mode, at, principal_id, principal, action, outcome, subject, code, request_id, uses)
     SELECT mode, at, principal_id, principal, action, outcome, subject, code, request_id, uses
       FROM jsonb_to_recordset($1::jsonb) AS e (mode text, at timestamptz, principal_id uuid, principal text, action text, outcome text,
         subject text, code text, request_id text, uses integer)`,
    [JSON.stringify(rows)],
  );
}
