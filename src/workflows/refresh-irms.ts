import { continueAsNew, setCurrentDetails } from '@temporalio/workflow';
import type { RefreshCandidate } from '../activities/exporters/irms';
import type { RefreshIrmsInput, RefreshIrmsResult } from '../domain/contracts';
import { calls, callsInBackground, checkStarted } from './activity-profiles';
import { readWithRetries } from './exporter/company-reading';
import { noteSkipped, orNull } from './failures';
import { needInput } from './inputs';

/** Exporters of one run: twelve events each plus retries stay well below 2,000. */
const PAGE = 100;
/** More parallel calls would only wait in the task queue. */
const AT_ONCE = 8;

/** Refreshes the IRMs of one exporter or of all ready ones. A failing exporter is skipped with the reason. */
export async function refreshIrms(
  input: RefreshIrmsInput & { resume?: { after: string; soFar: RefreshIrmsResult } },
): Promise<RefreshIrmsResult> {
  const { resume, ...asked } = needInput('refreshIrms', input);
  const { exporterId } = asked;
  setCurrentDetails('Balances are being read, exporter by exporter.');
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
  await continueAsNew<typeof refreshIrms>({ ...asked, resume: { after: page.next, soFar: result } });
  return result;
}

type Refreshed = { irmCount: number } | { skip: string };

async function refreshOne(candidate: RefreshCandidate): Promise<Refreshed> {
  if (candidate.skip !== null) return { skip: candidate.skip };
  let skip = '';
  const refreshed = await orNull(
    () => refresh(candidate),
    ({ kind, message }) => (skip = `${kind ?? 'failed'}: ${message}`),
  );
  return refreshed ?? { skip };
}

async function refresh({ exporterId: asked, readFirst }: RefreshCandidate): Promise<Refreshed> {
  let exporterId = asked;
  if (readFirst) {
    const { readiness, ...known } = await callsInBackground(asked, 'api', 'Read the client').readExporter({
      exporterId,
    });
    // Use the id as the service spells it.
    exporterId = known.exporterId;
    if (readiness !== 'ready') return { skip: `the service says ${readiness}` };
  }
  const about = { summary: 'Refresh and read the IRMs', priorityKey: 5, tries: 4 } as const;
  const { state, irmCount, problem } = await readWithRetries({ exporterId, what: 'irms', alone: true }, about);
  return state === 'read' ? { irmCount } : { skip: problem ?? state };
}

function note(result: RefreshIrmsResult, { exporterId }: RefreshCandidate, refreshed: Refreshed): void {
  result.exporters += 1;
  if ('irmCount' in refreshed) {
    result.refreshed += 1;
    result.irmCount += refreshed.irmCount;
  } else noteSkipped(result, exporterId, refreshed.skip);
}
