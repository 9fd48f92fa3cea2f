/** Operators' requests to a filing. The ledger keeps each until it is carried out, so that it survives the run. */
import { condition, currentUpdateInfo } from '@temporalio/workflow';
import type { OpenWords, WordInput } from '../../activities/filings/filing-ledger';
import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/update-contracts';
import { refusalOfResolve, type InQuestion } from '../../domain/filing/resolve-judgement';
import { personKey } from '../../domain/principal';
import { refuse } from '../inputs';
import type { FilingProgress } from './filing-progress';
import type { Event } from './filing-steps';

/** A request with the id of its word in the ledger; without the id it is still being recorded. */
type Recorded<T> = T & { wordId?: string };

export class FilingRequests {
  cancelled = false;
  abandon: Recorded<AbandonArgs> | null = null;
  approval: Recorded<ApproveArgs> | null = null;
  resolution: Recorded<ResolveArgs> | null = null;
  /** The attempt or request that a person may answer for now; null if there is none. */
  inQuestion: InQuestion | null = null;
  /** The last request whose word was refused when it was to be carried out, and why. */
  private refused: { args: ApproveArgs | ResolveArgs | AbandonArgs; message: string; code?: string } | null = null;

  constructor(private readonly progress: FilingProgress) {}

  restore({ abandon, approve, resolve }: OpenWords): void {
    this.abandon ??= abandon ?? null;
    this.approval ??= approve ?? null;
    this.resolution ??= resolve ?? null;
  }

  get open(): boolean {
    const approving = this.approval !== null && this.progress.state === 'awaiting_approval';
    return this.abandon !== null || approving || this.resolution !== null;
  }

  /** A second person approves the filing. Resolves once the approval is recorded. */
  async approve(args: ApproveArgs): Promise<void> {
    const { progress } = this;
    if (progress.state !== 'awaiting_approval') refuse(`The filing is ${progress.state}; there is nothing to approve.`);
    if (personKey(args.by) === personKey(progress.filing?.madeBy)) {
      refuse(`${args.by} made this filing; somebody else has to approve it.`);
    }
    const request = { ...args, wordId: await this.record({ ...args, kind: 'approve' }) };
    await condition(() => this.approval === null || progress.state !== 'awaiting_approval');
    this.approval ??= request;
    await condition(() => progress.state !== 'awaiting_approval' || this.refused?.args === request);
    this.throwIfRefused(request);
    if (this.approval === request && !progress.ended) return;
    const overtaken = progress.ended ? 'the filing was given up' : 'somebody else approved it';
    const { carriedOut } = await this.close(request, `Before it was carried out, ${overtaken}.`);
    if (progress.ended && !carriedOut) refuse('The filing was given up before the approval was carried out.');
  }

  /** A person answers for the attempt or request in question. Resolves once the answer is carried out. */
  async resolve(args: ResolveArgs): Promise<void> {
    const { state, requestId } = this.progress;
    const why = refusalOfResolve({ state, requestId, inQuestion: this.inQuestion }, args);
    if (why !== null) refuse(why);
    if (this.resolution) refuse('Another resolve is being worked on.');
    const request: Recorded<ResolveArgs> = { ...args };
    const kind = args.as === 'filed' ? 'filed' : 'not_filed';
    await this.keep('resolution', request, { ...args, sourceRows: args.rows ?? null, kind });
    await condition(() => this.resolution !== request);
    this.throwIfRefused(request);
  }

  async giveUp(args: AbandonArgs): Promise<void> {
    const { progress } = this;
    if (progress.refusal) refuse('The run recorded nothing: it was refused.');
    if (progress.ended) refuse(`The filing has ended: ${progress.state}.`);
    if (this.abandon) refuse('It is being given up already.');
    const request: Recorded<AbandonArgs> = { ...args };
    await this.keep('abandon', request, { ...args, kind: 'abandon' });
    await condition(() => progress.ended || this.abandon !== request);
    this.throwIfRefused(request);
    if (progress.refusal || progress.state === 'abandoned') return;
    const why = `The filing has ended in the meantime: ${progress.state}.`;
    await this.close(request, why);
    refuse(why);
  }

