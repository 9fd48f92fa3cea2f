/** A filing's state, and the only place that changes it: in the ledger, the search attributes and the UI. */
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
import { deadlineOf, FilingMovedOn, inOneText, type Attention, type Event } from './filing-steps';
import { showFiling, showRefusal, textOf, type Refusal } from './show-filing';

const NOTHING = () => undefined;

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
  /** The properties that moves do not change; null while nothing is recorded. */
  filing: OpenedFiling | null = null;
  now: FilingNow = UNRECORDED;
  /** The state that a pause interrupts and returns to. */
  working: FilingState = 'checking';
  /** Shown in place of the last move while the ledger cannot be written. */
  private problem: string | null = null;
  /** The ledger holds other moves than this run. */
  protected movedOn = false;
  /** Resolves when the last queued write is done. */
  protected moving: Promise<void> = Promise.resolve();
  /** Whether the ledger has not been read yet, so that the filing's state is unknown. */
  private reading = true;
  /** Why the run recorded nothing, and what is recorded under its reference; null if it was not refused. */
  refusal: Refusal | null = null;

  constructor(readonly input: FileInput) {}

  /** Call after reading the ledger: the run is no longer behind it. */
  markRead(): void {
    this.reading = false;
    this.movedOn = false;
  }

  /** Marks the run as refused, without a record, and shows what is recorded under its reference. */
  refuse(refusal: Refusal): void {
    this.markRead();
    this.refusal = refusal;
    // The refused input is unchecked: its properties may have any type.
    const { exporterId, reference } = this.input;
    showRefusal(refusal, { ...this.shown, exporterId: textOf(exporterId) }, textOf(reference));
  }

  get decided(): boolean {
    return this.filing !== null || this.refusal !== null;
  }

  /** Forgets a filing that the ledger no longer holds; it is then recorded again or refused. */
  forget(): void {
    this.filing = null;
    this.now = UNRECORDED;
  }

  /** Whether the ledger was read and is not known to have moved since. */
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

  get attention(): string | null {
    const { asks, late, standing } = this.now;
    return this.problem ?? inOneText(asks, late, standing);
  }

  get requestId(): string | null {
    return this.now.submissions[0]?.requests[0]?.requestId ?? null;
  }

  stage(submission: number): SubmissionStage {
    const stage = this.now.submissions.find((candidate) => candidate.submission === submission);
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
    // A state past its deadline keeps its question: a new run must not restart the deadline.
    const dueAt = explained === null || late !== null ? null : (filing.dueAt ?? Date.now() + explained);
    this.replace({ ...filing, dueAt, kind: 'taken_up', text: 'taken up from the ledger' });
  }

  steps(summary: string) {
    return steps(summary, { rows: this.now.counts.rows });
  }

  /** Calls for this filing's exporter. `summary` is shown in the Temporal UI; `priorityKey`: see {@link CallAbout}. */
  calls(profile: ProfileName, summary: string, rateClass: RateClass, priorityKey?: CallAbout['priorityKey']) {
    return calls(profile, { summary, rateClass, exporterId: this.exporterId, priorityKey });
  }

  /** The filing at the sequence number that this run knows; a step is decided on that. */
  get held(): Decided {
    return { filingId: this.filingId, seq: this.now.seq };
  }

  /**
   * Makes a step and adopts the filing's state that it returns. Steps run one at a time.
   * @throws FilingMovedOn when the ledger holds other moves, or does not hold the filing
   */
  step<T extends Left | Differs>(step: (held: Decided) => Promise<T>): Promise<Exclude<T, Differs>> {
    return this.inTurn(async () => {
      this.stopIfMovedOn();
      const result = await this.failIfMissing(() => step(this.held));
      this.take(result.filing);
      return result as Exclude<T, Differs>;
    });
  }

  /** Adopts the state that an activity returned which ran beside other steps. @throws FilingMovedOn as `step` */
  adoptState(filing: FilingNow | 'differs' | null = null): Promise<void> {
    return this.inTurn(() => Promise.resolve(this.take(filing)));
  }

  /** Moves the filing in ledger, lists and UI, if `when` holds once its turn comes. @returns whether it did */
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
      const result = await this.failIfMissing(() => this.steps(`${state}: ${event.kind}`).recordProgress(move));
      this.take(result.filing);
      return true;
    });
  }

  /** Builds the next move, for a step that records it in one transaction with the fact that causes it. */
  nextMove(state: FilingState, event: Event, asked: Attention = {}) {
    const { attention = null, late = false, needsAttention = needsSomebody(state) } = asked;
    const key = { filingId: this.filing?.filingId ?? '', seq: this.now.seq + 1 };
    const limitMs = stateLimitMs(state, this.settings, this.now.counts.certified);
    const deadline = deadlineOf(this.now, state, limitMs, asked);
    return { ...key, state, attention, needsAttention: late || needsAttention, ...deadline, event };
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
  async failIfMissing<T>(step: () => Promise<T>): Promise<T> {
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
    // Ignore a state that was read before this run's latest move.
    if (filing === null || filing === 'differs' || filing.seq < this.now.seq) return;
    this.replace(filing);
  }

  /** Replaces the run's only view of the filing by what the latest step returned. */
  private replace(filing: FilingNow): void {
    const { rows, state, expectedAt } = this.now;
    const expected = filing.expectedAt ?? (filing.state === state ? expectedAt : undefined);
    this.now = { ...filing, rows: filing.rows ?? rows, expectedAt: expected };
    if (!isPause(filing.state)) this.working = filing.state;
    this.problem = null;
    this.show();
  }

  /** Makes an optional write; if it fails, the failure is logged and the filing continues. */
  private tryTo(write: () => Promise<unknown>): Promise<unknown> {
    return orNull(write, ({ message }) => log.warn('what only helps could not be written', { message }));
  }

  /** Records an event without a move. Optional: the filing continues if the event cannot be written. */
  async note(event: Event): Promise<void> {
    if (!this.filing) return;
    const { filingId } = this.filing;
    await this.tryTo(() => steps(event.kind, { profile: 'note' }).noteEvent({ filingId, ...event }));
  }

  /** Shows, in the UI and the ledger, that the workflow is about to fail. */
  async showFailure(problem: string): Promise<void> {
    this.showWaiting(problem);
    if (!this.filing) return;
    const { filingId } = this.filing;
    await this.tryTo(() =>
      steps('Record the workflow failure', { profile: 'note' }).recordRunProblem({ filingId, problem }),
    );
  }

  /** Shows what the run waits for while the ledger cannot be written. */
  showWaiting(text: string): void {
    this.problem = text;
    this.show();
  }

  /** What the filing waits for, as `ebrc list` shows it; its place in the queue is that of the last move. */
  private get waiting(): Waiting | null {
    const { state, waitsFor: wait, counts, since, dueAt, queue, expectedAt } = this.now;
    const subject = waitsFor({ state, asked: false, waitsFor: wait }, counts);
    // The text that asks for attention says what the filing waits for.
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
