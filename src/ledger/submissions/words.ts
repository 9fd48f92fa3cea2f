/** What persons said about a filing: append-only, and every judgement of a word is a row of its own. */
import type { AbandonArgs, ApproveArgs, ResolveArgs } from '../../domain/update-contracts';
import { type Carried, SECOND_PERSON } from '../../domain/filing/questions';
import { personKey } from '../../domain/principal';
import type { Queryable } from '../pool';
import { addEvent } from '../filings/filing-notes';
import { closeQuestion } from '../questions/questions';
import { VALID_FOR } from '../principals/grants';

/** What persons requested and no run has carried out yet, each with its word. */
export interface OpenWords {
  approve?: ApproveArgs & { wordId: string };
  resolve?: ResolveArgs & { wordId: string };
  abandon?: AbandonArgs & { wordId: string };
}

export type WordOutcome = 'stands' | 'carried_out' | 'refused' | 'withdrawn';

export interface Word {
  wordId: string;
  filingId: string;
  kind: 'approve' | 'abandon' | 'filed' | 'not_filed' | 'permit';
  attemptId: string | null;
  markedAt: Date | null;
  requestId: string | null;
  sourceRows: number[] | null;
  certificates: { row: number; eBRCNumber: string }[];
  notOurs: string[];
  unseen: boolean;
  by: string;
  /** The grant of the principal who said it; null: `by` is a claim. */
  grantId: string | null;
  /** The grant that it names is not valid, so it is carried out neither as a principal's word nor as a claim. */
  isGrantVoid: boolean;
  note: string | null;
  at: Date;
}

export type NewWord = Omit<Word, 'wordId' | 'markedAt' | 'grantId' | 'isGrantVoid'> & {
  grantId?: string | null;
  /** The update that says it, with its content, so that a repeated update records it once. */
  step: string;
};

const COLUMNS = `word_id AS "wordId", filing_id AS "filingId", kind, attempt_id AS "attemptId", marked_at AS "markedAt",
  request_id AS "requestId", source_rows AS "sourceRows", certificates, not_ours AS "notOurs", unseen, said_by AS by,
  grant_id AS "grantId", void_grant IS NOT NULL AS "isGrantVoid", note, said_at AS at`;

/**
 * Records what a person said, with the present mark of the attempt.
 * @returns its id; empty if the ledger does not hold the filing, which the run learns with its next step
 */
export async function recordWord(db: Queryable, word: NewWord): Promise<string> {
  const { filingId, kind, attemptId, requestId, sourceRows, notOurs, unseen, by, note, at, step, grantId } = word;
  const about = [attemptId, requestId, sourceRows, JSON.stringify(word.certificates), notOurs, unseen];
  const { rows } = await db.query<{ id: string }>(
    `WITH granted AS (
       SELECT grant_id, granted_at, p.name, p.name_key FROM grants g JOIN principals p USING (principal_id)
        WHERE grant_id = $14 AND filing_id = $1 AND granted_at > now() - ${VALID_FOR}
          AND NOT EXISTS (SELECT FROM words w WHERE w.grant_id = g.grant_id)
     )
     INSERT INTO words (filing_id, kind, attempt_id, marked_at, request_id, source_rows, certificates, not_ours, unseen, said_by,
       person_key, note, said_at, step, grant_id, void_grant)
     SELECT f.filing_id, $2, $3, (SELECT marked_at FROM attempts WHERE attempt_id = $3), $4, $5, $6, $7, $8, coalesce(g.name, $9),
              coalesce(g.name_key, $10), $11, least($12, g.granted_at), $13, g.grant_id, CASE WHEN g.grant_id IS NULL THEN left($14::text, 100) END
       FROM filings f LEFT JOIN granted g ON true WHERE f.filing_id = $1
     ON CONFLICT (filing_id, step) DO NOTHING RETURNING word_id AS id`,
    [filingId, kind, ...about, by, personKey(by), note, at, step, grantId],
  );
  // A separate statement, because an INSERT that waited for another try of the same word does not see that word.
  const recorded = rows[0] ?? (await wordOfStep(db, filingId, step));
  return recorded?.id ?? '';
}

