/** Downloading the PDFs of certificates, a few at a time. */
import { isCancellation } from '@temporalio/workflow';
import { pauseReasonOf } from '../../domain/service/retry-table';
import { calls } from '../activity-profiles';
import { readFailure, type ReadFailure } from '../failures';

const UNDER_WAY = 5;

/**
 * Downloads a batch with a few under way at a time. A failure that no repeat mends is returned at the end; one that
 * needs a person stops the batch, because the others would meet it too.
 */
export async function downloadAll(
  numbers: readonly string[],
  exporterId: string,
  onArchived: () => void,
): Promise<ReadFailure | null> {
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
