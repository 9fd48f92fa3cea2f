/** Kinds of findings of a reconciliation, and the advice for each. */

/** The checks of a reconciliation; default: all. */
export const RECONCILE_CHECKS = ['certificates', 'balances', 'documents', 'filings'] as const;
export type ReconcileCheck = (typeof RECONCILE_CHECKS)[number];

/** The id of a finding. */
export const FINDING_ID = /^[0-9A-F]{16}$/u;

/** For each kind: the check of a reconciliation that may close it (null: something else does), and advice. */
const FINDINGS = {
  ours_not_theirs: [
    'certificates',
    'The ledger holds this certificate, but fetch-details no longer shows it. Look at the authority’s portal whether it was cancelled, and ask the service. Once it is acknowledged, its absence no longer counts against the readings.',
  ],
  theirs_not_ours: [
    'certificates',
    'The authority issued this certificate, but no row of ours has it. Find out who filed it, and acknowledge the finding with a note.',
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
    'The authority changed the status of this certificate. If it was cancelled: correct its row in the workbook and run `ebrc correct FILING FILE`, which asks a second person. Otherwise check whether it may still be used.',
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
    'It is not known whether this was filed. Look at the portal, then: ebrc resolve FILING.',
  ],
  filing_without_workflow: [
    null,
    'This filing has no workflow. If something was sent, a new run is started automatically; otherwise: ebrc resume FILING.',
  ],
  run_failing: [
    null,
    'The workflow of this filing, or a call of it, fails at every try. Nothing is lost. Where a build is wrong, go back to the last good one or deploy one that mends it: "A build that fails" in docs/operations.md.',
  ],
  irm_missing: [
    null,
    'The service no longer lists this IRM, but rows of ours have amounts on it. Ask the bank whether it was taken back.',
  ],
  irm_cancelled: [
    null,
    'This IRM was cancelled, but rows of ours have amounts on it. Ask the bank, and have the certificates cancelled where it is right.',
  ],
  irm_reduced: [
    null,
    'The amount of this IRM is now less than what is certified on it. Ask the bank, and have certificates cancelled where it is right.',
  ],
  document_overdrawn: [
    'certificates',
    'More is certified and held for this document than its value. Find out which certificate is one too many.',
  ],
  accepted_twice: [
    null,
    'The service accepted this filing twice. Have one of the two sets of certificates cancelled at the authority, then acknowledge the finding.',
  ],
  late_certificate: [
    null,
    'A certificate came for a row that was freed: the first send had arrived. Its mapping is held again; see what was filed in its place.',
  ],
  record_contradicts: [
    null,
    'What the service reports of a request, or of its certificate, contradicts the row. Look at the portal; what was filed of it is given to the row by `ebrc resolve FILING --as filed --certificate ROW=NUMBER`.',
  ],
  iec_differs: [
    null,
    'Two IECs are shown for this exporter. Find out at the portal which is right before anything else is filed.',
  ],
  webhook_paused: [
    null,
    'This endpoint is told nothing any more. See what it answers (ebrc webhooks list ID), mend it, then: ebrc webhooks replay ID.',
  ],
  ledger_went_back: [
    null,
    'Temporal knows something that this ledger lacks: it went back, and nothing is sent. See `ebrc ledger status`.',
  ],
} as const satisfies Record<string, readonly [check: ReconcileCheck | null, advice: string]>;

export type FindingKind = keyof typeof FINDINGS;
export const FINDING_KINDS = Object.keys(FINDINGS) as FindingKind[];

/** The kinds whose open findings these checks may close. */
export const kindsOfChecks = (checks: readonly ReconcileCheck[]): FindingKind[] =>
  FINDING_KINDS.filter((kind) => (checks as readonly (ReconcileCheck | null)[]).includes(FINDINGS[kind][0]));

const OF_FILINGS_AND_EXPORTERS: readonly FindingKind[] = [
  ...([
    'filing_overdue',
    'outcome_unknown',
    'filing_without_workflow',
    'run_failing',
    'accepted_twice',
    'record_contradicts',
  ] as const),
  ...(['iec_differs', 'webhook_paused', 'ledger_went_back'] as const),
];

/** Whether a kind is about a certificate, IRM or document of a company, whose names are unique only within it. */
export const isOfCompany = (kind: FindingKind): boolean => !OF_FILINGS_AND_EXPORTERS.includes(kind);

/** What the sweep finds about the run of an open filing, and closes. */
export const RUN_PROBLEMS = ['filing_without_workflow', 'run_failing'] as const satisfies readonly FindingKind[];
export type RunProblemKind = (typeof RUN_PROBLEMS)[number];

export const adviceOfKind = (kind: FindingKind): string => FINDINGS[kind][1];

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
  /** Why. */
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
