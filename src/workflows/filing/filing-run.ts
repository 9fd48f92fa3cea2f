/** The state of one filing's run beside its progress: requests, waits, results, and when it continues as new. */
import { allHandlersFinished, condition, continueAsNew, workflowInfo } from '@temporalio/workflow';
import type { FilingNow } from '../../activities/filings/moves';
import type { OpenedFiling, SubmissionStage } from '../../activities/filings/open-filing';
import { NO_ROWS, type FileInput, type FilingResult } from '../../domain/contracts';
import { withSend, type KnownSend } from '../../domain/filing/attempt';
import { resumeInput } from '../../domain/filing/run-judgement';
import type { Finding } from '../../domain/rules/finding';
import { summaryText } from '../../domain/text';
import { Waits } from '../waits';
import { FilingGivenUp, FilingMovedOn, type OverdueMark } from './filing-steps';
import { FilingProgress } from './filing-progress';
import { FilingRequests } from './filing-requests';
import { textOf, type Refusal } from './show-filing';

export { FilingGivenUp, FilingMovedOn };

/** Fills in a result from its known properties. When rows are left out, `moreRows` says how to read them. */
function resultOf(given: Partial<FilingResult> & Pick<FilingResult, 'reference' | 'n' | 'state'>): FilingResult {
  const { filingId = null, counts = NO_ROWS, rows = [], ...known } = given;
  const more = rows.length > 0 && counts.rows > rows.length;
  const text = `the first ${rows.length} of ${counts.rows}: GET /v1/filings/${filingId}/rows, or ebrc show ${filingId}`;
  const unknown = { recorded: null, contentHash: null, requestId: null, dgftAckId: null, attempt: null, request: null };
  const quiet = { attention: null, asked: false, seq: 0, errors: [] };
  const { workflowId } = workflowInfo();
  return { ...unknown, ...quiet, workflowId, ...known, filingId, counts, rows, moreRows: more ? text : null };
}

/** The result of a run, or the answer to an update, when nothing was recorded. */
export function refusedResult({ reference, n = 1 }: FileInput, refusal: Refusal): FilingResult {
  const { errors, contentHash, recorded } = refusal;
  return resultOf({
    reference: textOf(reference) || (recorded?.reference ?? ''),
    n: typeof n === 'number' ? n : 1,
    state: 'refused',
    recorded: recorded && { filingId: recorded.filingId, state: recorded.state, counts: recorded.counts },
    contentHash,
    errors,
  });
}

function standingOf({ state, counts, asked, seq, rows, submissions }: Omit<FilingNow, 'kind' | 'text'>) {
  const { requestId = null, dgftAckId = null } = submissions[0]?.requests[0] ?? {};
  return { state, counts, asked, seq, rows: rows ?? [], requestId, dgftAckId };
}

function recordedResult(filing: OpenedFiling): FilingResult {
  const { filingId, workflowId, reference, n, contentHash, attention, submissions } = filing;
  const attempt = submissions.find((one) => one.attempt?.verdict === 'marked')?.attempt?.attemptId ?? null;
  const known = { filingId, workflowId, reference, n, contentHash, attention, attempt };
  return resultOf({ ...known, ...standingOf(filing) });
}

function mayBeAtService({ state, attempt }: SubmissionStage): boolean {
  const doubtful = attempt?.verdict === 'marked' || attempt?.verdict === 'accepted';
  return doubtful || (state !== 'planned' && state !== 'released');
}

export class FilingRun extends FilingProgress {
  errors: Finding[] = [];
  readonly requests = new FilingRequests(this);
  readonly waits = new Waits();
  /** `file` updates: how many arrived, and how many of them are unanswered. */
  readonly fileUpdates = { come: 0, open: 0 };
  renewedCredentials = 0;
  /** Counts the `answerStored` signals: a wait for an answer ends and reads the ledger again. */
  lateAnswers = 0;
  /** When the current work becomes overdue, for the watchdog. */
  overdueMark: OverdueMark | null = null;
  over = false;

