import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Mode } from '../../domain/names';
import { withTransaction, type Queryable } from '../pool';
import type { Vault } from './vault';

export interface CredentialVersion {
  version: number;
  state: 'unverified' | 'valid' | 'bad';
  reason: string | null;
  secretRef: string | null;
}

const COLUMNS = 'version, state, reason, secret_ref::text AS "secretRef"';

/** SQL: the newest credentials that the service accepted from us, as jsonb; null: none, though it may have others. */
export const credentialsHeld = (exporter: string): string =>
  `(SELECT to_jsonb(held) FROM (SELECT ${COLUMNS} FROM credential_versions
      WHERE exporter_id = ${exporter} AND held ORDER BY version DESC LIMIT 1) AS held)`;

export async function currentCredentials(db: Queryable, exporterId: string): Promise<CredentialVersion | null> {
  const { rows } = await db.query<{ held: CredentialVersion | null }>(`SELECT ${credentialsHeld('$1')} AS held`, [
    exporterId,
  ]);
  return rows[0]?.held ?? null;
}

export async function credentialVersion(
  db: Queryable,
  exporterId: string,
  version: number,
): Promise<CredentialVersion | null> {
  const { rows } = await db.query<CredentialVersion>(
    `SELECT ${COLUMNS} FROM credential_versions WHERE exporter_id = $1 AND version = $2`,
    [exporterId, version],
  );
  return rows[0] ?? null;
}

/** The newest version that is not known to be bad and still in the vault, so that it can be checked. */
export async function checkableVersion(db: Queryable, exporterId: string): Promise<number | null> {
  const { rows } = await db.query<{ version: number }>(
    `SELECT version FROM credential_versions WHERE exporter_id = $1 AND secret_ref IS NOT NULL AND state <> 'bad'
      ORDER BY version DESC LIMIT 1`,
    [exporterId],
  );
  return rows[0]?.version ?? null;
}

export async function versionOfSecret(db: Queryable, exporterId: string, secretRef: string): Promise<number | null> {
  const { rows } = await db.query<{ version: number }>(
    `SELECT version FROM credential_versions WHERE exporter_id = $1 AND secret_ref = $2`,
    [exporterId, secretRef],
  );
  return rows[0]?.version ?? null;
}

/** Adds submitted credentials as a version, and assigns its secret. @throws EncryptionError, VaultError: undone */
export async function addCredentials(
  pool: pg.Pool,
  vault: Pick<Vault, 'assign'>,
  { mode, exporterId, secretRef }: { mode: Mode; exporterId: string; secretRef: string },
): Promise<number> {
  return underLock(pool, exporterId, async (client) => {
    const existing = await versionOfSecret(client, exporterId, secretRef);
    if (existing !== null) return existing;
    const unverified = { exporterId, secretRef, state: 'unverified', held: false, reason: null } as const;
    const version = await insertVersion(client, unverified);
    await vault.assign(client, secretRef, { mode, exporterId, version });
    return version;
  });
}

/** Marks a version as accepted by the service. It becomes current unless a newer one is; older secrets are removed. */
export async function markValid(pool: pg.Pool, exporterId: string, version: number): Promise<void> {
  await underLock(pool, exporterId, async (client) => {
    await client.query(
      `UPDATE credential_versions SET state = 'valid', held = true, reason = NULL, changed_at = now()
        WHERE exporter_id = $1 AND version = $2`,
      [exporterId, version],
    );
    await client.query(
      `DELETE FROM vault_secrets WHERE secret_ref IN
        (SELECT secret_ref FROM credential_versions WHERE exporter_id = $1 AND version < $2)`,
      [exporterId, version],
    );
  });
}

/** Marks a version as bad because the service refused it, and removes its secret. */
export async function markRejected(pool: pg.Pool, exporterId: string, version: number, reason: string): Promise<void> {
  await underLock(pool, exporterId, async (client) => {
    await setBad(client, exporterId, version, reason);
    await client.query(
      `DELETE FROM vault_secrets WHERE secret_ref =
        (SELECT secret_ref FROM credential_versions WHERE exporter_id = $1 AND version = $2)`,
      [exporterId, version],
    );
  });
}

