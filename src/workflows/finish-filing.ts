/** From settled rows to the end: certificate details, PDFs, and how it all came out. */
import { executeChild, workflowInfo } from '@temporalio/workflow';
import type { FilingState } from '../domain/filing-states';
import { ACCESS, delayMs } from '../domain/retry-table';
import { calls } from './activity-profiles';
import type { CollectResult } from './collect-certificates';
import type { FilingRun } from './filing-run';
import { interruptible } from './interruptible';
import { orNoted } from './or-noted';
import { untilOverdue, type OverdueMark } from './overdue';
import { pauseOf, throughPauses, waitOut } from './pauses';

/** Details are asked for this often; they add to what the status says, so their absence stops nothing. */
const DETAIL_ROUNDS = 5;
const FIRST_DETAIL_PAUSE_MS = 60_000;

/** Collects what the certified rows have coming and moves the filing to its end. */
export async function finishFiling(run: FilingRun): Promise<void> {
  const { filingId } = run;
  await run.move('collecting', { kind: 'collecting', text: 'the rows are settled; certificates are collected' });
  if (run.counts.certified > 0) {
    const complete = await fetchDetails(run);
    await untilOverdue(run, pdfsOverdue(run), () => archivePdfs(run));
    if (!complete) await fetchMissingDetails(run);
  }
  const { state, counts } = await calls('ledger', { summary: 'How did it come out?' }).readEnd({ filingId });
  if (counts.errored > 0) await annotate(run);
  await end(run, state);
}

/** Ends the filing, from whatever state it is in. */
export async function end(run: FilingRun, state: FilingState, who?: string): Promise<void> {
  if (run.state === 'overdue' && state !== 'abandoned') {
    await run.move('collecting', { kind: 'collected', text: 'the certificates are collected' });
  }
  const text: Partial<Record<FilingState, string>> = {
    certified: 'every row has its certificate',
    partly_certified: 'some rows have their certificate, the others need a correction',
    rejected: 'the authority rejected every row',
    needs_correction: 'refused before anything was accepted',
    abandoned: 'given up',
  };
  const open = run.counts.errored;
  const attention =
    state === 'partly_certified' || state === 'rejected' || state === 'needs_correction'
      ? `${open > 0 ? `${open} rows` : 'It'} can be corrected and filed again: ebrc correct ${run.filing?.filingId} FILE`
      : null;
  await run.move(state, { kind: state, text: text[state] ?? state, who }, { attention });
}

/** @returns whether every certified row has its details now. */
async function fetchDetails(run: FilingRun): Promise<boolean> {
  const { filingId, exporterId } = run;
  const about = { summary: 'Fetch the certificate details', rateClass: 'details' as const, exporterId };
  const found = await orNoted(run, { kind: 'no_details', text: 'The certificate details could not be read' }, () =>
    throughPauses(run, () =>
      interruptible(run, () => calls('helpful', about).fetchCertificates({ filingId, exporterId })),
    ),
  );
  if (found === null) return false;
  if (found.problem) await run.note({ kind: 'no_details', text: found.problem });
  return found.withoutDetail === 0 || found.problem !== null;
}

async function fetchMissingDetails(run: FilingRun): Promise<void> {
  for (let round = 0; round < DETAIL_ROUNDS; round += 1) {
    const pause = Math.min(FIRST_DETAIL_PAUSE_MS, run.settings.pollMinMs) * 2 ** round;
    if (round > 0) await run.wait(pause, 'Look for the missing certificate details again');
    if (await fetchDetails(run)) return;
  }
  await run.note({ kind: 'details_missing', text: 'the service still shows no details for some certificates' });
}

/** A child collects the PDFs, for hours where there are many. What needs a person comes back here and is waited out. */
async function archivePdfs(run: FilingRun): Promise<void> {
  const { filingId, exporterId } = run;
  for (let round = 1; ; round += 1) {
    const workflowId = `${workflowInfo().workflowId}/certificates/${round}`;
    const collected = await interruptible(run, () =>
      executeChild<(args: { filingId: string; exporterId: string }) => Promise<CollectResult>>('collectCertificates', {
        workflowId,
        args: [{ filingId, exporterId }],
        priority: { fairnessKey: exporterId.slice(0, 64) },
      }),
    );
    if (!collected.failure) return;
    if (pauseOf(collected.failure) === null) {
      await run.note({ kind: 'collecting_again', text: collected.failure.message });
      await run.wait(delayMs(ACCESS, round), 'Collect the certificates again');
      continue;
    }
    await waitOut(run, collected.failure);
  }
}

/** Certificates that do not appear for long need attention; they go on being asked for. */
function pdfsOverdue(run: FilingRun): OverdueMark {
  const { overdueAfterMs, rateWindowMs } = run.settings;
  return {
    // Five PDFs a minute is what the service allows: a large filing is not overdue for being large.
    afterMs: overdueAfterMs + (run.counts.certified / 5) * rateWindowMs,
    summary: 'Until the certificates are overdue',
    during: 'collecting',
    text: 'PDFs are missing',
    attention: 'The authority certified the rows, but some PDFs cannot be had yet. They go on being asked for.',
  };
}

/** The caller's own workbook, with what went wrong in its cells. */
export async function annotate(run: FilingRun): Promise<void> {
  if (!run.filing?.hasWorkbook) return;
  await calls('document', { summary: 'Write the errors into the workbook' }).annotateFiling({ filingId: run.filingId });
}
