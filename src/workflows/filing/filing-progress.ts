/** Where a filing stands, and the one place that moves it: in the ledger, in the lists and in the UI. */
import { log } from '@temporalio/workflow';
import type { Decided, Differs, FilingNow, Left } from '../../activities/filings/moves';
import type { OpenedFiling, SubmissionStage } from '../../activities/filings/open-filing';
import type { ReadSettingsResult } from '../../activities/dependencies';
import { NO_ROWS, type FileInput } from '../../domain/contracts';
import { isEnd, isPause, needsAttention as needsSomebody, stateLimitMs } from '../../domain/filing/states';
import type { FilingState } from '../../domain/filing/states';
import { waitsFor, type Waiting } from '../../domain/filing/view';
import type { RateClass } from '../../domain/names';
import { calls, steps, type CallAbout, type ProfileName } from '../activity-profiles';
import { isFilingMissing, orNull } from '../failures';
import { deadlineOf, FilingMovedOn, inOneText } from './filing-steps';
import type { Attention, Event, Move } from './filing-steps';
import { showFiling, showRefusal, textOf, type Refusal } from './show-filing';

const NOTHING = () => undefined;

/** Before anything is recorded. */
const UNRECORDED: FilingNow = {
  seq: 0,
  state: 'checking',
  since: 0,
  dueAt: null,
  waitsFor: null,
  kind: '',
  text: '',
  asks: null,
  late: null,
  standing: null,
  asked: false,
  counts: NO_ROWS,
  rows: null,
  submissions: [],
  queue: null,
};

export class FilingProgress {
  settings!: ReadSettingsResult;
  /** What of the filing does not change with its moves; null: nothing is recorded. */
  filing: OpenedFiling | null = null;
  /** The filing as the ledger said last. */
  now: FilingNow = UNRECORDED;
  /** The state that a pause interrupts, and leads back to. */
  working: FilingState = 'checking';
  /** What is shown in place of the last move while the ledger cannot be written. */
  private problem: string | null = null;
  /** The ledger holds other moves than this run. */
  protected movedOn = false;
  /** Resolves when no write is under way. */
  protected moving: Promise<void> = Promise.resolve();
  /** Whether the ledger has still to be read: until then the filing's state is not known. */
  private reading = true;
  /** Why the run recorded nothing, and what stands under its reference; null: it was not refused. */
  refusal: Refusal | null = null;

  constructor(readonly input: FileInput) {}

  /** The ledger was read: what the run knew of other moves is out of date. */
  hasRead(): void {
    this.reading = false;
    this.movedOn = false;
  }

  /** Nothing is recorded, and the run ends; what stands under its reference is shown. */
  refuse(refusal: Refusal): void {
    this.hasRead();
    this.refusal = refusal;
    // The input may be what was refused, whatever its properties hold.
    const { exporterId, reference } = this.input;
    showRefusal(refusal, { ...this.shown, exporterId: textOf(exporterId) }, textOf(reference));
  }

  get decided(): boolean {
    return this.filing !== null || this.refusal !== null;
  }

  /** The ledger does not hold the filing any more: it is recorded once more, or refused. */
  forget(): void {
    this.filing = null;
    this.now = UNRECORDED;
  }

  /** Whether the ledger was read, and nothing is known to have moved since. */
  get upToDate(): boolean {
    return !this.reading && !this.movedOn;
  }

  protected get recorded(): OpenedFiling {
    if (!this.filing) throw new Error('The filing is not recorded yet.');
    return this.filing;
  }

  get state(): FilingState {
    return this.now.state;
  }

  /** What is asked of somebody; null: nothing. */
  get attention(): string | null {
    const { asks, late, standing } = this.now;
    return this.problem ?? inOneText(asks, late, standing);
  }

  get requestId(): string | null {
    return this.now.submissions[0]?.requests[0]?.requestId ?? null;
  }

  /** How far a submission is by now. */
  stage(submission: number): SubmissionStage {
    const stage = this.now.submissions.find((each) => each.submission === submission);
    if (!stage) throw new FilingMovedOn(`the ledger does not hold submission ${submission}`);
    return stage;
  }

  get filingId(): string {
    return this.recorded.filingId;
  }

  get exporterId(): string {
    return this.filing?.exporterId ?? this.input.exporterId;
  }

  get ended(): boolean {
    return this.refusal !== null || isEnd(this.state);
  }

  protected restoreProgress(filing: OpenedFiling): void {
    const { state, late, counts } = filing;
    this.filing = filing;
    this.working = isPause(state) ? 'checking' : state;
    const explained = stateLimitMs(state, this.settings, counts.certified);
    // A state whose time is over keeps its question, and a new run gives it no new time.
    const dueAt = explained === null || late !== null ? null : (filing.dueAt ?? Date.now() + explained);
    this.replace({ ...filing, dueAt, kind: 'taken_up', text: 'taken up from the ledger' });
  }

  steps(summary: string) {
    return steps(summary, { rows: this.now.counts.rows });
  }

  /** Calls for its exporter, under a summary for the Temporal UI; `priorityKey`: see {@link CallAbout}. */
  calls(profile: ProfileName, summary: string, rateClass: RateClass, priorityKey?: CallAbout['priorityKey']) {
    return calls(profile, { summary, rateClass, exporterId: this.exporterId, priorityKey });
  }

  /** What a step decides on: the filing as far as this run knows it. */
  get held(): Decided {
    return { filingId: this.filingId, seq: this.now.seq };
  }

