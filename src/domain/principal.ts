/** Principals of the HTTP API and their roles. */
import type { Mode } from './names';
import { comparableText } from './identity';
import { isAsItLooks } from './text';

/** `maker` checks, files, corrects and abandons; `checker` approves, resolves and abandons. Every role may read. */
export const ROLES = ['viewer', 'maker', 'checker', 'admin'] as const;

export type Role = (typeof ROLES)[number];

/** A person or a system that uses the HTTP API. */
export interface Principal {
  principalId: string;
  mode: Mode;
  name: string;
  isSystem: boolean;
  roles: Role[];
  /** Ids of the exporters that the principal may see, in lower case; null: all. */
  exporters: string[] | null;
  expiresAt: Date | null;
}

/** For each action of a person, the roles of which one is enough. */
export const MAY = {
  file: ['maker'],
  approve: ['checker'],
  resolve: ['checker'],
  abandon: ['maker', 'checker'],
  policy: ['admin'],
} as const satisfies Record<string, readonly Role[]>;

/** The message when two persons are needed and somebody answers without a token. */
export const NEEDS_TOKEN =
  'two persons have to answer for it, and a name alone proves nobody: set EBRC_TOKEN to a token of your own (`ebrc principals add` makes one), or use the HTTP API';

/** Ignored around a name: `asha.` and `"asha"` are the person `asha`. */
const PUNCTUATION = /[\p{P}\p{S}]/u;

/** A person's name in comparable form, without punctuation around it. Empty if it names nobody. */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  const characters = [...comparableText(name)];
  let [start, end] = [0, characters.length];
  while (start < end && PUNCTUATION.test(characters[start] ?? '')) start += 1;
  while (end > start && PUNCTUATION.test(characters[end - 1] ?? '')) end -= 1;
  return comparableText(characters.slice(start, end).join(''));
}

export const MAX_NAME_LENGTH = 100;

/** Whether a text can name a principal: nobody takes it for another name, and it is one. */
export const isName = (text: string): boolean =>
  text.length <= MAX_NAME_LENGTH && isAsItLooks(text) && personKey(text) !== '';
