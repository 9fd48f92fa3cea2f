import { randomUUID } from 'node:crypto';
import type { Mode } from '../../domain/names';
import { EncryptionError, type EncryptionKey } from '../../encryption/keys';
import { createBoxOpener, sealTo, type PublicKey } from '../../encryption/sealed-box';
import type { Queryable } from '../pool';

/** The use of a secret, which opens for no other use. */
export type SecretUse =
  /** Submitted and not yet assigned to an exporter. */
  | { purpose: 'submission'; mode: Mode }
  /** A version of an exporter's credentials (credential_versions). */
  | { purpose: 'portal-login'; mode: Mode; exporterId: string; version: number }
  /** The address or a signing secret of a webhook. */
  | { purpose: 'webhook'; mode: Mode; webhookId: string };

/** Format of the encrypted bytes and their context; a new format gets a new number. */
const FORMAT = 1;

/** The context that a secret is bound to: a JSON list, so that its parts cannot be confused. */
function contextOf(secretRef: string, use: SecretUse): string {
  const owner =
    use.purpose === 'portal-login' ? [use.exporterId, use.version] : use.purpose === 'webhook' ? [use.webhookId] : [];
  return JSON.stringify(['ebrc-vault', FORMAT, secretRef, use.purpose, use.mode, ...owner]);
}

export interface RotationResult {
  /** Secrets that were sealed to the first key, and opened to verify it. */
  rotated: number;
  /** Secrets that were already sealed to the first key, and opened. */
  kept: number;
  /** Secrets left unchanged: keep the old keys, or submit the credentials again. */
  unreadable: {
    secretRef: string;
    mode: string;
    exporterId: string | null;
    keyId: string;
    /** The reason, without any part of the secret. */
    problem: string;
  }[];
}

/** Sealed portal user names and passwords. Workflows and logs get only a reference; only workers open a secret. */
export type Vault = ReturnType<typeof createVault>;

/** Errors of the vault itself: `secret_missing`, `secret_empty`, `not_published`, `unreadable`. */
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
  submittedTo: string;
  keyId: string;
  sealed: Buffer;
}

const COLUMNS =
  'secret_ref AS "secretRef", purpose, mode, exporter_id AS "exporterId", version, submitted_to AS "submittedTo", key_id AS "keyId", sealed';

/** The key that passwords of a mode are sealed to; null: no worker has published one. */
export async function publishedKey(db: Queryable, mode: Mode): Promise<PublicKey | null> {
  const { rows } = await db.query<PublicKey>(
    'SELECT key_id AS "keyId", public_key AS "publicKey" FROM vault_keys WHERE mode = $1',
    [mode],
  );
  return rows[0] ?? null;
}

/**
 * Stores credentials sealed to the published key. They belong to no exporter until {@link Vault.assign}.
 * @returns their reference @throws VaultError if user name or password is empty, or no key is published
 */
export async function handIn(
  db: Queryable,
  { mode, workflowId, username, password }: { mode: Mode; workflowId: string; username: string; password: string },
): Promise<string> {
  if (username.trim() === '') throw new VaultError('secret_empty', 'The portal user name is empty.');
  if (password === '') throw new VaultError('secret_empty', 'The portal password is empty.');
  const bytes = Buffer.from(JSON.stringify({ username, password }));
  return seal(db, { purpose: 'submission', mode }, workflowId, bytes);
}

/** Stores the address or a signing secret of a webhook, which only workers can open. @returns its reference */
export const sealForWebhook = (db: Queryable, mode: Mode, webhookId: string, text: string): Promise<string> =>
  seal(db, { purpose: 'webhook', mode, webhookId }, webhookId, Buffer.from(text));

