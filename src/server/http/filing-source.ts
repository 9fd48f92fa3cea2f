/** The source of a filing or a check: a push message in a JSON body, or a workbook in a form. */
import { z } from 'zod';
import { fileInput } from '../../domain/contracts';
import { ISO_DATE, parseFilingDate } from '../../domain/dates';
import { FIELD_NAMES, MAPPING_FIELDS } from '../../domain/filing/mapping';
import { UPLOAD_TYPES } from '../../domain/rules/columns';
import { isObject } from '../../domain/values';
import type { FilingSource } from '../../starter/filings/read-file';
import { messageField } from './components';
import { badRequest } from './problem';
import type { Call } from './route';

const uploadType = z
  .union([z.number().int(), z.string().regex(/^\d{3}$/)])
  .transform(Number)
  .refine((code) => Object.hasOwn(UPLOAD_TYPES, code), `allowed: ${Object.keys(UPLOAD_TYPES).join(', ')}`);

/** Fields beside the file or message. */
export const statedSchema = z.strictObject({
  message: messageField
    .optional()
    .describe('a push message, its dates as YYYY-MM-DD or DDMMYYYY; in a form, the part `file` takes its place'),
  uploadType: uploadType.optional().describe('where the file does not have it'),
  declaration: z.enum(['Y', 'N']).optional().describe('the legal declaration, where the message does not have it'),
  allowDuplicate: fileInput.shape.allowDuplicate,
});

/** @throws Problem 400 if there is neither a message nor a file, or both */
export function sourceOf({
  body: { message },
  upload,
}: Pick<Call<unknown, unknown, { message?: Record<string, unknown> }>, 'body' | 'upload'>): FilingSource {
  if (upload && message)
    throw badRequest('invalid_request', 'Give either message or the part `file`, not both.', 'file');
  if (upload) return upload;
  if (message) return { message: withFilingDates(message) };
  throw badRequest('invalid_request', 'Give a message, or a form with a part `file`.', 'message');
}

const DATES = FIELD_NAMES.filter((field) => MAPPING_FIELDS[field] === 'date');

/** Accepts this API's YYYY-MM-DD in a message, beside the specification's DDMMYYYY. */
function withFilingDates(message: Record<string, unknown>): Record<string, unknown> {
  const { ebrcBulkGenDtos: items } = message;
  if (!Array.isArray(items)) return message;
  const dated = (items as unknown[]).map((item) => {
    if (!isObject(item)) return item;
    const read = DATES.flatMap((field) => {
      const text = item[field];
      const parsed = typeof text === 'string' && ISO_DATE.test(text) ? parseFilingDate(text) : null;
      return parsed?.ok ? [[field, parsed.date] as const] : [];
    });
    return read.length > 0 ? { ...item, ...Object.fromEntries(read) } : item;
  });
  return { ...message, ebrcBulkGenDtos: dated };
}