  constructor(
    input: FileInput,
    /** The filing's sends that this history knows; a restored ledger may hold fewer. */
    public sends: KnownSend[] = [],
  ) {
    super(input);
  }

  adopt(filing: OpenedFiling): void {
    this.requests.restore(filing.words);
    for (const send of filing.sends) this.noteSend(send);
    this.restoreProgress(filing);
  }

  get sent(): boolean {
    return this.now.submissions.some(mayBeAtService);
  }

  noteSend(send: KnownSend): void {
    this.sends = withSend(this.sends, send);
  }

  /** Waits until the ledger was read, because requests are judged by what it holds. */
  async untilLedgerRead(): Promise<void> {
    await condition(() => this.upToDate);
  }

  /** Whether somebody gave the filing up. A cancellation counts only while nothing may be at the service. */
  get givenUp(): boolean {
    return this.requests.abandon !== null || (this.requests.cancelled && !this.sent);
  }

  get stopped(): boolean {
    return this.movedOn || this.givenUp;
  }

  /** @throws FilingMovedOn when the ledger holds other moves, FilingGivenUp when somebody gave the filing up. */
  stopIfGivenUp(): void {
    this.stopIfMovedOn();
    if (this.givenUp) throw new FilingGivenUp('given up');
  }

  /** Waits until `until` holds, the time is over or the filing is given up. May continue as new. */
  async wait(ms: number, summary: string, until: () => boolean = () => false): Promise<void> {
    const over = () => until() || this.stopped;
    const about = { summary: summaryText(summary) };
    await condition(() => over() || this.mayContinueAsNew, Math.max(1, Math.ceil(ms)), about);
    this.stopIfGivenUp();
    if (!over() && this.mayContinueAsNew) await this.continueAsNew();
  }

  /** As {@link wait}, but giving the filing up does not end it: for a step that must be made in any case. */
  async rest(ms: number, summary: string): Promise<void> {
    await condition(() => this.mayContinueAsNew, Math.max(1, Math.ceil(ms)), { summary: summaryText(summary) });
    if (this.mayContinueAsNew) await this.continueAsNew();
  }

  /** Whether the history is long and the run holds nothing that a new run would not find in the ledger. */
  private get mayContinueAsNew(): boolean {
    const open = this.requests.open || this.givenUp;
    return !open && workflowInfo().continueAsNewSuggested && allHandlersFinished();
  }

  /** Before anything is recorded (the exporter cannot be read) the new run starts with the same input. */
  private async continueAsNew(): Promise<never> {
    await this.moving;
    const input = this.filing === null ? { ...this.input, awaitUpdate: false } : this.resumeInput();
    const { sends } = this;
    return continueAsNew<(input: FileInput, carried: { sends: KnownSend[] }) => Promise<FilingResult>>(input, {
      sends,
    });
  }

  /** The input with which a new run resumes the filing; everything else is in the ledger. */
  resumeInput(): FileInput {
    const { filingId, exporterId, reference, madeBy, n } = this.recorded;
    const { mode } = this.input;
    return resumeInput({ filingId, mode, exporterId, reference, madeBy, n });
  }

  result(): FilingResult {
    const { filing, refusal, input } = this;
    if (refusal) return refusedResult(input, refusal);
    const { now, attention, errors } = this;
    const { attemptId: attempt = null, requestId: request = null } = this.requests.inQuestion ?? {};
    const { filingId, contentHash = null, reference = input.reference ?? '', n = input.n ?? 1 } = filing ?? {};
    const known = { filingId, contentHash, reference, n, attention, errors, attempt, request };
    return resultOf({ ...known, ...standingOf(now) });
  }

  /** The query's answer. A refused run answers for the filing that is recorded under its reference. */
  progress(): FilingResult {
    const recorded = this.refusal?.recorded;
    return recorded ? recordedResult(recorded) : this.result();
  }
}