/** Marks the credentials of a call (0: none of ours) as bad. @returns false if another version is current by now */
export async function markBad(pool: pg.Pool, exporterId: string, version: number, reason: string): Promise<boolean> {
  return underLock(pool, exporterId, async (client) => {
    const current = await currentCredentials(client, exporterId);
    if ((current?.version ?? 0) !== version) return false;
    if (current) await setBad(client, exporterId, version, reason);
    else await insertVersion(client, { exporterId, secretRef: null, state: 'bad', held: true, reason });
    return true;
  });
}

async function setBad(client: Queryable, exporterId: string, version: number, reason: string): Promise<void> {
  await client.query(
    `UPDATE credential_versions SET state = 'bad', reason = $3, changed_at = now()
      WHERE exporter_id = $1 AND version = $2`,
    [exporterId, version, reason],
  );
}

/** Why the credentials of exporters are bad; exporters without a known problem are absent. */
export async function badCredentials(db: Queryable, exporterIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ exporterId: string; reason: string }>(
    `SELECT exporter_id AS "exporterId", credentials_problem(e) AS reason FROM exporters e
      WHERE exporter_id = ANY($1) AND state = 'needs_credentials'`,
    [exporterIds],
  );
  return new Map(rows.map(({ exporterId, reason }) => [exporterId, reason]));
}

/** The runs of an exporter's open filings that pause for its credentials. */
export async function filingsWithoutCredentials(db: Queryable, exporterId: string): Promise<string[]> {
  const { rows } = await db.query<{ workflowId: string }>(
    `SELECT workflow_id AS "workflowId" FROM filings
      WHERE exporter_id = $1 AND closed_at IS NULL AND (pause = 'credentials' OR state = 'needs_credentials') ORDER BY since`,
    [exporterId],
  );
  return rows.map(({ workflowId }) => workflowId);
}

async function insertVersion(
  client: Queryable,
  row: Omit<CredentialVersion, 'version'> & { exporterId: string; held: boolean },
): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    `INSERT INTO credential_versions (exporter_id, version, secret_ref, state, held, reason)
     SELECT $1, coalesce(max(version), 0) + 1, $2::uuid, $3, $4, $5 FROM credential_versions WHERE exporter_id = $1
     RETURNING version`,
    [row.exporterId, row.secretRef, row.state, row.held, row.reason],
  );
  return rows[0]?.version ?? 0;
}

/** Serializes changes to one exporter's credentials, so that none is made on what another one just replaced. */
function underLock<T>(pool: pg.Pool, exporterId: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return withTransaction(pool, async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 4))', [`credentials/${exporterId}`]);
    return work(client);
  });
}

export interface Consent {
  mode: Mode;
  exporterId: string;
  username: string;
  givenBy: string;
  givenAt: Date;
  statement: string;
}

/** Records who consented, when, for which account and in which words, with a hash over all. Repeats are ignored. */
export async function recordConsent(db: Queryable, consent: Consent): Promise<void> {
  const { exporterId, givenBy, givenAt, statement } = consent;
  const accountHash = accountHashOf(consent);
  const evidenceHash = evidenceHashOf({ exporterId, accountHash, givenBy, givenAt, statement });
  await db.query(
    `INSERT INTO consents (exporter_id, account_hash, given_by, given_at, statement, evidence_hash)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (evidence_hash) DO NOTHING`,
    [exporterId, accountHash, givenBy, givenAt, statement, evidenceHash],
  );
}

/** The account's hash in the evidence: whoever knows the user name can verify it, and nobody can read it. */
export function accountHashOf({
  mode,
  exporterId,
  username,
}: Pick<Consent, 'mode' | 'exporterId' | 'username'>): string {
  return sha256(['ebrc-account', mode, exporterId, username]);
}

/** The hash that a row of evidence must have; another one shows that the row was changed. */
export function evidenceHashOf(row: Omit<Consent, 'mode' | 'username'> & { accountHash: string }): string {
  const { exporterId, accountHash, givenBy, givenAt, statement } = row;
  return sha256(['ebrc-consent', exporterId, accountHash, givenBy, givenAt.toISOString(), statement]);
}

function sha256(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
