/** One filing's run: where it stands, what people have asked of it, and the one place that moves it. */
import { condition, setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import type { OpenedFiling } from '../activities/open-filing';
import type { ReadSettingsResult } from '../activities/settings';
import type { AbandonArgs, ApproveArgs, FileInput, FilingCounts, FilingResult, ResolveArgs } from '../domain/contracts';
import { isEnd, needsAttention, type FilingState } from '../domain/filing-states';
import type { Finding } from '../domain/finding';
import { calls } from './activity-profiles';
import { searchAttributes } from './search-attributes';

/** A person gave the filing up, or cancelled it before anything was sent. */
export class FilingGivenUp extends Error {
  override readonly name = 'FilingGivenUp';
}

/** The ledger says that the filing has ended: another run ended it, and its recorded outcome stands. */
export class FilingEnded extends Error {
  override readonly name = 'FilingEnded';
}

const NO_ROWS: FilingCounts = { rows: 0, certified: 0, archived: 0, errored: 0, open: 0 };

export interface Event {
  kind: string;
  text: string;
  who?: string;
  data?: unknown;
}

export interface Attention {
  /** What a person should know or do. */
  attention?: string | null;
  /** For states that need nobody as such, but do now. */
  needsAttention?: boolean;
}

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
  /** Whether a person has been asked about an unknown outcome. */
  asked = false;
  cancelRequested = false;
  abandon: AbandonArgs | null = null;
  approval: ApproveArgs | null = null;
  resolution: ResolveArgs | null = null;
  /** The last resolve that the ledger or the service contradicted, and how. */
  refusedResolution: { args: ResolveArgs; message: string } | null = null;
  /** How often our own access was tried again in a row, and when last (ms since the epoch). */
  readonly access = { tries: 0, triedAt: 0 };
  /** The newest credentials that were said to be valid. */
  renewedCredentials = 0;
  private seq = 0;
  private moving: Promise<void> = Promise.resolve();

  constructor(readonly input: FileInput) {}

  /** Takes over what the ledger recorded. */
  adopt(filing: OpenedFiling): void {
    this.filing = filing;
    this.state = filing.state;
    this.seq = filing.seq;
    this.counts = filing.counts;
    this.requestId = filing.submissions[0]?.requestId ?? null;
    this.dgftAckId = filing.submissions[0]?.dgftAckId ?? null;
    this.sent = filing.submissions.some(
      ({ state, lastAttempt }) =>
        (state !== 'planned' && state !== 'released') ||
        lastAttempt?.state === 'sending' ||
        lastAttempt?.state === 'answered',
    );
  }

  get filingId(): string {
    if (!this.filing) throw new Error('The filing is not recorded yet.');
    return this.filing.filingId;
  }

  get exporterId(): string {
    return this.filing?.exporterId ?? this.input.exporterId;
  }

  /** Whether the run has to stop where it waits. A cancel counts only while nothing is at the service. */
  get givenUp(): boolean {
    return this.abandon !== null || (this.cancelRequested && !this.sent);
  }

  /** @throws FilingGivenUp when somebody gave the filing up. */
  stopIfGivenUp(): void {
    if (this.givenUp) throw new FilingGivenUp('given up');
  }

  /** Waits until `until` holds or the time is over; ends early when the filing is given up. */
  async wait(ms: number, summary: string, until: () => boolean = () => false): Promise<void> {
    await condition(() => until() || this.givenUp, Math.max(1, Math.ceil(ms)), { summary });
    this.stopIfGivenUp();
  }

  /** Moves the filing on, in the ledger, in the lists and in the UI. One move at a time: each has to follow the last. */
  move(state: FilingState, event: Event, attention: Attention = {}): Promise<void> {
    const next = this.moving.then(() => this.moveNow(state, event, attention));
    this.moving = next.catch(() => undefined);
    return next;
  }

  private async moveNow(state: FilingState, event: Event, asked: Attention): Promise<void> {
    this.state = state;
    const standing = isEnd(state) ? null : this.standing;
    this.attention = [asked.attention, standing].filter(Boolean).join(' ') || null;
    const attentionNeeded = standing !== null || (asked.needsAttention ?? needsAttention(state));
    this.show(event.text, attentionNeeded);
    if (!this.filing) return;
    this.seq += 1;
    const { counts } = await calls('ledger', { summary: `${state}: ${event.kind}` }).recordProgress({
      filingId: this.filing.filingId,
      seq: this.seq,
      state,
      attention: this.attention,
      needsAttention: attentionNeeded,
      event,
    });
    this.counts = counts;
    this.show(event.text, attentionNeeded);
  }

  /** Keeps a line of the story without moving. */
  async note(event: Event): Promise<void> {
    if (!this.filing) return;
    await calls('ledger', { summary: event.kind }).noteEvent({ filingId: this.filing.filingId, ...event });
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
      seq: this.seq,
      errors: this.errors,
    };
  }

  private show(text: string, attentionNeeded: boolean): void {
    const { rows, certified, archived, errored, open } = this.counts;
    const lines = [
      `**${this.state}**: ${text}`,
      ...(this.attention ? [`> ${this.attention}`] : []),
      `Rows ${rows}, certified ${certified}, PDFs archived ${archived}, errored ${errored}, open ${open}.`,
      ...(this.requestId ? [`Request \`${this.requestId}\`.`] : []),
    ];
    setCurrentDetails(lines.join('\n\n'));
    const known = new Set(this.settings.searchAttributes);
    // An attribute that the server does not know would fail the whole workflow task.
    const pairs = searchAttributes({
      exporterId: this.exporterId,
      state: this.state,
      requestId: this.requestId,
      mode: this.settings.mode,
      reference: this.filing?.reference,
      needsAttention: attentionNeeded,
    }).filter((pair) => known.has(pair.key.name));
    if (pairs.length > 0) upsertSearchAttributes(pairs);
  }
}
