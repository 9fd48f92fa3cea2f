/** One filing's run: where it stands, what people have asked of it, and the one place that moves it. */
import {
  allHandlersFinished,
  condition,
  continueAsNew,
  workflowInfo,
  type ActivityInterfaceFor,
} from '@temporalio/workflow';
import type { Activities } from '../../activities/create-activities';
import type { FilingEnd, Held } from '../../activities/filings/end-filing';
import type { Moved, MoveArgs } from '../../activities/filings/moves';
import type { FilingReadiness, OpenedFiling } from '../../activities/filings/open-filing';
import type { PollResult } from '../../activities/filings/poll-status';
import type { ReadSettingsResult } from '../../activities/filings/settings';
import type {
  AbandonArgs,
  ApproveArgs,
  FileInput,
  FilingCounts,
  FilingResult,
  ResolveArgs,
} from '../../domain/contracts';
import { withSend, type KnownSend } from '../../domain/filing/known-send';
import { isEnd, isPause, type FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { explainedMs } from '../../domain/service/due';
import { resumeInput } from '../../domain/filing/resume-input';
import { endNote } from '../../domain/filing/end-note';
import { summaryText } from '../../domain/text';
import { steps } from '../activity-profiles';
import { Waits } from '../waits';
import { FilingEnded, FilingGivenUp, FilingMovedOn } from './filing-ends';
import { noteEvent, tellRunProblem, toMove, watched, type Attention, type Event, type Move } from './filing-steps';
import { showFiling } from './show-filing';

export { FilingEnded, FilingGivenUp, FilingMovedOn };
export type { Attention, Event };

const NO_ROWS: FilingCounts = { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 };

export class FilingRun {
  settings!: ReadSettingsResult;
  filing: OpenedFiling | null = null;
  state: FilingState = 'checking';
  attention: string | null = null;
  counts: FilingCounts = NO_ROWS;
  errors: Finding[] = [];
  requestId: string | null = null;
  dgftAckId: string | null = null;
  /** Whether anything of the filing is, or may be, at the service. */
  sent = false;
  /** What somebody should look at for as long as the filing is under way, whatever its state. */
  standing: string | null = null;
  /** What the history says of the filing's sends: a ledger that was put back may know less. */
  sends: KnownSend[] = [];
  /** Whether a person has been asked about an unknown outcome. */
  asked = false;
  cancelRequested = false;
  abandon: AbandonArgs | null = null;
  approval: ApproveArgs | null = null;
  /** The attempt that a resolve can answer now; null: none. */
  inQuestion: string | null = null;
  resolution: ResolveArgs | null = null;
  /** The last resolve that the ledger or the service contradicted, and how. */
  refusedResolution: { args: ResolveArgs; message: string } | null = null;
  readonly waits = new Waits();
  /** The newest credentials that were said to be valid. */
  renewedCredentials = 0;
  /** How often it was told that an answer came late: whoever waits for one reads the ledger again. */
  lateAnswers = 0;
  /** Whether the run has nothing left to do. */
  over = false;
  /** When the next move is due at the latest (ms since the epoch); null while the filing waits for a person. */
  dueAt: number | null = null;
  /** Whether the ledger has still to be read: until then nothing can be said of the filing. */
  reading = true;
  /** Whether the poll that settled the last rows moved the filing on to its certificates. */
  collecting = false;
  /** The submission whose acknowledgement moved the filing on to its processing. */
  processing: number | null = null;
  /** Whether a request is being asked about, so that a person may name another one. */
  following = false;
  /** Whether the ledger recorded with the intent that the filing is being checked. */
  checking = false;
  /** What opening the filing read of its exporter and balances, until something was waited for. */
  readiness: FilingReadiness | null = null;
  /** The state that a pause interrupts, and leads back to. */
  working: FilingState = 'checking';
  /** The ledger knows of other moves than this run. */
  private movedOn = false;
  /** Moves that the ledger has recorded, and the number of the one that is shown. */
  private seq = 0;
  private shownSeq = 0;
  private moving: Promise<void> = Promise.resolve();

  constructor(readonly input: FileInput) {}

  /** Takes over what the ledger recorded. */
  adopt(filing: OpenedFiling): void {
    this.filing = filing;
    this.state = filing.state;
    this.working = isPause(filing.state) ? 'checking' : filing.state;
    this.collecting = false;
    this.processing = null;
    this.abandon ??= filing.wishes.abandon ?? null;
    this.approval ??= filing.wishes.approve ?? null;
    this.resolution ??= filing.wishes.resolve ?? null;
    const explained = explainedMs(filing.state, this.settings, filing.counts.certified);
    this.dueAt = explained === null ? null : Date.now() + explained;
    this.seq = filing.seq;
    this.shownSeq = filing.seq;
    this.attention = filing.attention;
    this.asked = filing.asked;
    this.counts = filing.counts;
    this.requestId = filing.submissions[0]?.requestId ?? null;
    this.dgftAckId = filing.submissions[0]?.dgftAckId ?? null;
    for (const send of filing.sends) this.noteSend(send);
    this.sent = filing.submissions.some(
      ({ state, lastAttempt }) =>
        (state !== 'planned' && state !== 'released') ||
        lastAttempt?.state === 'sending' ||
        lastAttempt?.state === 'answered',
    );
    this.show('taken up from the ledger', filing.needsAttention);
  }

  /** Keeps what became known of a send. */
  noteSend(send: KnownSend): void {
    this.sends = withSend(this.sends, send);
  }

  /** The ledger was read: what the run knew of other moves is out of date. */
  hasRead(): void {
    this.reading = false;
    this.movedOn = false;
  }

  /** The ledger does not hold the filing any more: it is recorded once more, or refused. */
  forget(): void {
    this.filing = null;
    this.state = 'checking';
  }

  private get recorded(): OpenedFiling {
    if (!this.filing) throw new Error('The filing is not recorded yet.');
    return this.filing;
  }

  get filingId(): string {
    return this.recorded.filingId;
  }

  get exporterId(): string {
    return this.filing?.exporterId ?? this.input.exporterId;
  }

  /** Whether the ledger was read, and nothing is known to have moved since. */
  get upToDate(): boolean {
    return !this.reading && !this.movedOn;
  }

  /**
   * Steps on the ledger, under a summary for the Temporal UI. @throws FilingMovedOn when the ledger does not hold the
   * filing
   */
  steps(summary: string): ActivityInterfaceFor<Activities> {
    return watched(steps({ summary, rows: this.counts.rows }), () => this.agreed({ differs: true }));
  }

  /** Waits until the ledger was read, so that what people ask is judged by what it says. */
  async known(): Promise<void> {
    await condition(() => this.upToDate);
  }

  /** Refuses a resolve that has nothing left to answer; kept, it would be taken for an answer to the next question. */
  refuseResolution(message: string): void {
    if (this.resolution) this.refusedResolution = { args: this.resolution, message };
    this.resolution = null;
  }

  /** Whether somebody gave the filing up. A cancel counts only while nothing is at the service. */
  get givenUp(): boolean {
    return this.abandon !== null || (this.cancelRequested && !this.sent);
  }

  /** Whether the run has to stop where it waits. */
  get stopped(): boolean {
    return this.movedOn || this.givenUp;
  }

  /** @throws FilingMovedOn when the ledger is elsewhere, FilingGivenUp when somebody gave the filing up. */
  stopIfGivenUp(): void {
    if (this.movedOn) throw new FilingMovedOn('the ledger knows of other moves');
    if (this.givenUp) throw new FilingGivenUp('given up');
  }

  /** What a write decides on: the filing as far as this run knows it. */
  get held(): Held {
    return { filingId: this.filingId, seq: this.seq };
  }

  /** The answer of a write that was decided on by {@link held}. @throws FilingMovedOn when nothing was written */
  agreed<T extends { differs: boolean }>(result: T): T {
    if (result.differs) this.movedOn = true;
    if (this.movedOn) throw new FilingMovedOn('the ledger knows of other moves');
    return result;
  }

  /** What a read under the filing's lock says. @throws FilingMovedOn when the ledger knows of other moves by then */
  readInTurn<T extends { filingSeq: number | null }>(read: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      const result = await read();
      this.agreed({ differs: result.filingSeq !== this.seq });
      return result;
    });
  }

  /**
   * Waits until `until` holds or the time is over; ends early when the filing is given up. A history that has grown
   * long continues in a new run from here: everything that a wait depends on stands in the ledger.
   */
  async wait(ms: number, summary: string, until: () => boolean = () => false): Promise<void> {
    const over = () => until() || this.stopped;
    const about = { summary: summaryText(summary) };
    await condition(() => over() || this.mayContinueAsNew, Math.max(1, Math.ceil(ms)), about);
    this.stopIfGivenUp();
    if (!over() && this.mayContinueAsNew) await this.continueAsNew();
  }

  /** Whether the history is long and nothing is open that would be lost with the run. */
  private get mayContinueAsNew(): boolean {
    const approving = this.approval !== null && this.state === 'awaiting_approval';
    const wish = this.abandon !== null || approving || this.resolution !== null;
    // A ledger that lost the filing may learn of its sends from this run alone.
    const known = this.filing !== null || this.sends.length === 0;
    return known && !wish && workflowInfo().continueAsNewSuggested && allHandlersFinished();
  }

  /** Nothing may be recorded yet, while its exporter cannot be read: then the new run begins with the same input. */
  private async continueAsNew(): Promise<never> {
    await this.moving;
    const input = this.filing === null ? this.input : this.resumeInput();
    return continueAsNew<(input: FileInput) => Promise<FilingResult>>(input);
  }

  /** The input with which the filing goes on in a new run: everything else is in the ledger. */
  resumeInput(): FileInput {
    const { filingId, exporterId, reference, madeBy } = this.recorded;
    const { mode, correction = 0 } = this.input;
    return resumeInput({ filingId, mode, exporterId, reference, madeBy, correction });
  }

  /**
   * Moves the filing on, in the ledger, in the lists and in the UI. One move at a time: each has to follow the last.
   */
  move(state: FilingState, event: Event, attention: Attention = {}): Promise<void> {
    return this.inTurn(() => this.moveNow(state, event, attention));
  }

  /** One write at a time, in the order in which they were asked for. */
  inTurn<T>(write: () => Promise<T>): Promise<T> {
    const next = this.moving.then(write);
    this.moving = next.then(
      () => undefined,
      () => undefined,
    );
    return next;
  }

  /**
   * Makes a step that records a fact and, with it, the move that the fact causes. Where the step records no move, the
   * filing stays where it is. @throws FilingMovedOn when the ledger knows of other moves: the fact is recorded all the
   * same
   */
  stepTo<T extends Moved>(
    state: FilingState,
    event: Event,
    step: (move: MoveArgs) => Promise<T>,
    asked: Attention = {},
  ): Promise<T> {
    return this.inTurn(async () => {
      if (this.movedOn) throw new FilingMovedOn('the ledger knows of other moves');
      const move = this.moveArgs(state, event, asked);
      const result = this.agreed(await step(move));
      if (result.counts) this.took(move, result.counts);
      return result;
    });
  }

  /** Takes over a move that an activity recorded by itself, with the fact that caused it. */
  tookOver(state: FilingState, event: Event, { seq, dueAt, counts }: NonNullable<PollResult['moved']>): Promise<void> {
    return this.inTurn(() => {
      // Another move of this run came between: the ledger refuses it, or has it already.
      this.agreed({ differs: seq !== this.seq + 1 });
      this.took({ ...this.moveArgs(state, event, {}), seq, dueAt, attention: null }, counts);
      return Promise.resolve();
    });
  }

  /** Makes a step that may end the filing; where it does, its end is recorded with what the step writes. */
  stepToEnd<T extends FilingEnd>(step: (held: Held) => Promise<T>, own: Partial<Event> = {}): Promise<T> {
    return this.inTurn(async () => {
      if (this.movedOn) throw new FilingMovedOn('the ledger knows of other moves');
      const end = this.agreed(await step(this.held));
      this.counts = end.counts;
      if (end.state !== null) {
        const { event, attention } = endNote(this.filingId, end.state, end.counts);
        const move = this.moveArgs(end.state, { ...event, ...own }, { attention });
        this.took({ ...move, seq: end.seq }, end.counts);
      }
      return end;
    });
  }

  /** Says that the filing does not move, unless it has moved meanwhile. */
  askForAttention(text: string): Promise<void> {
    return this.inTurn(async () => {
      if (this.dueAt === null || this.dueAt > Date.now()) return;
      await this.moveNow(this.state, { kind: 'not_moving', text }, { attention: text, needsAttention: true });
    });
  }

  private async moveNow(state: FilingState, event: Event, asked: Attention): Promise<void> {
    if (this.movedOn) throw new FilingMovedOn('the ledger knows of other moves');
    const move = this.moveArgs(state, event, asked);
    this.stand(move);
    if (!this.filing) return;
    const { counts } = this.agreed(await this.steps(`${state}: ${event.kind}`).recordProgress(move));
    this.took(move, counts ?? this.counts);
  }

  private moveArgs(state: FilingState, event: Event, asked: Attention): Move {
    const { filing, seq, standing, settings, counts } = this;
    return toMove({ filingId: filing?.filingId ?? '', seq: seq + 1, standing, settings, counts }, state, event, asked);
  }

  private took(move: Move, counts: FilingCounts): void {
    this.seq = move.seq;
    this.counts = counts;
    this.stand(move);
  }

  private stand({ state, seq, attention, needsAttention: attentionNeeded, dueAt, event }: Move): void {
    this.state = state;
    if (!isPause(state)) this.working = state;
    this.shownSeq = seq;
    this.attention = attention;
    this.dueAt = dueAt;
    this.show(event.text, attentionNeeded);
  }

  /** Keeps a line of the story without moving. It only helps: where it cannot be written, the filing goes on. */
  async note(event: Event): Promise<void> {
    if (this.filing) await noteEvent(this.filing.filingId, event);
  }

  /** Says, where people look, that the workflow is about to fail. */
  async failing(problem: string): Promise<void> {
    this.attention = problem;
    if (!this.filing) return;
    this.show(problem, true);
    await tellRunProblem(this.filing.filingId, problem);
  }

  get ended(): boolean {
    return isEnd(this.state);
  }

  result(): FilingResult {
    return {
      filingId: this.filing?.filingId ?? null,
      workflowId: workflowInfo().workflowId,
      reference: this.filing?.reference ?? this.input.reference ?? '',
      state: this.state,
      requestId: this.requestId,
      dgftAckId: this.dgftAckId,
      counts: this.counts,
      attention: this.attention,
      asked: this.asked,
      seq: this.shownSeq,
      errors: this.errors,
    };
  }

  /** Says, where the ledger cannot be written, what is waited for. */
  showWaiting(text: string): void {
    this.attention = text;
    this.show(text, true);
  }

  private show(text: string, attentionNeeded: boolean): void {
    showFiling(this, this.filing?.reference, text, attentionNeeded);
  }
}
