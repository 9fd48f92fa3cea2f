/** Fields that several routes use: texts, names, and pages of lists with their opaque cursors. */
import { z } from 'zod';
import { isAsItLooks, isStorable } from '../../domain/text';
import { shortName } from '../../domain/issues';
import { badRequest } from './problem';

/** Deeper than any document of this API. */
const MAX_DEPTH = 20;

/** Refuses too deep documents, and texts that PostgreSQL cannot store, by field. @throws Problem 400 */
export function refuseUnstorable(value: unknown): void {
  // One path for all values: a document has many of them, and seldom a wrong one.
  const path: string[] = [];
  const field = () => shortName(path.join('.'));

  function look(inner: unknown): void {
    if (typeof inner === 'string' && !isStorable(inner)) {
      throw badRequest('invalid_text', `${field()} has a NUL or half a character; allowed: any other text.`, field());
    }
    if (typeof inner !== 'object' || inner === null) return;
    if (path.length >= MAX_DEPTH) {
      throw badRequest('too_deep', `${field()} is nested too deep; allowed: ${MAX_DEPTH} levels.`, field());
    }
    for (const [key, part] of Object.entries(inner)) {
      if (!isStorable(key)) {
        throw badRequest('invalid_text', `A name in ${field() || 'the document'} has a NUL.`, field());
      }
      path.push(key);
      look(part);
      path.pop();
    }
  }

  look(value);
}

/** A text that a person may compare with another one, so that it must be what it looks like. */
export const shownAsWritten = (schema: z.ZodString) =>
  schema.refine(
    isAsItLooks,
    'has invisible characters, or letters that look like others; allowed: visible ones of one alphabet in a word',
  );

export const visible = (longest: number) =>
  shownAsWritten(z.string().trim().min(1, 'is empty').max(longest, `has more than ${longest} characters`));

/** An exporter's id or e-mail address. */
export const exporterName = visible(254).describe('id or e-mail of an exporter');

/** A filing's id, or the caller's reference. */
export const filingName = visible(300).describe('a filing id or a reference, percent-encoded');

/** Format of a filing date in answers. */
export const FILING_DATE = 'YYYY-MM-DD';

export const note = visible(2_000).describe('why, for the record');

const MAX_PAGE = 500;
const DEFAULT_PAGE = 100;

export const cursorText = z.string().max(1_000);
export const pageSize = z.coerce
  .number()
  .int()
  .min(1)
  .max(MAX_PAGE)
  .default(DEFAULT_PAGE)
  .describe('entries of a page');

/** Query fields of a list. */
export const paging = { cursor: cursorText.optional().describe('`next` of the page before'), limit: pageSize };

/** The schema of a list. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), next: z.string().nullable().describe('the cursor of the next page; null: none') });

export const badCursor = (field: string) =>
  badRequest('bad_cursor', `${field} is no cursor of this list; allowed: \`next\` of the page before.`, field);

/** Encodes marks as an opaque cursor. */
export const asCursor = (marks: unknown): string => Buffer.from(JSON.stringify(marks)).toString('base64url');

/** Decodes a cursor; undefined without one. @throws Problem 400 if it is not a cursor of this list */
export function readCursor<T extends z.ZodType>(cursor: string | undefined, form: T): z.output<T> | undefined {
  if (cursor === undefined) return undefined;
  try {
    const storable = (_: string, mark: unknown) => (typeof mark === 'string' && !isStorable(mark) ? undefined : mark);
    return form.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString(), storable));
  } catch {
    throw badCursor('cursor');
  }
}

/** A page of what was read up to `limit + 1`. @param markOf the mark of the last entry, for {@link readCursor} */
export function pageOf<T>(read: readonly T[], limit: number, markOf: (last: T) => unknown) {
  const items = read.slice(0, limit);
  const last = items.at(-1);
  const more = read.length > limit && last !== undefined;
  return { items, next: more ? asCursor(markOf(last)) : null };
}
