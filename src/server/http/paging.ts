/** Pages of lists. A cursor says behind what the next page begins; callers keep it as it is. */
import { z } from 'zod';
import { badRequest } from './problem';

const LONGEST_PAGE = 500;
const PAGE = 100;

export const cursorText = z.string().max(1_000);
export const pageSize = z.coerce.number().int().min(1).max(LONGEST_PAGE).default(PAGE).describe('entries of a page');

/** The query fields of a list. */
export const paging = { cursor: cursorText.optional().describe('`next` of the page before'), limit: pageSize };

/** A list, as every list is answered. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe('the cursor of the next page; null: none') });

/** Marks as the text that callers keep. */
export const asCursor = (marks: unknown): string => Buffer.from(JSON.stringify(marks)).toString('base64url');

/** The marks in a cursor; undefined without one. @throws Problem 400 for a text that is no cursor of this list */
export function readCursor<T extends z.ZodType>(
  cursor: string | undefined,
  form: T,
  field = 'cursor',
): z.output<T> | undefined {
  if (cursor === undefined) return undefined;
  try {
    return form.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    throw badRequest('bad_cursor', `${field} is no cursor of this list; allowed: \`next\` of the page before.`, field);
  }
}

/** A page of what was read one entry beyond the limit. @param markOf where the next begins, for {@link readCursor} */
export function pageOf<T>(read: readonly T[], limit: number, markOf: (last: T) => unknown) {
  const items = read.slice(0, limit);
  const last = items.at(-1);
  const more = read.length > limit && last !== undefined;
  return { items, next: more ? asCursor(markOf(last)) : null };
}
