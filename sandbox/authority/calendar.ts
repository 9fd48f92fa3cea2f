/** Filing dates are days in Asia/Kolkata as DDMMYYYY: only {@link kolkataDate} turns a moment into one. */

const KOLKATA_OFFSET_MS = 19_800_000;
const FIRST_YEAR = 1900;
const LAST_YEAR = 2999;

/** The calendar date in Asia/Kolkata at a moment (milliseconds since 1970), as DDMMYYYY. */
export function kolkataDate(epochMs: number): string {
  return dateOfUtcDay(new Date(epochMs + KOLKATA_OFFSET_MS));
}

/** DDMMYYYY of the UTC day that a Date stands for; spreadsheet date cells are read as UTC midnights. */
export function dateOfUtcDay(date: Date): string {
  const day = String(date.getUTCDate()).padStart(2, '0');
  const month = String(date.getUTCMonth() + 1).padStart(2, '0');
  return `${day}${month}${String(date.getUTCFullYear()).padStart(4, '0')}`;
}

/** Whether a text is DDMMYYYY and names a day that exists. */
export function isDdmmyyyy(text: string): boolean {
  return /^\d{8}$/.test(text) && dayNumber(text) !== null;
}

/** UTC midnight of a DDMMYYYY date in ms, for comparing; null when no such day exists. */
export function dayNumber(text: string): number | null {
  const match = /^(\d{2})(\d{2})(\d{4})$/.exec(text);
  if (!match) return null;
  const [day, month, year] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (year < FIRST_YEAR || year > LAST_YEAR) return null;
  const midnight = Date.UTC(year, month - 1, day);
  const date = new Date(midnight);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day ? midnight : null;
}

/** The same day of the month three months later; in a shorter month its last day. Takes and gives UTC midnights. */
export function threeMonthsAfter(midnight: number): number {
  const start = new Date(midnight);
  const lastDay = new Date(Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 4, 0)).getUTCDate();
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 3, Math.min(start.getUTCDate(), lastDay));
}

/** `YYYY-MM-DD` of a DDMMYYYY date. */
export function isoOf(ddmmyyyy: string): string {
  return `${ddmmyyyy.slice(4)}-${ddmmyyyy.slice(2, 4)}-${ddmmyyyy.slice(0, 2)}`;
}

const SLASHED = /^(\d{2})\/(\d{2})\/(\d{4})$/;
const DASHED = /^(\d{2})-(\d{2})-(\d{4})$/;
const ISO = /^(\d{4})-(\d{2})-(\d{2})$/;

/** DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY or YYYY-MM-DD (spec: "POST /genebrc/bulk-upload"), or null: no such day. */
export function readWorkbookDate(text: string): string | null {
  const dayFirst = SLASHED.exec(text) ?? DASHED.exec(text);
  const iso = ISO.exec(text);
  const plain = dayFirst ? `${dayFirst[1]}${dayFirst[2]}${dayFirst[3]}` : iso ? `${iso[3]}${iso[2]}${iso[1]}` : text;
  return isDdmmyyyy(plain) ? plain : null;
}
