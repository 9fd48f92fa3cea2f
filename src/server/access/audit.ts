/** Records what principals do and what they are refused. */
import type { Logger } from 'pino';
import { MINUTE_MS } from '../../domain/dates';
import { recordAudit, type AuditEvent } from '../../ledger/principals/principals';
import type { LedgerDependencies } from '../../starter/dependencies';

const FLUSH_MS = 1_000;
/** Most distinct events kept while PostgreSQL is away. Further ones are lost, and the log says how many. */
const MAX_PENDING = 5_000;
/** The subjects that are named of one principal's refusals in a minute. Further refusals are counted. */
const MOST_SUBJECTS = 20;

export type AuditTrail = ReturnType<typeof createAuditTrail>;

type Entry = Omit<AuditEvent, 'mode' | 'at' | 'uses'>;

export function createAuditTrail({ pool, mode, logger }: LedgerDependencies & { logger: Logger }) {
  let pending = new Map<string, AuditEvent & { isFirst: boolean }>();
  let lost = 0;
  let flushing = Promise.resolve();
  /** What was seen in this minute: the events that were counted, and the subjects of each principal's refusals. */
  let seen = { minute: 0, events: new Set<string>(), subjects: new Map<string, Set<string>>() };

  async function flush(all: boolean): Promise<void> {
    const now = Date.now();
    // An event may still be counted until its minute ends. The first refusal of a kind is written at once, so that it
    // can be looked up.
    const due = [...pending].filter(
      ([, { at, outcome, isFirst }]) => all || (outcome === 'refused' && isFirst) || now - at.getTime() >= MINUTE_MS,
    );
    if (due.length === 0) return;
    for (const [key] of due) pending.delete(key);
    try {
      await recordAudit(
        pool,
        due.map(([, { isFirst: _, ...event }]) => event),
      );
      if (lost > 0) logger.warn({ count: lost }, 'audit events were lost while PostgreSQL was away');
      lost = 0;
    } catch (error) {
      // Kept for the next attempt, with the newer counts added.
      const newer = pending;
      pending = new Map(due);
      for (const [key, event] of newer) add(key, event);
      logger.warn({ err: error, count: pending.size }, 'audit events could not be written yet');
    }
  }

  function add(key: string, event: AuditEvent & { isFirst: boolean }): void {
    const counted = pending.get(key);
    if (counted) counted.uses = (counted.uses ?? 1) + (event.uses ?? 1);
    else if (pending.size >= MAX_PENDING) lost += event.uses ?? 1;
    else pending.set(key, event);
  }

  /** Whether a refusal's subject is recorded. A subject is the caller's choice, so it may be another in each call. */
  function isNamed({ principal, outcome, subject }: Entry): boolean {
    // A polling caller reads each of its filings every minute.
    if (principal === null || outcome !== 'refused' || subject === undefined) return false;
    const subjects = seen.subjects.get(principal.principalId) ?? new Set();
    seen.subjects.set(principal.principalId, subjects);
    if (subjects.size < MOST_SUBJECTS) subjects.add(subject);
    return subjects.has(subject);
  }

  /** Counts a read or refusal. Equal ones within a minute become one event, written a little later. */
  function count(entry: Entry): void {
    const at = new Date();
    const minute = Math.floor(at.getTime() / MINUTE_MS);
    if (minute !== seen.minute) seen = { minute, events: new Set(), subjects: new Map() };
    const { principal, action, outcome, code, subject } = entry;
    const named = isNamed(entry);
    const key = JSON.stringify([minute, principal?.principalId, action, outcome, code, named && subject]);
    const isFirst = !seen.events.has(key);
    seen.events.add(key);
    add(key, { ...entry, ...(!named && { subject: undefined, requestId: undefined }), mode, at, uses: 1, isFirst });
  }

  const timer = setInterval(() => void (flushing = flushing.then(() => flush(false))), FLUSH_MS);
  timer.unref();

  return {
    /** Records a change before it is made. @throws the errors of PostgreSQL */
    record: (entry: Entry): Promise<void> => recordAudit(pool, [{ ...entry, mode, at: new Date() }]),
    count,
    async close(): Promise<void> {
      clearInterval(timer);
      await flushing;
      await flush(true);
    },
  };
}
