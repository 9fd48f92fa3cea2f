/** What onboarding and filing both wait for: API access that opens, our own access that works, better credentials. */
import { workflowInfo } from '@temporalio/workflow';
import type { ExporterState } from '../activities/exporters/exporters';
import { ACCESS, ACTIVATION, delayMs, pauseReasonOf, type Schedule } from '../domain/service/retry-table';
import { asSentence } from '../domain/text';
import { steps } from './activity-profiles';
import type { ReadFailure } from './failures';

/** What is waited for, until it is looked at again in `ms`. */
export type Wait =
  | { reason: 'activation'; activatesAt: string | null; text: string; ms: number }
  | { reason: 'access'; kind: string; text: string; message: string; ms: number };

export interface WaitingWorkflow {
  showWait(wait: Wait): Promise<void> | void;
  /** Lets the time pass on a durable timer. The place where a long history continues in a new run. */
  rest(ms: number, summary: string): Promise<void>;
}

/** Between two readings of a ledger that holds other moves than the run recorded. */
const MOVED_ON: Schedule = { initialMs: 1_000, factor: 2, maxMs: 60_000 };

/** How often in a row the same was waited for; calls that work in between do not end the series. */
class WaitSeries {
  private count = 0;
  private endedAt = 0;

  constructor(private readonly schedule: Schedule) {}

  nextMs(): number {
    this.count = Date.now() - this.endedAt <= this.schedule.maxMs ? this.count + 1 : 1;
    return delayMs(this.schedule, this.count);
  }

  ended(): void {
    this.endedAt = Date.now();
  }
}

export class Waits {
  readonly activation = new WaitSeries(ACTIVATION);
  readonly access = new WaitSeries(ACCESS);
  readonly movedOn = new WaitSeries(MOVED_ON);
}

/** The look comes a little after the time that was named (clocks differ), the next ones a minute apart at least. */
const AFTER_THE_TIME_MS = 1_000;
const MIN_LOOK_MS = 60_000;
/** And after this at the latest: the time may have moved nearer. One wait covers the usual 24 hours. */
const MAX_LOOK_MS = 25 * 60 * MIN_LOOK_MS;

/** Waits until API access is open, reading the exporter after each wake; past the time in growing intervals. */
export async function waitForActivation<E extends Pick<ExporterState, 'readiness' | 'activatesAt'>>(
  progress: WaitingWorkflow,
  { activation }: Waits,
  exporter: E,
  readAgain: () => Promise<E>,
): Promise<E> {
  let current = exporter;
  for (let soonestMs = 0; current.readiness === 'activation_pending'; soonestMs = MIN_LOOK_MS) {
    const { activatesAt } = current;
    const leftMs = activatesAt === null ? 0 : Date.parse(activatesAt) - Date.now();
    const dueMs = leftMs > 0 ? Math.max(leftMs + AFTER_THE_TIME_MS, soonestMs) : activation.nextMs();
    const ms = Math.min(dueMs, MAX_LOOK_MS);
    const text = activatesAt === null ? 'API access is not open yet' : `API access opens at ${activatesAt}`;
    await progress.showWait({ reason: 'activation', activatesAt, text, ms });
    await progress.rest(ms, text);
    if (leftMs <= 0) activation.ended();
    current = await readAgain();
  }
  return current;
}

/** Waits before a refused call is repeated that the operator has to put right: a revoked key, an agreement. */
export async function waitForAccess(progress: WaitingWorkflow, { access }: Waits, failure: ReadFailure): Promise<void> {
  const ms = access.nextMs();
  const kind = failure.kind ?? 'needs_access';
  const ours =
    'This is about our own API key or agreement, not about the exporter: check EBRC_API_KEY and the agreements in the ' +
    'service’s console.';
  const message = [
    asSentence(failure.message),
    ...(pauseReasonOf(failure.kind) === 'access' ? [ours] : []),
    `It is retried automatically, within ${ACCESS.maxMs / 60_000} minutes.`,
  ].join(' ');
  await progress.showWait({ reason: 'access', kind, text: failure.message, message, ms });
  await progress.rest(ms, `Try again after ${kind}`);
  access.ended();
}

/** Runs `wait` while registered for newer credentials than those seen. `renewed`: they are there already. */
export async function whileAwaitingCredentials<T>(
  { exporterId, versionSeen }: { exporterId: string; versionSeen: number },
  wait: (renewed: boolean) => Promise<T>,
): Promise<T> {
  const { workflowId } = workflowInfo();
  const { retryNow } = await steps('Wait for credentials').awaitCredentials({
    workflowId,
    exporterId,
    versionSeen,
  });
  try {
    return await wait(retryNow);
  } finally {
    await steps('Stop waiting for credentials').stopAwaitingCredentials({ workflowId });
  }
}
