/** The texts of a request: what no text may have in it, and the forms of names. */
import { z } from 'zod';
import { cleanText, printable } from '../../domain/text';
import { badRequest } from './problem';

/** Deeper than any document that this API takes. */
const DEEPEST = 20;

/** PostgreSQL takes no NUL, and half a surrogate pair is no character. */
const UNSTORABLE = /\u0000|\p{Cs}/u;

/** Refuses texts that cannot be stored, by field, and too deep documents. @throws Problem 400 */
export function refuseUnstorable(value: unknown, path: readonly (string | number)[] = []): void {
  const field = path.join('.').slice(0, 200);
  if (typeof value === 'string' && UNSTORABLE.test(value)) {
    throw badRequest('invalid_text', `${field} has a NUL or half a character; allowed: any other text.`, field);
  }
  if (typeof value !== 'object' || value === null) return;
  if (path.length >= DEEPEST) {
    throw badRequest('too_deep', `${field} is nested too deep; allowed: ${DEEPEST} levels.`, field);
  }
  for (const [key, inner] of Object.entries(value)) {
    if (UNSTORABLE.test(key))
      throw badRequest('invalid_text', `A name in ${field || 'the document'} has a NUL.`, field);
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
