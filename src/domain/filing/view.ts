import type { FilingResult } from '../contracts';
import type { Mapping } from './mapping';
import type { QuestionView } from './questions';
import { isEnd, type FilingState } from './states';

/** A filing without its rows, for lists. */
export interface FilingSummary {
  filingId: string | null;
  workflowId: string;
  reference: string;
  n: number;
  exporterId: string;
  exporterName: string | null;
  state: string;
  waiting: Waiting | null;
  needsAttention: boolean;
  /** The texts of its most serious open questions. */
  attention: string | null;
  questionCount: number;
  asked: boolean;
  requestId: string | null;
  dgftAckId: string | null;
  uploadType: number | null;
  channel: string | null;
  declaration: string | null;
  madeBy: string | null;
  madeAt: string | null;
  corrects: string | null;
  counts: FilingResult['counts'];
  warnings: unknown[];
  errors: unknown[];
  evidence: unknown;
  annotated: string | null;
  contentHash: string | null;
}

/** A complete filing, as `ebrc file`, `ebrc show` and the other filing commands print it. */
export interface FilingView extends FilingSummary {
  /** The attempt of unknown outcome that `resolve` answers, else the last accepted one; null: nothing was sent. */
  attempt: string | null;
  /** The request that `resolve` answers if no attempt is in doubt. */
  request: string | null;
  questions: QuestionView[];
  actions: readonly string[];
  requests: { submission: number; requestId: string; source: string; state: string }[];
  correctedBy: string[];
  submissions: SubmissionView[];
  rows: RowView[];
  /** Other filings that may have used its IRMs since the last balance before its send. */
  otherUses: OtherUse[];
  /** The number under which the reference can be filed again, if all rows are free; null: it cannot. */
  again: number | null;
}

export interface OtherUse {
  /** Whether all its rows on this IRM are certified; otherwise they may have used it. */
  certified: boolean;
  irmKey: string;
  filingId: string;
  reference: string;
  amount: string;
}

export interface SubmissionView {
  submission: number;
  rowCount: number;
  state: string;
  requestId: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
  submittedAt: string | null;
  attempts: number;
}

export interface RowView extends Pick<Mapping, 'serialNo' | 'irmNumber' | 'sbCumInvoiceNumber' | 'mappedIRMAmountFCC'> {
  row: number;
  currency: string;
  state: string;
  eBRCNumber: string | null;
  eBRCDate: string | null;
  document: string | null;
  sha256: string | null;
  errors: string[];
}

export interface Waiting {
  for: string;
  /** When the filing entered its state, ISO 8601. */
  since: string;
  /** Its place among the filings that wait for calls to the service, from 1; null: it waits for something else. */
  queue: { place: number; of: number } | null;
  /** When it probably continues, estimated from the queue before it or from recent answers of the authority. */
  expectedBy: string | null;
  /** When at the latest it continues or asks for attention; null: it waits for a person. */
  until: string | null;
}

/** Describes what is waited for, since when and until when; `time` formats an instant. */
export function waitingText(waiting: Waiting, time: (at: string) => string): string {
  const { for: subject, since, queue, expectedBy, until } = waiting;
  return [
    `${subject}, since ${time(since)}`,
    queue && placeText(queue),
    expectedBy && `expected by ${time(expectedBy)}`,
    until && `at the latest ${time(until)}`,
  ]
    .filter(Boolean)
    .join('; ');
}

export const placeText = ({ place, of }: { place: number; of: number }): string =>
  place === 1 ? 'next in line' : `place ${place} of ${of} in line`;

const SUBJECTS: Partial<Record<FilingState, string>> = {
  checking: 'the check against balances and earlier filings',
  awaiting_approval: 'the approval of somebody other than its maker',
  submitting: 'a look at the existing certificates, and its turn to be sent',
  processing: 'the acknowledgement of the authority',
  needs_credentials: 'new portal credentials of the exporter',
  needs_access: 'our own access to the service',
  overdue: 'the acknowledgement, which is overdue',
};

/** What a filing in this state waits for; null: it has ended. */
export function waitsFor(
  { state, asked, waitsFor: wait }: { state: string; asked: boolean; waitsFor?: string | null },
  counts: FilingResult['counts'],
): string | null {
  if (isEnd(state as FilingState)) return null;
  if (wait === 'activation') return 'the opening of API access for the exporter by the authority';
  if (state === 'outcome_unknown')
    return asked ? 'the answer of somebody who looks at the portal' : 'evidence whether it was filed';
  if (state === 'collecting')
    return `certificates and PDFs (${counts.archived} of ${counts.rows - counts.errored} are stored)`;
  return SUBJECTS[state as FilingState] ?? null;
}

/** `place` (from 1) of `of` filings; `windows`: rate windows until its last call, if nothing else takes slots. */
export interface QueuePlace {
  place: number;
  of: number;
  windows: number;
}

/** Places in the queue of a rate class, where exporters take turns. @param queued by arrival @param limit per window */
export function queuePlaces(
  queued: readonly { filingId: string; exporterId: string; calls: number }[],
  limit: number,
): Map<string, QueuePlace> {
  const totals = new Map<string, number>();
  const filings = queued.map(({ filingId, exporterId, calls }) => {
    const last = (totals.get(exporterId) ?? 0) + calls;
    totals.set(exporterId, last);
    return { filingId, last };
  });
  // Until a filing's last call each exporter has had as many calls as the filing's, or all that it needs.
  const callsUntil = (last: number) => [...totals.values()].reduce((sum, all) => sum + Math.min(all, last), 0);
  const ordered = filings
    .map(({ filingId, last }) => ({ filingId, calls: callsUntil(last) }))
    .sort((one, other) => one.calls - other.calls);
  return new Map(
    ordered.map(({ filingId, calls }, index) => {
      const windows = Math.floor(Math.max(calls - 1, 0) / limit);
      return [filingId, { place: index + 1, of: ordered.length, windows }];
    }),
  );
}
