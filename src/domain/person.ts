/**
 * A name as people give it, for comparing: blanks and capitals do not make another person of it. Empty where it names
 * nobody.
 */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  return name.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase();
}
