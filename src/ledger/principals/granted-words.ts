/** The grants behind words. Where the policy asks for a second person, only principals count. */
import { NEEDS_TOKEN, personKey } from '../../domain/principal';
import { needFiling } from '../filings/filings';
import type { Queryable } from '../pool';
import { judgeWord, readWord, standingWords, type Word } from '../submissions/words';
import { checkGrant } from './grants';
import { shownOfFiling, shownOfSend } from './shown';
import type { Carried } from '../../domain/filing/questions';

/**
 * Checks a word's grant and finds the same words of others; only of principals if the policy asks for approvals.
 * @returns the reason, if the word's own grant does not hold
 */
export async function findSupport(
  client: Queryable,
  word: Word,
  { singlePerson }: { singlePerson: boolean },
): Promise<
  | {
      others: Word[];
      /** The policy asks for principals, and this word is only a claim. */
      isClaim: boolean;
    }
  | string
> {
  const { rows } = await client.query<{ exporterId: string; required: boolean }>(
    `SELECT exporter_id AS "exporterId", e.requires_approval AS required
       FROM filings f JOIN exporters e USING (exporter_id) WHERE filing_id = $1`,
    [word.filingId],
  );
  const { exporterId, required } = rows[0] ?? { exporterId: '', required: true };
  const grant = await grantOfSend(client, word, exporterId);
  if (typeof grant === 'string') return grant;
  const principals = required || (grant?.approvalRequired ?? false);
  const others: Word[] = [];
  for (const other of await standingWords(client, word, { singlePerson, principals })) {
    if (typeof (await grantOfSend(client, other, exporterId)) !== 'string') others.push(other);
  }
  const isClaim = principals && grant === null;
  return { others: isClaim ? [] : others, isClaim };
}

const VOID = 'its grant is void, because it was used, is older than a day or is for something else: do it again';

async function grantOfSend(client: Queryable, word: Word, exporterId: string) {
  const { grantId, filingId } = word;
  if (word.isGrantVoid) return VOID;
  if (grantId === null) return null;
  const action = word.kind === 'permit' ? 'permit' : 'resolve';
  return checkGrant(client, grantId, { action, exporterId, filingId, shown: shownOfSend(word) });
}

/** Judges a word that approves or abandons a filing, by the grant behind it. Requires the filing's lock. */
export async function judgeByGrant(
  client: Queryable,
  { wordId, filingId, action, at }: { wordId: string; filingId: string; action: 'approve' | 'abandon'; at: Date },
): Promise<{
  /** The name of the person: the principal's, or a claim. */
  by: string;
  /** Why the word is not carried out, which is recorded; null: it is. */
  refused: string | null;
}> {
  const word = await readWord(client, { filingId, wordId });
  if (word?.kind !== action) return { by: 'unknown', refused: 'the ledger does not have the statement' };
  const refused = await refusalOf(client, word, action);
  const outcome = refused === null ? 'carried_out' : 'refused';
  await judgeWord(client, { filingId, wordId, outcome, why: refused, at });
  return { by: word.by, refused };
}

async function refusalOf(
  client: Queryable,
  word: Word & { judged: Carried | null },
  action: 'approve' | 'abandon',
): Promise<string | null> {
  if (word.judged) return 'why' in word.judged ? word.judged.why : 'it was answered already';
  if (word.isGrantVoid) return VOID;
  // Abandoning needs no second person, so a claim suffices.
  if (word.grantId === null) return action === 'abandon' ? null : NEEDS_TOKEN;
  const { filingId } = word;
  const filing = await needFiling(client, filingId);
  const { exporterId } = filing;
  const shown = await shownOfFiling(client, action, filing);
  const granted = await checkGrant(client, word.grantId, { action, exporterId, filingId, shown });
  if (typeof granted === 'string') return granted;
  // A name, in the form in which names are compared, belongs to one principal for ever.
  const isMaker = personKey(granted.by) === personKey(filing.madeBy);
  if (action === 'abandon') {
    return isMaker || granted.roles.includes('checker') ? null : `${granted.by} may abandon only filings of its own`;
  }
  if (isMaker) return `${granted.by} made this filing; somebody else has to approve it`;
  if (granted.isSystem) return `${granted.by} is a system: a person has to approve`;
  return granted.approvalRequired && filing.grantId === null
    ? 'the policy of the exporter asks for approval, and no principal made this filing: file it again as a principal'
    : null;
}
