import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { filingDateFromIso } from '../domain/dates';
import type { RealisationRule } from '../ledger/reports/ageing';

/** Both `src` and `dist` lie in the package's root. */
const PACKAGED_RULES = join(__dirname, '..', '..', 'realisation-rules.yaml');

const day = z.string().refine((text) => {
  try {
    return Boolean(filingDateFromIso(text));
  } catch {
    return false;
  }
}, 'is no day as YYYY-MM-DD');
const months = z.number().int().min(1).max(120);

const ruleFile = z.strictObject({
  rules: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        inForceFrom: day,
        documentsFrom: day.optional(),
        months,
        monthsByCurrency: z.record(z.string().regex(/^[A-Z]{3}$/u), months).optional(),
        restrictedAfterMonths: months.optional(),
        source: z.string().min(1),
        url: z.url(),
        uncertain: z.string().optional(),
      }),
    )
    .min(1),
});

/**
 * The dated periods within which export proceeds have to be realised.
 * @throws ZodError for an invalid file; errors of the file system
 */
export async function readRealisationRules(path: string = PACKAGED_RULES): Promise<RealisationRule[]> {
  // Dates stay texts: as instants they would depend on a time zone.
  return ruleFile.parse(parse(await readFile(path, 'utf8'), { schema: 'core' })).rules;
}
