/** The send gate: it sets the mark under which the first byte may be written, and takes the next send number. */
import { NOT_FILED, partsOfAttemptId } from '../../domain/filing/attempt';
import { certificatesAgree } from '../../domain/filing/questions';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';
import { holderBeside } from '../rows/live-mappings';
import { absenceToConfirm } from './absence';
import { lockAttempts } from './attempts';
import { writeVerdict } from './verdict';

/** Nothing may be written to the service; the caller must read the attempt before it does anything else. */
const refused = (
  why: 'gone' | 'closed' | 'ended' | 'unapproved' | 'rows' | 'other_attempt' | 'unchecked' | 'look',
  reason: string,
) => ({ marked: false as const, why, reason });
export type Mark = { marked: true; sendNumber: number } | ReturnType<typeof refused>;

/** Advisory lock, shared by marks and exclusive for an import of sends, which changes what marks are decided by. */
export const MARK_LOCK = 4_203_002;

/**
 * Marks an open attempt as being sent, and its rows as submitted, if all conditions of "Send" in docs/protocol.md hold.
 * A refusal changes nothing. The commit is synchronous, whatever the database's default.
 */
export async function markSending(
  client: Queryable,
  args: {
    attemptId: string;
    sender: string;
    payloadHash: string;
    /** The settle window and HTTP time-out of this process; whoever judges the attempt uses no smaller ones. */
    settleMs: number;
    timeoutMs: number;
    at: Date;
  },
): Promise<Mark> {
  await client.query(`SELECT set_config('synchronous_commit', 'on', true), pg_advisory_xact_lock_shared($1)`, [
    MARK_LOCK,
  ]);
  const { attemptId, sender, payloadHash, settleMs, timeoutMs, at } = args;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const refusal = await refusalOf(client, { attemptId, filingId, submission, at });
  if (refusal) return refusal;
  const mark = { sender, payloadHash, settleMs, timeoutMs };
  if (!(await writeVerdict(client, { attemptId, from: ['open'], verdict: 'marked', at, mark })))
    return refused('closed', 'the attempt is not open');
  const { rows } = await client.query<{ n: number }>(
    `WITH next AS (UPDATE ledger_identity SET send_number = send_number + 1 RETURNING send_number),
       sent AS (UPDATE filing_rows SET state = 'submitted', submitted_at = $3 WHERE filing_id = $4 AND submission = $5)
     INSERT INTO sends (number, attempt_id, sender) SELECT send_number, $1, $2 FROM next RETURNING number::float8 AS n`,
    [attemptId, sender, at, filingId, submission],
  );
  return { marked: true, sendNumber: rows[0]?.n ?? NaN };
}

interface Asked {
  attemptId: string;
  filingId: string;
  submission: number;
  at: Date;
}

async function refusalOf(client: Queryable, asked: Asked) {
  const { attemptId, filingId, submission } = asked;
  const filing = await lockFiling(client, filingId);
  if (!filing) return refused('gone', `filing ${filingId} is not in this ledger`);
  const attempts = await lockAttempts(client, filingId, submission);
  const attempt = attempts.find((each) => each.attemptId === attemptId);
  if (!attempt) return refused('gone', `attempt ${attemptId} is not in this ledger`);
  if (filing.ended) return refused('ended', `its filing has ended as ${filing.state}`);
  if (filing.unapproved) return refused('unapproved', 'nobody has approved its filing');
  if (attempt.verdict !== 'open')
    return refused('closed', `the attempt is ${attempt.verdict}${attempt.reason ? ` (${attempt.reason})` : ''}`);
  const other = attempts.find((each) => each !== attempt && !NOT_FILED.includes(each.verdict));
  if (other) return refused('other_attempt', `attempt ${other.attemptId} of the same submission is ${other.verdict}`);
  return (await rowsRefusal(client, asked)) ?? absenceRefusal(client, asked);
}

async function rowsRefusal(client: Queryable, { filingId, submission }: Asked) {
  const { rows } = await client.query<{ live: boolean; state: string; checked: boolean }>(
    'SELECT live, state, checked FROM filing_rows WHERE filing_id = $1 AND submission = $2 FOR UPDATE',
    [filingId, submission],
  );
  const gone = rows.filter(({ live, state }) => !live || state !== 'planned');
  if (rows.length === 0 || gone.length > 0) {
    const states = [...new Set(gone.map(({ state }) => state))].join(', ') || 'gone';
    return refused('rows', `${gone.length} of its ${rows.length} rows are not planned any more (${states})`);
  }
  const holder = await holderBeside(client, filingId, submission);
  if (holder !== null) return refused('rows', `filing ${holder} holds a mapping of it too`);
  if (rows.every(({ checked }) => checked)) return null;
  return refused('unchecked', 'the balances were not checked since the last attempt');
}

async function absenceRefusal(client: Queryable, { filingId, submission, at }: Asked) {
  const open = await absenceToConfirm(client, { filingId, submission, at });
  if (open === null) return null;
  return refused(
    'look',
    open.agreeing.length > 0
      ? `${certificatesAgree(open.agreeing)} with rows of it that were released as not filed`
      : 'rows of it were released as not filed, and no complete look at the certificates came after that',
  );
}