/** Stores bytes sealed to the published key. @throws VaultError if no key is published */
async function seal(db: Queryable, use: SecretUse, submittedTo: string, bytes: Buffer): Promise<string> {
  const { mode, purpose } = use;
  const key = await publishedKey(db, mode);
  if (!key) {
    throw new VaultError(
      'not_published',
      `No worker of ${mode} mode has published the key that passwords are sealed to: start one, then repeat.`,
    );
  }
  const secretRef = randomUUID();
  const sealed = await sealTo(key, bytes, contextOf(secretRef, use));
  await db.query(
    `INSERT INTO vault_secrets (secret_ref, format, purpose, mode, submitted_to, key_id, sealed)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [secretRef, FORMAT, purpose, mode, submittedTo, key.keyId, sealed],
  );
  return secretRef;
}

/** Removes credentials that were handed in and not assigned. @returns whether there were any */
export async function discard(db: Queryable, secretRef: string): Promise<boolean> {
  const { rows } = await db.query<{ gone: boolean }>('SELECT discard_submission($1) AS gone', [secretRef]);
  return rows[0]?.gone ?? false;
}

/** Seals to the first key and opens with all, so that keys can be rotated. A secret opens only in its own row. */
export function createVault({ keys }: { keys: readonly EncryptionKey[] }) {
  const opener = createBoxOpener(keys);

  async function read(db: Queryable, secretRef: string): Promise<SecretRow> {
    const { rows } = await db.query<SecretRow>(
      `SELECT ${COLUMNS} FROM vault_secrets WHERE secret_ref::text = lower($1)`,
      [secretRef],
    );
    const [row] = rows;
    if (row) return row;
    throw new VaultError('secret_missing', `The vault holds nothing under ${secretRef}: submit it again.`);
  }

  /** The bytes of a secret that is for this use. */
  async function openFor(db: Queryable, secretRef: string, use: SecretUse): Promise<Buffer> {
    const row = await read(db, secretRef);
    if (contextOf(row.secretRef, useOf(row)) !== contextOf(row.secretRef, use)) {
      throw new VaultError(
        'secret_missing',
        `What the vault holds under ${secretRef} is for another use: submit it again.`,
      );
    }
    return opener.open(row, contextOf(row.secretRef, use));
  }

  /** Replaces the content of `row` with `bytes`; false if it was replaced in the meantime. */
  async function replace(db: Queryable, row: SecretRow, bytes: Buffer, use: SecretUse): Promise<boolean> {
    const [key] = await opener.publicKeys();
    const sealed = await sealTo(key, bytes, contextOf(row.secretRef, use));
    const { exporterId = null, version = null } = use.purpose === 'portal-login' ? use : {};
    // The condition includes the bytes that were read, so that a secret replaced in the meantime is not overwritten.
    const { rowCount } = await db.query(
      `UPDATE vault_secrets SET key_id = $2, sealed = $3, purpose = $4, exporter_id = $5, version = $6
        WHERE secret_ref = $1 AND sealed = $7`,
      [row.secretRef, key.keyId, sealed, use.purpose, exporterId, version, row.sealed],
    );
    return rowCount === 1;
  }

  /** @returns whether the secret was sealed again @throws EncryptionError if it does not open, before or afterwards */
  async function rotateOne(db: Queryable, row: SecretRow): Promise<boolean> {
    const use = useOf(row);
    const bytes = await opener.open(row, contextOf(row.secretRef, use));
    const [{ keyId }] = await opener.publicKeys();
    if (row.keyId === keyId) return false;
    if (!(await replace(db, row, bytes, use))) return false;
    const written = await read(db, row.secretRef);
    await opener.open(written, contextOf(row.secretRef, useOf(written)));
    return true;
  }

  async function rotateInto(result: RotationResult, db: Queryable, row: SecretRow): Promise<void> {
    try {
      result[(await rotateOne(db, row)) ? 'rotated' : 'kept'] += 1;
    } catch (error) {
      // Newer credentials came and the secret was removed, so nothing is left to rotate.
      if (error instanceof VaultError && error.code === 'secret_missing') return;
      if (!(error instanceof EncryptionError)) throw error;
      const { secretRef, mode, exporterId, keyId } = row;
      result.unreadable.push({ secretRef, mode, exporterId, keyId, problem: error.message });
    }
  }

  return {
    /** Publishes the key that passwords are sealed to. @returns the id of a replaced foreign key; null: none */
    async publish(db: Queryable, mode: Mode): Promise<{ replaced: string | null }> {
      const [current, ...older] = await opener.publicKeys();
      const published = await publishedKey(db, mode);
      const ours = [current, ...older].some(({ publicKey }) => published?.publicKey.equals(publicKey));
      if (!ours) await publishKey(db, mode, current);
      return { replaced: ours ? null : (published?.keyId ?? null) };
    },

    /** Opens a secret for one use. @throws VaultError `secret_missing`; EncryptionError `key_missing`, `unreadable` */
    async open(db: Queryable, secretRef: string, use: SecretUse): Promise<ReturnType<typeof readCredentials>> {
      return readCredentials(await openFor(db, secretRef, use));
    },

    /** Opens the address or a signing secret of a webhook. @throws as {@link Vault.open} */
    openForWebhook: async (db: Queryable, secretRef: string, mode: Mode, webhookId: string): Promise<string> =>
      (await openFor(db, secretRef, { purpose: 'webhook', mode, webhookId })).toString(),

    /** Assigns a submitted secret to a version of an exporter's credentials; from then on it opens only as that. */
    async assign(
      db: Queryable,
      secretRef: string,
      { mode, exporterId, version }: { mode: Mode; exporterId: string; version: number },
    ): Promise<void> {
      for (let assigned = false; !assigned;) {
        const row = await read(db, secretRef);
        // A secret that is already assigned does not open as a submission.
        const bytes = await opener.open(row, contextOf(row.secretRef, { purpose: 'submission', mode }));
        // Repeats if the secret was sealed to a new key in the meantime.
        assigned = await replace(db, row, bytes, { purpose: 'portal-login', mode, exporterId, version });
      }
    },

    /** Publishes the first key and seals everything to it; safe to repeat. Secrets that do not open are listed. */
    async rotate(db: Queryable): Promise<RotationResult> {
      const [current, ...older] = await opener.publicKeys();
      for (const mode of ['test', 'live'] as const) {
        const published = await publishedKey(db, mode);
        // Publish the new key only now that every worker has it; until then all workers can open the older one.
        if (older.some(({ publicKey }) => published?.publicKey.equals(publicKey))) await publishKey(db, mode, current);
      }
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

async function publishKey(db: Queryable, mode: Mode, { keyId, publicKey }: PublicKey): Promise<void> {
  await db.query(
    `INSERT INTO vault_keys (mode, key_id, public_key) VALUES ($1, $2, $3)
     ON CONFLICT (mode) DO UPDATE SET key_id = $2, public_key = $3, published_at = now()`,
    [mode, keyId, publicKey],
  );
}

/** The use that a row states. If the row was changed, its secret does not open for it. */
function useOf({ purpose, mode, exporterId, version, submittedTo }: SecretRow): SecretUse {
  if (purpose === 'submission') return { purpose, mode };
  if (purpose === 'webhook') return { purpose, mode, webhookId: submittedTo };
  return { purpose, mode, exporterId: exporterId ?? '', version: version ?? 0 };
}

function readCredentials(bytes: Buffer): { username: string; password: string } {
  // A parse error quotes the secret, so it must not escape.
  try {
    const { username, password } = JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;
    if (typeof username === 'string' && typeof password === 'string') return { username, password };
  } catch {
    // Reported below, without the text.
  }
  throw new VaultError('unreadable', 'The secret opened, but it does not hold a user name and a password.');
}
