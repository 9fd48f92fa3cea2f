import type pg from 'pg';
import { endNote } from '../../domain/filing/end-note';
import { endOf, mayFollow, type FilingState } from '../../domain/filing/states';
import type { FilingCounts } from '../../domain/contracts';
import type { Finding } from '../../domain/rules/finding';
import { reserveBalances } from '../../ledger/rows/balance-reservation';
import { saveApproval, saveBalanceFindings, saveErrors, saveNote } from '../../ledger/filings/filing-notes';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { addEvent, holdFiling } from '../../ledger/filings/filing-progress';
import {
  countRows,
  moveRows,
  readRows,
  releaseRows,
  releaseUnsent,
  rowStates,
  saveRowErrors,
} from '../../ledger/rows/filing-rows';
import { registerWaiter, removeWaiter } from '../../ledger/vault/credentials';
import { dropWish, keepWish, type WishKind, type Wishes } from '../../ledger/filings/filing-wishes';
import { needFiling } from '../../ledger/filings/filings';
import { tellRunProblem } from '../../ledger/filings/open-filings';
import { withTransaction } from '../../ledger/pool';
import { releaseSubmissions } from '../../ledger/submissions/submissions';
import type { StoredAnswer } from '../../domain/filing/attempt';
import { lastRefusal } from '../../ledger/submissions/answers';
import { cutText } from '../../domain/text';
import { fieldErrorsOf } from './refusal-errors';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { NOT_MOVED, recordMove, type Moved, type MoveArgs } from './moves';
import { readReadiness, type FilingReadiness } from './readiness';
import { onWholeLedger } from './whole-ledger';

/** Findings beyond this number stay in the ledger: a payload has limits. */
const FINDINGS_IN_RESULT = 50;

export type { WishKind, Wishes };

/** A write that a run decided on when it knew of `seq` moves of the filing. */
export interface Held {
  filingId: string;
  seq: number;
}

export interface HeldResult {
  /** The ledger knows of other moves than the run: nothing was written. */
  differs: boolean;
}

export interface FilingEnd extends HeldResult {
  state: FilingState | null;
  counts: FilingCounts;
  moved: boolean;
}

