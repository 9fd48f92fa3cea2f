import { randomUUID } from 'node:crypto';
import { createBudget } from '../../src/budget/budget';
import { createBudgetStore } from '../../src/budget/store';
import { createPool } from '../../src/ledger/pool';
import { limitsOf } from './budget-support';

export interface ProcessOrder {
  databaseUrl: string;
  serviceUrl: string;
  keyHash: string;
  windowMs: number;
  limit: number;
  calls: number;
}

/**
 * A worker process of its own: makes its calls as fast as the budget lets it, then ends. Its order is its first
 * argument.
 */
async function main({ databaseUrl, serviceUrl, keyHash, windowMs, limit, calls }: ProcessOrder): Promise<void> {
  const pool = createPool({ url: databaseUrl });
  const store = createBudgetStore({ pool, keyHash, owner: randomUUID() });
  // On a machine with other work a call takes long to reach the service: the guard of so short a window is too short.
  const budget = createBudget({ store, windowMs, guardMs: 2_000, limits: limitsOf(limit) });
  const names = Array.from({ length: calls }, (_, nth) => `${process.pid}-${nth}`);
  await Promise.all(
    names.map(async (name) => {
      const slot = await budget.acquire('pdf', {});
      const answer = fetch(`${serviceUrl}/pdf/${name}`);
      await slot.written();
      await ((await answer).status === 429 ? slot.refused() : slot.answered());
    }),
  );
  await budget.close();
  await pool.end();
}

void main(JSON.parse(process.argv[2]!) as ProcessOrder);
