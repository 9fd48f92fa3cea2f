/**
 * What is to be done about the workflow of a filing that has not ended, as Temporal describes it. Pure: the sweep asks,
 * and acts.
 */

/** How Temporal describes the newest run of a filing's workflow; `gone`: it knows of none, past its retention, say. */
export interface FilingRunStatus {
  status: 'running' | 'gone' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed out';
  /** How often in a row a workflow task of it has been tried; above one, the tries before have failed. */
  taskAttempt: number;
}

export interface JudgedFiling {
  /** Whether anything of it was, or may have been, sent. */
  sent: boolean;
  /** When its next move is due at the latest; null where it waits for a person. */
  dueAt: Date | null;
}

export type RunVerdict =
  /** `problem` is what somebody should know of the run; null clears what was said before. */
  | { action: 'tell'; problem: string | null }
  /** Certificates may come of it, so a new run follows it. */
  | { action: 'resume'; why: string };

/** The time that a move may be late: its workflow asks for attention by itself before. */
export const LATE_MS = 15 * 60_000;
/** From this try of a workflow task on it is no passing trouble. */
const FAILING_FROM = 4;

/** @returns what is to be done about a filing that is open in the ledger */
export function judgeRun(filing: JudgedFiling, run: FilingRunStatus, now: Date): RunVerdict {
  if (run.status === 'running') return { action: 'tell', problem: problemOfRunning(filing, run, now) };
  const how = run.status === 'gone' ? 'Temporal does not know its workflow any more' : `its workflow is ${run.status}`;
  if (filing.sent) return { action: 'resume', why: how };
  return {
    action: 'tell',
    problem: `Nothing of it was sent, and ${how}: ebrc resume lets it go on, ebrc abandon gives it up.`,
  };
}

function problemOfRunning({ dueAt }: JudgedFiling, { taskAttempt }: FilingRunStatus, now: Date): string | null {
  if (taskAttempt >= FAILING_FROM) {
    return 'Its workflow tasks keep failing: see the workflow in the Temporal UI, and the log of the workers.';
  }
  if (dueAt && now.getTime() > dueAt.getTime() + LATE_MS) {
    return `It has not moved by ${dueAt.toISOString()}, when its next step was due at the latest: see its workflow in the Temporal UI.`;
  }
  return null;
}
