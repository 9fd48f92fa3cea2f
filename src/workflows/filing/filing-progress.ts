/** Where a filing stands, and the one place that moves it: in the ledger, in the lists and in the UI. */
import type { ActivityInterfaceFor } from '@temporalio/workflow';
import type { Activities } from '../../activities/create-activities';
import type { FilingEnd, Held } from '../../activities/filings/end-filing';
import type { Moved, MovedOn, MoveArgs } from '../../activities/filings/moves';
import type { OpenedFiling } from '../../activities/filings/open-filing';
import type { ReadSettingsResult } from '../../activities/filings/settings';
import type { FileInput, FilingCounts } from '../../domain/contracts';
import { endNote } from '../../domain/filing/end-note';
import { isEnd, isPause, type FilingState } from '../../domain/filing/states';
import { stateLimitMs } from '../../domain/filing/state-limits';
import { steps } from '../activity-profiles';
import { FilingMovedOn } from './filing-ends';
import {
  inOneText,
  noteEvent,
  recordRunProblem,
  toMove,
  watched,
  type Attention,
  type Event,
  type Move,
} from './filing-steps';
import { NO_ROWS, showFiling, showRefusal, textOf, type Refusal } from './show-filing';

export class FilingProgress {
  settings!: ReadSettingsResult;
  filing: OpenedFiling | null = null;
  state: FilingState = 'checking';
  /** The state that a pause interrupts, and leads back to. */
  working: FilingState = 'checking';
  attention: string | null = null;
  /** What the last move asked. */
  asks: string | null = null;
  counts: FilingCounts = NO_ROWS;
  requestId: string | null = null;
  /** What facts ask about the filing, whatever its state. */
  standing: string | null = null;
  /** When the next state is due at the latest (ms since the epoch); null while a person is waited for, or was asked. */
  dueAt: number | null = null;
  /** The wait whose own time that includes. */
  waitsFor: string | null = null;
  /** What was asked when the time of its state was over. */
  private late: string | null = null;
  /** The ledger holds other moves than this run. */
  protected movedOn = false;
  /** The number of the move that is shown. */
  protected shownSeq = 0;
  /** Moves that the ledger has recorded. */
  private seq = 0;
  private moving: Promise<void> = Promise.resolve();
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

  /** Whether the filing is recorded, or the run was refused. */
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

  get filingId(): string {
    return this.recorded.filingId;
  }

  get exporterId(): string {
    return this.filing?.exporterId ?? this.input.exporterId;
  }

  get ended(): boolean {
    return this.refusal !== null || isEnd(this.state);
  }

  /** Takes up the filing as the ledger holds it. */
  protected standAsRecorded(filing: OpenedFiling): void {
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
    this.seq = filing.seq;
    this.shownSeq = filing.seq;
    this.attention = filing.attention;
    this.counts = filing.counts;
    this.requestId = filing.submissions[0]?.requests[0]?.requestId ?? null;
    this.show('taken up from the ledger', filing.needsAttention);
  }

  /** Resolves when no write is under way. */
  protected settled(): Promise<void> {
    return this.moving;
  }

  /**
   * Steps on the ledger, under a summary for the Temporal UI. @throws FilingMovedOn when the ledger does not hold the
   * filing
   */
  steps(summary: string): ActivityInterfaceFor<Activities> {
    return watched(steps({ summary, rows: this.counts.rows }), () => this.agreed({ differs: true }));
  }

  /** What a write decides on: the filing as far as this run knows it. */
  get held(): Held {
    return { filingId: this.filingId, seq: this.seq };
  }

  /** The answer of a write that was decided on by {@link held}. @throws FilingMovedOn when nothing was written */
  agreed<T extends { differs: boolean }>(result: T): T {
    if (result.differs) this.movedOn = true;
    if (this.movedOn) throw new FilingMovedOn('the ledger holds other moves');
    return result;
  }

