import type { Mode } from '../../domain/names';

/** The use of a secret. It opens for no other use. */
export type SecretUse =
  /** Submitted, and not yet assigned to an exporter. */
  | { purpose: 'submission'; mode: Mode }
  /** A version of an exporter's credentials (credential_versions). */
  | { purpose: 'portal-login'; mode: Mode; exporterId: string; version: number };

/** Format of the encrypted bytes and of their context; a new format gets a new number. */
export const FORMAT = 1;

/** The additional data of AES-GCM: a JSON list, so that its parts cannot be confused. */
export function contextOf(secretRef: string, use: SecretUse): string {
  const owner = use.purpose === 'portal-login' ? [use.exporterId, use.version] : [];
  return JSON.stringify(['ebrc-vault', FORMAT, secretRef, use.purpose, use.mode, ...owner]);
}
