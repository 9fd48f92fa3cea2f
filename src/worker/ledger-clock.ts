/** The time of day that windows are counted by: PostgreSQL's, which is one for all workers. */
import type { Logger } from 'pino';
import { MINUTE_MS } from '../domain/dates';
import type { Queryable } from '../ledger/pool';
import type { BackgroundJob } from './background-jobs';

/** More than this is worth a line in the log. */
const NOTABLE_MS = 5_000;

/**
 * The machine's clock, corrected by PostgreSQL's: a sender hours behind would mark its send too early, and the settle
 * window would seem over.
 * @param own the machine's
 */
export function createLedgerClock(options: { db: Queryable; logger: Logger; own?: () => number }): {
  now: () => number;
  /** Compares the clocks; must have run once before the worker takes work. */
  job: BackgroundJob;
} {
  const { db, logger, own = Date.now } = options;
  let off = 0;
  return {
    now: () => own() + off,
    job: {
      id: 'ledger_clock',
      name: 'compare the clock with PostgreSQL’s',
      everyMs: MINUTE_MS,
      run: async () => {
        const asked = own();
        const { rows } = await db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
        const answered = own();
        const theirs = rows[0]?.now.getTime() ?? answered;
        // It was read between question and answer: only a time outside of that interval is a difference.
        off = Math.max(0, theirs - answered) + Math.min(0, theirs - asked);
        if (Math.abs(off) > NOTABLE_MS) logger.warn({ offMs: off }, 'this clock is wrong: PostgreSQL’s is used');
      },
    },
  };
}
