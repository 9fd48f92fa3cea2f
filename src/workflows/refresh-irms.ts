import { continueAsNew } from '@temporalio/workflow';
import type { RefreshCandidate } from '../activities/exporters/irms';
import type { RefreshIrmsInput, RefreshIrmsResult } from '../domain/contracts';
import { calls, callsInBackground, checkStarted } from './activity-profiles';
import { readFailure, needInput } from './failures';

/** Twelve events an exporter and more for what is repeated: a page stays well below 2,000. */
const PAGE = 100;
/** More would only wait in the queue, which orders by exporter and not within one workflow. */
const AT_ONCE = 8;
/** The result is a payload with a limit; what is beyond is counted. */
const SKIPPED_SHOWN = 1_000;

/** Refreshes IRMs of one exporter, or of all ready ones. One that cannot be is skipped with the reason. */
export async function refreshIrms(
  input: RefreshIrmsInput & { resume?: { after: string; soFar: RefreshIrmsResult } },
): Promise<RefreshIrmsResult> {
  needInput('refreshIrms', input);
  const { resume, ...asked } = input;
  const { exporterId } = asked;
  await checkStarted({ workflow: 'refreshIrms', input: asked }, 'The refresh is for');
  const after = resume?.after ?? '';
  const page = await calls('ledger', 'List exporters').exportersToRefresh({ exporterId, after, limit: PAGE });
  const result = resume?.soFar ?? { exporters: 0, refreshed: 0, irmCount: 0, skipped: [] };
  const queue = [...page.candidates];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) note(result, next, await refreshOne(next));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (page.next === null) return result;
  await continueAsNew<typeof refreshIrms>({ ...input, resume: { after: page.next, soFar: result } });
  return result;
}

type Refreshed = { irmCount: number } | { skip: string };

async function refreshOne({ exporterId: asked, skip, readFirst }: RefreshCandidate): Promise<Refreshed> {
  if (skip !== null) return { skip };
  let exporterId = asked;
  try {
    if (readFirst) {
      const { readiness, ...known } = await callsInBackground(asked, 'api', 'Read the client').readExporter({
        exporterId,
      });
      // As the service spells it.
      exporterId = known.exporterId;
      if (readiness !== 'ready') return { skip: `the service says ${readiness}` };
    }
    await callsInBackground(exporterId, 'irm-refresh', 'Refresh the IRMs').refreshIrms({ exporterId });
    return await callsInBackground(exporterId, 'api', 'Read the IRMs').readIrms({ exporterId });
  } catch (error) {
    const { kind, message } = readFailure(error);
    // A failure that no activity spoke of is a cancellation or a defect, not a reason to skip.
    if (kind === null) throw error;
    return { skip: `${kind}: ${message}` };
  }
}

function note(result: RefreshIrmsResult, { exporterId }: RefreshCandidate, refreshed: Refreshed): void {
  result.exporters += 1;
  if ('irmCount' in refreshed) {
    result.refreshed += 1;
    result.irmCount += refreshed.irmCount;
  } else if (result.skipped.length < SKIPPED_SHOWN) {
    result.skipped.push({ exporterId, reason: refreshed.skip });
  }
}
