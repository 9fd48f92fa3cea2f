/** The sender's own result: the verdict that it proves, and what follows for the rows. */
import { speaksOfDuplicate } from '../../domain/filing/evidence';
import { mayBeFiled, type Verdict } from '../../domain/filing/states';
import { verdictOf } from '../../domain/filing/verdicts';
import { sameId } from '../../domain/identity';
import type { Mode } from '../../domain/names';
import type { Finding } from '../../domain/rules/finding';
import { errorAt, fieldOfAuthority } from '../../domain/rules/finding';
import { lockFiling, lockIrmsOf, FilingMissing, type LockedFiling } from '../filings/lock';
import { addEvent, moveFiling } from '../filings/move';
import { openFinding } from '../findings';
import type { Queryable } from '../pool';
import { holdAgain, readAttempts, writeVerdict, type StoredAnswer } from './attempts';

/**
 * Stores the sender's own result, whatever the verdict is by then: an answer is never lost. An answer of an attempt or
 * a filing that the ledger lacks is a finding: the ledger went back. Requires a transaction.
 * @returns whether it came late: its run has gone on without it, or has ended
 */
export async function storeAnswer(
  client: Queryable,
  args: { filingId: string; mode: Mode; n: number; sender: string; answer: StoredAnswer },
): Promise<boolean> {
  const { filingId, mode, n, sender, answer } = args;
  await lockIrmsOf(client, filingId);
  const filing = await lockFiling(client, filingId).catch((error: unknown) => {
    if (error instanceof FilingMissing) return null;
    throw error;
  });
  const attempts = filing ? await readAttempts(client, filingId) : [];
  const attempt = attempts.find(({ number }) => number === n);
  if (!filing || !attempt) {
    await noteLost(client, { filingId, mode, n, answer, filing });
    return true;
  }
  const taken = answer.requestId !== null && (await requestTaken(client, filing, n, answer.requestId));
  const request = taken ? null : answer.requestId;
  // The service knows its request better than the person who named one: what that one came to is no longer of it.
  const renamed = request !== null && attempt.requestId !== null && !sameId(request, attempt.requestId);
  await client.query(
    `UPDATE attempts SET answer = coalesce(answer, $3::jsonb), answer_status = coalesce(answer_status, $4),
        answered_at = coalesce(answered_at, clock_timestamp()), request_id = coalesce($5, request_id),
        request_from = CASE WHEN $5::text IS NOT NULL THEN 'service' ELSE request_from END,
        dgft_ack_id = coalesce(dgft_ack_id, $6), ack_status = coalesce(ack_status, $7)
        ${renamed ? ', record = NULL, record_at = NULL, polled_at = NULL, denied_since = NULL, ended_at = NULL' : ''}
      WHERE filing_id = $1 AND number = $2`,
    [filingId, n, JSON.stringify(answer), answer.status, request, answer.dgftAckId, answer.ackStatus],
  );
  const proven = verdictOf({ ...answer, requestId: request }, await isAfterNotFiled(client, filing, n));
  const reason = taken ? `its request ${answer.requestId} is another attempt's` : reasonOf(answer);
  if (attempt.verdict === 'sending' || attempt.verdict === 'unknown') {
    // A word that nothing was written counts for the sender's own attempt alone.
    if (proven !== 'not_sent' || attempt.sender === sender)
      await judge(client, filing, { n, verdict: proven, reason, answer });
  } else if (attempt.verdict !== 'refused' && (attempt.verdict !== 'accepted' || (await hasReleased(client, filingId))))
    await learnLate(client, filing, n);
  return attempt.verdict !== 'sending';
}

/** Gives an attempt that may have been filed its verdict, with what follows for its rows. */
async function judge(
  client: Queryable,
  filing: LockedFiling,
  { n, verdict, reason, answer }: { n: number; verdict: Verdict; reason: string; answer: StoredAnswer },
): Promise<void> {
  const { filingId } = filing;
  await writeVerdict(client, filingId, n, verdict, reason);
  if (verdict === 'not_sent') {
    await client.query(
      `UPDATE filing_rows SET state = 'planned', sent_at = CASE WHEN $2 THEN sent_at END WHERE filing_id = $1 AND state = 'sent'`,
      [filingId, n > 1 && (await wasSentBefore(client, filingId, n))],
    );
    await client.query('UPDATE filings SET reserved_at = NULL WHERE filing_id = $1', [filingId]);
  }
  if (verdict === 'refused') {
    await client.query(
      `UPDATE filing_rows SET state = 'released', freed_at = clock_timestamp(), settled_at = clock_timestamp() WHERE filing_id = $1`,
      [filingId],
    );
    const errors = await refusalFindings(client, filingId, answer);
    await client.query('UPDATE filings SET errors = $2 WHERE filing_id = $1', [filingId, JSON.stringify(errors)]);
  }
  await addEvent(client, filing, { kind: verdict, text: textOf(n, verdict, reason, answer) });
  if (verdict !== 'not_sent' && verdict !== 'refused') return;
  // What was learnt of an earlier attempt while this one was in doubt counts now that it is none.
  for (const { number, verdict: earlier } of await readAttempts(client, filingId))
    if (number !== n && earlier === 'not_filed') await learnLate(client, filing, number);
}

/**
 * A late answer of an attempt that was said not to be filed: accepted, or words that may mean that it was. Its rows are
 * held again, and the filing goes on. Beside another attempt in doubt it stays stored until that one is none.
 */
