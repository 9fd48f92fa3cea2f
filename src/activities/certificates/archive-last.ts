/** The end of a filing, recorded with its last PDF. */
import type pg from 'pg';
import { endOf, mayFollow } from '../../domain/filing/states';
import { countWithoutPdf, markArchived, type ArchivedPdf } from '../../ledger/certificates/certificates';
import { holdStep } from '../../ledger/filings/filing-progress';
import { withTransaction } from '../../ledger/pool';
import { rowStates } from '../../ledger/rows/filing-rows';
import { recordEnd, type FilingEnd, type Held } from '../filings/moves';
import { stepId } from '../step-id';

/**
 * Records that a PDF is archived, and the end of the filing that waits for it, where all of its certificates have their
 * PDFs and all of its rows an outcome. Without `pdf`: it was recorded before, perhaps by a try whose answer was lost.
 * @returns null where the filing goes on, or has moved otherwise than its run knows
 */
export function archiveLast(pool: pg.Pool, held: Held, at: Date, pdf?: ArchivedPdf): Promise<FilingEnd | null> {
  const { filingId } = held;
  return withTransaction(pool, async (client) => {
    // The filing's lock comes first: of two PDFs that are archived at once, the second sees the first.
    const standing = await holdStep(client, { ...held, step: stepId() });
    if (pdf) await markArchived(client, pdf);
    if (standing === 'differs' || (await countWithoutPdf(client, filingId)) > 0) return null;
    const state = endOf(await rowStates(client, filingId));
    if (state === null || (standing !== 'repeated' && !mayFollow(standing.state, state))) return null;
    return recordEnd(client, { ...held, state }, at);
  });
}
