import { buffer } from 'node:stream/consumers';
import type { ActivityDependencies } from '../activities/dependencies';
import { templateProblem } from '../domain/service/bulk-template';
import { claimTemplateReading, saveBulkTemplate } from '../ledger/service/bulk-templates';
import type { BackgroundJob } from './background-jobs';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Reads the labels of the bulk workbook from the service's own template once a day (spec: "GET /irm/bulk-template"):
 * the specification shows 22 of the 37. A template that lacks one of these is not used, and the previous labels are
 * kept.
 */
export function templateReading(
  deps: Pick<ActivityDependencies, 'pool' | 'mode' | 'api' | 'workbooks' | 'clock' | 'logger'>,
): BackgroundJob {
  const { pool, mode, api, workbooks, clock, logger } = deps;
  return {
    id: 'read_template',
    name: 'read the labels of the bulk template',
    // Often, because a new installation has no exporter at its start; nearly all of these runs only read the ledger.
    everyMs: 5 * MINUTE_MS,
    async run(signal) {
      const at = new Date(clock());
      const exporterId = await claimTemplateReading(pool, { mode, at, maxAgeMs: DAY_MS, retryMs: HOUR_MS });
      if (exporterId === null) return;
      const bytes = await api.irmTemplate(exporterId, (body) => buffer(body), { exporterId, signal });
      const labels = await workbooks.templateLabels(bytes);
      const problem = templateProblem(labels);
      if (problem === null) await saveBulkTemplate(pool, mode, labels, at);
      else logger.warn({ problem, labels: labels.length }, 'the bulk template was not used');
    },
  };
}
