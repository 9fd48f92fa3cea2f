import { Context } from '@temporalio/activity';
import type { Irm } from '../../api/schemas/exporters';
import { readinessOf } from '../../domain/exporter/exporter';
import { currentCredentials } from '../../ledger/vault/credentials';
import { exportersAfter, getExporter, needExporter, noteIrmsRefreshed } from '../../ledger/exporters/exporters';
import type { ExporterRow } from '../../ledger/exporters/exporters';
import { saveIrms } from '../../ledger/exporters/irms';
import { withHeartbeat, withStepHeartbeat } from '../call-context';
import { withCredentials } from './credential-guard';
import type { Deps } from '../dependencies';
import { reserveBalances, type ReserveArgs, type Reserved } from '../filings/filing-ledger';

/** An exporter whose IRMs are to be refreshed, or the reason to skip it. */
export interface RefreshCandidate {
  exporterId: string;
  skip: string | null;
  /** The ledger's state may be outdated: read the client from the service first. */
  readFirst: boolean;
}

/** Has the service read the IRMs (spec: "POST /irm/refresh"). Fails with `activation_pending` or a credential kind. */
async function refreshIrms(deps: Deps, { exporterId }: { exporterId: string }): Promise<void> {
  const { clock, api, pool } = deps;
  const startedAt = new Date(clock());
  await withHeartbeat(exporterId, (call) => withCredentials(deps, exporterId, () => api.refreshIrms(exporterId, call)));
  await noteIrmsRefreshed(pool, exporterId, startedAt);
}

/** Reads the saved IRMs into the ledger (spec: "GET /irm"). With `reserve` it then reserves balances for a filing. */
async function readIrms(
  deps: Deps,
  args: { exporterId: string; reserve?: ReserveArgs & { seq: number } },
): Promise<{
  irmCount: number;
  /** The result of the filing's reservation; null: none was requested. */
  reserved: Reserved | null;
}> {
  const { pool, clock, api, logger } = deps;
  const exporter = await needExporter(pool, args.exporterId);
  const { exporterId } = exporter;
  // Saved balances are those of the last refresh, however late they are read.
  const balancesAt = exporter.irmsRefreshedAt ?? new Date(clock());
  const records: Irm[] = [];
  await withHeartbeat(exporterId, async (call) => {
    for await (const record of api.listIrms(exporterId, call)) {
      records.push(record);
      Context.current().heartbeat({ read: records.length });
    }
  });
  const { count, changed } = await saveIrms(pool, exporterId, records, balancesAt);
  for (const { what } of changed) {
    if (!what.includes('amended') && !what.includes('cancelled')) continue;
    logger.warn({ exporterId, what }, 'an IRM was amended or cancelled');
  }
  const { reserve } = args;
  const reserved = reserve ? await withStepHeartbeat(() => reserveBalances(deps, reserve)) : null;
  return { irmCount: count, reserved };
}

/** A page of exporters whose IRMs are to be refreshed, or the one exporter that is named. */
async function exportersToRefresh(
  deps: Deps,
  args: { exporterId?: string; after: string; limit: number },
): Promise<{ candidates: RefreshCandidate[]; next: string | null }> {
  const { pool, mode } = deps;
  if (args.exporterId) {
    const exporter = await getExporter(pool, args.exporterId);
    const unknown: RefreshCandidate = { exporterId: args.exporterId, skip: null, readFirst: true };
    return { candidates: [exporter ? await candidate(deps, exporter) : unknown], next: null };
  }
  const page = await exportersAfter(pool, { mode, after: args.after, limit: args.limit });
  const candidates: RefreshCandidate[] = [];
  for (const exporter of page) candidates.push(await candidate(deps, exporter));
  return { candidates, next: page.length < args.limit ? null : (page.at(-1)?.exporterId ?? null) };
}

async function candidate({ pool, clock }: Deps, exporter: ExporterRow): Promise<RefreshCandidate> {
  const { exporterId, activatesAt } = exporter;
  const { readiness } = readinessOf(exporter);
  const credentials = await currentCredentials(pool, exporterId);
  const skipped = (skip: string): RefreshCandidate => ({ exporterId, skip, readFirst: false });
  if (readiness === 'created') return skipped('its portal credentials were never validated');
  if (readiness === 'unvalidated') return skipped('its portal credentials have to be validated again');
  if (credentials?.state === 'bad') return skipped(`its portal credentials are bad (${credentials.reason})`);
  if (readiness === 'ready') return { exporterId, skip: null, readFirst: false };
  const stillPending = activatesAt !== null && Date.parse(activatesAt) > clock();
  return stillPending ? skipped(`API access opens at ${activatesAt}`) : { exporterId, skip: null, readFirst: true };
}

export const irmActivities = { refreshIrms, readIrms, exportersToRefresh };
