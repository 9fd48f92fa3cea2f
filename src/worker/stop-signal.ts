/**
 * Handles SIGTERM and SIGINT from the start: `worker.ts` imports this before anything else. As process 1 of a
 * container, a program without a handler ignores SIGTERM, and would be killed at the end of the grace period.
 */
let stop: (signal: NodeJS.Signals) => void = () => {
  // No task has been taken yet, so there is nothing to finish.
  process.exit(0);
};
let received = false;

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (received) return;
    received = true;
    stop(signal);
  });
}

/** Sets what the first signal does; until this is called it ends the process at once. Later signals have no effect. */
export function onStopSignal(handler: (signal: NodeJS.Signals) => void): void {
  stop = handler;
}
