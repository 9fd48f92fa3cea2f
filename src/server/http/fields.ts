/** Fields that routes share: texts and names, and the pages of lists, whose cursors callers keep as they are. */
import { z } from 'zod';
import { cleanText, isStorable, printable } from '../../domain/text';
import { badRequest } from './problem';

/** Deeper than any document that this API takes. */
const DEEPEST = 20;

/** Refuses texts that cannot be stored, by field, and too deep documents. @throws Problem 400 */
export function refuseUnstorable(value: unknown, path: readonly (string | number)[] = []): void {
  const field = path.join('.').slice(0, 200);
  if (typeof value === 'string' && !isStorable(value)) {
    throw badRequest('invalid_text', `${field} has a NUL or half a character; allowed: any other text.`, field);
  }
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= DEEPEST) {
    throw badRequest('too_deep', `${field} is nested too deep; allowed: ${DEEPEST} levels.`, field);
  }
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorable(key)) throw badRequest('invalid_text', `A name in ${field || 'the document'} has a NUL.`, field);
    refuseUnstorable(inner, [...path, key]);
  }
}

/** A text that is shown as it is written: without control characters and characters that hide or turn others. */
export const shownAsWritten = (schema: z.ZodString) =>
  schema.refine(
    (text) => printable(cleanText(text)) === text,
    'has invisible or control characters; allowed: visible ones',
  );

export const visible = (longest: number) =>
  shownAsWritten(z.string().trim().min(1, 'is empty').max(longest, `has more than ${longest} characters`));

/** An exporter's id or e-mail address. */
export const exporterName = visible(254).describe('id or e-mail of an exporter');

/** A filing's id, or the caller's reference. */
export const filingName = visible(300).describe('a filing id or a reference, percent-encoded');

/** What an answer says of a filing date. */
export const FILING_DATE = 'YYYY-MM-DD';

/** A note of a person. */
export const note = visible(2_000).describe('why, for the record');

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
