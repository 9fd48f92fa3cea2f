/** Where a filing stands, and the one place that moves it: in the ledger, in the lists and in the UI. */
import type { Decided, Differs, FilingNow, Left } from '../../activities/filings/moves';
import type { OpenedFiling } from '../../activities/filings/open-filing';
import type { ReadSettingsResult } from '../../activities/settings';
import { NO_ROWS, type FileInput, type FilingCounts, type ResultRow } from '../../domain/contracts';
import {
  type FilingState,
  isEnd,
  isPause,
  needsAttention as needsSomebody,
  stateLimitMs,
} from '../../domain/filing/states';
import { waitsFor, type Waiting } from '../../domain/filing/view';
import type { RateClass } from '../../domain/names';
import { calls, steps, type CallAbout, type ProfileName } from '../activity-profiles';
import { isFilingMissing } from '../failures';
import { deadlineOf, FilingMovedOn, inOneText, tryTo } from './filing-steps';
import type { Attention, Event, Move } from './filing-steps';
import { showFiling, showRefusal, textOf, type Refusal } from './show-filing';

const NOTHING = () => undefined;

export class FilingProgress {
  settings!: ReadSettingsResult;
  filing: OpenedFiling | null = null;
  state: FilingState = 'checking';
  /** The state that a pause interrupts, and leads back to. */
  working: FilingState = 'checking';
  attention: string | null = null;
  asks: string | null = null;
  counts: FilingCounts = NO_ROWS;
  /** Its first rows, as the last move that shows them left them. */
  rows: ResultRow[] = [];
  requestId: string | null = null;
  standing: string | null = null;
  /** When the next state is due at the latest (ms since the epoch); null while a person is waited for, or was asked. */
  dueAt: number | null = null;
  waitsFor: string | null = null;
  /** Since when it is in its state, as far as this run knows (ms since the epoch). */
  private since: number | null = null;
  /** What its last move told of when it goes on. */
  private expects: Pick<FilingNow, 'queue' | 'expectedAt'> = {};
  /** What was asked when the time of its state was over. */
  late: string | null = null;
  /** Whether a person was asked, the last time that the outcome was unknown. */
  private questioned = false;
  /** The ledger holds other moves than this run. */
  protected movedOn = false;
  /** What is shown of the last move. */
  text = '';
  /** The number of the move that is shown. */
  protected shownSeq = 0;
  /** Moves that the ledger has recorded. */
  private seq = 0;
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
    showRefusal(refusal, { ...this, exporterId: textOf(exporterId) }, textOf(reference));
  }

  get decided(): boolean {
    return this.filing !== null || this.refusal !== null;
  }

  /** The ledger does not hold the filing any more: it is recorded once more, or refused. */
  forget(): void {
    this.filing = null;
    this.state = 'checking';
  }

  /** Whether the ledger was read, and nothing is known to have moved since. */
  get upToDate(): boolean {
    return !this.reading && !this.movedOn;
  }

  protected get recorded(): OpenedFiling {
    if (!this.filing) throw new Error('The filing is not recorded yet.');
    return this.filing;
  }

  /** Whether a person has been asked about its unknown outcome. */
  get asked(): boolean {
    return this.state === 'outcome_unknown' && this.questioned;
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
    this.filing = filing;
    this.state = filing.state;
    this.working = isPause(filing.state) ? 'checking' : filing.state;
    const explained = stateLimitMs(filing.state, this.settings, filing.counts.certified);
    // A state whose time is over keeps its question, and a new run gives it no new time.
    this.late = filing.late;
    this.asks = filing.asks;
    this.standing = filing.standing;
    this.dueAt = explained === null || this.late !== null ? null : (filing.dueAt ?? Date.now() + explained);
    this.waitsFor = filing.waitsFor;
    this.questioned = filing.asked;
    this.seq = filing.seq;
    this.shownSeq = filing.seq;
    this.attention = filing.attention;
    this.counts = filing.counts;
    this.rows = filing.rows ?? [];
    this.requestId = filing.submissions[0]?.requests[0]?.requestId ?? null;
    this.since = filing.movedAt ?? null;
    this.expects = { queue: filing.queue ?? undefined };
    this.text = 'taken up from the ledger';
    this.show(filing.needsAttention);
  }

  steps(summary: string) {
    return steps(summary, { rows: this.counts.rows });
  }

  /** Calls for its exporter, under a summary for the Temporal UI; `priorityKey`: see {@link CallAbout}. */
  calls(profile: ProfileName, summary: string, rateClass: RateClass, priorityKey?: CallAbout['priorityKey']) {
    return calls(profile, { summary, rateClass, exporterId: this.exporterId, priorityKey });
  }

  /** What a step decides on: the filing as far as this run knows it. */
  get held(): Decided {
    return { filingId: this.filingId, seq: this.seq };
  }

  /**
   * Makes a step and takes over what it left of the filing, one step at a time.
   * @throws FilingMovedOn when the ledger holds other moves, or not the filing: a fact is recorded all the same, what
   * the run or a person decided is not
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
      if (asked.late) this.late = event.text;
      const move = this.nextMove(state, event, asked);
      const asks = move.needsAttention ? (move.attention ?? event.text) : null;
      this.stand({ ...move, ...event, asks });
      if (!this.filing) return true;
      const left = await this.orMissing(() => this.steps(`${state}: ${event.kind}`).recordProgress(move));
      this.take(left.filing);
      return true;
    });
  }

  /** The next move, for a step that records it with what causes it. */
  nextMove(state: FilingState, event: Event, asked: Attention = {}): Move {
    const { attention = null, late = false, needsAttention = needsSomebody(state) } = asked;
    const of = { filingId: this.filing?.filingId ?? '', seq: this.seq + 1 };
    const deadline = deadlineOf(this, state, stateLimitMs(state, this.settings, this.counts.certified), asked);
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
    if (filing === 'differs' || (filing !== null && filing.seq > this.seq + 1)) this.movedOn = true;
    this.stopIfMovedOn();
    // Read before a move that this run has made since.
    if (filing === null || filing === 'differs' || filing.seq < this.seq) return;
    const moved = filing.seq > this.seq;
    this.seq = filing.seq;
    this.counts = filing.counts;
    this.rows = filing.rows ?? this.rows;
    this.standing = filing.standing;
    if (moved) this.stand(filing);
    else this.show(this.attention !== null);
  }

  private stand(now: Omit<FilingNow, 'counts' | 'rows' | 'standing'>): void {
    const { state, seq, asks, dueAt, waitsFor, kind, text, queue, expectedAt } = now;
    if (kind === 'asked' || kind === 'outcome_unknown') this.questioned = kind === 'asked';
    if (state !== this.state) {
      this.late = null;
      this.since = Date.now();
    }
    this.expects = { queue, expectedAt };
    this.state = state;
    this.waitsFor = waitsFor;
    if (!isPause(state)) this.working = state;
    this.shownSeq = seq;
    this.dueAt = dueAt;
    this.asks = asks === this.late ? null : asks;
    this.attention = inOneText(this.asks, this.late, this.standing);
    this.text = text;
    this.show(this.attention !== null);
  }

  /** Records an event without moving. It only helps: where it cannot be written, the filing goes on. */
  async note(event: Event): Promise<void> {
    if (!this.filing) return;
    const { filingId } = this.filing;
    await tryTo(() => steps(event.kind, { profile: 'note' }).noteEvent({ filingId, ...event }));
  }

  /** Says, where people look, that the workflow is about to fail. */
  async failing(problem: string): Promise<void> {
    this.attention = problem;
    if (!this.filing) return;
    const { filingId } = this.filing;
    this.showWaiting(problem);
    await tryTo(() =>
      steps('Record the workflow failure', { profile: 'note' }).recordRunProblem({ filingId, problem }),
    );
  }

  /** Shows what is waited for where the ledger cannot be written. */
  showWaiting(text: string): void {
    this.attention = text;
    this.text = text;
    this.show(true);
  }

  /** What it waits for, as the ledger's lists say it; a place in line is that of its last move. */
  get waiting(): Waiting | null {
    const { state, waitsFor: wait, counts, since, dueAt, settings } = this;
    const subject = waitsFor({ state, asked: false, waitsFor: wait }, counts);
    // What asks for somebody says itself what is waited for.
    if (subject === null || since === null || this.attention !== null) return null;
    const { queue = null, expectedAt } = this.expects;
    const expected = queue ? since + queue.windows * settings.rateWindowMs : expectedAt;
    const [from, expectedBy, until] = [since, expected, dueAt].map((ms) => (ms ? new Date(ms).toISOString() : null));
    return { for: subject, since: from ?? '', queue, expectedBy: expectedBy ?? null, until: until ?? null };
  }

  private show(attentionNeeded: boolean): void {
    showFiling(this, this.filing?.reference, this.text, attentionNeeded);
  }
}
