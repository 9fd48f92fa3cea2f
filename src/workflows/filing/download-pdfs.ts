/** Downloading the PDFs of certificates, a few at a time. */
import { isCancellation } from '@temporalio/workflow';
import type { Decided, FilingNow } from '../../activities/filings/moves';
import { pauseReasonOf } from '../../domain/service/retry-table';
import { calls } from '../activity-profiles';
import { readFailure, type ReadFailure } from '../failures';

const UNDER_WAY = 5;

interface Batch {
  numbers: readonly string[];
  exporterId: string;
  /** The filing that may end with the last of them; left out: none may. */
  end?: () => Decided;
  onArchived?: () => void;
}

interface DownloadedBatch {
  /** One that no repeat fixes, or that needs a person. */
  failure: ReadFailure | null;
  /** The filing's end, where it was recorded with the last PDF. */
  ended: FilingNow | null;
}

/**
 * Downloads a batch with a few under way at a time. A failure that no repeat fixes is returned at the end; one that
 * needs a person stops the batch, because the others would meet it too.
 */
export async function downloadAll({ numbers, exporterId, end, onArchived }: Batch): Promise<DownloadedBatch> {
  const queue = [...numbers];
  const batch: DownloadedBatch = { failure: null, ended: null };
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
        batch.failure = readFailure(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(UNDER_WAY, queue.length) }, lane));
  return batch;
}
