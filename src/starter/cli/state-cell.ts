import type { FilingState, RowState } from '../../domain/filing/states';
import type { OnboardState } from '../../domain/contracts';
import { toned, type Tone } from './page';

const TONES: Readonly<Partial<Record<FilingState | RowState | OnboardState | 'activation_pending', Tone>>> = {
  certified: 'good',
  ready: 'good',
  awaiting_approval: 'waits',
  needs_credentials: 'waits',
  needs_access: 'waits',
  overdue: 'waits',
  activation_pending: 'waits',
  partly_certified: 'bad',
  rejected: 'bad',
  refused: 'bad',
  needs_correction: 'bad',
  outcome_unknown: 'bad',
  unknown: 'bad',
};

/** A state in its colour: reached, waits for somebody, or something is wrong. */
export const stateCell = (state: string) => toned(state, TONES[state as FilingState] ?? null);
