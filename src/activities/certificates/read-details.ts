import { splitWindow, type FilingDate } from '../../domain/dates';
import { saveCertificates } from '../../ledger/certificates/certificates';
import { withHeartbeat } from '../call-context';
import { withCredentials } from '../exporters/credential-guard';
import type { ActivityDependencies } from '../dependencies';

/**
 * Reads every certificate of an exporter that was issued in a span of days into the ledger, from as few calls as the
 * window of three months allows (spec: "POST /genebrc/fetch-details"). @returns their numbers.
 */
export async function readDetails(
  deps: Pick<ActivityDependencies, 'pool' | 'api' | 'clock' | 'logger'>,
  { exporterId, iecCode, from, to }: { exporterId: string; iecCode: string; from: FilingDate; to: FilingDate },
): Promise<string[]> {
  const numbers = new Set<string>();
  for (const window of splitWindow(from, to)) {
    const details = await withCredentials(deps, exporterId, () =>
      withHeartbeat(exporterId, (context) =>
        deps.api.fetchDetails(
          { platformCustomerId: exporterId, iecCode, eBRCIssueFromDt: window.from, eBRCIssueToDt: window.to },
          context,
        ),
      ),
    );
    await saveCertificates(deps.pool, { exporterId, details, at: new Date(deps.clock()) });
    for (const { eBRCNumber } of details) if (eBRCNumber) numbers.add(eBRCNumber.trim());
  }
  return [...numbers];
}
