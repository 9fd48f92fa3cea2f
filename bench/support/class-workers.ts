import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createBudget, hashOfKey, type StoppableBudget } from '../../src/budget/budget';
import { createGatedTuner } from '../../src/worker/create-workers';
import { queueOfClass, type RateClass } from '../../src/domain/names';
import { createBudgetStore } from '../../src/budget/store';
import { createPool } from '../../src/ledger/pool';

export interface ClassWorkersOptions {
  temporalAddress: string;
  databaseUrl: string;
  serviceUrl: string;
  apiKey: string;
  windowMs: number;
  guardMs?: number;
  rateClasses: RateClass[];
}

export type CallActivities = ReturnType<typeof createCallActivities>;

function createCallActivities({ budget, serviceUrl }: { budget: StoppableBudget; serviceUrl: string }) {
  return {
    /** Answers when Temporal put the task into its queue, in milliseconds since 1970. */
    async makeCall({ rateClass, name }: { rateClass: RateClass; name: string }): Promise<number> {
      const context = Context.current();
      const slot = await budget.acquire(rateClass, {
        signal: context.cancellationSignal,
        onWaiting: (ahead) => context.heartbeat(ahead),
      });
      const answer = fetch(`${serviceUrl}/${rateClass}/${name}`);
      void slot.written();
      const { status } = await answer;
      await (status === 429 ? slot.refused() : slot.answered());
      if (status === 429) throw ApplicationFailure.retryable('Too many requests', 'rate_limited');
      return context.info.scheduledTimestampMs;
    },
  };
}

/** Options of class workers with a new key, at a stack and a service. */
export function classWorkersOf(
  { temporalAddress, databaseUrl }: Pick<ClassWorkersOptions, 'temporalAddress' | 'databaseUrl'>,
  service: { url: string },
  options: Pick<ClassWorkersOptions, 'windowMs' | 'guardMs' | 'rateClasses'>,
): ClassWorkersOptions {
  return { temporalAddress, databaseUrl, serviceUrl: service.url, apiKey: `dev_${randomUUID()}`, ...options };
}

/**
 * The class workers of one worker process, as the service's worker runs them: one for each rate class, each behind its
 * gate.
 */
export async function startClassWorkers(options: ClassWorkersOptions) {
  const { temporalAddress, databaseUrl, serviceUrl, apiKey, windowMs, guardMs, rateClasses } = options;
  const connection = await NativeConnection.connect({ address: temporalAddress });
  const pool = createPool({ url: databaseUrl });
  const store = createBudgetStore({ pool, keyHash: hashOfKey(apiKey), owner: randomUUID() });
  const budget = createBudget({ store, windowMs, guardMs });
  const activities = createCallActivities({ budget, serviceUrl });
  const workers = await Promise.all(
    rateClasses.map((rateClass) =>
      Worker.create({
        connection,
        taskQueue: queueOfClass('bench', rateClass),
        activities,
        tuner: createGatedTuner(budget.gate(rateClass)),
      }),
    ),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  return {
    async stop(): Promise<void> {
      await budget.stop();
      for (const worker of workers) worker.shutdown();
      await running;
      await budget.close();
      await connection.close();
      await pool.end();
    },
  };
}
