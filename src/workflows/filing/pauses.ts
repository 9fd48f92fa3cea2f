/** Pauses of a filing: bad credentials, our access, activation, an incomplete ledger, an unavailable document store. */
import type { ExporterState } from '../../activities/exporters/exporters';
import type { Decided, Differs, Left } from '../../activities/filings/moves';
import { ACCESS, CREDENTIALS, delayMs, pauseReasonOf } from '../../domain/service/retry-table';
import { asSentence } from '../../domain/text';
import { orNull, readFailure, type ReadFailure } from '../failures';
import { type WaitingWorkflow, waitForAccess, waitForActivation, whileAwaitingCredentials } from '../waits';
import type { FilingRun } from './filing-run';
import { CancellationScope, condition, isCancellation, sleep } from '@temporalio/workflow';

export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * Makes a call and cancels it when the run stops or `stopWhen` holds; never used for a submission.
 * @throws FilingGivenUp, FilingMovedOn when the run stops, Interrupted when `stopWhen` holds
 */
export async function interruptible<T>(
  run: FilingRun,
  call: () => Promise<T>,
  stopWhen: () => boolean = () => false,
): Promise<T> {
  run.stopIfGivenUp();
  return CancellationScope.cancellable(async () => {
    const scope = CancellationScope.current();
    let over = false;
    const stopped = () => run.stopped || stopWhen();
    void condition(() => over || stopped()).then(
      () => {
        if (!over) scope.cancel();
      },
      () => undefined,
    );
    try {
      return await call();
    } catch (error) {
      if (!isCancellation(error) || !stopped()) throw error;
      run.stopIfGivenUp();
      throw new Interrupted('stopped');
    } finally {
      over = true;
    }
  });
}

/** Makes a call that a filing can continue without: a failure is recorded as an event. @returns null after a failure */
export const recordFailureAndContinue = <T>(
  run: FilingRun,
  { kind, text }: { kind: string; text: string },
  call: () => Promise<T>,
): Promise<T | null> => orNull(call, ({ message }) => run.note({ kind, text: `${text}: ${message}` }));

/** As {@link recordFailureAndContinue}, but waits out every pause; giving the filing up stops the call. */
export function helpful<T>(
  run: FilingRun,
  problem: { kind: string; text: string },
  call: () => Promise<T>,
): Promise<T | null> {
  return recordFailureAndContinue(run, problem, () => throughPauses(run, () => interruptible(run, call)));
}

/** Repeats a call until no pause interrupts it, and restores the state before the pause. @throws any other failure */
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

/** Waits until the reason for a pause may be gone, then returns to the interrupted state. */
export async function waitOut(run: FilingRun, failure: ReadFailure): Promise<void> {
  const back = run.working;
  const attention = run.now.asks;
  const reason = pauseReasonOf(failure.kind);
  if (reason === 'credentials') await waitForCredentials(run, failure);
  else if (reason === 'access') await waitForAccess(progressOf(run), run.waits, failure);
  else await waitUntilActive(run, null);
  if (run.state !== back) await run.move(back, { kind: 'resumed', text: 'resumed' }, { attention });
}

function progressOf(run: FilingRun): WaitingWorkflow {
  return {
    rest: (ms, summary) => run.wait(ms, summary),
    showWait: async (wait) => {
      const { text } = wait;
      if (wait.reason === 'activation') {
        const ms = wait.activatesAt === null ? 0 : Math.max(0, Date.parse(wait.activatesAt) - Date.now());
        const { asks: attention } = run.now;
        await run.move(run.state, { kind: 'activation_pending', text }, { attention, wait: { for: 'activation', ms } });
      } else if (run.state !== 'needs_access') {
        await run.move('needs_access', { kind: wait.kind, text }, { attention: wait.message });
      }
    },
  };
}

async function waitForCredentials(run: FilingRun, failure: ReadFailure): Promise<void> {
  const versionSeen = failure.details.credentialsVersion ?? 0;
  const { exporterId } = run;
  const attention =
    `${asSentence(failure.message)} Submit working credentials: ebrc credentials ${exporterId} --username … --password-stdin. ` +
    'The filing continues automatically.';
  if (run.state !== 'needs_credentials') {
    const event = { kind: failure.kind ?? 'needs_credentials', text: failure.message };
    await run.move('needs_credentials', event, { attention });
  }
  await whileAwaitingCredentials({ exporterId, versionSeen }, async (renewed) => {
    const newer = () => run.renewedCredentials > versionSeen;
    if (!renewed) await run.wait(delayMs(CREDENTIALS, 1), 'Check the credentials again', newer);
  });
}

/** Waits until the exporter is no longer pending; at least once, because it was just reported as pending. */
export async function waitUntilActive(run: FilingRun, activatesAt: string | null): Promise<void> {
  const known = activatesAt ?? (await readActivation(run)).activatesAt;
  const pending = { readiness: 'activation_pending', activatesAt: known } as const;
  await waitForActivation(progressOf(run), run.waits, pending, () => readActivation(run));
}

async function readActivation(run: FilingRun): Promise<Pick<ExporterState, 'readiness' | 'activatesAt'>> {
  const { exporterId } = run;
  const problem = { kind: 'exporter_unread', text: 'The exporter could not be read' };
  const exporter = await recordFailureAndContinue(run, problem, () =>
    throughPauses(run, () => run.calls('api', 'Read the exporter', 'api').readExporter({ exporterId })),
  );
  // A failed read must not end the filing: treat the exporter as pending and read it again later.
  return exporter ?? { readiness: 'activation_pending', activatesAt: null };
}

/** The wait after a step failed because the ledger is incomplete or its store unavailable. @throws any other failure */
export function needsWholeLedger(error: unknown): { kind: string; message: string; attention: string } {
  const { kind, message } = readFailure(error);
  if (kind !== 'ledger_put_back' && kind !== 'documents_unavailable') throw error;
  return { kind, message, attention: `${message} It is checked again automatically, within 15 minutes.` };
}

/** {@link onceLedgerIsWhole} for a step of the run. */
export const stepOnceWhole = <T extends Left | Differs>(
  run: FilingRun,
  step: (held: Decided) => Promise<T>,
  options: { inRun?: boolean } = {},
) => onceLedgerIsWhole(run, () => run.step(step), options);

/** Repeats a step until the ledger is complete and its store available. `inRun`: without continuing as new. */
export async function onceLedgerIsWhole<T>(
  run: FilingRun,
  step: () => Promise<T>,
  { inRun = false }: { inRun?: boolean } = {},
): Promise<T> {
  const { asks: attention } = run.now;
  for (let tries = 1; ; tries += 1) {
    const { seq } = run.now;
    try {
      const result = await step();
      // A step that moved the filing has already set its attention text.
      if (tries > 1 && run.now.seq === seq)
        await run.move(run.state, { kind: 'resumed', text: 'resumed' }, { attention });
      return result;
    } catch (error) {
      const { kind, message, attention: asked } = needsWholeLedger(error);
      if (tries === 1) await run.move(run.state, { kind, text: message }, { attention: asked, needsAttention: true });
      const [ms, summary] = [delayMs(ACCESS, tries), `Retry after ${kind}`] as const;
      if (inRun) await sleep(ms, { summary });
      else await run.rest(ms, summary);
    }
  }
}
