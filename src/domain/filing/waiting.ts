/** What a filing waits for, as its lists and its page say it. */
import type { FilingCounts } from '../contracts';
import { isEnd, type FilingState } from './states';

export interface Waiting {
  /** What is waited for, as a short noun phrase. */
  for: string;
  /** Since when it is in this state, ISO 8601. */
  since: string;
  /** When the authority usually answers by, by the times that were seen lately. */
  expectedBy: string | null;
  /** When it goes on or asks somebody at the latest; null: it waits for a person, however long. */
  until: string | null;
}

const SUBJECTS: Partial<Record<FilingState, string>> = {
  checking: 'the check against balances and earlier filings',
  awaiting_approval: 'the approval of somebody other than its maker',
  submitting: 'its turn to be sent',
  processing: 'the acknowledgement of the authority',
  needs_credentials: 'new portal credentials of the exporter',
  needs_access: 'our own access to the service',
  overdue: 'the acknowledgement, which is overdue',
};

/** What a filing in this state waits for; null: it has ended. */
export function waitsFor({ state, asked }: { state: string; asked: boolean }, counts: FilingCounts): string | null {
  if (isEnd(state as FilingState)) return null;
  if (state === 'outcome_unknown')
    return asked ? 'the answer of somebody who looks at the portal' : 'evidence whether it was filed';
  if (state === 'collecting') return `certificates and PDFs (${counts.archived} of ${counts.rows} are stored)`;
  return SUBJECTS[state as FilingState] ?? null;
}
