import { comparableText } from './identity';

/** Punctuation and symbols: `asha.` and `"asha"` are the person `asha`. */
const AROUND = /[\p{P}\p{S}]/u;

/**
 * A person's name for comparison, in the form in which all identities are compared and without punctuation around it.
 * Empty if the text names nobody.
 */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  const characters = [...comparableText(name)];
  let [start, end] = [0, characters.length];
  while (start < end && AROUND.test(characters[start] ?? '')) start += 1;
  while (end > start && AROUND.test(characters[end - 1] ?? '')) end -= 1;
  return comparableText(characters.slice(start, end).join(''));
}
