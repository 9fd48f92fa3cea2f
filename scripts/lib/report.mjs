/** Prints progress to stderr, so that standard output stays the command's own; plain lines, because several tasks speak at once. */
export function createReport(write = (line) => process.stderr.write(`${line}\n`)) {
  const running = new Map();
  let ticker;

  const waiting = () => {
    const parts = [...running].map(([name, since]) => `${name} (${Math.round((Date.now() - since) / 1000)} s)`);
    if (parts.length > 0) write(`  … still waiting for ${parts.join(' and ')}`);
  };

  return {
    /** A line said by one task. */
    say: (name, message) => write(`  ${name}: ${message}`),
    line: write,
    /** Runs a slow piece of work and, every 15 s, says that it is being waited for. */
    async during(name, work) {
      running.set(name, Date.now());
      ticker ??= setInterval(waiting, 15_000).unref();
      try {
        return await work();
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
