/**
 * The run of a filing: it asks what is next, does it and records it. It decides nothing and keeps nothing but what it
 * was told to send, which can only be a reason not to send again (docs/protocol.md).
 */
import {
  ActivityFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Advanced, AdvanceArgs } from '../activities/filings/advance';
import type { FileInput, FilingResult } from '../domain/contracts';
import type { Next, Told } from '../domain/filing/facts';
import { MINUTE_MS } from '../domain/dates';
import { steps } from './activity-profiles';
import { readFailure } from './failures';
import { makeCall, type Done } from './filing-calls';
import { needInput } from './inputs';
import { filingQuery, pokeSignal } from './messages';
import { showFiling } from './show-filing';

/** What a run hands over when it continues as new. */
export interface Carried {
  filingId: string;
  continues: string;
  told: Told | null;
  shared: boolean;
}

/** Waits look again at least this often, so that a lost poke costs time and not truth. */
const LOOK_AGAIN_MS = 15 * MINUTE_MS;

/** Files remittances, from the caller's rows to archived certificates. Fails only on a defect. */
export async function fileRemittances(given: FileInput, carried?: Carried): Promise<FilingResult> {
  const input = needInput('fileRemittances', given);
  let view: FilingResult | null = null;
  setCurrentDetails(
    carried || input.resume
      ? 'Its filing is recorded. This run asks the ledger what is next.'
      : 'It is being recorded in the ledger; nothing is checked or sent yet.',
  );
  let pokes = 0;
  let cancelled = false;
  setHandler(filingQuery, () => view ?? begun(input), {
    description: 'How the filing stands; the shape of its result',
  });
  setHandler(pokeSignal, () => void (pokes += 1), { description: 'Something happened: look at the ledger' });
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    pokes += 1;
  });
  return CancellationScope.nonCancellable(async () => {
    const known: AdvanceArgs = {
      ...{ input: carried ? null : input, filingId: carried?.filingId ?? input.resume ?? null },
      ...{
        continues: carried?.continues ?? null,
        told: carried?.told ?? null,
        shared: carried?.shared ?? false,
        notBegun: false,
        called: null,
        failure: null,
        shown: null,
        cancelled,
      },
    };
    let recorded = known.filingId !== null;
    for (let about = 'Record the filing'; ;) {
      const pokesSeen = pokes;
      const poked = () => pokes !== pokesSeen;
      const advanced = await advance({ ...known, cancelled }, about);
      const { next, filingId, told, shared } = advanced;
      // What the ledger lost is shown as it was: it is compared with what runs show.
      const lost = recorded && filingId === null && next.do !== 'end';
      view = lost ? (view ?? begun(input)) : { ...advanced.view, rows: advanced.view.rows ?? view?.rows ?? [] };
      recorded ||= filingId !== null;
      showFiling(advanced, view, input.mode);
      if (next.do === 'end') return view;
      Object.assign(known, { filingId, told, shared, input: filingId === null ? input : null, shown: rowsKey(view) });
      if (filingId !== null && workflowInfo().continueAsNewSuggested && !poked())
        await continueAsNew<typeof fileRemittances>(resumed(input, advanced), {
          filingId,
          continues: workflowInfo().runId,
          told,
          shared,
        });
      const done = next.do === 'wait' ? await wait(next, advanced.now, poked) : await call(advanced, next, poked);
      const { called, failure } = done;
      const notBegun = next.do === 'submit' && done.begun === false;
      // A sender that ended without its word may still be at it.
      const wordless = next.do === 'submit' && done.begun === undefined;
      Object.assign(known, { called, failure, notBegun, shared: shared || wordless });
      about = aboutOf(next, done.failure?.message);
    }
  });
}

/** Everything but the ledger being away is a defect: it fails the workflow task, which is seen and tried again. */
async function advance(args: AdvanceArgs, summary: string): Promise<Advanced> {
  try {
    return await steps(summary).advanceFiling(args);
  } catch (error) {
    const { message } = readFailure(error);
    throw new Error(`The step on the ledger failed: ${message}`, { cause: error });
  }
}

async function wait(next: Extract<Next, { do: 'wait' }>, now: number, poked: () => boolean): Promise<Done> {
  await condition(poked, Math.min(Math.max(next.until - now, 1_000), LOOK_AGAIN_MS), { summary: next.summary });
  return { called: 'wait', failure: null };
}

/**
 * Makes the call that is next. Waits for the authority are given up when the run is poked. A send and a reading are
 * not: what they found is needed, and a reading that is given up keeps the next one waiting.
 */
async function call(advanced: Advanced, next: Next, poked: () => boolean): Promise<Done> {
  if (next.do === 'submit' || next.do === 'read') return finished(next, () => makeCall(advanced, next));
  const scope = new CancellationScope({ cancellable: true });
  let over = false;
  void condition(() => over || poked()).then(() => {
    if (!over) scope.cancel();
  });
  try {
    return await finished(next, () => scope.run(() => makeCall(advanced, next)));
  } finally {
    over = true;
  }
}

async function finished(next: Next, make: () => Promise<Done>): Promise<Done> {
  try {
    return await make();
  } catch (error) {
    // Given up for a poke: it came to nothing, and says nothing.
    if (isCancellation(error)) return { called: 'wait', failure: null };
    // A defect of the workflow's own code.
    if (!(error instanceof ActivityFailure)) throw error;
    const { kind, message, details } = readFailure(error);
    const { credentialsVersion } = details;
    return {
      called: next.do,
      failure: { kind, message, ...(credentialsVersion === undefined ? {} : { credentialsVersion }) },
    };
  }
}

/** The input of a run that goes on from the ledger: not the rows, which the ledger has. */
const resumed = ({ mode }: FileInput, { exporterId, view, filingId }: Advanced): FileInput =>
  ({ mode, exporterId, reference: view.reference, n: view.n, resume: filingId }) as FileInput;

const rowsKey = ({ state, counts }: FilingResult): string => JSON.stringify([state, counts]);

function aboutOf(next: Next, failed: string | undefined): string {
  const what = 'summary' in next ? next.summary : next.do;
  return failed === undefined ? `After: ${what}` : `Failed: ${what} (${failed})`;
}

/** What the query answers before anything was recorded. */
function begun({ reference = '', n = 1 }: FileInput): FilingResult {
  const { workflowId } = workflowInfo();
  return {
    ...{ filingId: null, workflowId, reference: String(reference), n: Number(n), state: 'checking', recorded: null },
    ...{
      contentHash: null,
      requestId: null,
      dgftAckId: null,
      attention: null,
      asked: false,
      errors: [],
      attempt: null,
    },
    counts: { rows: 0, certified: 0, archived: 0, errored: 0, corrected: 0, open: 0 },
    ...{ evidence: [], rows: [], moreRows: null },
  };
}
