/** Opens a filing: reads what a run was started with, judges it, and records it. */
import type { FileInput } from '../../domain/contracts';
import type { Recorded } from '../../ledger/filings/record';
import type { Deps } from '../dependencies';

export type Opened =
  | Recorded
  /** The ledger lacks the exporter: read it from the service, then open again. */
  | { outcome: 'exporter_unknown'; exporterId: string }
  /** The ledger lacks the filing that was to be resumed. */
  | { outcome: 'filing_unknown'; filingId: string };

/** Idempotent: the same content under the same reference is the same filing. */
export function openInput(
  _deps: Pick<Deps, 'mode' | 'pool' | 'queueing' | 'settings'>,
  _args: { input: FileInput; workflowId: string; run: string },
): Promise<Opened> {
  throw new Error('not written yet');
}