  /** Sets a request, then records it: set later, a call scheduled meanwhile would start only to be cancelled. */
  private async keep<K extends 'abandon' | 'resolution'>(
    kind: K,
    request: NonNullable<FilingRequests[K]>,
    said: Parameters<FilingRequests['record']>[0],
  ): Promise<void> {
    const { progress } = this;
    (this[kind] as typeof request | null) = request;
    // A word needs a recorded filing. If the filing is given up before that, the run ends `refused` without a word.
    if (progress.filing === null) await condition(() => progress.filing !== null || progress.ended);
    if (progress.filing === null) return;
    try {
      request.wordId = await this.record(said);
    } catch (error) {
      if (this[kind] === request) this[kind] = null;
      throw error;
    }
  }

  /** Refuses a request; the filing continues as without it. `code`: why its word stays open, e.g. a second person. */
  refuseRequest(kind: 'approval' | 'abandon' | 'resolution', message: string, code?: string): void {
    const request = this[kind];
    if (request) this.refused = { args: request, message, code };
    this[kind] = null;
  }

  private throwIfRefused(request: object): void {
    if (this.refused?.args === request) refuse(this.refused.message, { code: this.refused.code });
  }

  get answered(): boolean {
    return this.resolution?.wordId !== undefined;
  }

  /** Clears the resolve after the step that judged its word carried it out. */
  clearResolution(): void {
    this.resolution = null;
  }

  /** Refuses the resolve with a reason; `event` is recorded in the transaction that refuses its word. */
  async contradictResolution(message: string, event: Event): Promise<void> {
    const { progress, resolution } = this;
    const { wordId } = resolution ?? {};
    if (wordId !== undefined)
      await progress
        .steps('Record why the answer was refused')
        .refuseWord({ filingId: progress.filingId, wordId, event });
    this.refuseRequest('resolution', message);
  }

  /** Does work while accepting a resolve. If the work fails, the resolve is refused, as nothing of it was written. */
  async whileAnswering<T>(inQuestion: InQuestion, work: () => Promise<T>): Promise<T> {
    this.inQuestion = inQuestion;
    try {
      return await work();
    } catch (error) {
      await this.closeResolution('The filing has changed in the meantime: look at it again.');
      throw error;
    } finally {
      await this.closeResolution('there was nothing left to resolve', { refused: false }).finally(() => {
        this.inQuestion = null;
      });
    }
  }

  /** Closes a resolve that has nothing left to answer; otherwise it would answer the next question. */
  async closeResolution(why: string, { refused = true }: { refused?: boolean } = {}): Promise<void> {
    const { resolution } = this;
    if (!resolution) return;
    await condition(() => resolution.wordId !== undefined || this.resolution !== resolution);
    const { carriedOut } = await this.close(resolution, why);
    if (this.resolution !== resolution) return;
    if (refused && !carriedOut) this.refuseRequest('resolution', why);
    else this.resolution = null;
  }

  /** Closes a word that can no longer be carried out. @returns whether it had been carried out */
  private async close({ wordId }: { wordId?: string }, why: string): Promise<{ carriedOut: boolean }> {
    if (wordId === undefined) return { carriedOut: false };
    const { filingId } = this.progress;
    return this.progress.steps('Put what was said aside').closeWord({ filingId, wordId, why });
  }

  /** Records what a person said. @returns the id of the word */
  private record(given: Partial<WordInput> & Pick<WordInput, 'kind' | 'by'> & { grant?: string }): Promise<string> {
    const { progress } = this;
    const { filingId } = progress;
    const { kind, by, note = null, attemptId = null, requestId = null, sourceRows = null } = given;
    const { certificates = [], notOurs = [], unseen = false, grant: grantId = null } = given;
    const about = { attemptId, requestId, sourceRows, certificates, notOurs, unseen, grantId };
    const word = { filingId, kind, by, note, ...about, saidBy: currentUpdateInfo()?.id ?? '' };
    return progress.steps(`Record what ${by} said: ${kind}`).recordWord(word);
  }
}
