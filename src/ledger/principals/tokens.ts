import { createHash, randomBytes } from 'node:crypto';
import type { Principal } from '../../domain/principal';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import { PRINCIPAL_COLUMNS } from './principals';

/** How long the token before a rotation is still taken. */
const OVERLAP = "interval '1 day'";

/** `ebrc_test_…` or `ebrc_live_…` with 256 random bits: a token that leaks is recognised by its form. */
export function createToken(mode: Mode): string {
  return `ebrc_${mode}_${randomBytes(32).toString('base64url')}`;
}

/** Nobody can guess 256 random bits, so a fast hash is enough. */
function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Stores the hash of a token that is valid from now on. */
export async function saveToken(db: Queryable, principalId: string, token: string): Promise<void> {
  await db.query('INSERT INTO principal_tokens (token_hash, principal_id) VALUES ($1, $2)', [
    hashOf(token),
    principalId,
  ]);
}

/**
 * Ends the tokens of a principal: the newest a day from now, earlier ones at once, so that two are valid at most.
 * @returns when the newest ends; null if there was none
 */
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

/** Ends every token of a principal now. */
export async function endTokens(db: Queryable, principalId: string): Promise<void> {
  await db.query('DELETE FROM principal_tokens WHERE principal_id = $1', [principalId]);
}

/** The principal whose token this is, if both are valid now; null for any other text. */
export async function principalOfToken(db: Queryable, mode: Mode, token: string): Promise<Principal | null> {
  const { rows } = await db.query<Principal>(
    `SELECT ${PRINCIPAL_COLUMNS} FROM principal_tokens t JOIN principals p USING (principal_id)
      WHERE t.token_hash = $1 AND p.mode = $2 AND p.removed_at IS NULL
        AND (t.ends_at IS NULL OR t.ends_at > now()) AND (p.expires_at IS NULL OR p.expires_at > now())`,
    [hashOf(token), mode],
  );
  return rows[0] ?? null;
}
