/** Records what principals do and what is refused to them. */
import { MINUTE_MS } from '../../domain/dates';
import type { Logger } from 'pino';
import type { LedgerDependencies } from '../../starter/dependencies';
import { recordAudit, type AuditEvent } from '../../ledger/principals/principals';

export type AuditTrail = ReturnType<typeof createAuditTrail>;

const FLUSH_MS = 1_000;
/** Different events that are held while PostgreSQL is away; more are lost, and the log says how many. */
const MOST_HELD = 5_000;

export function createAuditTrail({ pool, mode, logger }: LedgerDependencies & { logger: Logger }) {
  let held = new Map<string, AuditEvent>();
  let lost = 0;
  let flushing = Promise.resolve();

  async function flush(all: boolean): Promise<void> {
    const now = Date.now();
    // An event of this minute may still be counted on; a refusal is written at once, so that it can be looked up.
    const due = [...held].filter(
      ([, { at, outcome }]) => all || outcome === 'refused' || now - at.getTime() >= MINUTE_MS,
    );
    if (due.length === 0) return;
    for (const [key] of due) held.delete(key);
    try {
      await recordAudit(
        pool,
        due.map(([, event]) => event),
      );
      if (lost > 0) logger.warn({ count: lost }, 'audit events were lost while PostgreSQL was away');
      lost = 0;
    } catch (error) {
      // Kept for the next time; newer counts of the same key are added to them.
      const newer = held;
      held = new Map(due);
      for (const event of newer.values()) add(event, event.uses ?? 1);
      logger.warn({ err: error, count: held.size }, 'audit events could not be written yet');
    }
  }

  function add(event: AuditEvent, uses: number): void {
    const { principal, action, outcome, code, subject } = event;
    const minute = Math.floor(event.at.getTime() / MINUTE_MS);
    // Who has no token chooses the subject: equal calls are one event, whatever they name.
    const about = principal ? subject : undefined;
    const key = JSON.stringify([minute, principal?.principalId, action, outcome, code, about]);
    const known = held.get(key);
    if (known) known.uses = (known.uses ?? 1) + uses;
    else if (held.size >= MOST_HELD) lost += uses;
    else held.set(key, { ...event, uses, ...(principal === null && { subject: undefined, requestId: undefined }) });
  }

  const timer = setInterval(() => void (flushing = flushing.then(() => flush(false))), FLUSH_MS);
  timer.unref();

  return {
    /** Records a change before it is made. @throws what PostgreSQL says */
    record: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): Promise<void> =>
      recordAudit(pool, [{ ...entry, mode, at: new Date() }]),
    /** Counts a read or a refusal; equal ones of a minute become one event, written a little later. */
    count: (entry: Omit<AuditEvent, 'mode' | 'at' | 'uses'>): void => add({ ...entry, mode, at: new Date() }, 1),
    async close(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await flush(true);
    },
  };
}
