/** A person's answer about a send or a request: checked, at the service if it names a request, and carried out. */
import { type Carried, SECOND_PERSON } from '../../../domain/filing/questions';
import { sentAs } from '../../../domain/filing/attempt';
import { orNull } from '../../failures';
import type { FilingRun } from '../filing-run';
import { stepOnceWhole } from '../pauses';
import { freshenBalancesOnce } from '../prepare-filing';
import { gatherEvidence } from './evidence';

/**
 * Carries out the recorded answer, or refuses its update.
 * @param look reads what changed since the last look. @returns the outcome; null when nothing was carried out
 */
export async function carryOutAnswer(
  run: FilingRun,
  submission: number,
  // A person is waiting: bad credentials or missing access end this look, where a filing would wait.
  look: (attemptId: string | null) => Promise<unknown> = async (attemptId) => {
    await orNull(() => freshenBalancesOnce(run));
    await orNull(() => gatherEvidence(run, submission, attemptId));
  },
): Promise<Exclude<Carried, { why: string }> | null> {
  const { resolution, inQuestion } = run.requests;
  if (resolution?.wordId === undefined) return null;
  const { as, by, note, requestId, wordId, certificates = [] } = resolution;
  const { attemptId = null } = inQuestion ?? {};
  const data = { as, requestId: requestId ?? null, attemptId };
  if (as === 'filed' && requestId && certificates.length === 0) {
    const doubt = await doubtAbout(run, requestId);
    if (doubt !== null) {
      const event = { kind: 'resolve_refused', who: by, text: doubt, data };
      await run.requests.contradictResolution(`${doubt}.`, event);
      return null;
    }
  } else {
    // The last look may be an hour old; without a new one, rows certified since would be filed a second time.
    await look(inQuestion?.requestId ? null : attemptId);
  }
  const event = { kind: 'resolved', who: by, text: note, data };
  const carried = await stepOnceWhole(run, () => {
    const moves = { again: run.nextMove('submitting', event), filed: run.nextMove('processing', event) };
    return run.steps(`Carry out “${as}”, stated by ${by}`).carryOutWord({ wordId, attemptId, moves });
  });
  if ('why' in carried) {
    run.requests.refuseRequest(
      'resolution',
      `${carried.why}.`,
      carried.outcome === 'stands' ? SECOND_PERSON : undefined,
    );
    return null;
  }
  run.requests.clearResolution();
  if (carried.outcome === 'filed' && requestId && attemptId)
    run.noteSend(sentAs(attemptId, { requestId, sentAt: Date.now() }));
  return carried;
}

/** Why a request id that a person gave is refused, or null. It is also refused while the service cannot confirm it. */
async function doubtAbout(run: FilingRun, requestId: string): Promise<string | null> {
  const { exporterId } = run;
  const summary = `Check that the service has request ${requestId}`;
  let doubt: string | null = null;
  const answer = await orNull(
    () => run.calls('helpful', summary, 'api', 1).knowsRequest({ exporterId, requestId }),
    ({ message }) =>
      (doubt = `the service cannot be asked about request ${requestId} now (${message}); answer again when it can`),
  );
  if (answer === null || answer.known) return doubt;
  return `the service does not know request ${requestId} of this exporter; copy its id from the portal and answer again`;
}