/** Writes of a filing's progress. Local work, each idempotent. */
export function createFilingLedgerActivities(deps: ActivityDependencies) {
  const { pool, clock, logger } = deps;
  const now = () => new Date(clock());

  /** Writes under the filing's lock what a run decided on, unless the ledger knows of other moves than that run. */
  const held = (hold: Held, write: (client: pg.PoolClient, step: string) => Promise<void>): Promise<HeldResult> =>
    withTransaction(pool, async (client) => {
      const differs = !(await holdFiling(client, hold));
      if (!differs) await write(client, stepId());
      return { differs };
    });

  /** As `held`, for a write that relies on rows not having been sent: it waits while the ledger is not whole. */
  const freeing = (hold: Held, write: (client: pg.PoolClient, step: string) => Promise<void>): Promise<HeldResult> =>
    onWholeLedger(deps, hold.filingId, async (client) => {
      const differs = !(await holdFiling(client, hold));
      if (!differs) await write(client, stepId());
      return { differs };
    });

  return {
    /**
     * Where the filing stands, with one line of its story. `differs`: the ledger knows of other moves than the run;
     * nothing was written. A state that does not follow fails for good: it is a defect, and no repeat mends it.
     */
    async recordProgress(move: MoveArgs): Promise<Moved> {
      const { filingId, state, event } = move;
      const recorded = await withTransaction(pool, (client) => recordMove(client, move, now()));
      if (!recorded.differs) logger.info({ filingId, state, event: event.kind }, event.text);
      return recorded;
    },

    /** How fresh the balances are and whether the exporter may file yet. */
    readReadiness: (filing: { filingId: string; exporterId: string }): Promise<FilingReadiness> =>
      readReadiness(pool, filing),

    /**
     * Checks the balances under the IRMs' locks and reserves them; errors are recorded with the filing. With `move`,
     * the filing goes there in the same transaction where they hold.
     */
    reserveBalances({
      filingId,
      exporterId,
      move,
    }: {
      filingId: string;
      exporterId: string;
      move?: MoveArgs;
    }): Promise<Moved & { errors: Finding[] }> {
      const at = now();
      return reserveBalances(pool, { filingId, exporterId, at }, async (client, findings) => {
        await saveBalanceFindings(client, filingId, findings);
        const errors = findings.filter((finding) => finding.severity === 'error');
        const moved = move && errors.length === 0 ? await recordMove(client, move, at) : NOT_MOVED;
        return { ...moved, errors: errors.slice(0, FINDINGS_IN_RESULT) };
      });
    },

    /**
     * The service refused one submission, or a check of ours what is still to be sent (`submission` null): nothing of
     * it was accepted. Its rows are free, and so is whatever was to be sent after it; what is at the service stays.
     */
    async refuseFiling(
      args: Held & { submission: number | null; answer: StoredAnswer | null; errors: Finding[] },
    ): Promise<HeldResult & { errors: Finding[] }> {
      const { filingId, submission } = args;
      const rows = submission === null ? [] : await readRows(pool, filingId, submission);
      // Only a sample of a refusal travels; every complaint of it is in the ledger.
      const whole = submission === null ? null : await lastRefusal(pool, filingId, submission);
      const answer = whole && whole.kind === args.answer?.kind ? whole : args.answer;
      const errors = answer ? fieldErrorsOf(rows, answer) : args.errors;
      const at = now();
      const result = await freeing(args, async (client) => {
        const state = 'needs_correction';
        if (submission !== null) await releaseRows(client, { filingId, submission, state, at });
        await releaseUnsent(client, { filingId, state, at });
        await saveRowErrors(client, filingId, errors);
        await saveErrors(client, filingId, errors);
        await releaseSubmissions(client, { filingId, refused: submission, at });
      });
      const shown = errors.slice(0, FINDINGS_IN_RESULT);
      return { ...result, errors: shown.map((each) => ({ ...each, message: cutText(each.message, 500) })) };
    },

    /**
     * Gives a filing up. What was never sent is free again; what may still become a certificate stays live and is never
     * filed again by accident. The ledger decides row by row: a send that began meanwhile is found here, or finds its
     * rows gone.
     */
    giveUpFiling({ by, note, ...hold }: Held & { by: string; note: string }): Promise<HeldResult> {
      const { filingId } = hold;
      const at = now();
      return freeing(hold, async (client, step) => {
        await releaseUnsent(client, { filingId, state: 'withdrawn', at });
        await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
        const states = await rowStates(client, filingId);
        const kind = states.every((state) => state === 'withdrawn') ? 'withdrawn' : 'abandoned';
        if (kind === 'withdrawn') await releaseSubmissions(client, { filingId, refused: null, at });
        await saveNote(client, filingId, note);
        await addEvent(client, { filingId, step, at, kind, who: by, text: note });
      });
    },

    /**
     * Ends the filing as its rows amount to, in the transaction that reads them. `state` is null while one has no
     * outcome; `moved` is false also where the end does not follow from the filing's state.
     */
    async endFiling({ filingId, seq }: Held): Promise<FilingEnd> {
      const at = now();
      return withTransaction(pool, async (client) => {
        const filing = await lockFiling(client, filingId);
        const state = endOf(await rowStates(client, filingId));
        const counts = await countRows(client, filingId);
        if (!filing || state === null || !mayFollow(filing.state, state)) {
          return { state, counts, moved: false, differs: filing?.seq !== seq };
        }
        const { differs } = await recordMove(
          client,
          { filingId, seq: seq + 1, state, ...endNote(filingId, state, counts) },
          at,
        );
        return { state, counts, moved: !differs, differs };
      });
    },

    /** Who approved, kept with the hash of exactly what is filed. */
    async recordApproval({ by, note, ...hold }: Held & { by: string; note?: string }): Promise<HeldResult> {
      const { filingId } = hold;
      const filing = await needFiling(pool, filingId);
      const at = now();
      return held(hold, async (client, step) => {
        await saveApproval(client, { filingId, by, at });
        await dropWish(client, { filingId, kind: 'approve' });
        const data = { contentHash: filing.contentHash, declaration: filing.declaration };
        await addEvent(client, { filingId, step, at, kind: 'approved', who: by, text: note ?? 'approved', data });
      });
    },

    /** What a person asked of the filing; it is kept until it is carried out. */
    keepWish: <K extends WishKind>(wish: { filingId: string; kind: K; args: NonNullable<Wishes[K]> }): Promise<void> =>
      keepWish(pool, { ...wish, at: now() }),

    /** What a person asked was carried out, or refused. */
    dropWish: (wish: { filingId: string; kind: WishKind }): Promise<void> => dropWish(pool, wish),

    /** What is wrong with the filing's workflow; its next move clears it. */
    tellRunProblem: (args: { filingId: string; problem: string }): Promise<boolean> =>
      tellRunProblem(pool, { ...args, at: now() }),

    /** An event of a filing without a move. */
    noteEvent: (args: { filingId: string; kind: string; text: string; who?: string; data?: unknown }): Promise<void> =>
      addEvent(pool, { ...args, step: stepId(), at: now() }),

    /** Registers a filing that waits for better credentials; `retryNow` when they have come in the meantime. */
    awaitCredentials: (args: {
      workflowId: string;
      exporterId: string;
      versionSeen: number;
    }): Promise<{ retryNow: boolean }> => registerWaiter(pool, args),

    stopAwaitingCredentials: ({ workflowId }: { workflowId: string }): Promise<void> => removeWaiter(pool, workflowId),
  };
}