  /**
   * Makes a step and takes over what it left of the filing, one step at a time.
   * @throws FilingMovedOn when the ledger holds other moves, or not the filing
   */
  step<T extends Left | Differs>(step: (held: Decided) => Promise<T>): Promise<Exclude<T, Differs>> {
    return this.inTurn(async () => {
      this.stopIfMovedOn();
      const left = await this.orMissing(() => step(this.held));
      this.take(left.filing);
      return left as Exclude<T, Differs>;
    });
  }

  /** As `step`, of an activity that ran beside other steps. @throws FilingMovedOn when a move came between */
  took(filing: FilingNow | 'differs' | null = null): Promise<void> {
    return this.inTurn(() => Promise.resolve(this.take(filing)));
  }

  /** Moves the filing in ledger, lists and UI, if `when` still holds in its turn. @returns whether it was moved */
  move(state: FilingState, event: Event, asked: Attention = {}, when: () => boolean = () => true): Promise<boolean> {
    return this.inTurn(async () => {
      if (!when()) return false;
      this.stopIfMovedOn();
      const move = this.nextMove(state, event, asked);
      if (!this.filing) {
        const asks = move.needsAttention ? (move.attention ?? event.text) : null;
        const since = state === this.state ? this.now.since : Date.now();
        this.replace({ ...this.now, ...move, ...event, seq: this.now.seq, asks, since });
        return true;
      }
      const left = await this.orMissing(() => this.steps(`${state}: ${event.kind}`).recordProgress(move));
      this.take(left.filing);
      return true;
    });
  }

  /** The next move, for a step that records it with what causes it. */
  nextMove(state: FilingState, event: Event, asked: Attention = {}): Move {
    const { attention = null, late = false, needsAttention = needsSomebody(state) } = asked;
    const of = { filingId: this.filing?.filingId ?? '', seq: this.now.seq + 1 };
    const limitMs = stateLimitMs(state, this.settings, this.now.counts.certified);
    const deadline = deadlineOf(this.now, state, limitMs, asked);
    return { ...of, state, attention, needsAttention: late || needsAttention, ...deadline, event };
  }

  private inTurn<T>(write: () => Promise<T>): Promise<T> {
    const next = this.moving.then(write);
    this.moving = next.then(NOTHING, NOTHING);
    return next;
  }

  /** @throws FilingMovedOn when the ledger holds other moves */
  protected stopIfMovedOn(): void {
    if (this.movedOn) throw new FilingMovedOn('the ledger holds other moves');
  }

  /** Makes a step of this filing. @throws FilingMovedOn when the ledger does not hold it */
  async orMissing<T>(step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      if (!isFilingMissing(error)) throw error;
      this.movedOn = true;
      throw new FilingMovedOn('the ledger does not hold the filing');
    }
  }

  private take(filing: FilingNow | 'differs' | null): void {
    if (filing === 'differs' || (filing !== null && filing.seq > this.now.seq + 1)) this.movedOn = true;
    this.stopIfMovedOn();
    // One that was read before a move that this run has made since says nothing new.
    if (filing === null || filing === 'differs' || filing.seq < this.now.seq) return;
    this.replace(filing);
  }

  /** The run's only view of the filing is what a step read of it last. */
  private replace(filing: FilingNow): void {
    const { rows, state, expectedAt } = this.now;
    const expected = filing.expectedAt ?? (filing.state === state ? expectedAt : undefined);
    this.now = { ...filing, rows: filing.rows ?? rows, expectedAt: expected };
    if (!isPause(filing.state)) this.working = filing.state;
    this.problem = null;
    this.show();
  }

  /** Makes a write that only helps: where it cannot be made for a while, the filing goes on. */
  private tryTo(write: () => Promise<unknown>): Promise<unknown> {
    return orNull(write, ({ message }) => log.warn('what only helps could not be written', { message }));
  }

  /** Records an event without moving. It only helps: where it cannot be written, the filing goes on. */
  async note(event: Event): Promise<void> {
    if (!this.filing) return;
    const { filingId } = this.filing;
    await this.tryTo(() => steps(event.kind, { profile: 'note' }).noteEvent({ filingId, ...event }));
  }

  /** Says, where people look, that the workflow is about to fail. */
  async failing(problem: string): Promise<void> {
    this.showWaiting(problem);
    if (!this.filing) return;
    const { filingId } = this.filing;
    await this.tryTo(() =>
      steps('Record the workflow failure', { profile: 'note' }).recordRunProblem({ filingId, problem }),
    );
  }

  /** Shows what is waited for where the ledger cannot be written. */
  showWaiting(text: string): void {
    this.problem = text;
    this.show();
  }

  /** What it waits for, as the ledger's lists say it; a place in line is that of its last move. */
  private get waiting(): Waiting | null {
    const { state, waitsFor: wait, counts, since, dueAt, queue, expectedAt } = this.now;
    const subject = waitsFor({ state, asked: false, waitsFor: wait }, counts);
    // What asks for somebody says itself what is waited for.
    if (subject === null || since === 0 || this.attention !== null) return null;
    const expected = queue ? since + queue.windows * this.settings.rateWindowMs : expectedAt;
    const [from, expectedBy, until] = [since, expected, dueAt].map((ms) => (ms ? new Date(ms).toISOString() : null));
    return { for: subject, since: from ?? '', queue, expectedBy: expectedBy ?? null, until: until ?? null };
  }

  private get shown() {
    const { state, attention, requestId, waiting, exporterId, settings } = this;
    return { state, attention, counts: this.now.counts, requestId, waiting, exporterId, settings };
  }

  private show(): void {
    showFiling(this.shown, this.filing?.reference, this.problem ?? this.now.text, this.attention !== null);
  }
}