async function wordOfStep(db: Queryable, filingId: string, step: string) {
  const sql = 'SELECT word_id AS id FROM words WHERE filing_id = $1 AND step = $2';
  return (await db.query<{ id: string }>(sql, [filingId, step])).rows[0];
}

/** Identifies a word. After a restore another filing's word may have the same number. */
export interface WordOf {
  filingId: string;
  wordId: string;
}

/** Records a judgement of a word; a final one only once. `why` is the {@link Carried} as JSON if it was carried out. */
export async function judgeWord(
  db: Queryable,
  { filingId, wordId, outcome, why = null, at }: WordOf & { outcome: WordOutcome; why?: string | null; at: Date },
): Promise<void> {
  if (wordId === '') return;
  await db.query(
    `INSERT INTO word_judgements (word_id, outcome, why, judged_at)
     SELECT word_id, $3, $4, $5 FROM words w WHERE word_id = $1 AND filing_id = $2
        AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id AND outcome <> 'stands')
     ON CONFLICT DO NOTHING`,
    [wordId, filingId, outcome, why, at],
  );
}

/**
 * Withdraws a person's last word that was not carried out, and its repetitions. With the same `why` again, no other.
 * @param isClaim `by` is only a claim: a principal's word can be withdrawn by that principal alone
 * @returns the kind of the withdrawn word; null: there is none
 */
export async function withdrawWord(
  client: Queryable,
  { filingId, by, isClaim, why, at }: { filingId: string; by: string; isClaim: boolean; why: string; at: Date },
): Promise<Word['kind'] | null> {
  const { rows } = await client.query<{ wordId: string; kind: Word['kind']; withdrawn: string | null; said: object }>(
    `SELECT w.word_id AS "wordId", kind, j.why AS withdrawn,
            to_jsonb(w) - '{word_id,said_by,note,said_at,step,grant_id,void_grant}'::text[] AS said
       FROM words w LEFT JOIN word_judgements j ON j.word_id = w.word_id AND j.outcome = 'withdrawn'
      WHERE filing_id = $1 AND person_key = $2 AND kind IN ('filed', 'not_filed', 'permit') AND (grant_id IS NULL OR NOT $3)
        AND NOT EXISTS (SELECT FROM word_judgements f WHERE f.word_id = w.word_id AND f.outcome IN ('carried_out', 'refused'))
      ORDER BY w.word_id DESC`,
    [filingId, personKey(by), isClaim],
  );
  const [newest] = rows;
  if (newest?.withdrawn === why) return newest.kind;
  const open = rows.filter(({ withdrawn }) => withdrawn === null);
  const [last] = open;
  const same = open.filter(({ said }) => JSON.stringify(said) === JSON.stringify(last?.said));
  for (const { wordId } of same) await judgeWord(client, { filingId, wordId, outcome: 'withdrawn', why, at });
  if (!last) return null;
  await closeQuestion(client, { filingId, kind: SECOND_PERSON, at });
  await addEvent(client, { filingId, at, who: by, kind: 'withdrawn', text: `${last.kind}: ${why}` });
  return last.kind;
}

export async function readWord(
  db: Queryable,
  { filingId, wordId }: WordOf,
): Promise<(Word & { judged: Carried | null }) | null> {
  // The ledger did not hold the filing, so nothing was recorded.
  if (wordId === '') return null;
  const { rows } = await db.query<Word & { outcome: WordOutcome | null; why: string | null }>(
    `SELECT ${COLUMNS}, j.outcome, j.why FROM words w LEFT JOIN LATERAL (
       SELECT outcome, why FROM word_judgements j WHERE j.word_id = w.word_id ORDER BY outcome = 'stands' LIMIT 1) AS j ON true
      WHERE w.word_id = $1 AND w.filing_id = $2`,
    [wordId, filingId],
  );
  const [found] = rows;
  if (!found) return null;
  const { outcome, why, ...word } = found;
  return { ...word, judged: outcome && carriedOf(outcome, why) };
}

