import type pg from 'pg';
import type { StoredAnswer } from '../../domain/filing/attempt';
import { endOf, mayFollow, type FilingState } from '../../domain/filing/states';
import type { Finding } from '../../domain/rules/finding';
import { cutText } from '../../domain/text';
import { saveErrors, saveNote } from '../../ledger/filings/filing-notes';
import { holdStep } from '../../ledger/filings/filing-progress';
import { withTransaction } from '../../ledger/pool';
import { releaseUnfiled } from '../../ledger/gates/release';
import type { Absence } from '../../ledger/gates/absent-subject';
import { releaseAbsent } from '../../ledger/gates/release-absent';
import { countRows, moveRows, readRows, rowStates, saveRowErrors } from '../../ledger/rows/filing-rows';
import { lastRefusal, reportContradiction } from '../../ledger/submissions/answers';
import { readRequests, type Statement } from '../../ledger/submissions/requests';
import { readSubmissions, settleSubmission } from '../../ledger/submissions/submissions';
import { judgeSaid } from '../../ledger/principals/granted-words';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { FINDINGS_IN_RESULT } from './reserve-balances';
import { moveOnSettled, recordEnd, recordMove, type FilingEnd, type Held, type MovedOn, type MoveArgs } from './moves';
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
      const at = now();
      const freed = { filingId, state: 'needs_correction' as const, reason: errors[0]?.message ?? 'refused', at };
      const { doubtful } =
        submission === null ? { doubtful: [] } : await releaseUnfiled(client, { ...freed, submission });
      for (const each of doubtful) await reportDoubtfulRefusal(client, filingId, each, at);
      await releaseUnfiled(client, { ...freed, submission: null });
      await saveRowErrors(client, filingId, errors);
      await saveErrors(client, filingId, errors);
    }
    return ended(client, held, errors);
  }

  async function ended(client: pg.PoolClient, held: Held, errors: readonly Finding[]): Promise<Refused> {
    const left = (await readSubmissions(client, held.filingId)).some(({ state }) => state !== 'released');
    const end = await endAs(client, { ...held, state: left ? null : 'needs_correction' });
    const shown = errors.slice(0, FINDINGS_IN_RESULT);
    return { ...end, errors: shown.map((each) => ({ ...each, message: cutText(each.message, 500) })) };
  }

  async function reportDoubtfulRefusal(
    client: pg.PoolClient,
    filingId: string,
    submission: number,
    at: Date,
  ): Promise<void> {
    const text =
      `The service refused submission ${submission} after an earlier attempt of it was taken for not filed: perhaps because ` +
      'that one was filed. Look at the portal, and answer again.';
    const key = `${submission}/${at.getTime()}`;
    await reportContradiction(client, { filingId, kind: 'refused_after_absent', key, text, at });
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
     * The service says of a request that nothing of it was filed (it does not know it, or reports it Errored with
     * nothing listed), and the settle window is over. Where the look proves it, its rows are free; otherwise `absence`
     * is refused. The filing ends with it where nothing else of it is left.
     */
    concludeStatement: ({
      seq,
      requestId,
      submission,
      errors,
      ...of
    }: Held & { submission: number; requestId: string; errors: string[] }): Promise<
      Refused & { absence: Pick<Absence, 'outcome'>; moved: MovedOn | null }
    > => {
      const held = { filingId: of.filingId, seq };
      const { filingId } = held;
      return onWholeLedger(deps, filingId, async (client) => {
        const standing = await holdStep(client, { ...held, step: stepId() });
        const kept = { absence: { outcome: 'refused' as const }, errors: [], moved: null };
        if (standing === 'differs') return { ...(await unchanged(client, held)), ...kept };
        const at = now();
        const request = (await readRequests(client, filingId, submission)).find((each) => each.requestId === requestId);
        const statement = request?.statement ?? null;
        // Of a request that has ended the service says nothing more: what it leaves open is answered by persons.
        const stated = statement !== null && request?.state === 'followed';
        if (standing !== 'repeated' && !stated) return { ...(await endAs(client, { ...held, state: null })), ...kept };
        const reason = STATEMENTS[statement ?? 'unknown_request'](requestId);
        const messages = errors.length > 0 ? errors : [reason];
        const subject = { requestId, filingId, submission };
        const given = {
          subject,
          settleMs: settings.settleAfterMs,
          unseen: false,
          notOurs: [],
          reason,
          errors: messages,
          at,
        };
        const { outcome } =
          standing === 'repeated' ? { outcome: 'freed' as const } : await releaseAbsent(client, given);
        if (outcome === 'refused') return { ...(await endAs(client, { ...held, state: null })), ...kept };
        const processed = statement === 'errored_empty' || statement === 'errored';
        return { ...(await afterAbsence(client, held, { submission, processed, messages, at })), absence: { outcome } };
      });
    },

    /**
     * Gives a filing up. What was never sent is free again; what may still become a certificate stays live and is never
     * filed again by accident. The ledger decides row by row: a send that began meanwhile is found here, or finds its
     * rows gone; one that was marked and never written is closed as not sent.
     */
    giveUpFiling: ({
      by,
      note,
      wordId,
      ...held
    }: Held & { by: string; note: string; wordId?: string }): Promise<FilingEnd & { refused?: string }> => {
      const { filingId } = held;
      const giveUp = async (client: pg.PoolClient) => {
        const standing = await holdStep(client, { ...held, step: stepId() });
        if (standing === 'differs') return unchanged(client, held);
        const at = now();
        if (standing !== 'repeated') {
          if (wordId) {
            const { refused } = await judgeSaid(client, { wordId, filingId, action: 'abandon', at });
            if (refused !== null) return { ...(await unchanged(client, held)), differs: false, refused };
          }
          await releaseUnfiled(client, { filingId, submission: null, state: 'withdrawn', reason: note, at });
          await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
          await saveNote(client, filingId, note);
        }
        const withdrawn = (await rowStates(client, filingId)).every((state) => state === 'withdrawn');
        const event = { kind: withdrawn ? 'withdrawn' : 'abandoned', text: note, who: by };
        return endAs(client, { ...held, state: 'abandoned', event });
      };
      return onWholeLedger(deps, filingId, giveUp, { attemptId: null });
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

  /** A submission of which nothing was filed: it is released, unless some of its rows were certified. */
  async function afterAbsence(
    client: pg.PoolClient,
    held: Held,
    { submission, processed, messages, at }: { submission: number; processed: boolean; messages: string[]; at: Date },
  ): Promise<Refused & { moved: MovedOn | null }> {
    const { filingId } = held;
    const rows = (await readRows(client, filingId, submission)).filter(({ state }) => state !== 'abandoned_after_send');
    const certified = rows.some(({ state }) => state === 'certified');
    // What the authority processed has an outcome, even if that is a rejection.
    const settled = certified || processed;
    await settleSubmission(client, { filingId, submission, state: settled ? 'settled' : 'released', at });
    if (settled) {
      const moved = await moveOnSettled(client, settings, { filingId, at });
      return { ...(await endAs(client, { ...held, state: null })), errors: [], moved };
    }
    const errors = messages.map((message): Finding => ({
      severity: 'error',
      code: 'authority',
      row: null,
      field: null,
      message,
    }));
    await saveErrors(client, filingId, errors);
    return { ...(await ended(client, held, errors)), moved: null };
  }
}

/** What the service says of a request, for people. */
const STATEMENTS: Record<Statement, (requestId: string) => string> = {
  unknown_request: (requestId) => `the service does not know request ${requestId}, and shows no certificate of it`,
  errored_empty: (requestId) => `the authority reports request ${requestId} as Errored, and shows no certificate of it`,
  errored: (requestId) => `the authority reports the rows of request ${requestId} as Errored`,
};
