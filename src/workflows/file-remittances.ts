/** One filing, from the caller's rows to its archived certificates: the order of its steps and nothing else. */
import { allHandlersFinished, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';
import type { FileInput, FilingResult } from '../domain/contracts';
import { calls } from './activity-profiles';
import { readFailure } from './failures';
import { handleFilingMessages } from './filing-handlers';
import { FilingEnded, FilingGivenUp, FilingRun } from './filing-run';
import { annotate, end, finishFiling } from './finish-filing';
import { followRequest } from './follow-request';
import { needInput } from './need-input';
import { throughPauses } from './pauses';
import { awaitApproval, FilingRefused, prepareFiling } from './prepare-filing';
import { submitOne } from './submit-filing';

/**
 * Files remittances. Ends normally with every outcome, a refusal too; fails only on a defect. Cancelling it becomes a flag:
 * before the submission nothing is left behind, after it the filing goes on, because certificates may come of it.
 */
export async function fileRemittances(input: FileInput): Promise<FilingResult> {
  needInput('fileRemittances', input);
  const run = new FilingRun(input);
  handleFilingMessages(run);
  CancellationScope.current().cancelRequested.catch(() => {
    run.cancelRequested = true;
  });
  return CancellationScope.nonCancellable(async () => {
    answerLateCancel(run);
    await file(run);
    await condition(allHandlersFinished);
    return run.result();
  });
}

async function file(run: FilingRun): Promise<void> {
  run.settings = await calls('ledger', { summary: 'Read the settings' }).readSettings();
  try {
    if (!(await open(run))) return;
    if (!run.sent) await checkAndApprove(run);
    await submitAll(run);
    for (const stage of run.filing?.submissions ?? []) {
      if (stage.state === 'acknowledged') await follow(run, stage.submission);
    }
    if (!run.ended) await finishFiling(run);
  } catch (error) {
    if (error instanceof FilingEnded) await takeOverEnd(run);
    else if (error instanceof FilingGivenUp) await giveUp(run);
    else throw error;
  }
}

/** Another run has ended the filing, as after a reset of this one: its recorded outcome stands. */
async function takeOverEnd(run: FilingRun): Promise<void> {
  const { filingId } = run;
  run.adopt(await calls('ledger', { summary: 'Read the recorded outcome' }).readFiling({ filingId }));
}

/** Records the intent. @returns false when there is nothing to do: it was refused, or its outcome is recorded. */
async function open(run: FilingRun): Promise<boolean> {
  const { workflowId } = workflowInfo();
  for (;;) {
    const opened = await calls('ledger', { summary: 'Record what is to be filed' }).openFiling({
      input: run.input,
      workflowId,
    });
    if (opened.outcome === 'exporter_unknown') {
      if (!(await adoptExporter(run))) return false;
      continue;
    }
    if (opened.outcome === 'refused') {
      run.errors = opened.errors;
      run.state = 'needs_correction';
      run.attention = 'The filing was refused before anything was recorded; the errors say why.';
      return false;
    }
    run.adopt(opened.filing);
    return opened.outcome !== 'recorded';
  }
}

/** An exporter that was onboarded elsewhere is read from the service. */
async function adoptExporter(run: FilingRun): Promise<boolean> {
  const { exporterId } = run.input;
  try {
    const about = { summary: 'Read the exporter from the service', rateClass: 'api' as const, exporterId };
    await throughPauses(run, () => calls('api', about).adoptExporter({ exporterId }));
    return true;
  } catch (error) {
    const failure = readFailure(error);
    if (failure.kind === null) throw error;
    const message = `The service does not know exporter ${exporterId} in this key's mode: ${failure.message}. Onboard it first.`;
    run.errors = [{ severity: 'error', code: 'exporter_unknown', row: null, field: 'platformCustomerId', message }];
    run.state = 'needs_correction';
    return false;
  }
}

async function checkAndApprove(run: FilingRun): Promise<void> {
  try {
    if (run.state === 'checking')
      await run.move('checking', { kind: 'checking', text: 'rules hold; balances are checked' });
    await prepareFiling(run);
    await awaitApproval(run);
  } catch (error) {
    if (!(error instanceof FilingRefused)) throw error;
    await refuse(run, error);
  }
}

/** Submissions go out one after another; a refusal at the door stops those behind it. */
async function submitAll(run: FilingRun): Promise<void> {
  for (const stage of run.filing?.submissions ?? []) {
    // An acknowledgement without a request id cannot be followed: a run that takes it up settles it.
    const unsettled = stage.state === 'acknowledged' && !stage.requestId;
    if (run.ended || (stage.state !== 'planned' && !unsettled)) continue;
    try {
      await submitOne(run, stage);
    } catch (error) {
      if (!(error instanceof FilingRefused)) throw error;
      await refuse(run, error);
    }
  }
}

async function follow(run: FilingRun, submission: number): Promise<void> {
  const stage = run.filing?.submissions.find((each) => each.submission === submission);
  if (!stage || run.ended) return;
  try {
    await followRequest(run, stage);
  } catch (error) {
    if (!(error instanceof FilingRefused)) throw error;
    await refuse(run, error);
  }
}

/** Nothing of the refused part was accepted, and what was to be sent after it stays here; the rest goes on. */
async function refuse(run: FilingRun, { submission, answer, errors }: FilingRefused): Promise<void> {
  const { filingId } = run;
  const refused = await calls('ledger', { summary: 'Free the refused rows' }).refuseFiling({
    filingId,
    submission,
    answer,
    errors,
  });
  run.errors = refused.errors;
  const stages = run.filing?.submissions ?? [];
  for (const stage of stages) {
    if (stage.submission === submission || stage.state === 'planned') stage.state = 'released';
  }
  if (stages.some((stage) => stage.state !== 'released')) return;
  await annotate(run);
  await end(run, 'needs_correction');
}

async function giveUp(run: FilingRun): Promise<void> {
  const { filingId } = run;
  const by = run.abandon?.by ?? 'Temporal';
  const note = run.abandon?.note ?? 'cancelled before anything was sent';
  const about = { summary: `Given up by ${by}` };
  await calls('ledger', about).giveUpFiling({ filingId, by, note });
  await end(run, 'abandoned', by);
}

/** A cancel that comes after the send is answered in the filing's story; certificates may come of it, so it goes on. */
function answerLateCancel(run: FilingRun): void {
  condition(() => run.cancelRequested && run.sent)
    .then(() =>
      run.note({ kind: 'cancel_refused', text: 'a cancel came, but the filing is at the service: it goes on' }),
    )
    .catch(() => undefined);
}
