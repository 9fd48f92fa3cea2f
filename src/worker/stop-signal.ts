/** Handles SIGTERM and SIGINT from the start, because process 1 of a container ignores signals without a handler. */
let stop: (signal: NodeJS.Signals) => void = () => {
  // No task was taken yet, so there is nothing to finish.
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

/** Sets the handler of the first signal, which by default ends the process. Later signals have no effect. */
export function onStopSignal(handler: (signal: NodeJS.Signals) => void): void {
  stop = handler;
}
