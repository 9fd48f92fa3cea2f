/** Archives the PDFs of a filing's certificates, a few at a time. */
import { counted } from '../domain/text';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { steps, calls } from './activity-profiles';
import { type ReadFailure, readFailure } from './failures';
import type { Decided, FilingNow } from '../activities/filings/moves';
import { pauseReasonOf } from '../domain/service/retry-table';

const BATCH = 50;
/** Continue as new beyond this: about an hour and a half of downloads at five a minute. */
const EVENTS_PER_RUN = 1_500;

/** Downloads the missing PDFs; returns at once if there are none. */
export async function collectCertificates(args: {
  filingId: string;
  exporterId: string;
  /** PDFs that earlier runs of this workflow archived. */
  done?: number;
}): Promise<{
  archived: number;
  /** Why it stopped before the end. The filing waits until the cause is gone and starts the collection again. */
  failure: ReadFailure | null;
}> {
  const { filingId, exporterId, done = 0 } = args;
  let archived = done;
  for (;;) {
    const summary = 'Which certificates have no PDF yet?';
    const { due, nextInMs } = await steps(summary).listToArchive({ filingId, limit: BATCH });
    if (due.length === 0 && nextInMs === null) return { archived, failure: null };
    if (nextInMs !== null) await sleep(Math.max(1, nextInMs), { summary: 'Retry PDFs that were not available' });
    const onArchived = () => {
      archived += 1;
      setCurrentDetails(`${counted(archived, 'PDF')} archived`);
    };
    const { failure } = await downloadAll({ numbers: due, exporterId, onArchived });
    if (failure) return { archived, failure };
    if (workflowInfo().historyLength > EVENTS_PER_RUN) {
      await continueAsNew<typeof collectCertificates>({ filingId, exporterId, done: archived });
    }
  }
}

/** Options to start the collection of a filing's certificates; `part` distinguishes several of one parent. */
export const collectionOf = ({ filingId, exporterId }: { filingId: string; exporterId: string }, part?: string) => ({
  workflowId: [workflowInfo().workflowId, 'certificates', ...(part ? [part] : [])].join('/'),
  args: [{ filingId, exporterId }] as Parameters<typeof collectCertificates>,
  priority: { fairnessKey: exporterId.slice(0, 64) },
});

/** Starts a collection without waiting for it, as a PDF may be missing for days. One that already runs is fine. */
export async function startCollection(collection: ReturnType<typeof collectionOf>): Promise<void> {
  try {
    await startChild<typeof collectCertificates>('collectCertificates', {
      ...collection,
      parentClosePolicy: 'ABANDON',
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}

const PARALLEL_DOWNLOADS = 5;

/** Downloads a batch. A failure is returned at the end; one that pauses the filing stops the batch. */
export async function downloadAll(given: {
  numbers: readonly string[];
  exporterId: string;
  /** The filing to end with the last PDF; left out if it must not end. */
  end?: () => Decided;
  onArchived?: () => void;
}) {
  const { numbers, exporterId, end, onArchived } = given;
  const queue = [...numbers];
  const batch: {
    failure: ReadFailure | null;
    ended: FilingNow | null;
  } = { failure: null, ended: null };
  const mustStop = () => batch.failure !== null && pauseReasonOf(batch.failure.kind) !== null;
  const lane = async () => {
    for (let next = queue.shift(); next !== undefined && !mustStop(); next = queue.shift()) {
      try {
        const about = { summary: `PDF of ${next}`, rateClass: 'pdf' as const, exporterId };
        const args = { exporterId, eBRCNumber: next, ...(end && { end: end() }) };
        const { sha256, ended } = await calls('api', about).downloadCertificate(args);
        if (sha256 !== null) onArchived?.();
        batch.ended ??= ended;
      } catch (error) {
        if (isCancellation(error)) throw error;
        // Keep a failure that pauses the filing; another lane's failure must not replace it.
        if (mustStop()) continue;
        batch.failure = readFailure(error);
        if (!mustStop()) batch.failure.message = `PDF of ${next}: ${batch.failure.message}`;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL_DOWNLOADS, queue.length) }, lane));
  return batch;
}
