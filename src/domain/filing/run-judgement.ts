/** How a filing continues when its run is missing, or when a new run takes it over. Pure. */
import type { FileInput } from '../contracts';
import type { Mode } from '../names';
import { mayFollow, type FilingState } from './states';

/** How late a state change may be before the sweep reports it; the workflow itself reports it earlier. */
export const LATE_MS = 15 * 60_000;
/** From this attempt of a workflow task on, its failure is not considered temporary. */
const FAILING_FROM = 4;

/** The newest run of a filing's workflow. */
export interface FilingRunStatus {
  /** `gone`: Temporal does not know the workflow. */
  status: 'running' | 'gone' | 'completed' | 'failed' | 'cancelled' | 'terminated' | 'timed out';
  /** Attempt number of the current workflow task; above one, the previous attempts failed. */
  taskAttempt: number;
}

/** What to do about an open filing. `report`: show `problem` (null clears it). `resume`: start a new run. */
export function judgeRun(
  filing: {
    /** Whether anything of the filing was, or may have been, sent. */
    sent: boolean;
    /** When its next state change is due at the latest; null if it waits for a person. */
    dueAt: Date | null;
  },
  run: FilingRunStatus,
  now: Date,
): { action: 'report'; problem: string | null } | { action: 'resume'; why: string } {
  if (run.status === 'running') return { action: 'report', problem: problemOfRunning(filing, run, now) };
  const how = run.status === 'gone' ? 'Temporal does not know its workflow any more' : `its workflow is ${run.status}`;
  if (filing.sent) return { action: 'resume', why: how };
  return {
    action: 'report',
    problem: `Nothing of it was sent, and ${how}: ebrc resume continues it, ebrc abandon gives it up.`,
  };
}

function problemOfRunning(
  { dueAt }: { dueAt: Date | null },
  { taskAttempt }: { taskAttempt: number },
  now: Date,
): string | null {
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

/** The input of `fileRemittances` for a run that continues a filing from the ledger, which has everything else. */
export function resumeInput({ filingId, mode, exporterId, reference, madeBy, n }: ResumedFiling): FileInput {
  return { mode, exporterId, reference, madeBy, n, resume: filingId };
}

/** Phase of a run. `send` may lead back to `prepare`: balances are checked again before another attempt. */
export const PHASES = ['prepare', 'send', 'follow', 'collect'] as const;

export interface FilingFacts {
  /** A submission is planned, and nothing of it is at the service. */
  planned: boolean;
  /** A submission was, or may have been, sent, and its outcome is unknown. */
  doubtful: boolean;
  /** A submission is acknowledged under a request id, and the authority has not answered for it. */
  followed: boolean;
  /** Every row of a submission has its outcome. */
  settled: boolean;
  /** The approval is still missing. */
  unapproved: boolean;
}

/** The phase in which a run with these facts begins. */
export function phaseOf({ planned, doubtful, followed, settled }: FilingFacts): (typeof PHASES)[number] {
  if (planned || doubtful) return doubtful || followed || settled ? 'send' : 'prepare';
  if (followed) return 'follow';
  // With nothing left to do (e.g. after a refusal) the run only has to end the filing, from `prepare`.
  return settled ? 'collect' : 'prepare';
}

/** The state in which a new run resumes, by the facts. Keeps the recorded state if it agrees, with its question. */
export function resumesIn(state: FilingState, facts: FilingFacts): FilingState {
  switch (phaseOf(facts)) {
    case 'prepare': {
      if (!facts.planned) return mayFollow(state, 'needs_correction') ? state : 'submitting';
      if (facts.unapproved) return state === 'awaiting_approval' ? state : 'checking';
      const tried = !['checking', 'awaiting_approval', 'needs_credentials', 'needs_access'].includes(state);
      return tried ? 'submitting' : 'checking';
    }
    case 'send':
      return facts.doubtful && state === 'outcome_unknown' ? state : 'submitting';
    case 'follow':
      return state === 'overdue' ? state : 'processing';
    case 'collect':
      return 'collecting';
  }
}
