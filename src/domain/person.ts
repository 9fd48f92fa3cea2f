/** A person's name for comparison, without white space and case. Empty if the text names nobody. */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  return name.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase();
}
