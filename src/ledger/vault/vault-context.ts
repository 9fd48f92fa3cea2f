import type { Mode } from '../../domain/names';

/** What a secret is for. It opens for nothing else. */
export type SecretUse =
  /** Handed in, and not on record yet as anybody's. */
  | { purpose: 'submission'; mode: Mode }
  /** A version of an exporter's credentials (credential_versions). */
  | { purpose: 'portal-login'; mode: Mode; exporterId: string; version: number };

/** Format of the encrypted bytes and of their context; another one gets another number. */
export const FORMAT = 1;

/** The additional data of AES-GCM: a list as JSON, so that no two parts run into each other. */
export function contextOf(secretRef: string, use: SecretUse): string {
  const owner = use.purpose === 'portal-login' ? [use.exporterId, use.version] : [];
  return JSON.stringify(['ebrc-vault', FORMAT, secretRef, use.purpose, use.mode, ...owner]);
}
