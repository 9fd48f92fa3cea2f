/**
 * Prints progress to stderr, so that standard output has only the command's output. Plain lines, because several tasks
 * print at the same time.
 */
export function createReport(write = (line) => process.stderr.write(`${line}\n`)) {
  const running = new Map();
  let ticker;

  const waiting = () => {
    const parts = [...running].map(([name, { since, progress }]) => {
      const seconds = `${Math.round((Date.now() - since) / 1000)} s`;
      return `${name} (${[seconds, progress].filter(Boolean).join(', ')})`;
    });
    if (parts.length > 0) write(`  … waiting for ${parts.join(' and ')}`);
  };

  return {
    /** A line of one task. */
    say: (name, message) => write(`  ${name}: ${message}`),
    line: write,
    /**
     * Runs slow work and prints a line every 10 s while it lasts, with the progress that the work last reported.
     */
    async during(name, work) {
      const task = { since: Date.now(), progress: '' };
      running.set(name, task);
      ticker ??= setInterval(waiting, 10_000).unref();
      try {
        return await work((progress) => (task.progress = progress));
      } finally {
        running.delete(name);
        if (running.size === 0) {
          clearInterval(ticker);
          ticker = undefined;
        }
      }
    },
  };
}
