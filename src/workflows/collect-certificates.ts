/** Archives the PDFs of a filing's certificates, a few at a time, however many there are. */
import { continueAsNew, isCancellation, setCurrentDetails, sleep, workflowInfo } from '@temporalio/workflow';
import { calls } from './activity-profiles';
import { readFailure, type ReadFailure } from './failures';
import { pauseReasonOf } from '../domain/service/retry-table';

export interface CollectArgs {
  filingId: string;
  exporterId: string;
  /** PDFs that earlier runs of this workflow have archived. */
  done?: number;
}

export interface CollectResult {
  archived: number;
  /** Why it stopped before the end; the filing waits that out and starts the collection again. */
  failure: ReadFailure | null;
}

const UNDER_WAY = 5;
const BATCH = 50;
/** Five a minute: an hour and a half of downloads, far from the limits of a history. */
const EVENTS_PER_RUN = 1_500;

/** Downloads whatever is missing; a filing that is collected already is done at once. */
export async function collectCertificates({ filingId, exporterId, done = 0 }: CollectArgs): Promise<CollectResult> {
  let archived = done;
  for (;;) {
    const summary = 'Which certificates have no PDF yet?';
    const { due, nextInMs } = await calls('ledger', { summary }).listToArchive({ filingId, limit: BATCH });
    if (due.length === 0 && nextInMs === null) return { archived, failure: null };
    if (nextInMs !== null) await sleep(Math.max(1, nextInMs), { summary: 'Refused PDFs are asked for again' });
    const failure = await downloadAll(due, exporterId, () => {
      archived += 1;
      setCurrentDetails(`${archived} PDFs archived`);
    });
    if (failure) return { archived, failure };
    if (workflowInfo().historyLength > EVENTS_PER_RUN) {
      await continueAsNew<typeof collectCertificates>({ filingId, exporterId, done: archived });
    }
  }
}

/**
 * Downloads a batch with a few under way at a time. A failure that no repeat mends is told at the end; one that needs a
 * person stops the batch, because the others would meet it too.
 */
async function downloadAll(numbers: string[], exporterId: string, onArchived: () => void): Promise<ReadFailure | null> {
  const queue = [...numbers];
  let failure: ReadFailure | null = null;
  const mustStop = () => failure !== null && pauseReasonOf(failure.kind) !== null;
  const lane = async () => {
    for (let next = queue.shift(); next !== undefined && !mustStop(); next = queue.shift()) {
      try {
        const about = { summary: `PDF of ${next}`, rateClass: 'pdf' as const, exporterId };
        const { sha256 } = await calls('api', about).downloadCertificate({ exporterId, eBRCNumber: next });
        if (sha256 !== null) onArchived();
      } catch (error) {
        if (isCancellation(error)) throw error;
        failure = readFailure(error);
      }
    }
  };
  await Promise.all(Array.from({ length: UNDER_WAY }, lane));
  return failure;
}
