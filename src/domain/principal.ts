/** Who may use the HTTP door, and what for. */
import type { Mode } from './names';
import { comparableText } from './identity';

/** `maker` checks, files, corrects and abandons; `checker` approves, resolves and abandons. Every role may read. */
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

/** The roles of which one is enough for an action that somebody answers for. */
export const MAY = {
  file: ['maker'],
  approve: ['checker'],
  resolve: ['checker'],
  abandon: ['maker', 'checker'],
  permit: ['checker'],
  policy: ['admin'],
} as const satisfies Record<string, readonly Role[]>;

/** Said where a second person is asked for and somebody without a token answers. */
export const NEEDS_TOKEN =
  'two persons have to answer for it, and a name alone proves nobody: set EBRC_TOKEN to a token of your own (`ebrc principals add` makes one), or use the HTTP API';

/** Punctuation and symbols: `asha.` and `"asha"` are the person `asha`. */
const AROUND = /[\p{P}\p{S}]/u;

/** A person's name in comparable form, without punctuation around it. Empty if the text names nobody. */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  // A Braille pattern without dots is drawn as a blank, and Unicode counts it as none.
  const characters = [...comparableText(name.replaceAll('\u2800', ''))];
  let [start, end] = [0, characters.length];
  while (start < end && AROUND.test(characters[start] ?? '')) start += 1;
  while (end > start && AROUND.test(characters[end - 1] ?? '')) end -= 1;
  return comparableText(characters.slice(start, end).join(''));
}
