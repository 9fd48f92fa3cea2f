/** Operators' requests to a filing, each saved in the ledger until carried out: it outlives its run. */
import { ApplicationFailure, condition, currentUpdateInfo } from '@temporalio/workflow';
import type { OpenWords, WordInput } from '../../activities/filings/filing-ledger';
import type { AbandonArgs, ApproveArgs, RefusalDetails, ResolveArgs } from '../../domain/contracts';
import { personKey } from '../../domain/principal';
import type { FilingProgress } from './filing-progress';
import { type Event, FilingMovedOn } from './filing-steps';

/** What a person's answer is about now. */
export interface InQuestion {
  /** The attempt in doubt, or the one whose request is asked about; null where a person named that request. */
  attemptId: string | null;
  /** The request that is asked about; null: the attempt itself is in doubt. */
  requestId: string | null;
  /** The request is being polled, so a person may name another one. */
  following?: true;
}

/** What was said, with the word that the ledger keeps of it; without an id it is being recorded. */
type Recorded<T> = T & { wordId?: string };

/** @throws ApplicationFailure with which an update is refused */
export function refuse(message: string, code: RefusalDetails['code'] = 'refused'): never {
  const details: RefusalDetails[] = [{ code }];
  throw ApplicationFailure.create({ message, type: code, nonRetryable: true, details });
}

export class FilingRequests {
  cancelled = false;
  abandon: Recorded<AbandonArgs> | null = null;
  approval: Recorded<ApproveArgs> | null = null;
  resolution: Recorded<ResolveArgs> | null = null;
  /** What a resolve can answer now; null: nothing. */
  inQuestion: InQuestion | null = null;
  /** The last word that was refused when it was to be carried out, and why. */
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

  /** A second person approves what is to be filed. Resolves once it is recorded. */
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
    if (progress.ended) refuse('The filing was given up before the approval was carried out.');
  }

  /** A person answers for the attempt in question. Resolves once the answer is carried out. */
  async resolve(args: ResolveArgs): Promise<void> {
    this.judgeResolve(args);
    if (this.resolution) refuse('Another resolve is being worked on.');
    const request: Recorded<ResolveArgs> = { ...args };
    const kind = args.as === 'filed' ? 'filed' : 'not_filed';
    await this.keep('resolution', request, { ...args, sourceRows: args.rows ?? null, kind });
    await condition(() => this.resolution !== request);
    this.throwIfRefused(request);
  }

  /** A person gives the filing up. Resolves once it has ended. */
  async giveUp(args: AbandonArgs): Promise<void> {
    const { progress } = this;
    if (progress.refusal) refuse('The run recorded nothing: it was refused.');
    if (progress.ended) refuse(`The filing has ended: ${progress.state}.`);
    const request: Recorded<AbandonArgs> = { ...args };
    await this.keep('abandon', request, { ...args, kind: 'abandon' });
    await condition(() => progress.ended || this.abandon !== request);
    this.throwIfRefused(request);
  }

  /** Records a request, which stands before: a call that is scheduled meanwhile would be cancelled at once. */
  private async keep<K extends 'abandon' | 'resolution'>(
    kind: K,
    request: NonNullable<FilingRequests[K]>,
    said: Parameters<FilingRequests['record']>[0],
  ): Promise<void> {
    (this[kind] as typeof request | null) = request;
    try {
      request.wordId = await this.record(said);
    } catch (error) {
      if (this[kind] === request) this[kind] = null;
      throw error;
    }
  }

  /** It is not carried out: the filing goes on as if it had not been asked for. `code`: of a word that stands. */
  refuseRequest(kind: 'approval' | 'abandon' | 'resolution', message: string, code?: string): void {
    const request = this[kind];
    if (request) this.refused = { args: request, message, code };
    this[kind] = null;
  }

  private throwIfRefused(request: object): void {
    if (this.refused?.args === request) refuse(this.refused.message, this.refused.code);
  }

  get answered(): boolean {
    return this.resolution?.wordId !== undefined;
  }

  /** The resolve was carried out by a step that judged its word. */
  resolved(): void {
    this.resolution = null;
  }

  /** Refuses the resolve, and says why. `event`: recorded in the transaction that judges its word. */
  async contradictResolution(message: string, event: Event): Promise<void> {
    const { progress, resolution } = this;
    const { wordId } = resolution ?? {};
    if (wordId !== undefined)
      await progress
        .steps('Record why the answer was refused')
        .refuseWord({ filingId: progress.filingId, wordId, event });
    this.refuseRequest('resolution', message);
  }

  /** Work during which a resolve may come. Where the ledger moved on instead, it is refused: nothing was written. */
  async whileAnswering<T>(inQuestion: InQuestion, work: () => Promise<T>): Promise<T> {
    this.inQuestion = inQuestion;
    try {
      return await work();
    } catch (error) {
      if (error instanceof FilingMovedOn)
        await this.putAside('The filing has changed in the meantime: look at it again.');
      throw error;
    } finally {
      await this.putAside('there was nothing left to resolve', { refused: false }).finally(() => {
        this.inQuestion = null;
      });
    }
  }

  /** Nothing is left that the resolve could answer: kept, it would answer the next question. */
  async putAside(why: string, { refused = true }: { refused?: boolean } = {}): Promise<void> {
    const { resolution } = this;
    if (!resolution) return;
    await condition(() => resolution.wordId !== undefined || this.resolution !== resolution);
    const { wordId } = resolution;
    const { filingId } = this.progress;
    if (wordId !== undefined) await this.progress.steps('Put the answer aside').closeWord({ filingId, wordId, why });
    if (this.resolution !== resolution) return;
    if (refused) this.refuseRequest('resolution', why);
    else this.resolution = null;
  }

  private judgeResolve({ as, attemptId, requestId, certificates = [], notOurs = [] }: ResolveArgs): void {
    const { state } = this.progress;
    const { inQuestion } = this;
    // At the send gate: rows that were released as not filed wait for what two persons say of their certificates.
    const isAboutRows = as === 'not-filed' || certificates.length > 0;
    const atSendGate = state === 'submitting' && inQuestion !== null && isAboutRows;
    if (state !== 'outcome_unknown' && state !== 'overdue' && !atSendGate) {
      refuse(`The filing is ${state}; resolve is for outcome_unknown and overdue.`);
    }
    // That a named request is not ours is a statement about the attempt that it was named for.
    const notOursAlone = notOurs.length > 0 && requestId === undefined;
    const aboutRequest = as === 'not-filed' && inQuestion?.requestId && !notOursAlone;
    const asked = aboutRequest ? inQuestion.requestId : inQuestion?.attemptId;
    const given = aboutRequest ? requestId : attemptId;
    if (state === 'overdue' && !inQuestion?.following) {
      refuse(
        'The authority has answered for its requests; only certificates are missing, so there is nothing to resolve.',
      );
    }
    if (state === 'overdue' && as === 'not-filed' && requestId === undefined && !notOursAlone) {
      refuse(
        `The service acknowledged this filing (request ${this.progress.requestId ?? 'unknown'}), so it was filed.`,
      );
    }
    if (!inQuestion || given !== (asked ?? undefined)) {
      const shown = asked ?? 'none yet';
      refuse(
        given === undefined
          ? `Name what is answered for (${shown}): attemptId or requestId, as the filing shows it in "attempt" and "request".`
          : `${given} is not what is in question (${shown}): look at the filing again.`,
      );
    }
  }

  /** Records what a person said. @returns the id of its word */
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
