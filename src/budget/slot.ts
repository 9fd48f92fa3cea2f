import { setTimeout as sleep } from 'node:timers/promises';
import type { RateClass } from '../domain/names';
import type { BudgetSlot } from './ports';
import type { BudgetStore } from './store';
import { elapsedMs, thisMoment, type Moment, type BudgetTiming } from './timing';

type SlotReport = 'taken' | 'written' | 'answered' | 'refused' | 'unused';

export interface GrantedTicket {
  ticket: string;
  /** When the step that granted it began: its lease runs from then or later. */
  leasedFrom: Moment;
}

/** A report that failed is tried again after this part of the lease. */
const RETRY_PART = 1 / 10;
/** A call that is written well within its lease is reported after this part of it, unless its answer is first. */
const STAMP_PART = 1 / 10;

/**
 * Hands out this process's slots and stores reports, which never reject: bookkeeping must not turn an answered call
 * into an error. Failed reports are retried for one lease; leases of unwritten slots are renewed together.
 */
export function createSlotReporter(args: {
  store: BudgetStore;
  timing: BudgetTiming;
  /** Called for a report that could not be stored; the slot then counts until its lease and guard have expired. */
  onLostReport: (error: unknown) => void;
}) {
  const { store, timing, onLostReport } = args;
  const held = new Map<string, Moment>();
  const reports = new Set<Promise<void>>();
  let renewal: NodeJS.Timeout | undefined;
  let renewing = false;

  async function renewHeld(): Promise<void> {
    // A store that does not answer is not called again: each call holds one of its connections.
    if (renewing) return;
    renewing = true;
    const tickets = [...held.keys()];
    const leasedFrom = thisMoment();
    try {
      await store.renew(tickets, timing.leaseMs, timing.holdMs);
      for (const ticket of tickets) if (held.has(ticket)) held.set(ticket, leasedFrom);
    } catch {
      // The next renewal makes up for it: a lease lasts for three of them.
    }
    renewing = false;
  }

  function hold({ ticket, leasedFrom }: GrantedTicket): void {
    held.set(ticket, leasedFrom);
    renewal ??= setInterval(() => void renewHeld(), timing.renewMs);
    renewal.unref();
  }

  function stopHolding(ticket: string): void {
    held.delete(ticket);
    if (held.size > 0) return;
    clearInterval(renewal);
    renewal = undefined;
  }

  function save(outcome: SlotReport, ticket: string, rateClass: RateClass, writtenAt: number): Promise<void> {
    if (outcome === 'written') return store.written(ticket, rateClass, timing.holdMs, performance.now() - writtenAt);
    if (outcome === 'answered') return store.answered(ticket, timing.windowMs);
    if (outcome === 'refused') return store.refused(ticket, rateClass, timing.windowMs);
    return store.leave([ticket]);
  }

  function track(work: Promise<void>): void {
    reports.add(work);
    void work.finally(() => reports.delete(work));
  }

  return {
    slot(granted: GrantedTicket, rateClass: RateClass): BudgetSlot {
      const { ticket } = granted;
      hold(granted);
      let last: SlotReport = 'taken';
      let writtenAt = 0;
      // One statement at a time: an answer stored ahead of its stamp would be overwritten by it.
      let statements: Promise<unknown> = Promise.resolve();

      function tryToSave(outcome: SlotReport): Promise<void> {
        const saved = statements.then(() => save(outcome, ticket, rateClass, writtenAt));
        statements = saved.catch(() => undefined);
        return saved;
      }

      async function saveLater(outcome: SlotReport, giveUpAt: number): Promise<void> {
        await sleep(timing.leaseMs * RETRY_PART);
        // A later report contains everything that this one would.
        if (last !== outcome) return;
        try {
          await tryToSave(outcome);
        } catch (error) {
          if (performance.now() < giveUpAt) await saveLater(outcome, giveUpAt);
          else onLostReport(error);
        }
      }

      async function report(outcome: SlotReport): Promise<void> {
        if (!follows(outcome, last)) return;
        last = outcome;
        if (outcome === 'written' && isStampedLater()) return;
        stopHolding(ticket);
        const saved = tryToSave(outcome);
        track(saved.catch(() => saveLater(outcome, performance.now() + timing.leaseMs)));
        await saved.catch(() => undefined);
      }

      /** Whether the stamp of a written call can wait, because its lease lasts long enough; stores it later then. */
      function isStampedLater(): boolean {
        writtenAt = performance.now();
        const waitMs = timing.leaseMs * STAMP_PART;
        const leasedAt = held.get(ticket);
        if (leasedAt === undefined || elapsedMs(leasedAt) + 2 * waitMs > timing.leaseMs) return false;
        const stamp = async () => {
          await sleep(waitMs);
          if (last !== 'written') return;
          stopHolding(ticket);
          await tryToSave('written').catch(() => saveLater('written', performance.now() + timing.leaseMs));
        };
        track(stamp());
        return true;
      }

      return {
        written: () => report('written'),
        answered: () => report('answered'),
        refused: () => report('refused'),
        unused: () => report('unused'),
      };
    },

    /** Resolves when every report made so far is stored or given up. */
    async settled(): Promise<void> {
      while (reports.size > 0) await Promise.all(reports);
    },

    /** Stops the renewals: slots that are still held expire with their lease. */
    close(): void {
      clearInterval(renewal);
      renewal = undefined;
      held.clear();
    },
  };
}

/** Whether a report is new: a written call cannot become unused, and a final outcome does not change. */
function follows(outcome: SlotReport, last: SlotReport): boolean {
  if (last === 'taken') return outcome !== 'taken';
  return last === 'written' && (outcome === 'answered' || outcome === 'refused');
}
