import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto';
import type { Mode } from '../domain/names';
import type { Queryable } from './pool';

export interface VaultKey {
  keyId: string;
  /** 32 bytes. */
  key: Buffer;
}

export interface PortalCredentials {
  username: string;
  password: string;
}

/** Encrypted bytes, with what is needed to open them besides the key. */
export interface Sealed {
  keyId: string;
  nonce: Buffer;
  /** The ciphertext with its 16-byte tag behind it. */
  ciphertext: Buffer;
}

export interface RotationResult {
  /** Secrets that were encrypted anew, under the first key. */
  rotated: number;
  /** Secrets that were under it already. */
  kept: number;
}

/** Portal user names and passwords, encrypted at rest. What leaves the vault for workflows and logs is a reference. */
export interface Vault {
  /** Stores credentials and answers their reference. @throws VaultError where one of them is empty. */
  put(db: Queryable, credentials: PortalCredentials & { mode: Mode }): Promise<string>;
  /** @throws VaultError `secret_missing` for an unknown or removed reference, `key_missing`, `unreadable`. */
  open(db: Queryable, secretRef: string): Promise<PortalCredentials>;
  /** Removes a secret; answers whether there was one. */
  remove(db: Queryable, secretRef: string): Promise<boolean>;
  /** Encrypts everything under the first key; safe to repeat, and while workers run. */
  rotate(db: Queryable): Promise<RotationResult>;
  /** Encrypts bytes for one purpose: they open only under the same `context`. */
  seal(bytes: Buffer, context: string): Sealed;
  /** @throws VaultError `key_missing` or `unreadable`. */
  unseal(sealed: Sealed, context: string): Buffer;
}

export type VaultErrorCode = 'secret_missing' | 'secret_empty' | 'key_missing' | 'unreadable' | 'keys_invalid';

/** Says what is wrong and what to do; never holds any part of a secret, nor its cause. */
export class VaultError extends Error {
  override readonly name = 'VaultError';

  constructor(
    readonly code: VaultErrorCode,
    message: string,
  ) {
    super(message);
  }
}

const ALGORITHM = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ROTATE_AT_ONCE = 200;

interface SecretRow {
  secretRef: string;
  mode: string;
  keyId: string;
  nonce: Buffer;
  ciphertext: Buffer;
}

const COLUMNS = 'secret_ref AS "secretRef", mode, key_id AS "keyId", nonce, ciphertext';

/**
 * A vault over the given keys: the first encrypts, all decrypt, so that a key is changed by putting the new one first and
 * rotating. The reference and the mode are authenticated with the ciphertext: a row that is copied under another reference,
 * or from test to live, does not open.
 * @throws VaultError for no key, a key of another length, or two keys of one id.
 */
export function createVault({ keys }: { keys: readonly VaultKey[] }): Vault {
  const primary = keys[0] ?? refuseKeys('The vault has no key: set EBRC_ENCRYPTION_KEY.');
  const byId = new Map(keys.map(({ keyId, key }) => [keyId, key]));
  if (byId.size !== keys.length) refuseKeys('Two keys of EBRC_ENCRYPTION_KEY have the same id: give each its own.');
  for (const { keyId, key } of keys) {
    if (key.length !== KEY_BYTES) refuseKeys(`Key ${keyId} has ${key.length} bytes; a key has exactly ${KEY_BYTES}.`);
  }

  function seal(bytes: Buffer, context: string): Sealed {
    const { keyId, key } = primary;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(context));
    const ciphertext = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    return { keyId, nonce, ciphertext };
  }

  function unseal({ keyId, nonce, ciphertext }: Sealed, context: string): Buffer {
    const key = byId.get(keyId);
    if (!key) {
      const message = `The secret is encrypted with key ${keyId}, which is not in EBRC_ENCRYPTION_KEY: add it behind the first.`;
      throw new VaultError('key_missing', message);
    }
    try {
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context)).setAuthTag(ciphertext.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(ciphertext.subarray(0, -TAG_BYTES)), decipher.final()]);
    } catch {
      const message = `The secret does not open with key ${keyId}: the key is not the one of that id, or the row was changed.`;
      throw new VaultError('unreadable', message);
    }
  }

  async function reseal(db: Queryable, row: SecretRow): Promise<boolean> {
    const context = contextOf(row.secretRef, row.mode);
    const sealed = seal(unseal(row, context), context);
    // The old nonce in the condition: a secret that was replaced meanwhile is not set back.
    const { rowCount } = await db.query(
      'UPDATE vault_secrets SET key_id = $2, nonce = $3, ciphertext = $4 WHERE secret_ref = $1 AND nonce = $5',
      [row.secretRef, sealed.keyId, sealed.nonce, sealed.ciphertext, row.nonce],
    );
    return rowCount === 1;
  }

  return {
    seal,
    unseal,

    async put(db, { mode, username, password }) {
      if (username.trim() === '') throw new VaultError('secret_empty', 'The portal user name is empty.');
      if (password === '') throw new VaultError('secret_empty', 'The portal password is empty.');
      const secretRef = randomUUID();
      const sealed = seal(Buffer.from(JSON.stringify({ username, password })), contextOf(secretRef, mode));
      await db.query(
        'INSERT INTO vault_secrets (secret_ref, mode, key_id, nonce, ciphertext) VALUES ($1, $2, $3, $4, $5)',
        [secretRef, mode, sealed.keyId, sealed.nonce, sealed.ciphertext],
      );
      return secretRef;
    },

    async open(db, secretRef) {
      const { rows } = await db.query<SecretRow>(
        `SELECT ${COLUMNS} FROM vault_secrets WHERE secret_ref::text = lower($1)`,
        [secretRef],
      );
      const [row] = rows;
      if (!row) throw new VaultError('secret_missing', `The vault holds nothing under ${secretRef}: submit it again.`);
      return readCredentials(unseal(row, contextOf(row.secretRef, row.mode)));
    },

    async remove(db, secretRef) {
      const { rowCount } = await db.query('DELETE FROM vault_secrets WHERE secret_ref::text = lower($1)', [secretRef]);
      return rowCount === 1;
    },

    async rotate(db) {
      let rotated = 0;
      for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
        const { rows } = await db.query<SecretRow>(
          `SELECT ${COLUMNS} FROM vault_secrets WHERE key_id <> $1 AND secret_ref > $2 ORDER BY secret_ref LIMIT $3`,
          [primary.keyId, after, ROTATE_AT_ONCE],
        );
        for (const row of rows) if (await reseal(db, row)) rotated += 1;
        const last = rows.at(-1);
        if (!last) break;
        after = last.secretRef;
      }
      const { rows } = await db.query<{ n: number }>('SELECT count(*)::int AS n FROM vault_secrets');
      return { rotated, kept: (rows[0]?.n ?? 0) - rotated };
    },
  };
}

function refuseKeys(message: string): never {
  throw new VaultError('keys_invalid', message);
}

/** The parts cannot run into each other: a UUID has a fixed length. */
function contextOf(secretRef: string, mode: string): string {
  return `vault/${secretRef}/${mode}`;
}

function readCredentials(bytes: Buffer): PortalCredentials {
  // A parse error quotes what it could not read, so it must not get out.
  try {
    const { username, password } = JSON.parse(bytes.toString('utf8')) as PortalCredentials;
    if (typeof username === 'string' && typeof password === 'string') return { username, password };
  } catch {
    // Said below, without the text.
  }
  throw new VaultError('unreadable', 'The secret opened, but it does not hold a user name and a password.');
}
