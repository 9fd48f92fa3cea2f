/** Kinds of findings of a reconciliation, and what to do about each (contract: "Findings of a reconciliation"). */

export const FINDING_KINDS = [
  'ours_not_theirs',
  'theirs_not_ours',
  'amount_differs',
  'duplicate_certificate',
  'status_changed',
  'utilisation_differs',
  'pdf_missing',
  'pdf_damaged',
  'filing_overdue',
  'outcome_unknown',
  'filing_without_workflow',
  'filing_set_aside',
] as const;

export type FindingKind = (typeof FINDING_KINDS)[number];

export type FindingCounts = Record<FindingKind, number>;

/** What to do about a finding of each kind, for the person who reads it. */
export const FINDING_ADVICE: Readonly<Record<FindingKind, string>> = {
  ours_not_theirs:
    'The ledger holds this certificate, but fetch-details no longer shows it. Look at the authority’s portal whether it was cancelled, and ask the service.',
  theirs_not_ours:
    'The authority issued this certificate, but no certified row of ours has it. If the finding names a filing, it is of a row that was abandoned after it was sent: `ebrc resolve FILING --as filed` with its request or certificate gives it to the row. Otherwise find out who filed it, and acknowledge the finding with a note.',
  amount_differs:
    'The certificate has another amount or currency than the row that was filed. Compare both sides and ask the service before you use it.',
  duplicate_certificate:
    'More certificates exist for this mapping than were meant to be filed. Have the surplus one cancelled at the authority, then acknowledge the finding.',
  status_changed:
    'The authority changed the status of this certificate. Check whether it may still be used; file again with --allow-duplicate if it was cancelled.',
  utilisation_differs:
    'The utilised amount of the IRM is not the sum of its certificates. Look for certificates filed elsewhere, or ask the bank.',
  pdf_missing: 'The PDF is not in the document store. It is fetched again automatically, within the budget.',
  pdf_damaged:
    'The PDF in the document store is not the one that was stored. It is set aside and fetched again automatically.',
  filing_overdue: 'There was no outcome in time. Polling continues; ask the service about the request.',
  outcome_unknown: 'It is not yet known whether this was filed. Look at the portal, then: ebrc resolve FILING.',
  filing_without_workflow:
    'This filing has no workflow. If something was sent, a new run is started automatically; otherwise: ebrc resume FILING.',
  filing_set_aside:
    'Two workers in a row ended while they worked on it. Look at their logs and at the file; then ebrc resume FILING tries again, or ebrc abandon gives it up, by its reference where no filing was recorded.',
};

/** A finding as `ebrc findings` prints it; what does not apply is null. Amounts are exact decimal text. */
export interface FindingView {
  id: string;
  kind: FindingKind;
  exporterId: string | null;
  exporterName: string | null;
  eBRCNumber: string | null;
  filingId: string | null;
  /** The Excel row or `serialNo` of the filed row. */
  row: number | null;
  irmNumber: string | null;
  /** The ledger's side. */
  ours: Record<string, unknown> | null;
  /** The authority's, the service's or the document store's side. */
  theirs: Record<string, unknown> | null;
  amount: string | null;
  currency: string | null;
  /** Why this was found, with near matches. */
  reason: string | null;
  ageDays: number;
  firstSeenAt: string;
  lastSeenAt: string;
  closedAt: string | null;
  /** What the reconciliation did about it. */
  healed: string | null;
  acknowledgedAt: string | null;
  acknowledgedBy: string | null;
  note: string | null;
  advice: string;
}

/** The checks of a reconciliation; default: all. */
export const RECONCILE_CHECKS = ['certificates', 'balances', 'documents', 'filings'] as const;
export type ReconcileCheck = (typeof RECONCILE_CHECKS)[number];

/** The check that must run before an open finding of a kind may be closed; null: no check closes it. */
export const CHECK_OF_KIND: Readonly<Record<FindingKind, ReconcileCheck | null>> = {
  ours_not_theirs: 'certificates',
  theirs_not_ours: 'certificates',
  amount_differs: 'certificates',
  duplicate_certificate: 'certificates',
  status_changed: 'certificates',
  utilisation_differs: 'balances',
  pdf_missing: 'documents',
  pdf_damaged: 'documents',
  filing_overdue: 'filings',
  outcome_unknown: 'filings',
  filing_without_workflow: 'filings',
  filing_set_aside: null,
};

/** Zero for every kind. */
export function noFindings(): FindingCounts {
  return Object.fromEntries(FINDING_KINDS.map((kind) => [kind, 0])) as FindingCounts;
}
