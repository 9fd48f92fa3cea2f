/** What a filing waits out wherever it is: bad credentials, our own access, activation. */
import { workflowInfo } from '@temporalio/workflow';
import type { FilingState } from '../../domain/filing/states';
import { ACCESS, delayMs, pauseReasonOf } from '../../domain/service/retry-table';
import { asSentence } from '../../domain/text';
import { calls } from '../activity-profiles';
import { readFailure, type ReadFailure } from '../failures';
import type { FilingRun } from './filing-run';
import { recordFailureAndContinue } from './record-failure';

const LOOK_AGAIN_MS = 15 * 60_000;
/** Looks after the first one are at least this far apart, whatever time the service names. */
const ACTIVATION_LOOK_MS = 60_000;
/** The look comes a little after the time that was named: clocks differ. */
const AFTER_THE_TIME_MS = 1_000;

/**
 * Makes a call, waiting out every pause and making it again. Failures that are no pause come through. The filing is
 * back in the state that it was in before the pause.
 */
export async function throughPauses<T>(run: FilingRun, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const failure = readFailure(error);
      if (pauseReasonOf(failure.kind) === null) throw error;
      await waitOut(run, failure);
    }
  }
}

/** Waits until the reason for a pause may be gone. */
export async function waitOut(run: FilingRun, failure: ReadFailure): Promise<void> {
  const back = run.working;
  const attention = run.attention;
  const reason = pauseReasonOf(failure.kind);
  if (reason === 'credentials') await waitForCredentials(run, failure);
  else if (reason === 'access') await waitForAccess(run, failure);
  else await waitForActivation(run, null);
  await resume(run, back, attention);
}

async function resume(run: FilingRun, state: FilingState, attention: string | null): Promise<void> {
  if (run.state !== state) await run.move(state, { kind: 'resumed', text: 'resumed' }, { attention });
}

async function waitForCredentials(run: FilingRun, failure: ReadFailure): Promise<void> {
  const versionSeen = failure.details.credentialsVersion ?? 0;
  const { workflowId } = workflowInfo();
  const exporterId = run.exporterId;
  const attention =
    `${asSentence(failure.message)} Submit working credentials: ebrc credentials ${exporterId} --username … --password-stdin. ` +
    'The filing goes on by itself.';
  if (run.state !== 'needs_credentials') {
    await run.move(
      'needs_credentials',
      { kind: failure.kind ?? 'needs_credentials', text: failure.message },
      { attention },
    );
  }
  // Registered with the version that was seen: credentials that came in between are not missed.
  const { retryNow } = await run.steps('Wait for credentials').awaitCredentials({
    workflowId,
    exporterId,
    versionSeen,
  });
  try {
    if (!retryNow) {
      await run.wait(LOOK_AGAIN_MS, 'Check the credentials again', () => run.renewedCredentials > versionSeen);
    }
  } finally {
    await run.steps('Stop waiting for credentials').stopAwaitingCredentials({ workflowId });
  }
}

async function waitForAccess(run: FilingRun, failure: ReadFailure): Promise<void> {
  const attention =
    `${asSentence(failure.message)} This is about our own API key or agreement, not about the exporter: check EBRC_API_KEY and the ` +
    'agreements in the service’s console. It is tried again by itself, within 15 minutes.';
  if (run.state !== 'needs_access') {
    await run.move('needs_access', { kind: failure.kind ?? 'needs_access', text: failure.message }, { attention });
  }
  // Calls in between may have worked: it is one lack of access all the same, until none was met for a while.
  const lasting = Date.now() - run.access.triedAt <= ACCESS.maxMs;
  run.access.tries = lasting ? run.access.tries + 1 : 1;
  await run.wait(delayMs(ACCESS, run.access.tries), 'Retry API access');
  run.access.triedAt = Date.now();
}

/** Waits for the authority to open API access; the time is read from the service again after waking, it may move. */
export async function waitForActivation(run: FilingRun, activatesAt: number | null): Promise<void> {
  let until = activatesAt ?? (await readActivation(run)).activatesAt;
  for (let soonest = 0; ; soonest = ACTIVATION_LOOK_MS) {
    const left = (until ?? 0) - Date.now();
    const wait = left > 0 ? Math.max(left + AFTER_THE_TIME_MS, soonest) : ACTIVATION_LOOK_MS;
    const text = `API access opens at ${new Date(Date.now() + wait).toISOString()}`;
    await run.move(run.state, { kind: 'activation_pending', text }, { attention: run.attention, waitMs: wait });
    await run.wait(wait, text);
    const exporter = await readActivation(run);
    if (!exporter.pending) return;
    until = exporter.activatesAt;
  }
}

async function readActivation(run: FilingRun): Promise<{ pending: boolean; activatesAt: number | null }> {
  const about = { summary: 'Read the exporter', rateClass: 'api' as const, exporterId: run.exporterId };
  const exporter = await recordFailureAndContinue(
    run,
    { kind: 'exporter_unread', text: 'The exporter could not be read' },
    () => throughPauses(run, () => calls('api', about).readExporter({ exporterId: run.exporterId })),
  );
  // The filing must not end for it: nothing is known of the activation, so it is looked at again.
  if (exporter === null) return { pending: true, activatesAt: null };
  return {
    pending: exporter.readiness === 'activation_pending',
    activatesAt: exporter.activatesAt ? Date.parse(exporter.activatesAt) : null,
  };
}
