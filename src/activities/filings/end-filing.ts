import type pg from 'pg';
import type { StoredAnswer } from '../../domain/filing/attempt';
import { endOf, mayFollow, type FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { cutText } from '../../domain/text';
import { saveErrors, saveNote } from '../../ledger/filings/filing-notes';
import { holdStep } from '../../ledger/filings/filing-progress';
import { withTransaction } from '../../ledger/pool';
import {
  countRows,
  moveRows,
  readRows,
  releaseRows,
  releaseUnsent,
  rowStates,
  saveRowErrors,
} from '../../ledger/rows/filing-rows';
import { lastRefusal } from '../../ledger/submissions/answers';
import { closeUnknownRequest } from '../../ledger/submissions/other-attempts';
import { readSubmissions, releaseSubmissions } from '../../ledger/submissions/submissions';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { FINDINGS_IN_RESULT } from './reserve-balances';
import { recordMove, type MoveArgs } from './moves';
import { recordEnd, type FilingEnd, type Held } from './record-end';
import { fieldErrorsOf } from './refusal-errors';
import { onWholeLedger } from './whole-ledger';

/** A refused part of a filing: what is wrong with it, and whether the filing has ended with it. */
export interface Refused extends FilingEnd {
  errors: Finding[];
}

export type { FilingEnd, Held };

type Standing = Exclude<Awaited<ReturnType<typeof holdStep>>, 'differs'>;

export interface Refusal {
  filingId: string;
  submission: number | null;
  answer: StoredAnswer | null;
  errors: Finding[];
}

/** Steps that may end a filing: what becomes of its rows and its end are recorded in one transaction. */
export function createEndFilingActivities(deps: ActivityDependencies) {
  const { pool, clock, settings } = deps;
  const now = () => new Date(clock());

  /** What is wrong with a refused part. Only a sample of a refusal travels; every complaint of it is in the ledger. */
  async function findingsOf(client: pg.PoolClient, { filingId, submission, answer, errors }: Refusal) {
    if (submission === null) return answer ? fieldErrorsOf([], answer) : errors;
    const whole = await lastRefusal(client, filingId, submission);
    const refusal = whole && whole.kind === answer?.kind ? whole : answer;
    return refusal ? fieldErrorsOf(await readRows(client, filingId, submission), refusal) : errors;
  }

  /**
   * Frees the rows of a refused submission, and those that were to be sent after it; what is at the service stays. The
   * filing ends with it where nothing else of it is left.
   */
  async function refuse(client: pg.PoolClient, held: Held, standing: Standing, refusal: Refusal): Promise<Refused> {
    const { filingId, submission } = refusal;
    const errors = await findingsOf(client, refusal);
    if (standing !== 'repeated') {
      const freed = { filingId, state: 'needs_correction' as const, at: now() };
      if (submission !== null) await releaseRows(client, { ...freed, submission });
      await releaseUnsent(client, freed);
      await saveRowErrors(client, filingId, errors);
      await saveErrors(client, filingId, errors);
      await releaseSubmissions(client, { filingId, refused: submission, at: now() });
    }
    const left = (await readSubmissions(client, filingId)).some(({ state }) => state !== 'released');
    const end = await endAs(client, { ...held, state: left ? null : 'needs_correction' });
    const shown = errors.slice(0, FINDINGS_IN_RESULT);
    return { ...end, errors: shown.map((each) => ({ ...each, message: cutText(each.message, 500) })) };
  }

  const endAs = (client: pg.PoolClient, end: Held & { state: FilingState | null; event?: MoveArgs['event'] }) =>
    recordEnd(client, end, now());

  async function unchanged(client: pg.PoolClient, { filingId, seq }: Held): Promise<FilingEnd> {
    return { differs: true, state: null, counts: await countRows(client, filingId), seq };
  }

  return {
    /**
     * The service refused one submission, or a check of ours what is still to be sent (`submission` null): nothing of
     * it was accepted.
     */
    refuseFiling: ({ seq, ...refusal }: Held & Refusal): Promise<Refused> => {
      const held = { filingId: refusal.filingId, seq };
      return onWholeLedger(deps, held.filingId, async (client) => {
        const standing = await holdStep(client, { ...held, step: stepId() });
        if (standing === 'differs') return { ...(await unchanged(client, held)), errors: [] };
        return refuse(client, held, standing, refusal);
      });
    },

    /**
     * The service does not know the request of a Failed acknowledgement, to the end of the settle window: the
     * submission is refused. `kept`: that cannot be said yet. `other_attempt`: another attempt of it is to be looked
     * into.
     */
    closeUnknownRequest: ({
      seq,
      message,
      ...args
    }: Held & { submission: number; requestId: string; message: string }): Promise<
      Refused & { outcome: 'closed' | 'kept' | 'other_attempt' }
    > => {
      const { filingId, submission } = args;
      const held = { filingId, seq };
      return onWholeLedger(deps, filingId, async (client) => {
        const standing = await holdStep(client, { ...held, step: stepId() });
        if (standing === 'differs') return { ...(await unchanged(client, held)), errors: [], outcome: 'kept' };
        const { settleAfterMs } = settings;
        const close = () => closeUnknownRequest(client, { ...args, settleAfterMs, at: now() });
        const outcome = standing === 'repeated' ? 'closed' : await close();
        if (outcome !== 'closed') {
          return { ...(await endAs(client, { ...held, state: null })), errors: [], outcome };
        }
        const answer = { kind: 'acknowledgement_failed', message };
        const refusal = { filingId, submission, answer, errors: [] };
        return { ...(await refuse(client, held, standing, refusal)), outcome };
      });
    },

    /**
     * Gives a filing up. What was never sent is free again; what may still become a certificate stays live and is never
     * filed again by accident. The ledger decides row by row: a send that began meanwhile is found here, or finds its
     * rows gone.
     */
    giveUpFiling: ({ by, note, ...held }: Held & { by: string; note: string }): Promise<FilingEnd> => {
      const { filingId } = held;
      return onWholeLedger(deps, filingId, async (client) => {
        const standing = await holdStep(client, { ...held, step: stepId() });
        if (standing === 'differs') return unchanged(client, held);
        const at = now();
        if (standing !== 'repeated') {
          await releaseUnsent(client, { filingId, state: 'withdrawn', at });
          await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
          await saveNote(client, filingId, note);
        }
        const withdrawn = (await rowStates(client, filingId)).every((state) => state === 'withdrawn');
        if (withdrawn && standing !== 'repeated') await releaseSubmissions(client, { filingId, refused: null, at });
        const event = { kind: withdrawn ? 'withdrawn' : 'abandoned', text: note, who: by };
        return endAs(client, { ...held, state: 'abandoned', event });
      });
    },

    /** Ends the filing as its rows amount to, in the transaction that reads them, where they all have an outcome. */
    endFiling: (held: Held): Promise<FilingEnd> =>
      withTransaction(pool, async (client) => {
        const { filingId } = held;
        const standing = await holdStep(client, { ...held, step: stepId() });
        if (standing === 'differs') return unchanged(client, held);
        const state = endOf(await rowStates(client, filingId));
        if (state === null || standing === 'repeated' || mayFollow(standing.state, state)) {
          return endAs(client, { ...held, state });
        }
        // An overdue filing has its certificates after all.
        const seq = held.seq + 1;
        const event = { kind: 'collected', text: 'the certificates are collected' };
        const step = `${stepId()}/collected`;
        await recordMove(client, { filingId, seq, step, state: 'collecting', attention: null, event }, now());
        return endAs(client, { filingId, seq, state });
      }),
  };
}
