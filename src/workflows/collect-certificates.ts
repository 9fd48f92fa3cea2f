/** Archives the PDFs of a filing's certificates, a few at a time, however many there are. */
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
/** Five a minute: an hour and a half of downloads, far from the limits of a history. */
const EVENTS_PER_RUN = 1_500;

/** Downloads whatever is missing; a filing that is collected already is done at once. */
export async function collectCertificates(args: {
  filingId: string;
  exporterId: string;
  /** PDFs that earlier runs of this workflow have archived. */
  done?: number;
}): Promise<{
  archived: number;
  /** Why it stopped before the end; the filing waits for the cause to pass and starts the collection again. */
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

/** How the collection of a filing's certificates is started by another workflow; `part` tells several apart. */
export const collectionOf = ({ filingId, exporterId }: { filingId: string; exporterId: string }, part?: string) => ({
  workflowId: [workflowInfo().workflowId, 'certificates', ...(part ? [part] : [])].join('/'),
  args: [{ filingId, exporterId }] as Parameters<typeof collectCertificates>,
  priority: { fairnessKey: exporterId.slice(0, 64) },
});

/** Starts a collection that nobody waits for: a PDF may be missing for days. One that is under way is meant. */
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

const UNDER_WAY = 5;

/** Downloads a batch. A permanent failure is returned at the end; one that needs a person stops the batch. */
export async function downloadAll(given: {
  numbers: readonly string[];
  exporterId: string;
  /** The filing that may end with the last of them; left out: none may. */
  end?: () => Decided;
  onArchived?: () => void;
}) {
  const { numbers, exporterId, end, onArchived } = given;
  const queue = [...numbers];
  const batch: {
    /** One that no repeat fixes, or that needs a person. */
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
        // What a person has to put right outlasts what another lane fails with.
        if (!mustStop()) batch.failure = readFailure(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(UNDER_WAY, queue.length) }, lane));
  return batch;
}
