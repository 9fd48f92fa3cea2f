/** Hashes over what a principal was shown. A grant holds only for that. */
import { createHash } from 'node:crypto';
import type { FileInput } from '../../domain/contracts';
import type { FilingRecord } from '../filings/filings';
import type { Queryable } from '../pool';
import type { Word } from '../submissions/words';

const hashOf = (parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** The hash of a filing to be made: content (exporter, rows, declaration), name, channel and permits. */
export function shownToFile(
  { channel = 'auto', n = 1, corrects, approval = false }: FileInput,
  more: { contentHash: string; reference: string; permitted: FileInput['allowDuplicate'] },
): string {
  const permits = (more.permitted ?? []).map(({ row, besides = null, reason }) => [row, besides, reason]);
  return hashOf(['file', more.contentHash, more.reference, n, corrects ?? null, channel, approval, permits]);
}

/** The hash of a filing that is approved or abandoned. */
export async function shownOfFiling(
  db: Queryable,
  action: 'approve' | 'abandon',
  filing: Pick<FilingRecord, 'filingId' | 'contentHash' | 'declaration' | 'channel' | 'madeBy'>,
): Promise<string> {
  const { filingId, contentHash, declaration, channel, madeBy } = filing;
  const { rows } = await db.query<{ row: number; besides: string[] | null; reason: string }>(
    `SELECT source_row AS row, permit_besides AS besides, permit_reason AS reason FROM filing_rows
      WHERE filing_id = $1 AND permit_reason IS NOT NULL ORDER BY position`,
    [filingId],
  );
  const permits = rows.map(({ row, besides, reason }) => [row, besides, reason]);
  return hashOf([action, filingId, contentHash, declaration, channel, madeBy, permits]);
}

/** The hash of a word about a send: the attempt with the mark that was shown, or the request, and what it names. */
export function shownOfSend(word: Omit<Word, 'wordId' | 'by' | 'grantId' | 'isGrantVoid' | 'note' | 'at'>): string {
  const { filingId, kind, attemptId, markedAt, requestId, sourceRows, certificates, notOurs, unseen } = word;
  const named = certificates.map(({ row, eBRCNumber }) => [row, eBRCNumber]);
  const send = [attemptId, markedAt?.toISOString() ?? null, requestId, sourceRows];
  return hashOf(['resolve', filingId, kind, ...send, named, notOurs, unseen]);
}

export const shownPolicy = (exporterId: string, approval: 'required' | 'off'): string =>
  hashOf(['policy', exporterId, approval]);
