import type { FilingCounts } from '../contracts';
import type { FilingState } from './states';

const TEXTS: Partial<Record<FilingState, string>> = {
  certified: 'every row has its certificate',
  partly_certified: 'some rows have their certificate, the others need a correction',
  rejected: 'the authority rejected every row',
  needs_correction: 'refused before anything was accepted',
  abandoned: 'given up',
};

/** The event text of a filing's end, and what a person can do about it. */
export function endNote(
  filingId: string,
  state: FilingState,
  { errored }: FilingCounts,
): { event: { kind: string; text: string }; attention: string | null } {
  const correctable = state === 'partly_certified' || state === 'rejected' || state === 'needs_correction';
  const what = errored > 0 ? `${errored} rows` : 'It';
  return {
    event: { kind: state, text: TEXTS[state] ?? state },
    attention: correctable ? `${what} can be corrected and filed again: ebrc correct ${filingId} FILE` : null,
  };
}
