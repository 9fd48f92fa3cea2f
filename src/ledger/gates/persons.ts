/** Carries out what persons said about a send. Where one person is not enough, a second one must say the same. */
import { NEEDS_TOKEN } from '../../domain/principal';
import { partsOfAttemptId } from '../../domain/filing/attempt';
import { sameId } from '../../domain/identity';
import { type Carried, SECOND_PERSON } from '../../domain/filing/questions';
import { asSentence } from '../../domain/text';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';
import { askAbout, closeQuestion } from '../questions/questions';
import { readRows } from '../rows/filing-rows';
import { acknowledgeSubmission, addRequest, notePoll, readRequests } from '../submissions/requests';
import { findSupport } from '../principals/granted-words';
import { settleSubmission } from '../submissions/submissions';
import { judgeWord, readWord, type Word, type WordOf } from '../submissions/words';
import { certifyByPersons, judgeNamed, UNSETTLED } from './certify';
import { lockAttempts } from './attempts';
import { holdForRequest } from './release';
import { releaseAbsent, type AbsentSubject } from './release-absent';
import { closeNotOurs, confirmAbsence, refused, stands } from './two-persons';
import { isPermitted, permitBeside, positionsInDoubt } from '../rows/live-mappings';

export interface CarryOut extends WordOf {
  settleMs: number;
  singlePerson: boolean;
  at: Date;
}

/** Judges and carries out a word in one transaction. Requires the filing's lock; repeating it changes nothing. */
export async function carryOutWord(client: Queryable, args: CarryOut): Promise<Carried> {
  const word = await readWord(client, args);
  if (!word) return refused('the ledger does not have the statement');
  if (word.judged) return word.judged;
  const { carried, others } = await judge(client, word, args);
  const { filingId, at } = args;
  const second = { filingId, kind: SECOND_PERSON, at };
  if (carried.outcome === 'refused' || carried.outcome === 'stands') {
    await judgeWord(client, { ...word, outcome: carried.outcome, why: carried.why, at });
    const text = `What was said is noted: ${asSentence(carried.why)}`;
    if (carried.outcome === 'stands') await askAbout(client, { ...second, text, until: 'move' });
    return carried;
  }
  await closeQuestion(client, second);
  const why = JSON.stringify(carried);
  for (const each of [word, ...others])
    await judgeWord(client, { filingId, wordId: each.wordId, outcome: 'carried_out', why, at });
  return carried;
}

const CARRY_OUT = { filed, not_filed: notFiled, permit: permitDuplicate };

/** The outcome of a word, and the other persons' words that support it. */
async function judge(client: Queryable, word: Word, args: CarryOut): Promise<{ carried: Carried; others: Word[] }> {
  const support = await findSupport(client, word, args);
  if (typeof support === 'string') return { carried: refused(support), others: [] };
  const { others, isClaim } = support;
  if (word.kind === 'approve' || word.kind === 'abandon')
    return { carried: refused('it is not an answer about a send'), others };
  const carried = await CARRY_OUT[word.kind](client, word, others, args);
  if (carried.outcome !== 'stands' || !isClaim) return { carried, others };
  return { carried: refused(`${carried.why}; ${NEEDS_TOKEN}`), others };
}

async function notFiled(client: Queryable, word: Word, others: readonly Word[], args: CarryOut): Promise<Carried> {
  if (word.attemptId === null && word.requestId === null) return confirmAbsence(client, word, others, args);
  const named = await closeNotOurs(client, word, others, args);
  if (named !== null && named.outcome !== 'not_ours') return named;
  const carried = await absent(client, word, others, args);
  return named !== null && 'why' in carried ? named : carried;
}

async function absent(client: Queryable, word: Word, others: readonly Word[], args: CarryOut): Promise<Carried> {
  const { settleMs, at } = args;
  const subject = await subjectOf(client, word);
  if (typeof subject === 'string') return refused(subject);
  const base = { subject, settleMs, reason: `not filed, says ${word.by}: ${word.note ?? ''}`, at };
  const alone = await releaseAbsent(client, { ...base, unseen: false, notOurs: [], saidAt: word.at });
  if (alone.outcome !== 'refused') return carriedOf(alone);
  const { code, why } = alone;
  if (code !== 'look' && code !== 'agrees' && code !== 'used') return refused(why);
  const needed = NEEDED_FROM_BOTH[code];
  if ((code === 'look' && !word.unseen) || (code === 'agrees' && word.notOurs.length === 0))
    return refused(`${why}: look at the portal; two persons have to say so, with ${needed}`);
  for (const other of others) {
    const notOurs = word.notOurs.filter((number) => other.notOurs.includes(number));
    const together = await releaseAbsent(client, {
      ...base,
      unseen: word.unseen && other.unseen,
      notOurs,
      byTwo: true,
      saidAt: other.at < word.at ? other.at : word.at,
    });
    if (together.outcome !== 'refused') return carriedOf(together);
  }
  const same = needed === null ? 'look at the portal and say the same too' : `say the same too, with ${needed}`;
  return stands(`${why}: ${word.by} is the first to say so; somebody else has to ${same}`);
}

