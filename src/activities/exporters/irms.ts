import { readinessOf } from '../../domain/exporter/exporter';
import { currentCredentials } from '../../ledger/vault/credentials';
import { exportersAfter, getExporter } from '../../ledger/exporters/exporters';
import type { ExporterRow } from '../../ledger/exporters/exporters';
import type { Deps } from '../dependencies';

/** An exporter whose IRMs are to be refreshed, or the reason to skip it. */
export interface RefreshCandidate {
  exporterId: string;
  skip: string | null;
  /** The ledger's state may be outdated: read the client from the service first. */
  readFirst: boolean;
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

export const irmActivities = { exportersToRefresh };
