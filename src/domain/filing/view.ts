/** A filing as commands, pages and the HTTP API show it. */
import type { FilingResult } from '../contracts';
import type { FilingState } from './states';

export type Counts = FilingResult['counts'];

/** A filing without its rows, for lists. */
export interface FilingSummary {
  /** Null: nothing was recorded. */
  filingId: string | null;
  workflowId: string;
  reference: string;
  n: number;
  exporterId: string;
  exporterName: string | null;
  /** A filing state; `refused`: nothing was recorded; `started`: it is not known yet. */
  state: string;
  waiting: Waiting | null;
  needsAttention: boolean;
  /** What somebody should know and do. */
  attention: string | null;
  /** Whether a person can answer now. */
  asked: boolean;
  /** The commands that may be used on it next. */
  actions: readonly Action[];
  requestId: string | null;
  dgftAckId: string | null;
  uploadType: number | null;
  channel: string | null;
  declaration: string | null;
  madeBy: string | null;
  madeAt: string | null;
  /** Why it waits, or waited, for an approval: policy, maker or duplicate; null: nobody asked for one. */
  approval: string | null;
  approvedAt: string | null;
  corrects: string | null;
  counts: Counts;
  warnings: unknown[];
  errors: unknown[];
  /** The caller's workbook with the errors in its cells. */
  annotated: string | null;
  contentHash: string | null;
}

/** A complete filing or, by its reference alone, the whole reference: its newest filing, and the rows of all its n. */
export interface FilingView extends FilingSummary {
  /** The attempt that a decision answers; null: none may have arrived. */
  attempt: number | null;
  attempts: AttemptView[];
  /** What speaks against "not filed", or against sending. Null: nothing was looked for yet. */
  evidence: EvidenceView | null;
  decisions: DecisionView[];
  /** The filings that correct it. */
  correctedBy: string[];
  rows: RowView[];
}

export interface RowView {
  filingId: string;
  n: number;
  /** Excel row of a workbook (header is 1), `serialNo` of a message. */
  row: number;
  serialNo: number;
  irmNumber: string;
  sbCumInvoiceNumber: string;
  mappedIRMAmountFCC: string;
  currency: string;
  state: string;
  eBRCNumber: string | null;
  eBRCDate: string | null;
  /** The status of its certificate, where that is cancelled. */
  cancelled: string | null;
  /** The PDF in the document store: its name or, for commands, its path. */
  pdf: string | null;
  sha256: string | null;
  /** What is odd about the PDF, which opens all the same. */
  pdfNote: string | null;
  errors: string[];
  /** The filing that corrects it. */
  correctedBy: string | null;
}

export interface AttemptView {
  number: number;
  verdict: string;
  reason: string | null;
  markedAt: string;
  requestId: string | null;
  /** Who named the request: `service` or `person`. */
  requestFrom: string | null;
  dgftAckId: string | null;
  answeredAt: string | null;
}

/** What was found of an attempt of unknown outcome, or against sending. */
export interface EvidenceView {
  /** Null: it speaks against sending. */
  attempt: number | null;
  /** When the reading was made that it is from; null: none yet. */
  readAt: string | null;
  /** When the settle time ends, before which nobody can say "not filed". */
  settledAt: string | null;
  names: string[];
  entries: { name: string; text: string }[];
  /** Of each IRM of the filing before the attempt, and as last read. */
  balances: {
    irmNumber: string;
    before: string | null;
    beforeAt: string | null;
    now: string | null;
    nowAt: string | null;
  }[];
}

export interface DecisionView {
  id: string;
  filingId: string;
  kind: 'approve' | 'filed' | 'not_filed' | 'abandon';
  by: string;
  /** False: the name is a claim. */
  principal: boolean;
  attempt: number | null;
  shown: string[];
  requestId: string | null;
  certificates: { row: number; eBRCNumber: string }[];
  ends: boolean;
  note: string | null;
  at: string;
  /** Null: it waits for a second person or a reading. */
  outcome: 'carried_out' | 'refused' | 'void' | null;
  why: string | null;
}

/** An event of a filing's story. */
export interface EventView {
  id: string;
  filingId: string;
  n: number;
  at: string;
  kind: string;
  /** The state that the filing entered. */
  state: string | null;
  who: string | null;
  text: string;
}

