import type { RateClass } from '../domain/names';
import type { Queryable } from '../ledger/pool';

/** The usage of one rate class, for operators. */
export interface BudgetUsage {
  rateClass: RateClass;
  /** Slots that the service may still count. */
  used: number;
  /** Calls waiting in worker processes; the tasks that wait in Temporal are not among them. */
  waiting: number;
  /** 429 answers since the ledger began. Each means that something else uses the key. */
  refusals: number;
  refusedAt: Date | null;
  /** Set while a 429 keeps the class shut. */
  closedUntil: Date | null;
}

/** The classes that a key (by its hash) has used so far, by name. */
export async function readBudgetUsage(db: Queryable, keyHash: string): Promise<BudgetUsage[]> {
  const { rows } = await db.query<BudgetUsage>(
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
