import type { RateClass } from '../domain/names';
import type { Queryable } from '../ledger/pool';

/** In windows: how soon after a closed time another 429 means that something else goes on using the key. */
const REFUSED_AGAIN_WITHIN = 10;
/** In windows: a quarter of an hour. */
const LONGEST_CLOSED = 15;

export interface TicketState {
  ticket: string;
  granted: boolean;
  /** Number of live tickets before this one, of all processes. */
  ahead: number;
  /** Estimated ms until its slot is free; 0 when granted. */
  waitMs: number;
}

export type BudgetStore = ReturnType<typeof createBudgetStore>;

/**
 * A budget's shared state. A method takes one round trip (`refused` two), never waits for a slot and may be repeated.
 * Times are PostgreSQL's. @param keyHash names the API key, which is never stored
 */
export function createBudgetStore({ pool, keyHash, owner }: { pool: Queryable; keyHash: string; owner: string }) {
  /** The answer's headers arrived, so the service has counted the call by now. */
  async function answered(ticket: string, windowMs: number): Promise<void> {
    await pool.query(
      `UPDATE budget_slots
          SET written_at = coalesce(written_at, clock_timestamp()), answered_at = clock_timestamp(),
              free_at = least(free_at, clock_timestamp() + $2::float8 * interval '1 ms')
        WHERE ticket = $1 AND answered_at IS NULL`,
      [ticket, windowMs],
    );
  }

  return {
    answered,

    /** Adds new tickets to the end of the queue, renews the leases of the others and grants slots that are free. */
    async step(options: {
      rateClass: RateClass;
      /** Calls per window. */
      limit: number;
      /** How long an unreported slot counts after its lease: window and guard, ms. */
      holdMs: number;
      leaseMs: number;
      /** UUIDs of this process's waiting calls, in order. */
      tickets: string[];
    }): Promise<TicketState[]> {
      const { rateClass, limit, holdMs, leaseMs, tickets } = options;
      const { rows } = await pool.query<TicketState>(
        `SELECT ticket, granted, ahead, wait_ms AS "waitMs" FROM budget_step($1, $2, $3, $4, $5, $6, $7)`,
        [keyHash, rateClass, limit, holdMs, leaseMs, owner, tickets],
      );
      return rows;
    },

    /** Removes tickets from the queue, and their slots if nothing was written. */
    async leave(tickets: string[]): Promise<void> {
      await pool.query(
        `WITH slots AS (DELETE FROM budget_slots WHERE ticket = ANY ($1) AND written_at IS NULL)
         DELETE FROM budget_tickets WHERE ticket = ANY ($1)`,
        [tickets],
      );
    },

    /** Renews the leases of unwritten slots; `holdMs` as in `step`. */
    async renew(tickets: string[], leaseMs: number, holdMs: number): Promise<void> {
      await pool.query(
        `UPDATE budget_slots SET free_at = clock_timestamp() + ($2::float8 + $3::float8) * interval '1 ms'
          WHERE ticket = ANY ($1) AND written_at IS NULL`,
        [tickets, leaseMs, holdMs],
      );
    },

    /** The headers were written `agoMs` ago. Inserts a row that is gone again, so that the call counts. */
    async written(ticket: string, rateClass: RateClass, holdMs: number, agoMs: number): Promise<void> {
      await pool.query(
        `INSERT INTO budget_slots AS s (ticket, key_hash, rate_class, owner, written_at, free_at)
         SELECT $1, $2, $3, $4, at, at + $5::float8 * interval '1 ms'
           FROM (SELECT clock_timestamp() - $6::float8 * interval '1 ms') AS stamp (at)
         ON CONFLICT (ticket) DO UPDATE SET written_at = excluded.written_at, free_at = excluded.free_at
          WHERE s.written_at IS NULL`,
        [ticket, keyHash, rateClass, owner, holdMs, agoMs],
      );
    },

    /**
     * After a 429 nothing of the class is granted for one window; after another one within ten windows from the end of
     * that, for twice as long as before, up to fifteen windows. `answered_at` keeps a repeat from counting twice.
     */
    async refused(ticket: string, rateClass: RateClass, windowMs: number): Promise<void> {
      await pool.query(
        `UPDATE budget_classes c
            SET refusals = refusals + 1, refused_at = clock_timestamp(), closed_ms = next.ms,
                closed_until = greatest(closed_until, clock_timestamp() + next.ms * interval '1 ms')
           FROM (SELECT key_hash, rate_class, CASE
                     WHEN closed_until > clock_timestamp() THEN greatest(closed_ms, $4)
                     WHEN closed_until > clock_timestamp() - $5 * $4::float8 * interval '1 ms' THEN least(2 * closed_ms, $6 * $4)
                     ELSE $4::float8 END AS ms
                   FROM budget_classes WHERE key_hash = $1 AND rate_class = $2 FOR UPDATE) AS next
          WHERE c.key_hash = next.key_hash AND c.rate_class = next.rate_class
            AND NOT EXISTS (SELECT FROM budget_slots WHERE ticket = $3 AND answered_at IS NOT NULL)`,
        [keyHash, rateClass, ticket, windowMs, REFUSED_AGAIN_WITHIN, LONGEST_CLOSED],
      );
      await answered(ticket, windowMs);
    },
  };
}

/** The rate classes that a key has used so far, sorted by name. */
export async function readBudgetUsage(db: Queryable, keyHash: string) {
  const { rows } = await db.query<{
    rateClass: RateClass;
    /** Slots that the service may still count. */
    used: number;
    /** Calls waiting in worker processes, without tasks that wait in Temporal. */
    waiting: number;
    /** Number of 429 answers ever; each means that something else uses the key. */
    refusals: number;
    refusedAt: Date | null;
    /** Set while a 429 keeps the class closed. */
    closedUntil: Date | null;
  }>(
    `SELECT c.rate_class AS "rateClass", c.refusals::integer AS refusals, c.refused_at AS "refusedAt",
            CASE WHEN c.closed_until > clock_timestamp() THEN c.closed_until END AS "closedUntil",
            (SELECT count(*)::integer FROM budget_slots s
              WHERE s.key_hash = c.key_hash AND s.rate_class = c.rate_class AND s.free_at > clock_timestamp()) AS used,
            (SELECT count(*)::integer FROM budget_tickets t
              WHERE t.key_hash = c.key_hash AND t.rate_class = c.rate_class AND t.lease_until > clock_timestamp()) AS waiting
       FROM budget_classes c WHERE c.key_hash = $1 ORDER BY c.rate_class`,
    [keyHash],
  );
  return rows;
}
