/** A person's name for comparison: white space and case are ignored. Empty where it names nobody. */
export function personKey(name: unknown): string {
  if (typeof name !== 'string') return '';
  return name.normalize('NFKC').replace(/\s+/gu, ' ').trim().toLowerCase();
}
