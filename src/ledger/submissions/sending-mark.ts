import { partsOfAttemptId, type AttemptState, type MarkRefusal } from '../../domain/filing/attempt';
import { lockFiling } from '../filings/filing-lock';
import { holderBeside } from '../rows/live-mappings';
import type { Queryable } from '../pool';

export type Mark =
  | { marked: true; sendNumber: number }
  /** Nothing may be written to the service; read the state of the attempt before anything else is done. */
  | { marked: false; why: MarkRefusal; reason: string };

/**
 * The fence: marks an open attempt as being sent by `sender`, and its rows as submitted, and takes the ledger's next
 * send number. Refused unless all of this holds at once: the attempt is open, its filing has not ended, every row of
 * its submission is live and planned and is the only holder of its mapping, except for those that it was permitted
 * beside, and no other attempt of the submission is open, sending or accepted. Must run in a transaction, in which a
 * refusal changes nothing. The commit is synchronous even if the database's default is not.
 */
export async function markSending(
  client: Queryable,
  { attemptId, sender, payloadHash, at }: { attemptId: string; sender: string; payloadHash: string; at: Date },
): Promise<Mark> {
  await client.query('SET LOCAL synchronous_commit TO on');
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const filing = await lockFiling(client, filingId);
  const refusal = filing
    ? await refusalOf(client, { attemptId, filingId, submission, filing })
    : refused('gone', `filing ${filingId} is not in this ledger`);
  if (refusal) return refusal;
  const { rows } = await client.query<{ n: string }>(
    `WITH next AS (UPDATE ledger_identity SET send_number = send_number + 1 RETURNING send_number),
       marked AS (UPDATE attempts SET state = 'sending', sending_at = $4, payload_hash = $3, sender = $2 WHERE attempt_id = $1),
       sent AS (UPDATE filing_rows SET state = 'submitted', submitted_at = $4 WHERE filing_id = $5 AND submission = $6)
     INSERT INTO sends (number, attempt_id, sender) SELECT send_number, $1, $2 FROM next RETURNING number AS n`,
    [attemptId, sender, payloadHash, at, filingId, submission],
  );
  const sendNumber = Number(rows[0]?.n);
  return { marked: true, sendNumber };
}

async function refusalOf(
  client: Queryable,
  {
    attemptId,
    filingId,
    submission,
    filing,
  }: { attemptId: string; filingId: string; submission: number; filing: { ended: boolean; state: string } },
): Promise<Extract<Mark, { marked: false }> | null> {
  const { rows: attempts } = await client.query<{ id: string; state: AttemptState; reason: string | null }>(
    `SELECT attempt_id AS id, state, reason FROM attempts WHERE filing_id = $1 AND submission = $2
      ORDER BY number FOR UPDATE`,
    [filingId, submission],
  );
  const own = attempts.find(({ id }) => id === attemptId);
  if (!own) return refused('gone', `attempt ${attemptId} is not in this ledger`);
  if (filing.ended) return refused('ended', `its filing has ended as ${filing.state}`);
  if (own.state !== 'open')
    return refused('closed', `the attempt is ${own.state}${own.reason ? ` (${own.reason})` : ''}`);
  const other = attempts.find(({ id, state }) => id !== attemptId && state !== 'not_sent');
  if (other) return refused('other_attempt', `attempt ${other.id} of the same submission is ${other.state}`);
  const { rows } = await client.query<{ live: boolean; state: string }>(
    'SELECT live, state FROM filing_rows WHERE filing_id = $1 AND submission = $2 FOR UPDATE',
    [filingId, submission],
  );
  const gone = rows.filter(({ live, state }) => !live || state !== 'planned');
  if (rows.length > 0 && gone.length === 0) {
    const holder = await holderBeside(client, filingId, submission);
    return holder === null ? null : refused('rows', `filing ${holder} holds a mapping of it too`);
  }
  const states = [...new Set(gone.map(({ state }) => state))].join(', ') || 'gone';
  return refused('rows', `${gone.length} of its ${rows.length} rows are not planned any more (${states})`);
}

function refused(why: MarkRefusal, reason: string): Extract<Mark, { marked: false }> {
  return { marked: false, why, reason };
}
