/** Clean-up for a process that exits before its work is finished: stops children, removes drafts and locks. */
const pending = new Set();

/** Registers a synchronous clean-up. @returns a function that cancels it */
export function onExit(cleanUp) {
  pending.add(cleanUp);
  return () => pending.delete(cleanUp);
}

process.once('exit', () => {
  for (const cleanUp of pending) cleanUp();
});

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
for (const [signal, number] of Object.entries(SIGNALS)) process.once(signal, () => process.exit(128 + number));
