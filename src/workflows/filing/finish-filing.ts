/** From settled or refused rows to the filing's end: certificate details, PDFs, and the outcome. */
import { counted } from '../../domain/text';
import { executeChild, TemporalFailure } from '@temporalio/workflow';
import { COLLECTING_NOTE } from '../../domain/filing/move-texts';
import { RATE_LIMITS } from '../../domain/names';
import { ACCESS, delayMs, pauseReasonOf } from '../../domain/service/retry-table';
import type { FetchedCertificates } from '../../activities/certificates';
import { calls } from '../activity-profiles';
import { type collectCertificates, collectionOf, downloadAll, startCollection } from '../collect-certificates';
import { readFailure, type ReadFailure } from '../failures';
import { type FilingRun, FilingMovedOn } from './filing-run';
import { helpful, interruptible, recordFailureAndContinue, stepOnceWhole, waitOut } from './pauses';
import { untilOverdue, type OverdueMark } from './filing-steps';
import type { Decided } from '../../activities/filings/moves';
import type { SubmissionStage } from '../../activities/filings/open-filing';
import type { Refused } from '../../activities/filings/end-filing';
import type { StoredAnswer } from '../../domain/filing/attempt';
import type { Finding } from '../../domain/rules/finding';

/** How often missing details are fetched; they only add to the status, so the filing continues without them. */
const DETAIL_ROUNDS = 5;
const INITIAL_DETAIL_PAUSE_MS = 60_000;
const OPEN_ROWS_CHECK_MS = 60 * 60_000;

/** Collects details and PDFs of the certified rows and ends the filing. */
export async function finishFiling(run: FilingRun): Promise<void> {
  if (run.filing) run.filing.collectingSince ??= Date.now();
  // The step that settled the last rows may have made this move already.
  if (run.state !== 'collecting') await run.move('collecting', COLLECTING_NOTE);
  for (;;) {
    if (run.now.counts.certified > 0 || run.now.counts.open > 0) {
      const { complete, toArchive } = await fetchDetails(run);
      // The last PDF may end the filing only when no certificate details are missing.
      await untilOverdue(run, pdfsOverdue(run), () => archivePdfs(run, toArchive, complete));
      if (run.ended) return annotate(run);
      if (!complete) await fetchMissingDetails(run);
    }
    await run.step((held) => run.steps('End the filing').endFiling(held));
    if (run.ended) return annotate(run);
    await waitForOpenRows(run);
  }
}

/** Waits for rows that the authority's answer did not settle; they must not be reported as rejected. */
async function waitForOpenRows(run: FilingRun): Promise<void> {
  const { filingId } = run;
  const { open } = run.now.counts;
  const without = `${counted(open, 'row')} without an outcome`;
  const attention =
    `${without}, although the authority has answered for the request. Certificates are looked for every hour. ` +
    `Look at the portal; ebrc abandon ${filingId} --note TEXT ends the filing and keeps what has no outcome protected.`;
  if (run.state !== 'overdue') {
    await run.move('overdue', { kind: 'rows_open', text: without }, { attention });
  }
  await run.wait(OPEN_ROWS_CHECK_MS, 'Check the rows without an outcome');
}

async function fetchDetails(run: FilingRun) {
  const { filingId, exporterId } = run;
  const pdfs = MAX_PDFS_WITHOUT_CHILD;
  const details = run.calls('helpful', 'Fetch the certificate details', 'details');
  const problem = { kind: 'no_details', text: 'The certificate details could not be read' };
  const found = await helpful(run, problem, () => details.fetchCertificates({ filingId, exporterId, pdfs }));
  if (found === null) return { complete: false, toArchive: null };
  const { withoutDetail, problem: cannot, toArchive } = found;
  if (cannot) await run.note({ kind: 'no_details', text: cannot });
  return { complete: withoutDetail === 0 || cannot !== null, toArchive };
}

async function fetchMissingDetails(run: FilingRun): Promise<void> {
  for (let round = 0; round < DETAIL_ROUNDS; round += 1) {
    const pause = Math.min(INITIAL_DETAIL_PAUSE_MS, run.settings.pollMinMs) * 2 ** round;
    if (round > 0) await run.wait(pause, 'Retry missing certificate details');
    if ((await fetchDetails(run)).complete) return;
  }
  await run.note({ kind: 'details_missing', text: 'the service still shows no details for some certificates' });
}

/** Archives the PDFs, many in a child workflow. After a failure it waits, or pauses, and tries again. */
async function archivePdfs(run: FilingRun, first: FetchedCertificates['toArchive'], mayEnd: boolean): Promise<void> {
  for (let round = 1; ; round += 1) {
    const few = run.now.counts.certified - run.now.counts.archived <= MAX_PDFS_WITHOUT_CHILD;
    const failure = await (few ? collectFew(run, round === 1 ? first : null, mayEnd) : collectMany(run, round));
    if (!failure) return;
    if (pauseReasonOf(failure.kind) === null) {
      await run.note({ kind: 'collecting_again', text: failure.message });
      // Capped by `EBRC_POLL_MAX`, so that an operator who polls more often gets the PDFs sooner.
      await run.wait(Math.min(delayMs(ACCESS, round), run.settings.pollMaxMs), 'Retry the certificate downloads');
      continue;
    }
    await waitOut(run, failure);
  }
}

