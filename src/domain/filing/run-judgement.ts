import type { FileInput } from '../contracts';
import type { Mode } from '../names';

/** What to do about the workflow of an open filing, from its description in Temporal. Pure. */

/** Status of the newest run of a filing's workflow; `gone`: Temporal does not have it (any more). */
export interface FilingRunStatus {
  status: 'running' | 'gone' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed out';
  /** Consecutive tries of its current workflow task; above one, the previous tries have failed. */
  taskAttempt: number;
}

export interface JudgedFiling {
  /** Whether anything of it was, or may have been, sent. */
  sent: boolean;
  /** When its next state change is due at the latest; null if it waits for a person. */
  dueAt: Date | null;
}

/** How late a state change may be before the sweep reports it; the workflow itself asks for attention earlier. */
export const LATE_MS = 15 * 60_000;
/** From this try of a workflow task on, the failure is not considered temporary. */
const FAILING_FROM = 4;

/** What to do about an open filing. `report`: `problem` is shown (null clears it). `resume`: it may have been sent. */
export function judgeRun(
  filing: JudgedFiling,
  run: FilingRunStatus,
  now: Date,
): { action: 'report'; problem: string | null } | { action: 'resume'; why: string } {
  if (run.status === 'running') return { action: 'report', problem: problemOfRunning(filing, run, now) };
  const how = run.status === 'gone' ? 'Temporal does not know its workflow any more' : `its workflow is ${run.status}`;
  if (filing.sent) return { action: 'resume', why: how };
  return {
    action: 'report',
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

/** The part of a filing that a new run of it needs; everything else is in the ledger. */
export interface ResumedFiling {
  filingId: string;
  mode: Mode;
  exporterId: string;
  reference: string;
  madeBy: string;
  n: number;
}

/** The input of `fileRemittances` with which a new run continues a filing from the ledger. */
export function resumeInput({ filingId, mode, exporterId, reference, madeBy, n }: ResumedFiling): FileInput {
  return { mode, exporterId, reference, madeBy, n, resume: filingId };
}