async function learnLate(client: Queryable, filing: LockedFiling, n: number): Promise<void> {
  const { filingId, mode, iec, exporterId } = filing;
  const { rows } = await client.query<{ request: string | null; answer: StoredAnswer | null }>(
    'SELECT request_id AS request, answer FROM attempts WHERE filing_id = $1 AND number = $2',
    [filingId, n],
  );
  const { request = null, answer = null } = rows[0] ?? {};
  if (request === null && !answer?.texts.some(speaksOfDuplicate)) return;
  const what = request === null ? 'was answered as a duplicate' : `was accepted as request ${request}`;
  const other = (await readAttempts(client, filingId)).find((each) => each.number !== n && mayBeFiled(each));
  if (other) {
    const text = `Attempt ${n} ${what} after all, and attempt ${other.number} may have been filed too. Compare its certificates with the portal.`;
    const about = { mode, iec, exporterId, filingId, text };
    await openFinding(client, { ...about, kind: 'accepted_twice', subject: `${filingId}/${n}` });
    return;
  }
  const verdict = request === null ? 'unknown' : 'accepted';
  await writeVerdict(client, filingId, n, verdict, 'its answer came late');
  await holdAgain(client, filing);
  const event = { kind: `${verdict}_late`, text: `attempt ${n} ${what} after all` };
  const state = request === null ? 'outcome_unknown' : 'processing';
  await moveFiling(client, filing, { state, attention: null, asked: false, event });
}

/** Whether rows of an accepted attempt were released: persons said that they were not filed with the others. */
async function hasReleased(client: Queryable, filingId: string): Promise<boolean> {
  const released = `SELECT FROM filing_rows WHERE filing_id = $1 AND state = 'released' LIMIT 1`;
  return ((await client.query(released, [filingId])).rowCount ?? 0) > 0;
}

/** Whether an earlier attempt, of this filing or one that it corrects, was said not to be filed. */
async function isAfterNotFiled(client: Queryable, filing: LockedFiling, n: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM attempts a JOIN filings f USING (filing_id) WHERE f.mode = $1 AND f.reference = $2 AND a.verdict = 'not_filed'
        AND (f.n < $3 OR (f.n = $3 AND a.number < $4)) LIMIT 1`,
    [filing.mode, filing.reference, filing.n, n],
  );
  return (rowCount ?? 0) > 0;
}

async function noteLost(
  client: Queryable,
  args: { filingId: string; mode: Mode; n: number; answer: StoredAnswer; filing: LockedFiling | null },
): Promise<void> {
  const { filingId, mode, n, answer, filing } = args;
  const text = `The service answered attempt ${n} of filing ${filingId}, which the ledger lacks: it went back. See \`ebrc ledger status\`.`;
  await openFinding(client, {
    ...{ mode, iec: filing?.iec ?? null, exporterId: filing?.exporterId ?? null, filingId, text },
    ...{ kind: 'ledger_went_back', subject: `answer/${filingId}/${n}`, theirs: answer },
  });
}

async function requestTaken(client: Queryable, filing: LockedFiling, n: number, requestId: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM attempts WHERE mode = $1 AND exporter_id = $2 AND lower(request_id) = lower($3)
        AND NOT (filing_id = $4 AND number = $5)`,
    [filing.mode, filing.exporterId, requestId, filing.filingId, n],
  );
  return (rowCount ?? 0) > 0;
}

/** Whether an earlier attempt may have carried the rows, so that they count as sent before. */
async function wasSentBefore(client: Queryable, filingId: string, n: number): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT FROM attempts WHERE filing_id = $1 AND number < $2 AND verdict <> 'not_sent' LIMIT 1`,
    [filingId, n],
  );
  return (rowCount ?? 0) > 0;
}

/** Why: an outage (no answer, 5xx) or the kind of the answer. */
function reasonOf({ kind, status }: StoredAnswer): string {
  if (kind !== 'outcome_unknown') return kind;
  if (status === null) return 'no_answer';
  return status >= 500 ? 'server_error' : `an answer with status ${status} that proves nothing`;
}

function textOf(n: number, verdict: Verdict, reason: string, { requestId, message }: StoredAnswer): string {
  if (verdict === 'accepted') return `attempt ${n} was accepted as request ${requestId}`;
  const said = message === null ? '' : `: ${message}`;
  if (verdict === 'refused') return `the service refused attempt ${n}${said}`;
  if (verdict === 'not_sent') return `attempt ${n} was not sent (${reason})`;
  return `the outcome of attempt ${n} is unknown (${reason})${said}`;
}

/** The service's field errors as findings about the caller's rows. */
async function refusalFindings(client: Queryable, filingId: string, answer: StoredAnswer): Promise<Finding[]> {
  const { rows } = await client.query<{ row: number; serialNo: number }>(
    'SELECT source_row AS row, position + 1 AS "serialNo" FROM filing_rows WHERE filing_id = $1',
    [filingId],
  );
  // A workbook is ours: its Excel row is the serial number plus one.
  const rowOf = new Map(
    rows.map(({ row, serialNo }) => [answer.kind === 'workbook_rejected' ? serialNo + 1 : serialNo, row]),
  );
  const found = answer.fieldErrors.map(({ row, field, message }) =>
    errorAt(
      row === undefined ? null : (rowOf.get(row) ?? null),
      field ?? fieldOfAuthority(message),
      answer.kind,
      message,
    ),
  );
  return found.length > 0 ? found : [errorAt(null, null, answer.kind, answer.message ?? 'The service refused it.')];
}
