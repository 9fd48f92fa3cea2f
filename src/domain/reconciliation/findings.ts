/** Kinds of findings of a reconciliation, and the advice for each. */

/** The checks of a reconciliation; default: all. */
export const RECONCILE_CHECKS = ['certificates', 'balances', 'documents', 'filings'] as const;
export type ReconcileCheck = (typeof RECONCILE_CHECKS)[number];

/** For each kind: the check that may close its open findings (null: none), and advice for the reader. */
const FINDINGS = {
  ours_not_theirs: [
    'certificates',
    'The ledger holds this certificate, but fetch-details no longer shows it. Look at the authority’s portal whether it was cancelled, and ask the service.',
  ],
  theirs_not_ours: [
    'certificates',
    'The authority issued this certificate, but no certified row of ours has it. If the finding names a filing, it is of a row that was abandoned after it was sent: `ebrc resolve FILING --as filed` with its request or certificate gives it to the row. Otherwise find out who filed it, and acknowledge the finding with a note.',
  ],
  amount_differs: [
    'certificates',
    'The certificate has another amount or currency than the row that was filed. Compare both sides and ask the service before you use it.',
  ],
  duplicate_certificate: [
    'certificates',
    'More certificates exist for this mapping than were meant to be filed. Have the surplus one cancelled at the authority, then acknowledge the finding.',
  ],
  status_changed: [
    'certificates',
    'The authority changed the status of this certificate. Check whether it may still be used; file again with --allow-duplicate if it was cancelled.',
  ],
  utilisation_differs: [
    'balances',
    'The utilised amount of the IRM is not the sum of its certificates. Look for certificates filed elsewhere, or ask the bank.',
  ],
  pdf_missing: [
    'documents',
    'The PDF is not in the document store. It is fetched again automatically, within the budget.',
  ],
  pdf_damaged: [
    'documents',
    'The PDF in the document store is not the one that was stored. It is set aside and fetched again automatically.',
  ],
  filing_overdue: [
    'filings',
    'An outcome, or certificates, did not come in time. The worker keeps asking; ask the service about the request.',
  ],
  outcome_unknown: [
    'filings',
    'It is not yet known whether this was filed. Look at the portal, then: ebrc resolve FILING.',
  ],
  filing_without_workflow: [
    'filings',
    'This filing has no workflow. If something was sent, a new run is started automatically; otherwise: ebrc resume FILING.',
  ],
  filing_set_aside: [
    null,
    'Two workers in a row ended while they worked on it. Look at their logs and at the file; then ebrc resume FILING tries again, or ebrc abandon gives it up, by its reference where no filing was recorded.',
  ],
} as const satisfies Record<string, readonly [check: ReconcileCheck | null, advice: string]>;

export type FindingKind = keyof typeof FINDINGS;
export const FINDING_KINDS = Object.keys(FINDINGS) as FindingKind[];

export const checkOfKind = (kind: FindingKind): ReconcileCheck | null => FINDINGS[kind][0];

/** The advice for a kind of finding; undefined for a question that is no finding. */
export const adviceOfKind = (kind: string): string | undefined =>
  Object.hasOwn(FINDINGS, kind) ? FINDINGS[kind as FindingKind][1] : undefined;

/** A finding as `ebrc findings` prints it; null where a field does not apply. Amounts are exact decimal text. */
export interface FindingView {
  id: string;
  kind: FindingKind;
  exporterId: string | null;
  exporterName: string | null;
  eBRCNumber: string | null;
  filingId: string | null;
  /** The Excel row or `serialNo`. */
  row: number | null;
  irmNumber: string | null;
  /** The ledger's side. */
  ours: Record<string, unknown> | null;
  /** The side of the authority, the service or the document store. */
  theirs: Record<string, unknown> | null;
  amount: string | null;
  currency: string | null;
  /** The reason, with near matches. */
  reason: string | null;
  ageDays: number;
  firstSeenAt: string;
  lastSeenAt: string;
  closedAt: string | null;
  /** The repair that the reconciliation made. */
  healed: string | null;
  acknowledgedAt: string | null;
  acknowledgedBy: string | null;
  note: string | null;
  advice: string;
}

export function noFindings(): Record<FindingKind, number> {
  return Object.fromEntries(FINDING_KINDS.map((kind) => [kind, 0])) as Record<FindingKind, number>;
}
