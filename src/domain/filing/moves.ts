/** The phase and the state from which a run continues a filing that another run left. */
import { mayFollow, type FilingState } from './states';

/** Phase of a run. `send` may lead back to `prepare`: balances are checked again before another attempt. */
export const PHASES = ['prepare', 'send', 'follow', 'collect'] as const;
export type Phase = (typeof PHASES)[number];

export interface FilingFacts {
  /** A submission waits to be sent, and nothing of it is at the service. */
  planned: boolean;
  /** A submission was, or may have been, sent, and its outcome is not known. */
  doubtful: boolean;
  /** A submission is acknowledged under a request id, and the authority has not answered for it. */
  followed: boolean;
  /** Every row of a submission has its outcome. */
  settled: boolean;
  /** The approval is still missing. */
  unapproved: boolean;
}

/** The phase in which a run with these facts begins. */
export function phaseOf({ planned, doubtful, followed, settled }: FilingFacts): Phase {
  if (planned || doubtful) return doubtful || followed || settled ? 'send' : 'prepare';
  if (followed) return 'follow';
  // Nothing remains to be done: the run only has to end the filing, as after a refusal.
  return settled ? 'collect' : 'prepare';
}

/** By what is at the service. The recorded state is kept if it agrees, so that an open question stays open. */
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
