import { z } from 'zod';

/**
 * Building blocks for what the service sends. The specification leaves much unsaid, so an answer is never refused for
 * a detail: null and absent are the same, numbers may come as text and text as numbers, and a value that fits nowhere
 * becomes null instead of failing the whole record.
 */

function toText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (value === null || value === undefined) return null;
  return JSON.stringify(value);
}

function toNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'string' || !/^\s*[+-]?(\d+(\.\d*)?|\.\d+)\s*$/.test(value)) return null;
  return Number(value);
}

function toBoolean(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  if (value === 'false') return false;
  return null;
}

/** A text, or null; unknown words are kept as they are. */
export const text = z.unknown().transform(toText).optional().default(null);

/** A number, also when it comes as text; anything else is null. */
export const number = z.unknown().transform(toNumber).optional().default(null);

/** true or false, also when it comes as text; anything else is null. */
export const flag = z.unknown().transform(toBoolean).optional().default(null);

/** A list of whatever the service put there; a single value becomes a list of one, nothing an empty list. */
export const anyList = z
  .unknown()
  .transform((value): unknown[] => {
    if (Array.isArray(value)) return value as unknown[];
    return value === null || value === undefined || value === '' ? [] : [value];
  })
  .optional()
  .default([]);

/** A text without which the record is of no use; a number is read as text. */
export const requiredText = z.union([z.string().min(1), z.number().transform(String)]);