function carriedOf(outcome: WordOutcome, why: string | null): Carried {
  if (outcome === 'carried_out' && why !== null) return JSON.parse(why) as Carried;
  return { outcome: outcome === 'stands' ? 'stands' : 'refused', why: why ?? 'it was answered already' };
}

/**
 * The words of other persons that say the same and still stand. `singlePerson`: the person's own word counts too if it
 * is a day older. `principals`: only words of principals count.
 */
export async function standingWords(
  db: Queryable,
  word: Word,
  { singlePerson, principals }: { singlePerson: boolean; principals: boolean },
): Promise<Word[]> {
  const { filingId, kind, wordId, attemptId, markedAt, requestId, sourceRows, by, at } = word;
  const subject = [attemptId, markedAt, requestId, sourceRows];
  const { rows } = await db.query<Word>(
    `SELECT ${COLUMNS} FROM words w
      WHERE filing_id = $1 AND kind = $2 AND word_id <> $3 AND attempt_id IS NOT DISTINCT FROM $4
        AND marked_at IS NOT DISTINCT FROM $5 AND request_id IS NOT DISTINCT FROM $6
        AND (source_rows <@ $7::int[] AND source_rows @> $7::int[] OR (source_rows IS NULL AND $7::int[] IS NULL))
        AND (grant_id IS NOT NULL OR NOT $11)
        AND (person_key <> $8 OR ($9 AND said_at <= $10::timestamptz - interval '1 day')) AND person_key <> ''
        AND EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id AND outcome = 'stands')
        AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id AND outcome <> 'stands')
      ORDER BY word_id`,
    [filingId, kind, wordId, ...subject, personKey(by), singlePerson && !principals, at, principals],
  );
  return rows;
}

/** SQL: the words of a filing that have no judgement yet, as jsonb. */
export const unjudgedWords = (filing: string): string =>
  `(SELECT coalesce(jsonb_agg(to_jsonb(said) || jsonb_build_object('wordId', said."wordId"::text) ORDER BY said."wordId"), '[]')
      FROM (SELECT ${COLUMNS} FROM words w WHERE w.filing_id = ${filing}
        AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id)) AS said)`;

/** The newest request of each kind among these words. */
export function openWords(words: readonly Omit<Word, 'markedAt' | 'at'>[]): OpenWords {
  const open: OpenWords = {};
  for (const { kind, wordId, by, note, attemptId, requestId, sourceRows, ...send } of words) {
    if (kind === 'approve') open.approve = { wordId, by, ...(note !== null && { note }) };
    else if (kind === 'abandon') open.abandon = { wordId, by, note: note ?? '' };
    else if (kind !== 'permit') {
      const { certificates, notOurs, unseen } = send;
      open.resolve = {
        ...{ wordId, by, note: note ?? '', certificates, notOurs, unseen },
        as: kind === 'filed' ? 'filed' : 'not-filed',
        ...(attemptId !== null && { attemptId }),
        ...(requestId !== null && { requestId }),
        ...(sourceRows !== null && { rows: sourceRows }),
      };
    }
  }
  return open;
}

/** Refuses open words about something that the filing is past, so that they do not answer its next question. */
export async function closeOpenWords(
  db: Queryable,
  { filingId, kinds, why, at }: { filingId: string; kinds: readonly Word['kind'][]; why: string; at: Date },
): Promise<void> {
  await db.query(
    `INSERT INTO word_judgements (word_id, outcome, why, judged_at)
     SELECT word_id, 'refused', $3, $4 FROM words w WHERE filing_id = $1 AND kind = ANY($2)
        AND NOT EXISTS (SELECT FROM word_judgements j WHERE j.word_id = w.word_id) ON CONFLICT DO NOTHING`,
    [filingId, kinds, why, at],
  );
}
