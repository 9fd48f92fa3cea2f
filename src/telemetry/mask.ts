/** Patterns of texts that identify a person or give access; each is replaced wherever it occurs. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+/gu, '[email]'],
  // User and password of an address.
  [/(?<=:\/\/)[^\s/@]*:[^\s/@]*(?=@)/gu, '[credentials]'],
  [/\b(?:dev|prod)_[\w-]+/gu, '[key]'],
  [/(?<=\bBearer )\S+/giu, '[token]'],
  [/\b\d{2}[A-Z]{5}\d{4}[A-Z][A-Z\d]{3}\b/giu, '[gstin]'],
  // An IEC is a PAN, or ten digits for older ones.
  [/\b(?:[A-Z]{5}\d{4}[A-Z]|\d{10})\b/giu, '[iec]'],
];

const LONGEST = 2_000;

/**
 * Removes e-mail addresses, IECs, GSTINs, keys and passwords in addresses from a text, and cuts it after 2,000
 * characters. A second line of defence: known secrets are never logged.
 */
export function maskText(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return FORMS.reduce((masked, [form, instead]) => masked.replace(form, instead), cut);
}
