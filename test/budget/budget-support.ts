import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { createBudget, type BudgetOptions } from '../../src/budget/budget';
import { RATE_LIMITS, type RateClass } from '../../src/domain/names';
import { createBudgetStore } from '../../src/budget/store';

/** The service's limits with every class at `limit` calls. */
export function limitsOf(limit: number): Record<RateClass, number> {
  return Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, limit])) as Record<RateClass, number>;
}

export interface ProcessOptions extends Partial<Omit<BudgetOptions, 'store' | 'limits'>> {
  pool: pg.Pool;
  keyHash: string;
  limit: number;
  owner?: string;
}

/** A budget as one worker process has it. Several on one database stand for several processes. */
export function budgetOfProcess({ pool, keyHash, limit, owner = randomUUID(), ...options }: ProcessOptions) {
  const store = createBudgetStore({ pool, keyHash, owner });
  return createBudget({ windowMs: 300, limits: limitsOf(limit), store, ...options });
}

/** Most of `times` within any stretch of `windowMs`, an end not counted. */
export function fullestWindow(times: number[], windowMs: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  return Math.max(0, ...sorted.map((from) => sorted.filter((at) => at >= from && at < from + windowMs).length));
}
