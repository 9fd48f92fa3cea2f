import type { FileInput } from '../contracts';
import type { Mode } from '../names';

/** What of a filing a new run of it is started with; everything else is in the ledger. */
export interface ResumedFiling {
  filingId: string;
  mode: Mode;
  exporterId: string;
  reference: string;
  madeBy: string;
  correction: number;
}

/** The input of `fileRemittances` with which a filing goes on from the ledger in a new run. */
export function resumeInput({ filingId, mode, exporterId, reference, madeBy, correction }: ResumedFiling): FileInput {
  return { mode, exporterId, reference, madeBy, correction, resume: filingId };
}
