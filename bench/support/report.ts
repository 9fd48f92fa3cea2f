import { cpus, loadavg } from 'node:os';

/**
 * Prints the figures of a bench as a table and as one line of JSON, with the date and the machine; a missed goal ends
 * the process with 1.
 */
export function report(
  bench: string,
  figures: Record<string, Record<string, string | number>>,
  goals: { goal: string; met: boolean }[],
): void {
  console.table(figures);
  for (const { goal, met } of goals) console.log(`${met ? 'met   ' : 'MISSED'} ${goal}`);
  const machine = {
    cores: cpus().length,
    cpu: cpus()[0]?.model.trim(),
    node: process.version,
    load: loadavg().map((load) => Math.round(load * 10) / 10),
  };
  console.log(JSON.stringify({ bench, at: new Date().toISOString(), machine, figures, goals }));
  if (goals.some(({ met }) => !met)) process.exitCode = 1;
}
