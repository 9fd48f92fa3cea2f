import { setTimeout as sleep } from 'node:timers/promises';
import type { RateClass } from '../domain/names';
import type { BudgetStore } from './store';
import { elapsedMs, thisMoment, type Moment, type BudgetTiming } from './timing';

/**
 * One call's slot. Report `written` when the headers are handed to the socket, then `answered` or `refused` (429);
 * or `unused`, which frees the slot at once. A slot that is only `written` counts until its guard time is over.
 */
export interface BudgetSlot {
  written(): Promise<void>;
  answered(): Promise<void>;
  refused(): Promise<void>;
  unused(): Promise<void>;
}

/** Grants calls of a rate class so that the service's limit is never exceeded (spec: "Limits"). */
export interface Budget {
  /** Waits for a slot. `onWaiting`: callers ahead. Rejects with {@link BudgetStoppedError} or the signal's reason. */
  acquire(
    rateClass: RateClass,
    options: { signal?: AbortSignal; onWaiting?: (ahead: number) => void },
  ): Promise<BudgetSlot>;
}

/** The worker is shutting down: the waiting call was not sent; another worker may make it later. */
export class BudgetStoppedError extends Error {
  override readonly name = 'BudgetStoppedError';

  constructor(message = 'The worker is shutting down; this call was not sent and will be made again later.') {
    super(message);
  }
}

type SlotReport = 'taken' | 'written' | 'answered' | 'refused' | 'unused';

export interface GrantedTicket {
  ticket: string;
  /** When the step that granted the ticket began; the lease runs from then or later. */
  leasedFrom: Moment;
}

/** A failed report is retried after this part of the lease. */
const RETRY_PART = 1 / 10;
/** A call that is written early in its lease is reported after this part of it, unless its answer comes first. */
const STAMP_PART = 1 / 10;

/**
 * Hands out this process's slots and stores their reports. Reports never reject, because bookkeeping must not turn an
 * answered call into an error; they are retried for one lease. Leases of unwritten slots are renewed together.
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
    // Do not call a store again that does not answer, because each call holds a connection.
    if (renewing) return;
    renewing = true;
    const tickets = [...held.keys()];
    const leasedFrom = thisMoment();
    try {
      await store.renew(tickets, timing.leaseMs, timing.holdMs);
      for (const ticket of tickets) if (held.has(ticket)) held.set(ticket, leasedFrom);
    } catch {
      // A lease lasts for three renewals, so the next one is in time.
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
      // One statement at a time; otherwise the stamp of the write could overwrite an earlier stored answer.
      let statements: Promise<unknown> = Promise.resolve();

      function tryToSave(outcome: SlotReport): Promise<void> {
        const saved = statements.then(() => save(outcome, ticket, rateClass, writtenAt));
        statements = saved.catch(() => undefined);
        return saved;
      }

      async function saveLater(outcome: SlotReport, giveUpAt: number): Promise<void> {
        await sleep(timing.leaseMs * RETRY_PART);
        // A later report includes this one.
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

      /** Postpones the stamp of a written call if its lease lasts long enough. @returns whether it did */
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

    /** Resolves when all reports so far are stored or given up. */
    async settled(): Promise<void> {
      while (reports.size > 0) await Promise.all(reports);
    },

    /** Stops renewing; slots that are still held expire with their lease. */
    close(): void {
      clearInterval(renewal);
      renewal = undefined;
      held.clear();
    },
  };
}

/** Whether a report may follow the last one: a written call cannot become unused, and a final outcome stays. */
function follows(outcome: SlotReport, last: SlotReport): boolean {
  if (last === 'taken') return outcome !== 'taken';
  return last === 'written' && (outcome === 'answered' || outcome === 'refused');
}
