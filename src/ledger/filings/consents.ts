import { createHash } from 'node:crypto';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';

export interface Consent {
  mode: Mode;
  exporterId: string;
  username: string;
  givenBy: string;
  givenAt: Date;
  statement: string;
}

export interface ConsentRow {
  exporterId: string;
  accountHash: string;
  givenBy: string;
  givenAt: Date;
  statement: string;
  evidenceHash: string;
}

const COLUMNS = `exporter_id AS "exporterId", account_hash AS "accountHash", given_by AS "givenBy",
  given_at AS "givenAt", statement, evidence_hash AS "evidenceHash"`;

/** Records who consented, when, for which account, in which words, with a hash over all; the same once. */
export async function recordConsent(db: Queryable, consent: Consent): Promise<ConsentRow> {
  const { exporterId, givenBy, givenAt, statement } = consent;
  const accountHash = accountHashOf(consent);
  const row = { exporterId, accountHash, givenBy, givenAt, statement };
  const evidenceHash = evidenceHashOf(row);
  await db.query(
    `INSERT INTO consents (exporter_id, account_hash, given_by, given_at, statement, evidence_hash)
     VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (evidence_hash) DO NOTHING`,
    [exporterId, accountHash, givenBy, givenAt, statement, evidenceHash],
  );
  return { ...row, evidenceHash };
}

export async function consentsOf(db: Queryable, exporterId: string): Promise<ConsentRow[]> {
  const { rows } = await db.query<ConsentRow>(
    `SELECT ${COLUMNS} FROM consents WHERE exporter_id = $1 ORDER BY given_at DESC, consent_id DESC`,
    [exporterId],
  );
  return rows;
}

/** The account as the evidence stores it: anybody who knows the user name can verify it, and nobody can read it. */
export function accountHashOf(args: Pick<Consent, 'mode' | 'exporterId' | 'username'>): string {
  const { mode, exporterId, username } = args;
  return sha256(['ebrc-account', mode, exporterId, username]);
}

/** The hash that a row must have; a different hash shows that the row was changed. */
export function evidenceHashOf(row: Omit<ConsentRow, 'evidenceHash'>): string {
  const { exporterId, accountHash, givenBy, givenAt, statement } = row;
  return sha256(['ebrc-consent', exporterId, accountHash, givenBy, givenAt.toISOString(), statement]);
}

function sha256(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