/** Starts collecting the PDFs of certified rows for a filing that was given up or waits for a person. */
export async function collectAlone(run: FilingRun): Promise<void> {
  const { counts } = run.now;
  if (counts.certified > counts.archived) await startCollection(collectionOf(run, 'alone'));
}

/** Up to this many PDFs are downloaded by the filing's own run, because a child workflow would cost more. */
const MAX_PDFS_WITHOUT_CHILD = 5;

/** @returns the failure that stopped the downloads, or null */
async function collectFew(
  run: FilingRun,
  first: FetchedCertificates['toArchive'],
  mayEnd: boolean,
): Promise<ReadFailure | null> {
  const { filingId, exporterId } = run;
  const list = () =>
    run.steps('Which certificates have no PDF yet?').listToArchive({ filingId, limit: MAX_PDFS_WITHOUT_CHILD });
  for (let listed = first; ; listed = null) {
    const { due, nextInMs } = listed ?? (await list());
    if (due.length === 0 && nextInMs === null) return null;
    if (nextInMs !== null) await run.wait(nextInMs, 'Retry PDFs that were not available');
    const end = mayEnd ? { end: () => run.held } : {};
    const { failure, ended } = await interruptible(run, () => downloadAll({ numbers: due, exporterId, ...end }));
    if (ended) {
      await run.adoptState(ended);
      return null;
    }
    if (failure) return failure;
  }
}

async function collectMany(run: FilingRun, round: number): Promise<ReadFailure | null> {
  const collection = collectionOf(run, String(round));
  try {
    const collected = await interruptible(run, () =>
      executeChild<typeof collectCertificates>('collectCertificates', collection),
    );
    return collected.failure;
  } catch (error) {
    // The filing continues even if the child was terminated by hand or still runs for an earlier run.
    if (!(error instanceof TemporalFailure)) throw error;
    return readFailure(error);
  }
}

/** The mark past which missing certificates need attention; the run continues to ask for them. */
function pdfsOverdue(run: FilingRun): OverdueMark {
  const { overdueAfterMs, rateWindowMs } = run.settings;
  // Allows the time that the PDF rate limit needs, so that a large filing is not overdue because of its size.
  const within = overdueAfterMs + (run.now.counts.certified / RATE_LIMITS.pdf) * rateWindowMs;
  const since = run.filing?.collectingSince ?? Date.now();
  return {
    // Counted from the start of the collection, whichever run started it.
    at: since + within,
    summary: 'Certificates become overdue',
    during: 'collecting',
    text: 'PDFs are missing',
    attention:
      'The authority certified the rows, but some PDFs are not available yet. The worker keeps asking for them.',
  };
}

/** Writes the rows' errors and certificates into the caller's workbook. Optional, because the filing has ended. */
export async function annotate(run: FilingRun): Promise<void> {
  const { certified, errored } = run.now.counts;
  if (!run.filing?.hasWorkbook || certified + errored === 0) return;
  const { filingId } = run;
  await recordFailureAndContinue(
    run,
    { kind: 'not_annotated', text: 'The outcome could not be written into the workbook' },
    () => calls('document', 'Write the outcome into the workbook').annotateFiling({ filingId }),
  );
}

/** The filing, or one submission of it, cannot be sent as it is. `submission` null: the whole filing. */
export class FilingRefused extends Error {
  override readonly name = 'FilingRefused';
  constructor(
    readonly submission: number | null,
    readonly answer: StoredAnswer | null,
    readonly errors: Finding[],
  ) {
    super('refused');
  }
}

/** Does work on a filing and records a refusal; the filing continues if other parts of it are left. */
export async function recordRefusal(run: FilingRun, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof FilingRefused)) throw error;
    const { submission, answer, errors } = error;
    const release = run.steps('Release the refused rows');
    const refuse = (held: Decided) => release.refuseFiling({ ...held, submission, answer, errors });
    await adoptRefusal(run, submission, await stepOnceWhole(run, refuse, { inRun: true }));
  }
}

/** Adopts a recorded refusal. @throws FilingMovedOn when the ledger holds another attempt that may have been sent */
export async function adoptRefusal(
  run: FilingRun,
  submission: number | null,
  { errors }: Pick<Refused, 'errors'>,
): Promise<void> {
  run.errors = errors;
  if (run.ended) return annotate(run);
  const isOpen = ({ submission: other, state }: SubmissionStage) =>
    state === 'planned' || (other === submission && state === 'acknowledged');
  if (run.now.submissions.some(isOpen)) {
    throw new FilingMovedOn('another attempt of a refused submission may have been sent');
  }
}
