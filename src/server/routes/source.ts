/** What is filed or checked: a push message in a JSON body, or a workbook in a form. */
import { z } from 'zod';
import { fileInput } from '../../domain/contracts';
import { UPLOAD_TYPES } from '../../domain/rules/columns';
import type { FilingSource } from '../../starter/filings/read-file';
import { badRequest } from '../http/problem';
import type { Upload } from '../http/form';

const uploadType = z
  .union([z.number().int(), z.string().regex(/^\d{3}$/)])
  .transform(Number)
  .refine((code) => Object.hasOwn(UPLOAD_TYPES, code), `allowed: ${Object.keys(UPLOAD_TYPES).join(', ')}`);

/** The fields beside the file or the message. */
export const statedSchema = z.strictObject({
  message: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('a push message; in a form, the part `file` takes its place'),
  uploadType: uploadType.optional().describe('where the file does not have it'),
  declaration: z.enum(['Y', 'N']).optional().describe('the legal declaration, where the message does not have it'),
  allowDuplicate: fileInput.shape.allowDuplicate,
});

export type Stated = z.output<typeof statedSchema>;

/** @throws Problem 400 where there is neither a message nor a file, or both */
export function sourceOf({
  body: { message },
  upload,
}: {
  body: Pick<Stated, 'message'>;
  upload: Upload | null;
}): FilingSource {
  if (upload && message)
    throw badRequest('invalid_request', 'Give either message or the part `file`, not both.', 'file');
  if (upload) return upload;
  if (message) return { message };
  throw badRequest('invalid_request', 'Give a message, or a form with a part `file`.', 'message');
}
