import { STORE_ID } from '../documents/records';
import type { DocumentStore } from '../documents/document-store';
import { readIdentity } from '../ledger/sends/sends';
import type { Queryable } from '../ledger/pool';

/**
 * Whether the ledger's documents are in another store, without creating anything: a folder that is wrong must not
 * become a second store. @returns what to say; null if it is the ledger's store, or if the ledger has none yet
 */
export async function otherStore(
  db: Queryable,
  store: Pick<DocumentStore, 'readRecord'>,
  root: string,
): Promise<string | null> {
  const { storeId } = await readIdentity(db);
  if (storeId === null) return null;
  const found = (await store.readRecord(STORE_ID))?.toString('utf8').trim();
  if (found === storeId) return null;
  const place = root.split('?', 1)[0];
  return `The documents of this ledger are not in ${place}. Set EBRC_DOCUMENTS to the store that the worker uses; its log names it.`;
}
