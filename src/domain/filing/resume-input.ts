import type { FileInput } from '../contracts';
import type { Mode } from '../names';

/** The part of a filing that a new run of it needs; everything else is in the ledger. */
export interface ResumedFiling {
  filingId: string;
  mode: Mode;
  exporterId: string;
  reference: string;
  madeBy: string;
  n: number;
}

/** The input of `fileRemittances` with which a new run continues a filing from the ledger. */
export function resumeInput({ filingId, mode, exporterId, reference, madeBy, n }: ResumedFiling): FileInput {
  return { mode, exporterId, reference, madeBy, n, resume: filingId };
}
