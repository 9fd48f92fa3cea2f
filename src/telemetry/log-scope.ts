import { AsyncLocalStorage } from 'node:async_hooks';

/** What every log line of a piece of work is about. */
export interface LogScope {
  filingId?: string;
  exporterId?: string;
  workflowId?: string;
  activity?: string;
}

const current = new AsyncLocalStorage<LogScope>();

/** Runs `work`; its log lines say what they are about. */
export function withLogScope<T>(scope: LogScope, work: () => T): T {
  return current.run(scope, work);
}

export function logScope(): LogScope {
  return current.getStore() ?? {};
}
