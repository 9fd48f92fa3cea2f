/**
 * Requests of operators to a filing. Each is saved in the ledger until it is carried out, so that it outlives the run
 * that received it.
 */
import { ApplicationFailure, condition } from '@temporalio/workflow';
import type { OperatorRequestKind, OperatorRequests } from '../../activities/filings/filing-ledger';
import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/contracts';
import { isEnd } from '../../domain/filing/states';
import { personKey } from '../../domain/person';
import { FilingMovedOn } from './filing-ends';
import type { FilingProgress } from './filing-progress';
import type { Event } from './filing-steps';

/** @throws ApplicationFailure with which an update is refused */
export function refuse(message: string): never {
  throw ApplicationFailure.nonRetryable(message, 'refused');
}

export class FilingRequests {
  /** Whether the workflow was cancelled. */
  cancelled = false;
  abandon: AbandonArgs | null = null;
  approval: ApproveArgs | null = null;
  resolution: ResolveArgs | null = null;
  /** The attempt that a resolve can answer now; null: none. */
  inQuestion: string | null = null;
  /** Whether a request is being polled, so that a person may name another one. */
  following = false;
  /** The last resolve that the ledger or the service contradicted, and how. */
  private refused: { args: ResolveArgs; message: string } | null = null;
  /** The last resolve that the step which carried it out, or refused it, deleted from the ledger. */
  private deleted: ResolveArgs | null = null;

  constructor(private readonly progress: FilingProgress) {}

  /** Restores the requests that earlier runs received and did not carry out. */
  restore({ abandon, approve, resolve }: OperatorRequests): void {
    this.abandon ??= abandon ?? null;
    this.approval ??= approve ?? null;
    this.resolution ??= resolve ?? null;
  }

  /** Whether something is still to be carried out. */
  get open(): boolean {
    const approving = this.approval !== null && this.progress.state === 'awaiting_approval';
    return this.abandon !== null || approving || this.resolution !== null;
  }

  /** A second person approves what is to be filed. Resolves once it is recorded. */
  async approve(args: ApproveArgs): Promise<void> {
    const { progress } = this;
    if (progress.state !== 'awaiting_approval') refuse(`The filing is ${progress.state}; there is nothing to approve.`);
    if (personKey(args.by) === personKey(progress.filing?.madeBy)) {
      refuse(`${args.by} made this filing; somebody else has to approve it.`);
    }
    await this.save('approve', args);
    this.approval ??= args;
    await condition(() => progress.state !== 'awaiting_approval');
  }

  /** A person answers for the attempt in question. Resolves once the answer is carried out. */
  async resolve(args: ResolveArgs): Promise<void> {
    this.judgeResolve(args);
    if (this.resolution) refuse('Another resolve is being worked on.');
    // Before it is saved: a call that the run schedules meanwhile would be cancelled in the task that schedules it.
    this.resolution = args;
    try {
      await this.save('resolve', args);
    } catch (error) {
      if (this.resolution === args) this.resolution = null;
      throw error;
    }
    await condition(() => this.resolution !== args);
    if (this.refused?.args === args) refuse(this.refused.message);
  }

  /** A person gives the filing up. Resolves once it has ended. */
  async giveUp(args: AbandonArgs): Promise<void> {
    const { progress } = this;
    if (isEnd(progress.state)) refuse(`The filing has ended: ${progress.state}.`);
    // Before it is saved: a call that the run schedules meanwhile would be cancelled in the task that schedules it.
    this.abandon = args;
    await this.save('abandon', args);
    await condition(() => isEnd(progress.state));
  }

  /** Nothing is left that the resolve could answer: kept, it would answer the next question. */
  endResolution(): void {
    this.resolution = null;
  }

  /** The resolve was carried out by a step that deleted it from the ledger. */
  resolved(): void {
    this.deleted = this.resolution;
    this.resolution = null;
  }

  /** Refuses the resolve, and says why. `event`: recorded in the transaction that deletes it. */
  async contradictResolution(message: string, event: Event): Promise<void> {
    const { progress } = this;
    await progress.steps('Record why the answer was refused').refuseResolve({ filingId: progress.filingId, event });
    this.deleted = this.resolution;
    this.refuseResolution(message);
  }

  /** Refuses the resolve, and says why. */
  refuseResolution(message: string): void {
    if (this.resolution) this.refused = { args: this.resolution, message };
    this.resolution = null;
  }

  /**
   * Does work during which a resolve is carried out or may come. Where the ledger has moved on instead, the resolve is
   * refused: its step has written nothing.
   */
  async whileAnswering<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof FilingMovedOn) {
        this.refuseResolution('The filing has moved on meanwhile: look at it again.');
      }
      throw error;
    } finally {
      this.endResolution();
    }
  }

  /** Deletes each resolve from the ledger that no step has deleted, whichever run received it. Never ends. */
  async deleteResolutions(): Promise<never> {
    for (;;) {
      await condition(() => this.resolution !== null);
      const args = this.resolution;
      await condition(() => this.resolution !== args);
      if (this.deleted !== args) await this.progress.inTurn(() => this.remove('resolve'));
    }
  }

  private judgeResolve({ as, attemptId }: ResolveArgs): void {
    const { state, requestId } = this.progress;
    if (state !== 'outcome_unknown' && state !== 'overdue') {
      refuse(`The filing is ${state}; resolve is for outcome_unknown and overdue.`);
    }
    if (attemptId !== this.inQuestion) {
      const shown = this.inQuestion ?? 'none yet';
      refuse(
        attemptId === undefined
          ? `Name the attempt that is answered for (${shown}): attemptId, as the filing shows it in "attempt".`
          : `${attemptId} is not the attempt in question (${shown}): look at the filing again.`,
      );
    }
    if (state === 'overdue' && as === 'not-filed') {
      refuse(`The service acknowledged this filing (request ${requestId ?? 'unknown'}), so it was filed.`);
    }
    if (state === 'overdue' && !this.following) {
      refuse(
        'The authority has answered for its requests; only certificates are missing, so there is nothing to resolve.',
      );
    }
  }

  private async save<K extends OperatorRequestKind>(kind: K, args: NonNullable<OperatorRequests[K]>): Promise<void> {
    const { progress } = this;
    if (progress.filing)
      await progress
        .steps(`Record the request: ${kind}`)
        .saveOperatorRequest({ filingId: progress.filingId, kind, args });
  }

  private async remove(kind: OperatorRequestKind): Promise<void> {
    const { progress } = this;
    if (progress.filing)
      await progress.steps(`Clear the request: ${kind}`).deleteOperatorRequest({ filingId: progress.filingId, kind });
  }
}