export interface Waiting {
  for: string;
  /** When the filing entered its state. */
  since: string;
  /** When it probably continues. */
  expectedBy: string | null;
  /** When at the latest it continues or asks for attention; null: it waits for a person. */
  until: string | null;
}

export const ACTIONS = ['approve', 'resolve', 'abandon', 'correct', 'credentials', 'resume'] as const;
export type Action = (typeof ACTIONS)[number];

/** What actions and texts depend on. */
export interface Standing {
  state: FilingState;
  closed: boolean;
  asked: boolean;
  approval: string | null;
  approved: boolean;
  pause: string | null;
  /** No attempt of it may have arrived, and no row is certified. */
  unsent: boolean;
  /** Past the time by which it was due. */
  overdue: boolean;
  /** Its run fails, or is gone. */
  runProblem: boolean;
  /** Every row has its outcome, and one that was freed, or whose certificate was cancelled, waits for a correction. */
  correctable: boolean;
}

/** The commands that may be used on a filing next. */
export function actionsOf({ state, closed, asked, unsent, overdue, runProblem, ...filing }: Standing): Action[] {
  const waits = state === 'awaiting_approval' && asked;
  const may: Record<Action, boolean> = {
    approve: waits,
    resolve: !closed && ((asked && !unsent) || (waits && isBesideEvidence(filing))),
    abandon: !closed && unsent,
    correct: filing.correctable,
    credentials: state === 'needs_credentials',
    resume: !closed && (overdue || runProblem),
  };
  return ACTIONS.filter((action) => may[action]);
}

/** It waits for an approval because something stands against sending it, and for nothing else. */
const isBesideEvidence = ({ approval, approved }: Pick<Standing, 'approval' | 'approved'>): boolean =>
  approval === null || approved;

/** How long the authority usually takes to answer. */
const USUAL_ANSWER_MS = 7_200_000;

const PAUSES: Readonly<Record<string, string>> = {
  credentials: 'new portal credentials of the exporter',
  access: 'our own access to the service',
  activation: 'the opening of API access for the exporter by the authority',
  breaker: 'the service, whose last answers failed',
  balance: 'the outcome of other filings that use the same IRMs',
  reading: 'a reading of the certificates and IRMs',
};

/** What a filing waits for; null: it has ended. */
export function waitingOf(
  filing: Standing & { since: Date; sentAt: Date | null; dueAt: Date | null; pauseUntil: Date | null },
  counts: Pick<Counts, 'rows' | 'archived' | 'errored'>,
): Waiting | null {
  if (filing.closed) return null;
  const { since, sentAt, dueAt, pauseUntil, asked } = filing;
  const answer = filing.state === 'processing' && sentAt ? new Date(sentAt.getTime() + USUAL_ANSWER_MS) : pauseUntil;
  return {
    for: subjectOf(filing, counts),
    since: since.toISOString(),
    expectedBy: answer && answer.getTime() > Date.now() ? answer.toISOString() : null,
    until: asked ? null : (dueAt?.toISOString() ?? null),
  };
}

function subjectOf(filing: Standing, counts: Pick<Counts, 'rows' | 'archived' | 'errored'>): string {
  const { state, asked, pause } = filing;
  const paused = pause === null ? undefined : PAUSES[pause];
  switch (state) {
    case 'checking':
      return paused ?? 'the check against balances and earlier filings';
    case 'awaiting_approval':
      return isBesideEvidence(filing)
        ? 'two persons who look at what speaks against sending it'
        : 'the approval of somebody other than its maker';
    case 'processing':
      return 'the acknowledgement of the authority';
    case 'collecting':
      return `certificates and PDFs (${counts.archived} of ${counts.rows - counts.errored} are stored)`;
    case 'outcome_unknown':
      return asked ? 'the answer of somebody who looks at the portal' : 'evidence whether it was filed';
    case 'overdue':
      return 'the acknowledgement, which is overdue';
    case 'needs_credentials':
      return PAUSES.credentials ?? '';
    case 'needs_access':
      return PAUSES.access ?? '';
    default:
      return paused ?? 'its turn to be sent';
  }
}

/** Describes what is waited for, since when and until when; `time` formats an instant. */
export function waitingText({ for: subject, since, expectedBy, until }: Waiting, time: (at: string) => string): string {
  return [
    `${subject}, since ${time(since)}`,
    expectedBy && `expected by ${time(expectedBy)}`,
    until && `at the latest ${time(until)}`,
  ]
    .filter(Boolean)
    .join('; ');
}
