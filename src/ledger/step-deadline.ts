import { AsyncLocalStorage } from 'node:async_hooks';
import { LedgerUnavailableError } from './unavailable';

/** In ms. Nothing starts after `totalMs`, and statements end within `statementMs`: over before a repeat. */
export const STEP_DEADLINE = { totalMs: 3_000, statementMs: 1_500, lockMs: 1_000 };

const current = new AsyncLocalStorage<{ endsAt: number }>();

/** Runs a step; after its time, statements and commits are refused as if PostgreSQL were unavailable. */
export function withStepDeadline<T>(step: () => Promise<T>): Promise<T> {
  return current.run({ endsAt: performance.now() + STEP_DEADLINE.totalMs }, step);
}

/** The remaining ms of the step; undefined: it has no deadline. @throws LedgerUnavailableError after it */
export function timeLeft(): number | undefined {
  const step = current.getStore();
  if (!step) return undefined;
  const left = step.endsAt - performance.now();
  if (left <= 0) throw new LedgerUnavailableError('deadline', true, new Error('the time of the step is over'));
  return left;
}

/** The statement that begins a transaction, with the limits of a step that has a deadline. */
export function beginStatement(): string {
  if (timeLeft() === undefined) return 'BEGIN';
  const { statementMs, lockMs } = STEP_DEADLINE;
  return `BEGIN; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = ${lockMs};
    SET LOCAL idle_in_transaction_session_timeout = ${statementMs}`;
}
