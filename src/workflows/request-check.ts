/** What a person says of a request, held against the service: a mistyped id would be polled for ever. */
import { calls } from './activity-profiles';
import { readFailure } from './failures';
import type { FilingRun } from './filing-run';

/** Why a request id that a person gave cannot be taken, or null. An id that cannot be checked now is believed. */
export async function doubtAbout(run: FilingRun, requestId: string): Promise<string | null> {
  const { exporterId } = run;
  const about = { summary: `Does the service know request ${requestId}?`, rateClass: 'api' as const, exporterId };
  try {
    const { known } = await calls('helpful', about).knowsRequest({ exporterId, requestId });
    if (known) return null;
  } catch (error) {
    if (readFailure(error).kind === null) throw error;
    return null;
  }
  return `the service does not know request ${requestId} of this exporter; copy its id from the portal and answer again`;
}
