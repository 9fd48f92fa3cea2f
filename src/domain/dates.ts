/**
 * Filing dates are days in Asia/Kolkata as DDMMYYYY (spec: "Conventions"), not instants. Nothing here uses the local
 * time zone; arithmetic runs on UTC midnights.
 */

/** A calendar date as DDMMYYYY text. */
export type FilingDate = string;

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
/** Asia/Kolkata is UTC+05:30 all year round. */
export const KOLKATA_OFFSET_MS = 19_800_000;

/** Years outside this range are refused as typing errors, such as `0226`. */
const FIRST_YEAR = 1900;
const LAST_YEAR = 2999;

const DAY_FIRST = /^(\d{2})(?:\/(\d{2})\/|-(\d{2})-|(\d{2}))(\d{4})$/;
export const ISO_DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const ISO_TIMESTAMP = /^(\d{4}-\d{2}-\d{2})[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?$/i;

/** Undocumented forms that name exactly one day: 12.05.2026, 12-May-2026, 12 May 2026, 20260512. */
const DOTTED = /^(\d{2})\.(\d{2})\.(\d{4})$/;
const MONTH_NAMED = /^(\d{1,2})[ -]([A-Za-z]{3,9})[ -](\d{4})$/;
const YEAR_FIRST = /^(\d{4})(\d{2})(\d{2})$/;
const MONTHS = 'january february march april may june july august september october november december'.split(' ');

/** The forms that {@link parseFilingDate} accepts, as the spec's error message lists them. */
export const DATE_FORMS = 'DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY, YYYY-MM-DD';

/** Parses a date in the spec's forms, day first. `form`: none of them; `impossible`: no real day (31/02/2026). */
export function parseFilingDate(
  text: string,
): { ok: true; date: FilingDate } | { ok: false; reason: 'form' | 'impossible' } {
  const trimmed = text.trim();
  const dayFirst = DAY_FIRST.exec(trimmed);
  if (dayFirst) {
    const [, day, slashed, dashed, plain, year] = dayFirst;
    return fromParts(Number(year), Number(slashed ?? dashed ?? plain), Number(day));
  }
  const iso = ISO_DATE.exec(trimmed);
  if (iso) return fromParts(Number(iso[1]), Number(iso[2]), Number(iso[3]));
  return { ok: false, reason: 'form' };
}

/** Whether a value is a real day as DDMMYYYY text, the only form that is sent. */
export function isFilingDate(value: unknown): value is FilingDate {
  return typeof value === 'string' && /^\d{8}$/.test(value) && parseFilingDate(value).ok;
}

/** Converts `YYYY-MM-DD`. @throws RangeError for another form or no real day */
export function filingDateFromIso(iso: string): FilingDate {
  const parsed = ISO_DATE.test(iso) ? parseFilingDate(iso) : undefined;
  if (!parsed?.ok) throw new RangeError(`${JSON.stringify(iso)} is not a calendar date as YYYY-MM-DD.`);
  return parsed.date;
}

/**
 * Parses a date in any form that names exactly one day. A timestamp with an offset gives its day in Asia/Kolkata, so
 * that Indian and UTC midnight both give the intended day; without an offset it gives the day as written.
 */
export function filingDateFromAnything(value: unknown): FilingDate | null {
  if (typeof value !== 'string') return null;
  const parsed = parseFilingDate(value);
  if (parsed.ok) return parsed.date;
  const other = dateOfOtherForms(value.trim());
  if (other !== null) return other;
  const timestamp = ISO_TIMESTAMP.exec(value.trim());
  if (!timestamp) return null;
  const [whole, day = '', offset] = timestamp;
  const shown = parseFilingDate(day);
  if (!shown.ok || offset === undefined) return shown.ok ? shown.date : null;
  const meant = filingDateInKolkata(Date.parse(whole.replace(' ', 'T')));
  return isFilingDate(meant) ? meant : null;
}

function dateOfOtherForms(text: string): FilingDate | null {
  const [, day, month, year] = DOTTED.exec(text) ?? [];
  const [, namedDay, name = '', namedYear] = MONTH_NAMED.exec(text) ?? [];
  // DDMMYYYY was tried before. No text is a date in both forms, because a year's first digits (19 to 29) are no month.
  const [, firstYear, firstMonth, firstDay] = YEAR_FIRST.exec(text) ?? [];
  const named = MONTHS.findIndex((full) => full === name.toLowerCase() || full.slice(0, 3) === name.toLowerCase());
  const parsed = day
    ? fromParts(Number(year), Number(month), Number(day))
    : namedDay
      ? fromParts(Number(namedYear), named + 1, Number(namedDay))
      : fromParts(Number(firstYear), Number(firstMonth), Number(firstDay));
  return parsed.ok ? parsed.date : null;
}

const INSTANT = /\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z/g;

/** Replaces each instant in a text (in `toISOString` form) by what `show` returns for it. */
export function withTimes(text: string, show: (at: string) => string): string {
  return text.replace(INSTANT, (at) => (Number.isNaN(Date.parse(at)) ? at : show(at)));
}

/** Writes the instants of a text as `2026-07-31 14:05 UTC`, for readers whose time zone is unknown. */
export const inUtc = (text: string): string => withTimes(text, (at) => `${at.slice(0, 10)} ${at.slice(11, 16)} UTC`);

/** A filing date as `YYYY-MM-DD`. @throws RangeError for any other text */
export function isoFromFilingDate(date: FilingDate): string {
  return new Date(utcMidnight(date)).toISOString().slice(0, 10);
}

/** A date in any known form as YYYY-MM-DD; null if it cannot be parsed. */
export function isoFromAnything(value: unknown): string | null {
  const date = filingDateFromAnything(value);
  return date && isoFromFilingDate(date);
}

/** A filing date as YYYY-MM-DD; anything else unchanged. */
export function dateText<T extends string | null>(date: T): T | string {
  return isFilingDate(date) ? isoFromFilingDate(date) : date;
}

/** A filing date as DD/MM/YYYY, for people. */
export const dayFirst = (date: FilingDate): string => `${date.slice(0, 2)}/${date.slice(2, 4)}/${date.slice(4)}`;

/** A filing date as `5 December 2026`. */
export function dayInWords(date: FilingDate): string {
  const month = MONTHS[Number(date.slice(2, 4)) - 1] ?? '';
  return `${Number(date.slice(0, 2))} ${month.charAt(0).toUpperCase()}${month.slice(1)} ${date.slice(4)}`;
}

/** Negative when `a` is the earlier day, 0 when the same. @throws RangeError for a non-date */
export function compareFilingDates(a: FilingDate, b: FilingDate): number {
  return Math.sign(utcMidnight(a) - utcMidnight(b));
}

export function addDays(date: FilingDate, days: number): FilingDate {
  return fromUtcMidnight(utcMidnight(date) + days * DAY_MS);
}

/** The calendar date in Asia/Kolkata at an instant (milliseconds since the epoch). */
export function filingDateInKolkata(epochMs: number): FilingDate {
  return fromUtcMidnight(Math.floor((epochMs + KOLKATA_OFFSET_MS) / DAY_MS) * DAY_MS);
}

/**
 * Days of a fetch-details window, both ends included. The service accepts "at most 3 months" (spec: "POST
 * /genebrc/fetch-details") without saying how it counts; no three months are shorter than this.
 */
export const WINDOW_DAYS = 89;

/** Splits a span of days (both ends included) into windows of at most {@link WINDOW_DAYS}, without gap or overlap. */
export function splitWindow(from: FilingDate, to: FilingDate) {
  const windows: { from: FilingDate; to: FilingDate }[] = [];
  for (let start = from; compareFilingDates(start, to) <= 0;) {
    const full = addDays(start, WINDOW_DAYS - 1);
    const end = compareFilingDates(full, to) < 0 ? full : to;
    windows.push({ from: start, to: end });
    start = addDays(end, 1);
  }
  return windows;
}

function fromParts(year: number, month: number, day: number): ReturnType<typeof parseFilingDate> {
  const date = new Date(Date.UTC(year, month - 1, day));
  const real =
    year >= FIRST_YEAR && year <= LAST_YEAR && date.getUTCMonth() === month - 1 && date.getUTCDate() === day && day > 0;
  return real ? { ok: true, date: formatDate(year, month, day) } : { ok: false, reason: 'impossible' };
}

function fromUtcMidnight(midnight: number): FilingDate {
  const date = new Date(midnight);
  return formatDate(date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate());
}

function formatDate(year: number, month: number, day: number): FilingDate {
  return `${day < 10 ? '0' : ''}${day}${month < 10 ? '0' : ''}${month}${String(year).padStart(4, '0')}`;
}

/** Days since 1970. @throws RangeError for a non-date */
export const dayNumber = (date: FilingDate): number => utcMidnight(date) / DAY_MS;

function utcMidnight(date: FilingDate): number {
  if (!isFilingDate(date)) throw new RangeError(`${JSON.stringify(date)} is not a calendar date as DDMMYYYY.`);
  return Date.UTC(Number(date.slice(4)), Number(date.slice(2, 4)) - 1, Number(date.slice(0, 2)));
}

const UNIT_MS = { ms: 1, s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS } as const;

export const DURATION_FORM = 'a number with ms, s, m, h or d, such as 90s or 1.5h';

/** A longer time before or after now is none that PostgreSQL or a report knows. */
export const LONGEST_DURATION = '36500d';

/** Parses `250ms`, `90s`, `10m`, `1.5h` or `2d` into whole milliseconds, rounded; null for any other or longer text. */
export function parseDuration(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(text.trim());
  if (!found) return null;
  const ms = Math.round(Number(found[1]) * UNIT_MS[found[2] as keyof typeof UNIT_MS]);
  return ms <= Number.parseInt(LONGEST_DURATION) * DAY_MS ? ms : null;
}

/** The shortest form of a duration: `90s`, `10m`, `250ms`. */
export function formatDuration(ms: number): string {
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    if (ms !== 0 && ms % UNIT_MS[unit] === 0) return `${ms / UNIT_MS[unit]}${unit}`;
  }
  return `${ms}ms`;
}
