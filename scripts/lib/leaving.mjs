/**
 * What has to be undone when this process leaves before its work is finished: children stopped, drafts and locks
 * removed. Synchronous, because it also runs when the process is on its way out.
 */
const pending = new Set();

/** Notes an undoing, and answers how to take it off the list again. */
export function undoOnLeaving(undo) {
  pending.add(undo);
  return () => pending.delete(undo);
}

process.once('exit', () => {
  for (const undo of pending) undo();
});

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
for (const [signal, number] of Object.entries(SIGNALS)) process.once(signal, () => process.exit(128 + number));
