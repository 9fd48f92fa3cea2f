/** What the filing commands answer. */
import { NO_ROWS, type FilingResult } from '../../domain/contracts';
import type { FilingView } from '../../domain/filing/view';
import { findExporter } from '../../ledger/exporters/exporters';
import type { EbrcReaderDependencies } from '../dependencies';
import { viewOf, type ViewDependencies } from '../lookup';

export interface FilingOutcome {
  filing: FilingView;
  /** Whether the filing continues only when a person approves, resolves, renews credentials or restores access. */
  waitsForPerson: boolean;
  /** Whether a decision was recorded that waits for a second person or a reading. */
  recorded?: boolean;
  /** Whether the filing was recorded before the request, which sent nothing new. */
  repeated?: boolean;
  /** What the filing itself does not tell, such as that no worker runs. */
  notice: string | null;
}

const PERSON_NEEDED: readonly string[] = ['needs_credentials', 'needs_access'];

/** Whether a filing waits for a person. While nobody is asked, evidence is gathered, and polling continues. */
export const waitsForPerson = ({ state, asked }: Pick<FilingView, 'state' | 'asked'>): boolean =>
  PERSON_NEEDED.includes(state) || (asked && state !== 'overdue');

/** What names a filing before it is recorded. */
export type Started = Pick<FilingView, 'workflowId' | 'reference' | 'n' | 'exporterId'>;

/** The recorded filing of a run's result; if nothing was recorded, a view of the result alone. */
export async function viewOfResult(
  deps: ViewDependencies & Pick<EbrcReaderDependencies, 'mode'>,
  result: FilingResult | null,
  started: Started,
): Promise<FilingView> {
  if (result?.filingId) {
    const filing = await viewOf(deps, result.filingId);
    return filing.errors.length > 0 ? filing : { ...filing, errors: result.errors };
  }
  const exporter = await findExporter(deps.pool, deps.mode, started.exporterId);
  const { contentHash = null, errors = [] } = result ?? {};
  // Until its run has recorded it, it shows itself as refused, with no reason.
  const state = result && errors.length > 0 ? result.state : 'started';
  return {
    ...{ ...UNRECORDED, ...started, exporterName: exporter?.name ?? null },
    ...{ contentHash, state, errors, needsAttention: errors.length > 0 },
  };
}

const UNRECORDED: Omit<FilingView, keyof Started | 'contentHash' | 'state' | 'errors' | 'needsAttention'> = {
  ...{
    filingId: null,
    exporterName: null,
    exporterEmail: null,
    waiting: null,
    attention: null,
    asked: false,
    actions: [],
  },
  ...{ requestId: null, dgftAckId: null, uploadType: null, channel: null, declaration: null },
  ...{ madeBy: null, madeAt: null, approval: null, approvedAt: null, corrects: null, correctedBy: [] },
  ...{ counts: NO_ROWS, warnings: [], annotated: null, attempt: null, attempts: [], evidence: null },
  ...{ decisions: [], changedIrms: [], rateLimited: [], rows: [] },
};