/** The options that both persons must give, by the reason why one person is not enough. */
const NEEDED_FROM_BOTH = { look: '--unseen', agrees: '--not-ours NUMBER for each of them', used: null };

const carriedOf = (absence: { outcome: 'again' } | { outcome: 'freed'; freed: number[] }): Carried =>
  absence.outcome === 'again' ? absence : { outcome: 'freed', freed: absence.freed.length };

/** The attempt or request that a word is about, or the reason why the word no longer applies. */
async function subjectOf(client: Queryable, word: Word): Promise<AbsentSubject | string> {
  if (word.requestId !== null) {
    const { rows } = await client.query<{ submission: number }>(
      'SELECT submission FROM requests WHERE filing_id = $1 AND request_id = $2',
      [word.filingId, word.requestId],
    );
    const submission = rows[0]?.submission;
    if (submission === undefined) return `request ${word.requestId} is not one of this filing`;
    const { requestId, filingId, sourceRows } = word;
    const named = sourceRows && (await readRows(client, filingId)).filter((row) => sourceRows.includes(row.sourceRow));
    return { requestId, filingId, submission, ...(named && { positions: named.map(({ position }) => position) }) };
  }
  if (word.attemptId === null) return 'it names neither an attempt nor a request';
  if (partsOfAttemptId(word.attemptId).filingId !== word.filingId)
    return `attempt ${word.attemptId} is not one of this filing`;
  const attempt = await readAttempt(client, word.attemptId);
  // After a restore the same attempt can be marked a second time.
  if (attempt && (attempt.markedAt?.getTime() ?? null) !== (word.markedAt?.getTime() ?? null))
    return `attempt ${word.attemptId} was marked as sent at another time than the one that the answer is about`;
  return { attemptId: word.attemptId };
}

async function readAttempt(client: Queryable, attemptId: string) {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  return (await lockAttempts(client, filingId, submission)).find((each) => each.attemptId === attemptId);
}

async function filed(client: Queryable, word: Word, others: readonly Word[], args: CarryOut): Promise<Carried> {
  if (word.certificates.length > 0) return certified(client, word, others, args);
  const { filingId, attemptId } = word;
  const { at } = args;
  if (word.requestId === null || attemptId === null) return refused('name the request id under which it was filed');
  const { submission, filingId: ofFiling } = partsOfAttemptId(attemptId);
  if (ofFiling !== filingId) return refused(`attempt ${attemptId} is not one of this filing`);
  const attempt = await readAttempt(client, attemptId);
  if (attempt && ['open', 'unsent', 'refused'].includes(attempt.verdict))
    return refused(`attempt ${attemptId} is ${attempt.verdict}: nothing of it was sent`);
  const stated = word.requestId.trim();
  const request = (await readRequests(client, filingId, submission)).find((each) => sameId(each.requestId, stated));
  const requestId = request?.requestId ?? stated;
  // While the send is in doubt, naming the request corrects what two persons said by mistake, but not its own record.
  if (request?.state === 'not_ours' && (request.processingStatus !== null || attempt?.verdict !== 'marked'))
    return refused(`request ${requestId} was found to be another filing’s`);
  // An ended record is final: following the request again would only ask the same question.
  if (request?.state === 'ended')
    return refused(
      `request ${requestId} is known already and has ended: it has no certificate for the rows that are open. Answer --as not-filed for them, or name another request`,
    );
  const since = attempt?.markedAt ?? at;
  const holder = await addRequest(client, { filingId, submission, requestId, source: 'named', attemptId: null, since });
  if (holder) {
    const whose = holder.filingId === filingId ? `submission ${holder.submission}` : `filing ${holder.filingId}`;
    return refused(
      `request ${requestId} belongs to ${whose}: look for the request of submission ${submission} of ${filingId}`,
    );
  }
  await holdForRequest(client, { attemptId, requestId, at });
  await acknowledgeSubmission(client, filingId, submission);
  // Clears what the service said of the request before, because it is followed again.
  if (request && request.state !== 'followed') await notePoll(client, request, { statement: null, ageMs: 0, at });
  await client.query(
    `UPDATE filing_rows SET state = 'submitted' WHERE filing_id = $1 AND submission = $2 AND live AND state = 'unknown'`,
    [filingId, submission],
  );
  return { outcome: 'filed' };
}

