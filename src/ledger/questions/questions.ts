/** Questions: what a person has to look at. A fact opens a question and a fact closes it, so that it keeps its age. */
import { actionsOfQuestion, type Question, type QuestionView } from '../../domain/filing/questions';
import { ISO } from '../paging';
import type { Queryable } from '../pool';

/** SQL: open questions about a filing that nobody has acknowledged. */
const openQuestions = (filings: string) =>
  `FROM questions q WHERE q.filing_id = ${filings}.filing_id AND q.closed_at IS NULL AND q.acknowledged_at IS NULL`;
const OPEN_QUESTIONS = openQuestions('filings');
/** The gravest first: a workflow problem, what the filing waits for, then facts by age. */
const BY_GRAVITY = `ORDER BY q.kind <> 'workflow_problem', q.until = 'fact', q.question_id`;
/** The most questions that are listed; others are only counted. */
const SHOWN = 20;
const TEXT = "coalesce(q.text, coalesce(q.ebrc_number || ': ', '') || q.reason || '.', q.kind)";

/** SQL: whether a row of `filings` has open questions. */
export const ASKS = `EXISTS (SELECT ${OPEN_QUESTIONS})`;
/** SQL: the gravest questions in one text; null: there are none. */
export const attentionOf = (filings: string) =>
  `(SELECT string_agg(text, ' ') FROM (SELECT ${TEXT} AS text ${openQuestions(filings)} ${BY_GRAVITY} LIMIT ${SHOWN}) AS gravest)`;

export const QUESTION_COLUMNS = `${ASKS} AS "needsAttention", ${attentionOf('filings')} AS attention,
  (SELECT count(*)::int ${OPEN_QUESTIONS}) AS "questionCount",
  (SELECT ${TEXT} ${OPEN_QUESTIONS} AND (q.until = 'move' OR q.until = 'state' AND q.kind <> 'not_moving')
     AND q.kind <> 'workflow_problem' ${BY_GRAVITY} LIMIT 1) AS asks,
  (SELECT ${TEXT} ${OPEN_QUESTIONS} AND q.kind = 'not_moving' LIMIT 1) AS late`;

/** SQL: renews a question that is open already. An acknowledgement only lasts while the text stays the same. */
export const RENEWED = `ON CONFLICT (party_id, key) WHERE closed_at IS NULL DO UPDATE SET text = excluded.text,
  until = excluded.until, last_seen_at = excluded.last_seen_at,
  acknowledged_at = CASE WHEN questions.text = excluded.text THEN questions.acknowledged_at END`;

/** Opens a question about a filing, or renews the open one, which keeps its age. */
export async function askAbout(
  db: Queryable,
  args: Question & { filingId: string; key?: string; attemptId?: string | null; at: Date },
): Promise<void> {
  const { filingId, kind, text, until, key = '', attemptId = null, at } = args;
  await db.query(
    `INSERT INTO questions (mode, party_id, key, kind, exporter_id, filing_id, attempt_id, text, until, first_seen_at, last_seen_at)
     SELECT f.mode, e.party_id, $2::text || '|' || $1 || $3, $2, f.exporter_id, $1, $4, $5, $6, $7, $7
       FROM filings f JOIN exporters e USING (exporter_id) WHERE f.filing_id = $1
     ${RENEWED}`,
    [filingId, kind, key && `|${key}`, attemptId, text, until, at],
  );
}

export async function closeQuestion(
  db: Queryable,
  { filingId, kind, at }: { filingId: string; kind: string; at: Date },
): Promise<void> {
  await db.query('UPDATE questions SET closed_at = $3 WHERE filing_id = $1 AND kind = $2 AND closed_at IS NULL', [
    filingId,
    kind,
    at,
  ]);
}

export const NO_ROW_HAS = 'no row of ours has this document, date, amount and currency';

/** Detaches findings about certificates that would have been an abandoned row's, once the row is free. */
export async function detachFreed(db: Queryable, filingId: string): Promise<void> {
  await db.query(
    `UPDATE questions q SET filing_id = NULL, ours = NULL, reason = $2
      WHERE filing_id = $1 AND kind = 'theirs_not_ours' AND closed_at IS NULL AND NOT EXISTS (
        SELECT FROM certificates c JOIN filing_rows r USING (party_id, match_key)
         WHERE c.party_id = q.party_id AND c.ebrc_number = q.ebrc_number AND r.filing_id = $1 AND r.live)`,
    [filingId, NO_ROW_HAS],
  );
}

/** SQL: the gravest questions that facts ask about a filing, in one text; null: there are none. */
export const standingOf = (
  filingId: string,
) => `(SELECT string_agg(text, ' ') FROM (SELECT ${TEXT} AS text FROM questions q
  WHERE q.filing_id = ${filingId} AND q.closed_at IS NULL AND q.acknowledged_at IS NULL AND q.until = 'fact'
  ${BY_GRAVITY} LIMIT ${SHOWN}) AS gravest)`;

/** The gravest questions about some filings, by id; filings without questions are absent. */
export async function readQuestions(db: Queryable, filingIds: readonly string[]): Promise<Map<string, QuestionView[]>> {
  const { rows } = await db.query<Omit<QuestionView, 'actions'> & { filingId: string; until: Question['until'] }>(
    `SELECT of.id AS "filingId", gravest.* FROM unnest($1::text[]) AS of (id) CROSS JOIN LATERAL (
       SELECT question_id::text AS id, kind, ${TEXT} AS text, until, ${ISO('first_seen_at')} AS since,
              ${ISO('last_seen_at')} AS "lastSeenAt",
              attempt_id AS "attemptId", ebrc_number AS "eBRCNumber", source_row AS row
         FROM questions q WHERE filing_id = of.id AND closed_at IS NULL AND acknowledged_at IS NULL ${BY_GRAVITY} LIMIT ${SHOWN}) AS gravest`,
    [filingIds],
  );
  const found = new Map<string, QuestionView[]>();
  for (const { filingId, until, ...question } of rows) {
    const view = { ...question, actions: actionsOfQuestion({ kind: question.kind, until }) };
    found.set(filingId, [...(found.get(filingId) ?? []), view]);
  }
  return found;
}
