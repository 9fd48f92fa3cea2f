/**
 * Tolerant schemas for answers, which must not be refused because of a detail: absent, null, `""`, `"NA"` and `"-"` are
 * the same, numbers may be texts and texts numbers, and a value of a wrong type becomes null.
 */
import { z } from 'zod';
import { withoutNoise } from '../../domain/money';
import { isObject } from '../../domain/values';
import { bounded, cutList } from '../http/answers';
import { meansNoValue } from '../../domain/text';
import { cleanWords } from './clean';

function toText(value: unknown): string | null {
  if (typeof value === 'string') return meansNoValue(value) ? null : value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value === null || value === undefined) return null;
  return cleanWords(JSON.stringify(value));
}

const PLAIN_NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)$/u;
/** Indian or Western digit groups. A comma before the last three digits is never a decimal sign here. */
const GROUPED_NUMBER = /^[+-]?\d{1,3}(,\d{2,3}){0,6},\d{3}(\.\d+)?$/u;

function toNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? withoutNoise(value) : null;
  if (typeof value !== 'string' || value.length > 60) return null;
  const digits = value.trim();
  if (PLAIN_NUMBER.test(digits)) return withoutNoise(Number(digits));
  return GROUPED_NUMBER.test(digits) ? withoutNoise(Number(digits.replaceAll(',', ''))) : null;
}

const TRUE: readonly unknown[] = ['true', 'y', 'yes', '1'];
const FALSE: readonly unknown[] = ['false', 'n', 'no', '0'];

function toBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  const word = typeof value === 'number' || typeof value === 'string' ? String(value).trim().toLowerCase() : null;
  if (TRUE.includes(word)) return true;
  return FALSE.includes(word) ? false : null;
}

/** A text, or null; other values become text. */
export const text = z.unknown().transform(toText).optional().default(null);

/** Text fields of these names. */
export function texts<Name extends string>(...names: Name[]): Record<Name, typeof text> {
  return Object.fromEntries(names.map((name) => [name, text])) as Record<Name, typeof text>;
}

/** A text in which `NA` is a value (the country code of Namibia). */
export const code = z
  .unknown()
  .transform((value) => (typeof value === 'string' && /^na$/iu.test(value.trim()) ? value : toText(value)))
  .optional()
  .default(null);

/** A number, also from text with or without digit groups; anything else is null. */
export const number = z.unknown().transform(toNumber).optional().default(null);

/** A boolean, also in other spellings; anything else is null. */
export const flag = z.unknown().transform(toBoolean).optional().default(null);

/** The most entries that are kept of a list of remarks. Lists of rows are never cut, because each row counts. */
const MAX_REMARKS = 1_000;

/** A list of any values. A single value becomes a list of one, no value an empty list. */
export const anyList = z
  .unknown()
  .transform((value): unknown[] => {
    const list = Array.isArray(value) ? (value as unknown[]) : [value];
    return cutList(
      list.filter((entry) => !isAbsent(entry)),
      MAX_REMARKS,
    ).map(bounded);
  })
  .optional()
  .default([]);

/** A required text; a number becomes text. */
export const requiredText = z.unknown().transform((value, context): string => {
  const read = typeof value === 'string' || typeof value === 'number' ? toText(value) : null;
  if (read !== null) return read;
  context.addIssue({ code: 'custom', message: 'missing' });
  return z.NEVER;
});

/** The most fields outside the specification that are kept of a record. */
const MAX_UNKNOWN_FIELDS = 60;

/** A record of the service: named fields by their schemas, others kept within limits. */
export function record<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.looseObject(shape).transform((value) => {
    const unknown = Object.keys(value).filter((name) => !Object.hasOwn(shape, name));
    if (unknown.length === 0) return value;
    const kept: Record<string, unknown> = value;
    for (const name of unknown.slice(0, MAX_UNKNOWN_FIELDS)) kept[name] = bounded(kept[name]);
    for (const name of unknown.slice(MAX_UNKNOWN_FIELDS)) delete kept[name];
    return value;
  });
}

/** A list; unreadable entries are counted as `unread`. Absent, `""` and `{}` are empty; a record is a list of one. */
export function recordList<T>(entry: z.ZodType<T>) {
  return z
    .unknown()
    .transform((value): { records: T[]; unread: number } => {
      const entries = entriesOf(value).filter((item) => !isAbsent(item));
      const read = entries.map((item) => (isObject(item) ? entry.safeParse(item) : null));
      const records = read.flatMap((result) => (result?.success ? [result.data] : []));
      return { records, unread: entries.length - records.length };
    })
    .optional()
    .default({ records: [], unread: 0 });
}

function entriesOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  if (!isObject(value)) return [value];
  // Some encoders write a list as a record with indices as names.
  return Object.keys(value).every((name) => /^\d+$/u.test(name)) ? Object.values(value) : [value];
}

/** Whether a value is null, undefined, a text for "no value", or an empty record. */
export function isAbsent(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return meansNoValue(value);
  return isObject(value) && Object.keys(value).length === 0;
}