async function certified(client: Queryable, word: Word, others: readonly Word[], { at }: CarryOut): Promise<Carried> {
  const { filingId } = word;
  const filing = await lockFiling(client, filingId);
  if (!filing) return refused('the ledger does not have the filing');
  const rows = await readRows(client, filingId);
  const unknown = word.certificates.find(({ row }) => !rows.some(({ sourceRow }) => sourceRow === row));
  if (unknown) return refused(`the filing has no row ${unknown.row}`);
  // The look before the answer may have certified every row: then no second person is needed.
  const has = (named: Word['certificates'][number]) =>
    rows.some(({ sourceRow: row, eBRCNumber }) => eBRCNumber !== null && isSame(named, { row, eBRCNumber }));
  if (rows.every(({ state }) => !UNSETTLED.includes(state)) && word.certificates.every(has)) {
    for (const submission of new Set(rows.map((row) => row.submission)))
      await settleSubmission(client, { filingId, submission, state: 'settled', at });
    return { outcome: 'filed' };
  }
  const theirs = others.flatMap(({ certificates }) => certificates);
  if (!word.certificates.every((own) => theirs.some((each) => isSame(own, each))))
    return stands(`${word.by} is the first to name these certificates; somebody else has to name the same`);
  const asked = rows.flatMap(({ position, sourceRow }) =>
    word.certificates.flatMap(({ row, eBRCNumber }) =>
      row === sourceRow ? [{ position, eBRCNumber, eBRCDate: null }] : [],
    ),
  );
  const named = await judgeNamed(client, { filingId, certificates: asked });
  const contradicted = [...named.contradictions];
  const submissions = contradicted.length > 0 ? [] : new Set(rows.map((row) => row.submission));
  for (const submission of submissions) {
    const positions = new Set(rows.flatMap((row) => (row.submission === submission ? [row.position] : [])));
    const certificates = named.certificates.filter(({ position }) => positions.has(position));
    if (certificates.length === 0) continue;
    const part = { filingId, submission, exporterId: filing.exporterId, at };
    contradicted.push(...(await certifyByPersons(client, { ...part, certificates })));
  }
  const whys = contradicted.map(({ eBRCNumber, why }) => `${eBRCNumber}: ${why}`);
  return whys.length > 0 ? refused(whys.join('; ')) : { outcome: 'filed' };
}

const isSame = (a: Word['certificates'][number], b: Word['certificates'][number]): boolean =>
  a.row === b.row && sameId(a.eBRCNumber, b.eBRCNumber);

/** Permits a duplicate beside rows in doubt. Requires the filing's lock. */
async function permitDuplicate(client: Queryable, word: Word, others: readonly Word[]): Promise<Carried> {
  const { filingId, sourceRows, by } = word;
  const rows = (await readRows(client, filingId)).filter(({ sourceRow }) => sourceRows?.includes(sourceRow));
  const inDoubt = new Set(await positionsInDoubt(client, filingId));
  const doubted = rows.filter(({ position }) => inDoubt.has(position));
  const other = sourceRows?.find((row) => !doubted.some(({ sourceRow }) => sourceRow === row));
  if (other !== undefined)
    return refused(`row ${other} of the filing is neither in doubt nor abandoned after the send`);
  if (doubted.length === 0) return refused('no row is named');
  const positions = doubted.map(({ position }) => position);
  // A repeated command, such as one whose answer was lost, must not permit a second duplicate.
  if (await isPermitted(client, filingId, positions)) return { outcome: 'permitted' };
  const { rows: marks } = await client.query<{ at: Date | null }>(
    `SELECT max(marked_at) AS at FROM attempts a WHERE filing_id = $1 AND EXISTS (SELECT FROM filing_rows r
        WHERE r.filing_id = $1 AND r.submission = a.submission AND r.position = ANY($2))`,
    [filingId, positions],
  );
  // A word from before this send does not permit a duplicate beside it.
  const sentAt = marks[0]?.at ?? null;
  if (!others.some(({ at }) => sentAt === null || at >= sentAt))
    return stands(`${by} is the first to permit it; somebody else has to permit the same rows too`);
  await permitBeside(client, { filingId, positions });
  return { outcome: 'permitted' };
}
