import { sleep } from '@temporalio/workflow';
import type { ExporterState } from '../../activities/exporters/exporters';
import { summaryText } from '../../domain/text';
import type { ExporterStatus } from './exporter-progress';

const MINUTE_MS = 60_000;
/**
 * The first look comes this much after the time that was named (clocks differ), the next ones a minute later at the
 * earliest.
 */
const AFTER_THE_TIME_MS = 1_000;
/** And after this at the latest: the time may have moved nearer. One wait covers the usual 24 hours. */
const LATEST_MS = 25 * 60 * MINUTE_MS;
/** Between looks once the time has passed, or where none is known. */
const OVERDUE_MS = [1, 2, 5, 15, 30].map((minutes) => minutes * MINUTE_MS);

/**
 * Waits on a durable timer until the authority opens API access (spec: "dgftApiStatus.state"). The service is read
 * again after waking, since the time may have moved. Ends with the exporter as it is when it is pending no more,
 * whatever it is then.
 */
export async function waitForActivation(
  status: ExporterStatus,
  exporter: ExporterState,
  readAgain: () => Promise<ExporterState>,
): Promise<ExporterState> {
  let current = exporter;
  let overdueLooks = 0;
  for (let soonestMs = 0; current.readiness === 'activation_pending'; soonestMs = MINUTE_MS) {
    const { activatesAt } = current;
    const remainingMs = activatesAt === null ? 0 : Date.parse(activatesAt) - Date.now();
    const overdue = !(remainingMs > 0);
    const delayMs = overdue ? overdueDelay(overdueLooks) : Math.max(remainingMs + AFTER_THE_TIME_MS, soonestMs);
    await showAndSleep(status, activatesAt, delayMs);
    overdueLooks = overdue ? overdueLooks + 1 : 0;
    current = await readAgain();
  }
  return current;
}

/** The delay before look number `looks` at an exporter whose time has passed or is not known. */
export function overdueDelay(looks: number): number {
  return OVERDUE_MS[Math.min(looks, OVERDUE_MS.length - 1)] ?? LATEST_MS;
}

async function showAndSleep(status: ExporterStatus, activatesAt: string | null, delayMs: number): Promise<void> {
  const waitMs = Math.min(delayMs, LATEST_MS);
  const nextLook = new Date(Date.now() + waitMs).toISOString();
  const opens = activatesAt === null ? 'The service has not said when.' : `It opens at ${activatesAt}.`;
  status.update({ state: 'activation_pending', activatesAt, message: `${opens} The next look is at ${nextLook}.` });
  const summary = activatesAt === null ? 'API access is not open yet' : `API access opens at ${activatesAt}`;
  await sleep(waitMs, { summary: summaryText(summary) });
}
