/** What names a person or opens something, by its form; each is replaced wherever it stands in a text. */
const FORMS: readonly (readonly [RegExp, string])[] = [
  [/[\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)+/gu, '[email]'],
  // User and password of an address.
  [/(?<=:\/\/)[^\s/@]*:[^\s/@]*(?=@)/gu, '[credentials]'],
  [/\b(?:dev|prod)_[\w-]+/gu, '[key]'],
  [/(?<=\bBearer )\S+/giu, '[token]'],
  [/\b\d{2}[A-Z]{5}\d{4}[A-Z][A-Z\d]{3}\b/giu, '[gstin]'],
  // An IEC is a PAN, or ten digits where it is older.
  [/\b(?:[A-Z]{5}\d{4}[A-Z]|\d{10})\b/giu, '[iec]'],
];

const LONGEST = 2_000;

/**
 * A text without e-mail addresses, IECs, GSTINs, keys and passwords in addresses, cut after 2,000 characters. A second
 * line of defence: what is known to be secret is not logged at all.
 */
export function maskText(text: string): string {
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return FORMS.reduce((masked, [form, instead]) => masked.replace(form, instead), cut);
}
