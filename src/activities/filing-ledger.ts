import { endOf, type FilingState } from '../domain/filing-states';
import type { FilingCounts } from '../domain/contracts';
import type { Finding } from '../domain/finding';
import { heldIrms } from '../ledger/irms';
import { reserveBalances, readRowsToSend } from '../ledger/balance-reservation';
import { saveApproval, saveBalanceFindings, saveErrors, saveNote } from '../ledger/filing-notes';
import { lockFiling } from '../ledger/filing-lock';
import { addEvent, addEventOnce, recordProgress, type ProgressNote } from '../ledger/filing-progress';
import {
  countRows,
  moveRows,
  readRows,
  releaseRows,
  releaseUnsent,
  rowStates,
  saveRowErrors,
} from '../ledger/filing-rows';
import { registerWaiter, removeWaiter } from '../ledger/credentials';
import { getExporter } from '../ledger/exporters';
import { needFiling } from '../ledger/filings';
import { withTransaction } from '../ledger/pool';
import { releaseSubmissions } from '../ledger/submissions';
import type { StoredAnswer } from '../domain/attempt';
import { fieldErrorsOf } from './refusal-errors';
import type { ActivityDependencies } from './dependencies';

/** Findings beyond this number stay in the ledger: a payload has limits. */
const FINDINGS_IN_RESULT = 50;

export interface Readiness {
  /** Of the oldest balance among the filing's IRMs, ms since the epoch; null when one was never read. */
  balancesReadAt: number | null;
  apiState: string | null;
  /** ms since the epoch. */
  activatesAt: number | null;
}

/** Writes of a filing's progress. Local work, each idempotent. */
export function createFilingLedgerActivities({ pool, clock, logger }: ActivityDependencies) {
  const now = () => new Date(clock());
  return {
    /** Where the filing stands, with one line of its story; accepted only with a higher sequence number. */
    async recordProgress(args: Omit<ProgressNote, 'at'>): Promise<{ counts: FilingCounts }> {
      const { accepted } = await withTransaction(pool, (client) => recordProgress(client, { ...args, at: now() }));
      if (accepted)
        logger.info({ filingId: args.filingId, state: args.state, event: args.event.kind }, args.event.text);
      return { counts: await countRows(pool, args.filingId) };
    },

    /** How fresh the balances are and whether the exporter may file yet. */
    async readReadiness({ filingId, exporterId }: { filingId: string; exporterId: string }): Promise<Readiness> {
      const rows = await readRowsToSend(pool, filingId);
      const numbers = [...new Set(rows.map((row) => row.mapping.irmNumber))];
      const held = await heldIrms(pool, exporterId, numbers);
      const known = new Set(held.map((irm) => irm.irmNumber.toUpperCase()));
      const complete = numbers.every((number) => known.has(number.trim().toUpperCase()));
      const exporter = await getExporter(pool, exporterId);
      return {
        balancesReadAt: complete && held.length > 0 ? Math.min(...held.map((irm) => irm.readAt)) : null,
        apiState: exporter?.apiState ?? null,
        activatesAt: exporter?.activatesAt ? new Date(exporter.activatesAt).getTime() : null,
      };
    },

    /** Checks the balances under the IRMs' locks and reserves them; errors are recorded with the filing. */
    async reserveBalances({
      filingId,
      exporterId,
    }: {
      filingId: string;
      exporterId: string;
    }): Promise<{ errors: Finding[] }> {
      const findings = await reserveBalances(pool, { filingId, exporterId, at: now() });
      await saveBalanceFindings(pool, filingId, findings);
      return { errors: findings.filter((finding) => finding.severity === 'error').slice(0, FINDINGS_IN_RESULT) };
    },

    /**
     * The service refused one submission, or a check of ours what is still to be sent (`submission` null): nothing of it
     * was accepted. Its rows are free, and so is whatever was to be sent after it; what is at the service stays.
     */
    async refuseFiling(args: {
      filingId: string;
      submission: number | null;
      answer: StoredAnswer | null;
      errors: Finding[];
    }): Promise<{ errors: Finding[] }> {
      const { filingId, submission, answer } = args;
      const rows = submission === null ? [] : await readRows(pool, filingId, submission);
      const errors = answer ? fieldErrorsOf(rows, answer) : args.errors;
      const at = now();
      await withTransaction(pool, async (client) => {
        // A step that is repeated after the filing has ended has been done.
        if ((await lockFiling(client, filingId))?.ended) return;
        const state = 'needs_correction';
        if (submission !== null) await releaseRows(client, { filingId, submission, state, at });
        await releaseUnsent(client, { filingId, state, at });
        await saveRowErrors(client, filingId, errors);
        await saveErrors(client, filingId, errors);
        await releaseSubmissions(client, { filingId, refused: submission, at });
      });
      return { errors: errors.slice(0, FINDINGS_IN_RESULT) };
    },

    /**
     * Gives a filing up. What was never sent is free again; what may still become a certificate stays live and is never filed
     * again by accident. The ledger decides row by row: a send that began meanwhile is found here, or finds its rows gone.
     */
    async giveUpFiling({ filingId, by, note }: { filingId: string; by: string; note: string }): Promise<void> {
      const at = now();
      await withTransaction(pool, async (client) => {
        const filing = await lockFiling(client, filingId);
        if (!filing || filing.ended) return;
        await releaseUnsent(client, { filingId, state: 'withdrawn', at });
        await moveRows(client, { filingId, submission: null, state: 'abandoned_after_send' });
        const states = await rowStates(client, filingId);
        const kind = states.every((state) => state === 'withdrawn') ? 'withdrawn' : 'abandoned';
        await saveNote(client, filingId, note);
        await addEventOnce(client, { filingId, at, kind, who: by, text: note });
      });
    },

    /** Which end the rows amount to. */
    async readEnd({ filingId }: { filingId: string }): Promise<{ state: FilingState; counts: FilingCounts }> {
      return { state: endOf(await rowStates(pool, filingId)), counts: await countRows(pool, filingId) };
    },

    /** Who approved, kept with the hash of exactly what is filed. */
    async recordApproval({ filingId, by, note }: { filingId: string; by: string; note?: string }): Promise<void> {
      const filing = await needFiling(pool, filingId);
      const at = now();
      await saveApproval(pool, { filingId, by, at });
      await addEvent(pool, {
        filingId,
        at,
        kind: 'approved',
        who: by,
        text: note ?? 'approved',
        data: { contentHash: filing.contentHash, declaration: filing.declaration },
      });
    },

    /** A line of a filing's story that moves nothing. */
    noteEvent: (args: { filingId: string; kind: string; text: string; who?: string; data?: unknown }): Promise<void> =>
      addEvent(pool, { ...args, at: now() }),

    /** Registers a filing that waits for better credentials; `retryNow` when they have come in the meantime. */
    awaitCredentials: (args: {
      workflowId: string;
      exporterId: string;
      versionSeen: number;
    }): Promise<{ retryNow: boolean }> => registerWaiter(pool, args),

    stopAwaitingCredentials: ({ workflowId }: { workflowId: string }): Promise<void> => removeWaiter(pool, workflowId),
  };
}