  /** The result of a read under the filing's lock. @throws FilingMovedOn when the ledger holds other moves by then */
  readInTurn<T extends { filingSeq: number | null }>(read: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      const result = await read();
      this.agreed({ differs: result.filingSeq !== this.seq });
      return result;
    });
  }

  /**
   * Moves the filing on, in the ledger, in the lists and in the UI. One move at a time: each has to follow the last.
   * @param when asked in its turn: what is under way may take the filing elsewhere. @returns whether it was moved
   */
  move(state: FilingState, event: Event, asked: Attention = {}, when: () => boolean = () => true): Promise<boolean> {
    return this.inTurn(async () => {
      if (!when()) return false;
      if (this.movedOn) throw new FilingMovedOn('the ledger holds other moves');
      if (asked.late) this.late = event.text;
      const move = this.nextMove(state, event, asked);
      this.stand(move);
      if (!this.filing) return true;
      const { counts, standing } = this.agreed(await this.steps(`${state}: ${event.kind}`).recordProgress(move));
      this.took(move, counts ?? this.counts, standing);
      return true;
    });
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
   * filing stays where it is. @throws FilingMovedOn when the ledger holds other moves: a fact is recorded all the
   * same, a person's answer is not
   */
  stepTo<T extends Moved>(
    state: FilingState,
    event: Event,
    step: (move: MoveArgs) => Promise<T>,
    asked: Attention = {},
  ): Promise<T> {
    return this.inTurn(async () => {
      if (this.movedOn) throw new FilingMovedOn('the ledger holds other moves');
      const move = this.nextMove(state, event, asked);
      const result = this.agreed(await step(move));
      if (result.counts) this.took(move, result.counts, result.standing);
      return result;
    });
  }

  /** The next move, for an activity that may record it while others come between: see {@link tookOver}. */
  nextMove(state: FilingState, event: Event, asked: Attention = {}): Move {
    const { seq, settings, counts, dueAt, waitsFor, late } = this;
    const filingId = this.filing?.filingId ?? '';
    const held = { filingId, seq: seq + 1, state: this.state, settings, counts, dueAt, waitsFor, late };
    return toMove(held, state, event, asked);
  }

  /**
   * Takes over a move that an activity recorded with the fact that caused it; `recorded`: what it numbered by itself.
   * @throws FilingMovedOn when another move of this run came between: the ledger refuses it, or has it already
   */
  tookOver(move: Move, { counts, standing, ...recorded }: Pick<MovedOn, 'counts'> & Partial<MovedOn>): Promise<void> {
    return this.inTurn(() => {
      const made = { ...move, ...recorded };
      this.agreed({ differs: made.seq !== this.seq + 1 });
      this.took(made, counts, standing);
      return Promise.resolve();
    });
  }

  /** Makes a step that may end the filing; where it does, its end is recorded with what the step writes. */
  stepToEnd<T extends FilingEnd>(step: (held: Held) => Promise<T>, own: Partial<Event> = {}): Promise<T> {
    return this.inTurn(async () => {
      if (this.movedOn) throw new FilingMovedOn('the ledger holds other moves');
      const end = this.agreed(await step(this.held));
      this.standEnded(end, own);
      return end;
    });
  }

  /** Takes over an end that an activity recorded with the fact that caused it. */
  tookEnd(end: FilingEnd): Promise<void> {
    return this.inTurn(() => {
      this.agreed({ differs: end.differs || end.seq !== this.seq + 1 });
      this.standEnded(end);
      return Promise.resolve();
    });
  }

  private standEnded({ state, counts, seq, standing }: FilingEnd, own: Partial<Event> = {}): void {
    this.counts = counts;
    if (state === null) return;
    const { event, attention } = endNote(this.filingId, state, counts);
    const move = this.nextMove(state, { ...event, ...own }, { attention });
    this.took({ ...move, seq }, counts, standing);
  }

  private took(move: Move, counts: FilingCounts, standing: string | null = this.standing): void {
    this.seq = move.seq;
    this.standing = standing;
    this.counts = counts;
    this.stand(move);
  }

  private stand({ state, seq, attention, needsAttention: attentionNeeded, dueAt, waitsFor, event }: Move): void {
    if (state !== this.state) this.late = null;
    this.state = state;
    this.waitsFor = waitsFor;
    if (!isPause(state)) this.working = state;
    this.shownSeq = seq;
    this.dueAt = dueAt;
    const asks = attentionNeeded ? (attention ?? event.text) : null;
    this.asks = asks === this.late ? null : asks;
    this.attention = inOneText(this.asks, this.late, this.standing);
    this.show(event.text, this.attention !== null);
  }

  /** Records an event without moving. It only helps: where it cannot be written, the filing goes on. */
  async note(event: Event): Promise<void> {
    if (this.filing) await noteEvent(this.filing.filingId, event);
  }

  /** Says, where people look, that the workflow is about to fail. */
  async failing(problem: string): Promise<void> {
    this.attention = problem;
    if (!this.filing) return;
    this.show(problem, true);
    await recordRunProblem(this.filing.filingId, problem);
  }

  /** Shows what is waited for where the ledger cannot be written. */
  showWaiting(text: string): void {
    this.attention = text;
    this.show(text, true);
  }

  private show(text: string, attentionNeeded: boolean): void {
    showFiling(this, this.filing?.reference, text, attentionNeeded);
  }
}
