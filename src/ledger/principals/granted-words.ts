/** The grants behind what persons said: where a second person is asked for, only principals count. */
import { NEEDS_TOKEN, personKey } from '../../domain/principal';
import { needFiling, type FilingRecord } from '../filings/filings';
import type { Queryable } from '../pool';
import { judgeWord, readWord, standingWords, type Word } from '../submissions/words';
import { checkGrant, type Granted } from './grants';
import { createHash } from 'node:crypto';
import type { FileInput } from '../../domain/contracts';

export interface Support {
  others: Word[];
  /** A second person has to be a principal, and this one is none. */
  isClaim: boolean;
}

/**
 * Checks a word's grant and finds the same words of others; of principals alone where the policy asks for approvals.
 * @returns why its own grant does not hold, if so
 */
export async function findSupport(
  client: Queryable,
  word: Word,
  { singlePerson }: { singlePerson: boolean },
): Promise<Support | string> {
  const { exporterId, required } = await policyOf(client, word.filingId);
  const own = await grantOfSend(client, word, exporterId);
  if (typeof own === 'string') return own;
  const principals = required || (own?.approvalRequired ?? false);
  const others: Word[] = [];
  for (const other of await standingWords(client, word, { singlePerson, principals })) {
    const grant = await grantOfSend(client, other, exporterId);
    if (typeof grant !== 'string') others.push(other);
  }
  const isClaim = principals && own === null;
  return { others: isClaim ? [] : others, isClaim };
}

const VOID = 'its grant is void, because it was used, is older than a day or is for something else: do it again';

async function grantOfSend(client: Queryable, word: Word, exporterId: string): Promise<Granted | string | null> {
  const { grantId, filingId } = word;
  if (word.isGrantVoid) return VOID;
  if (grantId === null) return null;
  const action = word.kind === 'permit' ? 'permit' : 'resolve';
  return checkGrant(client, grantId, { action, exporterId, filingId, shown: shownOfSend(word) });
}

async function policyOf(client: Queryable, filingId: string): Promise<{ exporterId: string; required: boolean }> {
  const { rows } = await client.query<{ exporterId: string; required: boolean }>(
    `SELECT exporter_id AS "exporterId", e.requires_approval AS required
       FROM filings f JOIN exporters e USING (exporter_id) WHERE filing_id = $1`,
    [filingId],
  );
  return rows[0] ?? { exporterId: '', required: true };
}

/** Judges a word that approves a filing or gives it up, by the grant behind it. Under the filing's lock. */
export async function judgeByGrant(
  client: Queryable,
  { wordId, filingId, action, at }: { wordId: string; filingId: string; action: 'approve' | 'abandon'; at: Date },
): Promise<{
  /** The name of who said it: the principal's, or a claim. */
  by: string;
  /** Why it is not carried out; its word is judged so. */
  refused: string | null;
}> {
  const word = await readWord(client, { filingId, wordId });
  if (word?.kind !== action) {
    return { by: 'unknown', refused: 'the ledger does not have the statement' };
  }
  const refused = await whyNot(client, word, action);
  await judgeWord(client, {
    filingId,
    wordId,
    outcome: refused === null ? 'carried_out' : 'refused',
    why: refused,
    at,
  });
  return { by: word.by, refused };
}

async function whyNot(
  client: Queryable,
  word: NonNullable<Awaited<ReturnType<typeof readWord>>>,
  action: 'approve' | 'abandon',
): Promise<string | null> {
  if (word.judged) return 'why' in word.judged ? word.judged.why : 'it was answered already';
  if (word.isGrantVoid) return VOID;
  // Whoever gives up alone needs no second person.
  if (word.grantId === null) return action === 'abandon' ? null : NEEDS_TOKEN;
  const { filingId } = word;
  const filing = await needFiling(client, filingId);
  const { exporterId } = filing;
  const shown = await shownOfFiling(client, action, filing);
  const granted = await checkGrant(client, word.grantId, { action, exporterId, filingId, shown });
  if (typeof granted === 'string') return granted;
  // A name, in the form in which names are compared, is one principal for ever.
  const isMaker = personKey(granted.by) === personKey(filing.madeBy);
  if (action === 'abandon') {
    return isMaker || granted.roles.includes('checker') ? null : `${granted.by} may give up its own filings alone`;
  }
  if (isMaker) return `${granted.by} made this filing; somebody else has to approve it`;
  if (granted.isSystem) return `${granted.by} is a system: a person has to approve`;
  return granted.approvalRequired && filing.grantId === null
    ? 'the policy of the exporter asks for approval, and no principal made this filing: file it again as a principal'
    : null;
}

const hashOf = (parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** The hash of what is to be filed: content (exporter, rows, declaration), name, channel and permits. */
export function shownToFile(
  { channel = 'auto', n = 1, corrects, approval = false }: FileInput,
  more: { contentHash: string; reference: string; permitted: FileInput['allowDuplicate'] },
): string {
  const permits = (more.permitted ?? []).map(({ row, besides = null, reason }) => [row, besides, reason]);
  return hashOf(['file', more.contentHash, more.reference, n, corrects ?? null, channel, approval, permits]);
}

/** The hash of a filing that waits for approval, or is given up. */
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

/** What a word says of a send: the attempt at the mark that was shown, or the request, and the certificates named. */
export type WordAboutSend = Pick<
  Word,
  'filingId' | 'kind' | 'attemptId' | 'requestId' | 'sourceRows' | 'certificates' | 'notOurs' | 'unseen'
> & { markedAt: Date | null };

export function shownOfSend(said: WordAboutSend): string {
  const { filingId, kind, attemptId, markedAt, requestId, sourceRows, certificates, notOurs, unseen } = said;
  const named = certificates.map(({ row, eBRCNumber }) => [row, eBRCNumber]);
  const send = [attemptId, markedAt?.toISOString() ?? null, requestId, sourceRows];
  return hashOf(['resolve', filingId, kind, ...send, named, notOurs, unseen]);
}

export const shownPolicy = (exporterId: string, approval: 'required' | 'off'): string =>
  hashOf(['policy', exporterId, approval]);
