/** What two persons permit: a duplicate beside rows that are in doubt, or were abandoned after the send. */
import type { Carried } from '../../domain/filing/carried';
import type { Queryable } from '../pool';
import { readRows } from '../rows/filing-rows';
import { isPermitted, permitBeside, positionsInDoubt } from '../rows/live-mappings';
import type { Word } from '../submissions/words';

/** Carries out the word that a duplicate beside rows may go. Must run in a transaction that holds the filing's lock. */
export async function permitDuplicate(client: Queryable, word: Word, others: readonly Word[]): Promise<Carried> {
  const { filingId, sourceRows, by } = word;
  const rows = (await readRows(client, filingId)).filter(({ sourceRow }) => sourceRows?.includes(sourceRow));
  const inDoubt = new Set(await positionsInDoubt(client, filingId));
  const doubted = rows.filter(({ position }) => inDoubt.has(position));
  const other = sourceRows?.find((row) => !doubted.some(({ sourceRow }) => sourceRow === row));
  if (doubted.length === 0 || other !== undefined) {
    const why = `row ${other ?? ''} is not one of the filing's that are in doubt, or were abandoned after the send`;
    return { outcome: 'refused', why };
  }
  const positions = doubted.map(({ position }) => position);
  // Said once more, as by a command whose answer was lost: what is permitted already is not permitted twice.
  if (await isPermitted(client, filingId, positions)) return { outcome: 'permitted' };
  if (others.length === 0) {
    const why = `${by} is the first to permit it; somebody else has to permit the same rows too`;
    return { outcome: 'stands', why };
  }
  await permitBeside(client, { filingId, positions });
  return { outcome: 'permitted' };
}
