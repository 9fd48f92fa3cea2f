/** Waits of onboardings and updates of credentials: until API access opens, or our own access works. */
import type { ExporterState } from '../activities/exporters/exporters';
import { ACCESS, ACTIVATION, delayMs, pauseReasonOf, type Schedule } from '../domain/service/retry-table';
import { asSentence } from '../domain/text';
import type { ReadFailure } from './failures';

/** The reason of a wait, and the milliseconds until the next check. */
export type Wait =
  | { reason: 'activation'; activatesAt: string | null; text: string; ms: number }
  | { reason: 'access'; kind: string; text: string; message: string; ms: number };

export interface WaitingWorkflow {
  showWait(wait: Wait): Promise<void> | void;
  /** Sleeps on a durable timer. May continue as new when the history is long. */
  rest(ms: number, summary: string): Promise<void>;
}

/** The growing delays of one kind of wait; starts again at the first delay after `maxMs` without a wait. */
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
}

/** The check comes a little after the announced time, because clocks differ; later ones at least a minute apart. */
const AFTER_THE_TIME_MS = 1_000;
const MIN_LOOK_MS = 60_000;
/** Checks at least this often, because the announced time may move nearer. One wait covers the usual 24 hours. */
const MAX_LOOK_MS = 25 * 60 * MIN_LOOK_MS;

/** Waits until API access is open, reading the exporter after each wait; past the time at growing intervals. */
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

/** Waits before repeating a call whose refusal the operator has to fix: a revoked key, a missing agreement. */
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
