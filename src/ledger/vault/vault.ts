import { randomUUID } from 'node:crypto';
import type { Mode } from '../../domain/names';
import { EncryptionError, type EncryptionKey } from '../../encryption/keys';
import { createSealer } from '../../encryption/sealing';
import type { Queryable } from '../pool';

/** The use of a secret. It opens for no other use. */
export type SecretUse =
  /** Submitted, and not yet assigned to an exporter. */
  | { purpose: 'submission'; mode: Mode }
  /** A version of an exporter's credentials (credential_versions). */
  | { purpose: 'portal-login'; mode: Mode; exporterId: string; version: number };

/** Format of the encrypted bytes and of their context; a new format gets a new number. */
const FORMAT = 1;

/** The additional data of AES-GCM: a JSON list, so that its parts cannot be confused. */
function contextOf(secretRef: string, use: SecretUse): string {
  const owner = use.purpose === 'portal-login' ? [use.exporterId, use.version] : [];
  return JSON.stringify(['ebrc-vault', FORMAT, secretRef, use.purpose, use.mode, ...owner]);
}

interface PortalCredentials {
  username: string;
  password: string;
}

/** A secret that none of the keys decrypts. */
interface UnreadableSecret {
  secretRef: string;
  mode: string;
  exporterId: string | null;
  keyId: string;
  /** The reason, without any part of the secret. */
  problem: string;
}

export interface RotationResult {
  /** Secrets that were encrypted again, under the first key, and opened again. */
  rotated: number;
  /** Secrets that were already under the first key, and opened. */
  kept: number;
  /** Secrets that were left unchanged; the old keys must be kept, or the credentials submitted again. */
  unreadable: UnreadableSecret[];
}

/** Portal user names and passwords, encrypted at rest. Workflows and logs get only a reference. */
export interface Vault {
  /**
   * Stores credentials that are given to a workflow, and returns their reference. They belong to no exporter until
   * {@link assign}.
   * @throws VaultError if one of them is empty
   */
  put(db: Queryable, credentials: PortalCredentials & { mode: Mode; workflowId: string }): Promise<string>;
  /**
   * Opens a secret for the use that the caller expects; it does not open for any other.
   * @throws VaultError `secret_missing` for a reference that is unknown, removed or for another use; EncryptionError
   * `key_missing`, `unreadable`
   */
  open(db: Queryable, secretRef: string, use: SecretUse): Promise<PortalCredentials>;
  /**
   * Assigns a submitted secret to a version of an exporter's credentials: from then on it opens only as that version.
   */
  assign(db: Queryable, secretRef: string, to: { mode: Mode; exporterId: string; version: number }): Promise<void>;
  /** Removes a submitted secret that has not been assigned; returns whether there was one. */
  discard(db: Queryable, secretRef: string): Promise<boolean>;
  /**
   * Encrypts everything under the first key and opens it again; safe to repeat, and while workers run. Secrets that do
   * not open are listed and do not stop it.
   */
  rotate(db: Queryable): Promise<RotationResult>;
}

/** Errors of the vault other than those of its keys: `secret_missing`, `secret_empty`, `unreadable`. */
export class VaultError extends EncryptionError {
  override readonly name = 'VaultError';
}

const ROTATE_AT_ONCE = 200;

