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

interface ConsentRow extends Omit<Consent, 'mode' | 'username'> {
  accountHash: string;
}

/** Records who consented, when, for which account, in which words, with a hash over all; the same once. */
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

/** The account as the evidence stores it: anybody who knows the user name can verify it, and nobody can read it. */
export function accountHashOf({
  mode,
  exporterId,
  username,
}: Omit<Consent, 'givenBy' | 'givenAt' | 'statement'>): string {
  return sha256(['ebrc-account', mode, exporterId, username]);
}

/** The hash that a row must have; a different hash shows that the row was changed. */
export function evidenceHashOf({ exporterId, accountHash, givenBy, givenAt, statement }: ConsentRow): string {
  return sha256(['ebrc-consent', exporterId, accountHash, givenBy, givenAt.toISOString(), statement]);
}

function sha256(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}
