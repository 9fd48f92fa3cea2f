/** Who may use the HTTP door, and what for. */
import type { Mode } from '../names';

/**
 * `viewer` reads; `maker` checks, files, corrects and abandons; `checker` approves, resolves and abandons; `admin` is
 * for exporters and their credentials. Every role may read.
 */
export const ROLES = ['viewer', 'maker', 'checker', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** A person or a system that uses the door. */
export interface Principal {
  principalId: string;
  mode: Mode;
  name: string;
  isSystem: boolean;
  roles: Role[];
  /** Ids of the exporters that it may see, in lower case; null: all. */
  exporters: string[] | null;
  expiresAt: Date | null;
}
