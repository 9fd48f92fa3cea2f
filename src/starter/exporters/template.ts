import type { LedgerDependencies } from '../dependencies';
import { buffer } from 'node:stream/consumers';
import type pg from 'pg';
import type { FilingApi } from '../../api/client';
import { ApiError } from '../../api/errors/api-error';
import { templateProblem } from '../../domain/rules/columns';
import { saveBulkTemplate } from '../../ledger/service/bulk-templates';
import { heldIrmOf, listIrms } from '../../ledger/exporters/irms';
import { readWorkbook, WorkbookRefused } from '../../workbook/read';
import { type KnownIrms, buildTemplate, decorateTemplate, readTemplateLabels } from '../../workbook/template';
import { readIrmViews } from './views';
import { exporterIdOf } from '../lookup';

export interface Template {
  bytes: Buffer;
  rows: number;
  source: 'service' | 'ledger';
  /** Why this is not the service's own template; null if it is. */
  notice: string | null;
}

/** The service's template (spec: "GET /irm/bulk-template"), or one built from the ledger. @throws RefusedError */
export async function makeTemplate(
  { pool, mode, api }: LedgerDependencies & { api?: FilingApi },
  exporter: string,
  { all = false }: { all?: boolean } = {},
): Promise<Template> {
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const balances = { irms: await readIrmViews(pool, exporterId), all };
  const made = api
    ? await templateOf({ pool, mode, api }, exporterId, balances)
    : await templateOfLedger(pool, exporterId, balances, 'This program does not call the service');
  const { unchecked, untouched } = await readWorkbook(made.bytes);
  return { ...made, rows: unchecked.length + untouched.length };
}

/** Reads the service's template and stores its labels. @returns the template, and why they were not stored (or null) */
export async function learnTemplate(
  { pool, mode, api }: LedgerDependencies & { api: FilingApi },
  exporterId: string,
): Promise<{ template: Buffer; problem: string | null }> {
  const template = await api.irmTemplate(exporterId, (body) => buffer(body), { exporterId });
  const labels = await readTemplateLabels(template);
  const problem = templateProblem(labels);
  if (problem === null) await saveBulkTemplate(pool, mode, labels, new Date());
  return { template, problem };
}

async function templateOf(
  { pool, mode, api }: LedgerDependencies & { api: FilingApi },
  exporterId: string,
  balances: KnownIrms,
): Promise<Omit<Template, 'rows'>> {
  try {
    const { template } = await learnTemplate({ pool, mode, api }, exporterId);
    return { bytes: await decorateTemplate(template, balances), source: 'service', notice: null };
  } catch (error) {
    // The answer may be no workbook at all, such as a proxy's error page.
    if (!(error instanceof ApiError || error instanceof WorkbookRefused)) throw error;
    return templateOfLedger(pool, exporterId, balances, `The service did not return its template (${error.message})`);
  }
}

async function templateOfLedger(
  pool: pg.Pool,
  exporterId: string,
  balances: KnownIrms,
  why: string,
): Promise<Omit<Template, 'rows'>> {
  const irms = await listIrms(pool, exporterId);
  const bytes = await buildTemplate(irms.map(heldIrmOf), balances);
  return { bytes, source: 'ledger', notice: `${why}; it is built from the ledger.` };
}
