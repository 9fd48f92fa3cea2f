/** A request id that a person gives is checked at the service: a mistyped one would be polled for ever. */
import type { ResolveArgs } from '../../../domain/contracts';
import { calls } from '../../activity-profiles';
import { readFailure } from '../../failures';
import type { FilingRun } from '../filing-run';

/**
 * Takes over a request id that a person gave for an attempt, unless there is a doubt about it: from then on the filing
 * is being processed under it.
 */
export async function adoptSaidRequest(
  run: FilingRun,
  attemptId: string,
  { as, by, note, requestId }: ResolveArgs & { requestId: string },
): Promise<{ doubt: string } | { doubt: null; submittedAt: number }> {
  const doubt = await doubtAbout(run, requestId);
  if (doubt !== null) return { doubt };
  const event = { kind: 'resolved', who: by, text: note, data: { as, requestId, attemptId } };
  const record = run.steps(`Record request ${requestId}, given by ${by}`);
  const adopted = await run.stepTo('processing', event, (move) =>
    record.adoptRequestId({ attemptId, requestId, move }),
  );
  return adopted.doubt === null ? { doubt: null, submittedAt: adopted.submittedAt } : { doubt: adopted.doubt };
}

/** Why a request id that a person gave cannot be taken, or null. One that cannot be checked now is not believed. */
async function doubtAbout(run: FilingRun, requestId: string): Promise<string | null> {
  const { exporterId } = run;
  const summary = `Check that the service has request ${requestId}`;
  const about = { summary, rateClass: 'api', exporterId, priorityKey: 1 } as const;
  try {
    const { known } = await calls('helpful', about).knowsRequest({ exporterId, requestId });
    if (known) return null;
  } catch (error) {
    const { kind, message } = readFailure(error);
    if (kind === null) throw error;
    return `the service cannot be asked about request ${requestId} now (${message}); answer again when it can`;
  }
  return `the service does not know request ${requestId} of this exporter; copy its id from the portal and answer again`;
}
