/** Memory of a process, and CPU time of processes with all that they started, as Linux counts them. */
import { readdirSync, readFileSync } from 'node:fs';

/** `CLK_TCK`, the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Resident memory in MB. */
export function residentMb(pid: number): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024);
}

interface Process {
  parent: number;
  ticks: number;
}

/**
 * CPU time in ms, by name, of each process and its descendants, those that have ended included; null elsewhere than on
 * Linux.
 */
export function cpuTimes<K extends string>(pids: Record<K, number>): Record<K, number> | null {
  const all = processes();
  if (all === null) return null;
  const times = {} as Record<K, number>;
  for (const [name, pid] of Object.entries(pids) as [K, number][]) {
    times[name] = (sumOf(all, pid) * 1_000) / TICKS_PER_SECOND;
  }
  return times;
}

function sumOf(all: ReadonlyMap<number, Process>, pid: number): number {
  let sum = all.get(pid)?.ticks ?? 0;
  for (const [child, { parent }] of all) if (parent === pid) sum += sumOf(all, child);
  return sum;
}

function processes(): Map<number, Process> | null {
  const all = new Map<number, Process>();
  try {
    for (const name of readdirSync('/proc')) {
      if (!/^\d+$/u.test(name)) continue;
      const found = readProcess(name);
      if (found) all.set(Number(name), found);
    }
  } catch {
    return null;
  }
  return all;
}

/** See proc_pid_stat(5): the fields behind the command's name, which may contain anything. */
function readProcess(pid: string): Process | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    // Own time in user and kernel mode, then that of children that were waited for.
    const ticks = [11, 12, 13, 14].reduce((sum, nth) => sum + Number(fields[nth]), 0);
    return { parent: Number(fields[1]), ticks };
  } catch {
    // It has ended since it was listed.
    return null;
  }
}
