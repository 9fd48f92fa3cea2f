/** What a person says of a request, held against the service: a mistyped id would be polled for ever. */
import { calls } from './activity-profiles';
import { readFailure } from './failures';
import type { FilingRun } from './filing-run';

/** Takes over a request id that a person gave, unless there is a doubt about it. */
export async function adoptSaidRequest(
  run: FilingRun,
  submission: number,
  { by, requestId }: { by: string; requestId: string },
): Promise<{ doubt: string } | { doubt: null; submittedAt: number }> {
  const { filingId } = run;
  const doubt = await doubtAbout(run, requestId);
  if (doubt !== null) return { doubt };
  const about = { summary: `Filed as ${requestId}, says ${by}` };
  const { submittedAt } = await calls('ledger', about).adoptRequestId({ filingId, submission, requestId });
  return { doubt: null, submittedAt };
}

/** Why a request id that a person gave cannot be taken, or null. An id that cannot be checked now is believed. */
async function doubtAbout(run: FilingRun, requestId: string): Promise<string | null> {
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
