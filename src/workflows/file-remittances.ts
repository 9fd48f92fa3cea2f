/** The workflow of one filing, from the caller's rows to its archived certificates: only the order of its steps. */
import {
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { FileInput, FilingResult } from '../domain/contracts';
import type { KnownSend } from '../domain/filing/attempt';
import { CHECKING, endNote } from '../domain/filing/move-texts';
import { SET_ASIDE } from '../domain/names';
import { ACCESS, delayMs } from '../domain/service/retry-table';
import type { Finding } from '../domain/rules/finding';
import { isFilingMissing, readFailure, setAsideText } from './failures';
import { fileUpdateCame, handleFilingMessages } from './filing/filing-handlers';
import { FilingGivenUp, FilingMovedOn, FilingRun } from './filing/filing-run';
import { annotate, collectAlone, finishFiling, recordRefusal } from './filing/finish-filing';
import { isFollowed } from './filing/submission/evidence';
import { followRequest } from './filing/submission/follow-request';
import { interruptible, needsWholeLedger, stepOnceWhole, throughPauses } from './filing/pauses';
import { checkAndApprove, type Opened } from './filing/prepare-filing';
import { submitting } from './filing/submission/open-attempt';
import { submitOne } from './filing/submission/submit-filing';
import { watch } from './filing/watchdog';
import { needInput } from './inputs';

/** Files remittances; fails only on a defect. A cancellation stops a filing only before it is sent. */
export async function fileRemittances(input: FileInput, carried?: { sends: KnownSend[] }): Promise<FilingResult> {
  const run = new FilingRun(needInput('fileRemittances', input), carried?.sends);
  handleFilingMessages(run);
  CancellationScope.current().cancelRequested.catch(() => {
    run.requests.cancelled = true;
  });
  return CancellationScope.nonCancellable(async () => {
    noteLateCancel(run);
    void watch(run);
    try {
      await file(run);
    } catch (error) {
      // A defect ends the run but not the filing, so ledger and search attributes show it before the workflow fails.
      if (error instanceof TemporalFailure)
        await run.showFailure(
          `Its workflow failed (${readFailure(error).message}): see it in the Temporal UI. ebrc resume goes on from the ledger.`,
        );
      throw error;
    } finally {
      run.over = true;
    }
    await run.requests.closeResolution('The filing has ended in the meantime.');
    await condition(allHandlersFinished);
    return run.result();
  });
}

async function file(run: FilingRun): Promise<void> {
  const { movedOn } = run.waits;
  for (let { input } = run; ;) {
    try {
      return await continueFromLedger(run, input);
    } catch (error) {
      if (!(error instanceof FilingMovedOn) && !isFilingMissing(error)) throw error;
      // Another run may still be moving the filing: pause, so that this loop does not read the ledger without a break.
      await run.rest(movedOn.nextMs(), 'Read the ledger again');
      movedOn.ended();
      // Start over with the original input if nothing was recorded yet.
      input = run.filing ? run.resumeInput() : run.input;
    }
  }
}

/** Continues from the filing's state in the ledger. @throws FilingMovedOn when another run moved the filing */
async function continueFromLedger(run: FilingRun, input: FileInput): Promise<void> {
  try {
    const opened = await open(run, input);
    if (opened === null) return;
    run.stopIfGivenUp();
    // An earlier run freed every row but stopped before it ended the filing.
    if (run.now.submissions.every(({ state }) => state === 'released')) return await endUnsent(run);
    if (!run.sent) await checkFirst(run, opened);
    await submitAll(run);
    for (const { submission } of run.now.submissions) {
      if (isFollowed(run.stage(submission)) && !run.ended)
        await recordRefusal(run, () => followRequest(run, submission));
    }
    if (!run.ended) await finishFiling(run);
  } catch (error) {
    if (!(error instanceof FilingGivenUp)) throw error;
    await giveUp(run);
  }
}

async function endUnsent(run: FilingRun): Promise<void> {
  const state = run.now.counts.errored > 0 ? 'needs_correction' : 'abandoned';
  const { event, attention } = endNote(run.filingId, state, run.now.counts);
  await run.move(state, event, { attention });
  await annotate(run);
}

/** How often an exporter that is missing from the ledger is read from the service before the filing is refused. */
const MAX_ADOPTIONS = 2;

/** Records the intent. @returns null when the filing was refused or already has its outcome. */
async function open(run: FilingRun, toOpen: FileInput): Promise<Opened | null> {
  let input = toOpen;
  for (let adoptions = 0; ;) {
    const opened = await openFiling(run, input).catch((error: unknown) => {
      const message = input.resume === undefined ? setAsideText(error) : null;
      if (message === null) throw error;
      return refuse(run, { code: SET_ASIDE, field: null, message });
    });
    if (opened === null) return null;
    run.settings = opened.settings;
    run.markRead();
    if (opened.outcome === 'filing_unknown') {
      input = originalInput(run, input);
      run.forget();
      continue;
    }
    if (opened.outcome === 'exporter_unknown') {
      if (adoptions === MAX_ADOPTIONS)
        return refuseExporter(run, 'the service names another client than was asked for');
      adoptions += 1;
      if (!(await adoptExporter(run))) return null;
      continue;
    }
    if (opened.outcome === 'refused') {
      run.refuse(opened);
      return null;
    }
    run.adopt(opened.filing);
    // Nothing is sent before every pending `file` update is answered.
    await condition(() => run.fileUpdates.open === 0);
    return opened.outcome === 'recorded' ? null : opened;
  }
}

/** Opens the filing, waiting while the ledger is incomplete: only a complete one proves that it lacks a filing. */
async function openFiling(run: FilingRun, input: FileInput) {
  const { workflowId } = workflowInfo();
  const { sends } = run;
  const unasked = !(await fileUpdateCame(run));
  for (let tries = 1; ; tries += 1) {
    try {
      const args = { input, workflowId, ...(sends.length > 0 && { sends }), ...(unasked && { unasked }) };
      return await run.steps('Record the filing').openFiling(args);
    } catch (error) {
      const { kind, attention } = needsWholeLedger(error);
      run.showWaiting(attention);
      await run.rest(delayMs(ACCESS, tries), `Look again after ${kind}`);
    }
  }
}

/** The original input, without `resume`: a ledger restored from before the filing lacks it, and nothing was sent. */
function originalInput({ input: first }: FilingRun, { resume }: FileInput): FileInput {
  if (resume !== undefined && first.resume === undefined) return first;
  const text = `Filing ${resume} is not in this ledger, so nothing can be taken up. Is DATABASE_URL the one it was made with?`;
  throw ApplicationFailure.nonRetryable(text, 'unknown_filing');
}

async function adoptExporter(run: FilingRun): Promise<boolean> {
  const { exporterId } = run.input;
  try {
    const read = run.calls('api', 'Read the exporter from the service', 'api');
    await throughPauses(run, () => interruptible(run, () => read.readExporter({ exporterId })));
    return true;
  } catch (error) {
    const failure = readFailure(error);
    if (failure.kind === null) throw error;
    refuseExporter(run, failure.message);
    return false;
  }
}

function refuseExporter(run: FilingRun, why: string): null {
  const message = `The service does not know exporter ${run.input.exporterId} in this key's mode: ${why}. Onboard it first.`;
  return refuse(run, { code: 'exporter_unknown', field: 'platformCustomerId', message });
}

function refuse(run: FilingRun, error: Pick<Finding, 'code' | 'field' | 'message'>): null {
  run.refuse({ errors: [{ severity: 'error', row: null, ...error }], contentHash: null, recorded: null });
  return null;
}

async function checkFirst(run: FilingRun, opened: Opened): Promise<void> {
  if (run.state === 'checking' && opened.outcome !== 'opened') await run.move('checking', CHECKING.event);
  const first = run.now.submissions.find((stage) => stage.state === 'planned');
  const next = first && run.state !== 'submitting' ? submitting(run, first) : undefined;
  await recordRefusal(run, () => checkAndApprove(run, opened, next));
}

/** Sends the submissions one after another; one that the service refuses stops the rest. */
async function submitAll(run: FilingRun): Promise<void> {
  for (const { submission } of run.now.submissions) {
    const stage = run.stage(submission);
    // An acknowledged submission without a request to poll is in doubt: `submitOne` settles it.
    const open = stage.state === 'planned' || stage.state === 'acknowledged';
    if (run.ended || !open || isFollowed(stage)) continue;
    await recordRefusal(run, () => submitOne(run, submission));
  }
}

async function giveUp(run: FilingRun): Promise<void> {
  if (!run.filing) {
    refuse(run, { code: 'given_up', field: null, message: 'Given up before anything was recorded: nothing is left.' });
    return;
  }
  const { requests } = run;
  await condition(() => requests.abandon === null || requests.abandon.wordId !== undefined);
  // The request to abandon could not be recorded, and its update has failed.
  if (!run.givenUp) throw new FilingMovedOn('nobody gave the filing up');
  const { by = 'Temporal', note = 'cancelled before anything was sent', wordId } = requests.abandon ?? {};
  const record = run.steps(`Abandon, requested by ${by}`);
  const word = { by, note, ...(wordId !== undefined && { wordId }) };
  const { refused } = await stepOnceWhole(run, (held) => record.giveUpFiling({ ...held, ...word }), { inRun: true });
  if (refused !== undefined) {
    requests.refuseRequest('abandon', `${refused}.`);
    throw new FilingMovedOn('nobody gave the filing up');
  }
  await collectAlone(run);
}

/** Records a cancellation after the send as an event; the filing continues because it may still get certificates. */
function noteLateCancel(run: FilingRun): void {
  condition(() => run.requests.cancelled && run.sent)
    .then(() =>
      run.note({ kind: 'cancel_refused', text: 'cancellation requested after the send: the filing continues' }),
    )
    .catch(() => undefined);
}
