/** Checks of a message or a workbook by all rules and balances; nothing is filed. */
import { z } from 'zod';
import { checkFile } from '../../starter/filings/check';
import { visibleExporter } from '../access/scope';
import { badRequest, findingsInApiTerms, Problem } from '../http/problem';
import { addRoute, depsFor, type Call, type Door, type Registrar } from '../http/route';
import { exporterName } from '../http/fields';
import { workbookHeaders } from './exporters';
import { fileInput } from '../../domain/contracts';
import { ISO_DATE, parseFilingDate } from '../../domain/dates';
import { FIELD_NAMES, MAPPING_FIELDS } from '../../domain/filing/mapping';
import { isObject } from '../../domain/values';
import { UPLOAD_TYPES } from '../../domain/rules/columns';
import type { FilingSource } from '../../starter/filings/read-file';

const finding = z.object({
  severity: z.string(),
  code: z.string(),
  row: z.number().int().nullable(),
  field: z.string().nullable(),
  message: z.string(),
});

export function addCheckRoutes(server: Registrar, { deps }: Door): void {
  const registrar = { ...server, tag: 'Filings' };
  addRoute(registrar, {
    id: 'check',
    route: 'POST /checks',
    summary: 'Check a push message or a workbook',
    roles: ['maker', 'checker', 'viewer', 'admin'],
    body: z.strictObject({ ...statedSchema.shape, exporter: exporterName }),
    takesFile: true,
    answers: {
      200: {
        description: 'What is wrong with it; with Accept of a workbook, the workbook with the errors in its cells',
        schema: z.object({
          ok: z.boolean(),
          rows: z.number().int(),
          errors: z.array(finding),
          warnings: z.array(finding),
        }),
      },
    },
    async handle(call) {
      const { principal, body, request } = call;
      const { uploadType, declaration, allowDuplicate } = body;
      const exporter = await visibleExporter(deps, principal, body.exporter);
      const annotate = call.upload !== null && (request.headers.accept ?? '').includes('spreadsheetml');
      const stated = { uploadType, declaration, allowDuplicate, annotate };
      const checked = await checkFile(depsFor({ deps }, exporter), { source: sourceOf(call), exporter, ...stated });
      const { ok, rows, errors, warnings, annotated } = checked;
      if (annotate && annotated === null) {
        const [first] = errors;
        throw new Problem(422, first?.code ?? 'refused', first?.message ?? 'There is nothing to mark.', { errors });
      }
      if (annotated) return { headers: workbookHeaders('checked.xlsx'), body: annotated };
      return { body: { ok, rows, errors: findingsInApiTerms(errors), warnings: findingsInApiTerms(warnings) } };
    },
  });
}

/** What is filed or checked: a push message in a JSON body, or a workbook in a form. */

const uploadType = z
  .union([z.number().int(), z.string().regex(/^\d{3}$/)])
  .transform(Number)
  .refine((code) => Object.hasOwn(UPLOAD_TYPES, code), `allowed: ${Object.keys(UPLOAD_TYPES).join(', ')}`);

/** The fields beside the file or the message. */
export const statedSchema = z.strictObject({
  message: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('a push message, its dates as YYYY-MM-DD or DDMMYYYY; in a form, the part `file` takes its place'),
  uploadType: uploadType.optional().describe('where the file does not have it'),
  declaration: z.enum(['Y', 'N']).optional().describe('the legal declaration, where the message does not have it'),
  allowDuplicate: fileInput.shape.allowDuplicate,
});

/** @throws Problem 400 where there is neither a message nor a file, or both */
export function sourceOf(
  args: Pick<Call<unknown, unknown, { message?: Record<string, unknown> }>, 'body' | 'upload'>,
): FilingSource {
  const {
    body: { message },
    upload,
  } = args;
  if (upload && message)
    throw badRequest('invalid_request', 'Give either message or the part `file`, not both.', 'file');
  if (upload) return upload;
  if (message) return { message: withFilingDates(message) };
  throw badRequest('invalid_request', 'Give a message, or a form with a part `file`.', 'message');
}

const DATES = FIELD_NAMES.filter((field) => MAPPING_FIELDS[field] === 'date');

/** A message may have its dates as this API writes them, YYYY-MM-DD; the specification's form is DDMMYYYY. */
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
