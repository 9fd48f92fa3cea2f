/** Checks a message or workbook by all rules and balances, without filing it. */
import { z } from 'zod';
import { CODES } from '../http/problem-codes';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { checkFile } from '../../starter/filings/check';
import { visibleExporter } from '../access/scope';
import { sourceOf, statedSchema } from '../http/filing-source';
import { findingsInApiTerms, Problem } from '../http/problem';
import { addRoute, depsFor, type HttpApi, type Registrar } from '../http/route';
import { exporterName } from '../http/fields';
import { workbookHeaders } from '../views/documents';
import { findingSchema } from '../views/filing';

export function addCheckRoutes(server: Registrar, { deps }: HttpApi): void {
  const registrar = { ...server, tag: 'Filings' };
  addRoute(registrar, {
    id: 'check',
    codes: CODES.content,
    route: 'POST /checks',
    summary: 'Check a push message or a workbook',
    roles: ['maker', 'checker', 'viewer', 'admin'],
    body: named('CheckRequest', z.strictObject({ ...statedSchema.shape, exporter: exporterName }), EXAMPLES.check),
    takesFile: true,
    answers: {
      200: {
        description: 'What is wrong with it; with Accept of a workbook, the workbook with the errors in its cells',
        schema: z.object({
          ok: z.boolean(),
          rows: z.number().int(),
          errors: z.array(findingSchema),
          warnings: z.array(findingSchema),
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