interface SecretRow {
  secretRef: string;
  purpose: SecretUse['purpose'];
  mode: Mode;
  exporterId: string | null;
  version: number | null;
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

const COLUMNS =
  'secret_ref AS "secretRef", purpose, mode, exporter_id AS "exporterId", version, key_id AS "keyId", nonce, ciphertext';

/**
 * A vault that uses sub-keys of the given keys for this purpose. The first key encrypts, all of them decrypt, so a key
 * is changed by putting the new one first and rotating. Reference, purpose, mode, exporter and version are
 * authenticated with the ciphertext: a row that was copied or changed to belong to another exporter does not open.
 * @throws EncryptionError for no key, a key of another length, or two keys with one id
 */
export function createVault({ keys }: { keys: readonly EncryptionKey[] }): Vault {
  const sealer = createSealer(keys, 'vault');

  async function read(db: Queryable, secretRef: string): Promise<SecretRow> {
    const { rows } = await db.query<SecretRow>(
      `SELECT ${COLUMNS} FROM vault_secrets WHERE secret_ref::text = lower($1)`,
      [secretRef],
    );
    const [row] = rows;
    if (row) return row;
    throw new VaultError('secret_missing', `The vault holds nothing under ${secretRef}: submit it again.`);
  }

  /** Replaces the content of `row` with `bytes`; false if it was replaced in the meantime. */
  async function replace(db: Queryable, row: SecretRow, bytes: Buffer, use: SecretUse): Promise<boolean> {
    const { keyId, nonce, ciphertext } = sealer.seal(bytes, contextOf(row.secretRef, use));
    const { exporterId = null, version = null } = use.purpose === 'portal-login' ? use : {};
    // The old nonce is in the condition, so that a secret that was replaced in the meantime is not overwritten.
    const { rowCount } = await db.query(
      `UPDATE vault_secrets
          SET key_id = $2, nonce = $3, ciphertext = $4, purpose = $5, exporter_id = $6, version = $7
        WHERE secret_ref = $1 AND nonce = $8`,
      [row.secretRef, keyId, nonce, ciphertext, use.purpose, exporterId, version, row.nonce],
    );
    return rowCount === 1;
  }

  /** Whether it had to be encrypted again. @throws EncryptionError if it does not open, before or afterwards */
  async function rotateOne(db: Queryable, row: SecretRow): Promise<boolean> {
    const use = useOf(row);
    const bytes = sealer.open(row, contextOf(row.secretRef, use));
    if (row.keyId === sealer.keyId) return false;
    if (!(await replace(db, row, bytes, use))) return false;
    const written = await read(db, row.secretRef);
    sealer.open(written, contextOf(row.secretRef, useOf(written)));
    return true;
  }

  async function rotateInto(result: RotationResult, db: Queryable, row: SecretRow): Promise<void> {
    try {
      result[(await rotateOne(db, row)) ? 'rotated' : 'kept'] += 1;
    } catch (error) {
      // Removed in the meantime, because newer credentials came: nothing is left to rotate.
      if (error instanceof VaultError && error.code === 'secret_missing') return;
      if (!(error instanceof EncryptionError)) throw error;
      const { secretRef, mode, exporterId, keyId } = row;
      result.unreadable.push({ secretRef, mode, exporterId, keyId, problem: error.message });
    }
  }

  return {
    async put(db, { mode, workflowId, username, password }) {
      if (username.trim() === '') throw new VaultError('secret_empty', 'The portal user name is empty.');
      if (password === '') throw new VaultError('secret_empty', 'The portal password is empty.');
      const secretRef = randomUUID();
      const bytes = Buffer.from(JSON.stringify({ username, password }));
      const sealed = sealer.seal(bytes, contextOf(secretRef, { purpose: 'submission', mode }));
      await db.query(
        `INSERT INTO vault_secrets (secret_ref, format, purpose, mode, submitted_to, key_id, nonce, ciphertext)
         VALUES ($1, $2, 'submission', $3, $4, $5, $6, $7)`,
        [secretRef, FORMAT, mode, workflowId, sealed.keyId, sealed.nonce, sealed.ciphertext],
      );
      return secretRef;
    },

    async open(db, secretRef, use) {
      const row = await read(db, secretRef);
      if (contextOf(row.secretRef, useOf(row)) !== contextOf(row.secretRef, use)) {
        throw new VaultError(
          'secret_missing',
          `What the vault holds under ${secretRef} is for another use: submit it again.`,
        );
      }
      return readCredentials(sealer.open(row, contextOf(row.secretRef, use)));
    },

    async assign(db, secretRef, { mode, exporterId, version }) {
      const row = await read(db, secretRef);
      // A secret that is already assigned does not open as a submission.
      const bytes = sealer.open(row, contextOf(row.secretRef, { purpose: 'submission', mode }));
      await replace(db, row, bytes, { purpose: 'portal-login', mode, exporterId, version });
    },

    async discard(db, secretRef) {
      const { rowCount } = await db.query(
        `DELETE FROM vault_secrets WHERE secret_ref::text = lower($1) AND purpose = 'submission'`,
        [secretRef],
      );
      return rowCount === 1;
    },

    async rotate(db) {
      const result: RotationResult = { rotated: 0, kept: 0, unreadable: [] };
      for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
        const { rows } = await db.query<SecretRow>(
          `SELECT ${COLUMNS} FROM vault_secrets WHERE secret_ref > $1 ORDER BY secret_ref LIMIT $2`,
          [after, ROTATE_AT_ONCE],
        );
        for (const row of rows) await rotateInto(result, db, row);
        const last = rows.at(-1);
        if (!last) return result;
        after = last.secretRef;
      }
    },
  };
}

/** The use that a row states; a row that was changed does not open under it. */
function useOf({ purpose, mode, exporterId, version }: SecretRow): SecretUse {
  if (purpose === 'submission') return { purpose, mode };
  return { purpose, mode, exporterId: exporterId ?? '', version: version ?? 0 };
}

function readCredentials(bytes: Buffer): PortalCredentials {
  // A parse error quotes what it could not read, so it must not get out.
  try {
    const { username, password } = JSON.parse(bytes.toString('utf8')) as PortalCredentials;
    if (typeof username === 'string' && typeof password === 'string') return { username, password };
  } catch {
    // Reported below, without the text.
  }
  throw new VaultError('unreadable', 'The secret opened, but it does not hold a user name and a password.');
}

/** A secret that no version of credentials refers to. */
export interface OrphanedSecret {
  secretRef: string;
  /** The workflow that received it; null for a version's secret that the version no longer refers to. */
  workflowId: string | null;
}

/** Between being stored and being assigned, a secret belongs to a workflow: it may be needed however old it is. */
export async function orphanedSecrets(db: Queryable, mode: Mode, olderThanMs: number): Promise<OrphanedSecret[]> {
  const { rows } = await db.query<OrphanedSecret>(
    `SELECT s.secret_ref::text AS "secretRef", CASE s.purpose WHEN 'submission' THEN s.submitted_to END AS "workflowId"
       FROM vault_secrets s
      WHERE s.mode = $1 AND s.created_at < now() - $2 * interval '1 millisecond'
        AND NOT EXISTS (SELECT FROM credential_versions v WHERE v.secret_ref = s.secret_ref)
      ORDER BY s.created_at`,
    [mode, olderThanMs],
  );
  return rows;
}

/** Removes secrets, except those that a version of credentials refers to by now. @returns how many */
export async function removeOrphanedSecrets(db: Queryable, secretRefs: readonly string[]): Promise<number> {
  const { rowCount } = await db.query(
    `DELETE FROM vault_secrets s
      WHERE s.secret_ref = ANY ($1::uuid[])
        AND NOT EXISTS (SELECT FROM credential_versions v WHERE v.secret_ref = s.secret_ref)`,
    [secretRefs],
  );
  return rowCount ?? 0;
}
