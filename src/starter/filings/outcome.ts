import type { EbrcReaderDependencies } from '../dependencies';
import { NO_ROWS, type FilingResult } from '../../domain/contracts';
import type { FilingView } from '../../domain/filing/view';
import { findExporter } from '../../ledger/exporters/exporters';
import { readFilingView } from '../../ledger/filings/filing-view';
import { withPaths } from '../lookup';

export interface FilingOutcome {
  filing: FilingView;
  /** Whether the filing continues only when a person approves, resolves, renews credentials or restores access. */
  waitsForPerson: boolean;
  /** Whether a statement was recorded that takes effect once a second person says the same. */
  secondPerson?: boolean;
  /** Whether the filing was recorded before the request, which sent nothing new. */
  repeated?: boolean;
  /** What the filing itself does not tell, such as that no worker runs. */
  notice: string | null;
}

/** States that end only when a person acts. */
const PERSON_NEEDED: ReadonlySet<string> = new Set(['awaiting_approval', 'needs_credentials', 'needs_access']);

/** Whether a filing waits for a person. `overdue` does not, because polling continues. */
export function waitsForPerson({ state, asked }: Pick<FilingView, 'state' | 'asked'>): boolean {
  // For an unknown outcome evidence is gathered first; then a person is asked.
  return PERSON_NEEDED.has(state) || (state === 'outcome_unknown' && asked);
}

/** The recorded filing of a workflow's result; if nothing was recorded, a view of the result alone. */
export async function viewOfResult(
  deps: EbrcReaderDependencies,
  result: FilingResult | null,
  { workflowId, reference, n, exporterId }: Pick<FilingView, 'workflowId' | 'reference' | 'n' | 'exporterId'>,
): Promise<FilingView> {
  const { pool, mode, cadence } = deps;
  const recorded = result?.filingId ? await readFilingView(pool, result.filingId, cadence) : null;
  if (recorded && result) {
    return withPaths(deps, recorded.errors.length > 0 ? recorded : { ...recorded, errors: result.errors });
  }
  return {
    ...EMPTY,
    ...{ workflowId, reference, n, exporterId },
    exporterName: (await findExporter(pool, mode, exporterId))?.name ?? null,
    ...(result && {
      filingId: result.filingId,
      contentHash: result.contentHash,
      state: result.state,
      attention: result.attention,
      needsAttention: result.attention !== null || result.errors.length > 0,
      requestId: result.requestId,
      dgftAckId: result.dgftAckId,
      counts: result.counts,
      errors: result.errors,
    }),
  };
}

const EMPTY: Omit<FilingView, 'workflowId' | 'reference' | 'n' | 'exporterId'> = {
  filingId: null,
  exporterName: null,
  state: 'started',
  waiting: null,
  otherUses: [],
  needsAttention: false,
  attention: null,
  questionCount: 0,
  questions: [],
  actions: [],
  requests: [],
  asked: false,
  requestId: null,
  dgftAckId: null,
  uploadType: null,
  channel: null,
  declaration: null,
  madeBy: null,
  madeAt: null,
  attempt: null,
  request: null,
  corrects: null,
  correctedBy: [],
  counts: NO_ROWS,
  submissions: [],
  warnings: [],
  rows: [],
  errors: [],
  evidence: null,
  annotated: null,
  contentHash: null,
  again: null,
};
