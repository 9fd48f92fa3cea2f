/**
 * Decides what to do about the workflow of an open filing, from how Temporal describes it. Pure: the sweep asks
 * Temporal and acts on the decision.
 */

/**
 * How Temporal describes the newest run of a filing's workflow; `gone`: it knows of none, for instance past its
 * retention.
 */
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
  /** `problem` is shown with the filing; null clears an earlier one. */
  | { action: 'tell'; problem: string | null }
  /** It was or may have been sent, so a new run follows it. */
  | { action: 'resume'; why: string };

/** How late a move may be before the sweep reports it; the workflow itself asks for attention earlier. */
export const LATE_MS = 15 * 60_000;
/** From this attempt of a workflow task on, the failure is not taken for a temporary one. */
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
