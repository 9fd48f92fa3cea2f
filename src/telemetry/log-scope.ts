import { AsyncLocalStorage } from 'node:async_hooks';

/** The ids that every log line of an operation has. */
export interface LogScope {
  filingId?: string;
  exporterId?: string;
  workflowId?: string;
  activity?: string;
}

const current = new AsyncLocalStorage<LogScope>();

/** Runs `work`; its log lines have these ids. */
export function withLogScope<T>(scope: LogScope, work: () => T): T {
  return current.run(scope, work);
}

export function logScope(): LogScope {
  return current.getStore() ?? {};
}
