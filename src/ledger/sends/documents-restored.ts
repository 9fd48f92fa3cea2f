import type pg from 'pg';
import { DAY_MS } from '../../domain/dates';
import { lockAttempts } from '../gates/attempts';
import { NOT_FILED } from '../../domain/filing/attempt';
import { PUT_BACK_TOGETHER } from '../gates/held-rows';
import { writeVerdict } from '../gates/verdict';
import { doubtAttempt, doubtRows } from '../submissions/lost-time';
import { lockFiling } from '../filings/filing-lock';
import { LOST_MOVES, writeMove } from '../filings/filing-progress';
import { withTransaction, type Queryable } from '../pool';
import { importSends, type ImportedSends } from './send-import';
import { NOBODY, voidRecord } from './send-record';
import { createOrRead, readIdentity, storeIdOf, type SendStore } from './sends';

/** How far back certificates are read if it is unknown when the ledger was copied: the widest window. */
const MAX_READ_BACK_MS = 85 * 24 * 3_600_000;

/**
 * Ledger and store were put back together: everything unsettled gets an unknown outcome, and a party's filings wait
 * until its certificates were read `waitMs` after now. May be repeated.
 */
export async function documentsRestored(
  pool: pg.Pool,
  store: SendStore,
  { at, by, waitMs }: { at: Date; by: string; waitMs: number },
): Promise<ImportedSends> {
  const storeId = await storeIdOf(store);
  // Comes first, so that no attempt is opened if this is interrupted. In a repeated call the ledger's last move is
  // younger than the copy, so the earlier day is kept. A sender's window may be longer than this process's.
  await pool.query(
    `UPDATE ledger_identity SET store_id = $4, restored_at = coalesce(restored_at, clock_timestamp()),
       certificates_after = greatest($1, $5::timestamptz + (SELECT max(settle_ms) FROM attempts) * interval '1 ms'),
       certificates_from = greatest($2::timestamptz, least(certificates_from,
         (SELECT max(t) - interval '1 day' FROM (SELECT max(marked_at) AS t FROM attempts WHERE marked_at < $3
            UNION ALL SELECT max(made_at) FROM filings WHERE made_at < $3) AS last)))`,
    [
      new Date(at.getTime() + waitMs),
      new Date(at.getTime() - MAX_READ_BACK_MS),
      new Date(at.getTime() - DAY_MS / 24),
      storeId,
      at,
    ],
  );
  // A mark without a record proves nothing here, because the copy may have been taken between the two.
  await pool.query(`UPDATE attempts SET reason = $1 WHERE verdict = 'marked' AND reason IS NULL`, [PUT_BACK_TOGETHER]);
  const result = await importSends(pool, store, { at, by, mayHaveLost: true });
  await raiseSendNumber(pool, store, at);
  // A filing may have been sent since it was made, or since the last move that the copy has, if that is later.
  const { rows } = await pool.query<{ filingId: string; since: Date }>(
    `SELECT filing_id AS "filingId", greatest(made_at, certificates_from + interval '1 day') AS since
       FROM filings, ledger_identity WHERE closed_at IS NULL ORDER BY filing_id`,
  );
  for (const { filingId, since } of rows) {
    const doubted = await withTransaction(pool, (client) => markFilingUnknown(client, { filingId, since, at, by }));
    if (doubted && !result.filings.includes(filingId)) result.filings.push(filingId);
  }
  return result;
}

/** Adds a record with the highest number: a record that is missing below it is missing for good. */
async function raiseSendNumber(pool: pg.Pool, store: SendStore, at: Date): Promise<void> {
  const { ledgerId } = await readIdentity(pool);
  const { rows } = await pool.query<{ n: number }>(
    'UPDATE ledger_identity SET send_number = send_number + 1 RETURNING send_number::float8 AS n',
  );
  const number = rows[0]?.n ?? NaN;
  await pool.query('INSERT INTO sends (number, sender) VALUES ($1, $2)', [number, NOBODY]);
  await createOrRead(store, voidRecord({ ledgerId, number, sender: NOBODY, attemptId: null, at }));
  await pool.query('UPDATE ledger_identity SET sends_seen = $1', [number]);
}

/** Marks what may have been sent of a filing since `since`. @returns whether anything is in doubt */
async function markFilingUnknown(
  client: Queryable,
  { filingId, since, at, by }: { filingId: string; since: Date; at: Date; by: string },
): Promise<boolean> {
  const filing = await lockFiling(client, filingId);
  // Drop the snapshot: the attempt may never have been sent, and a new certificate may be another lost filing's.
  const { rows: open } = await client.query<{ attemptId: string }>(
    `UPDATE attempts SET snapshot_id = NULL WHERE filing_id = $1 AND verdict = 'open' RETURNING attempt_id AS "attemptId"`,
    [filingId],
  );
  const mark = { sender: null, settleMs: null, timeoutMs: null };
  const lost = { from: ['open'], verdict: 'marked', reason: PUT_BACK_TOGETHER, at: since, mark } as const;
  for (const { attemptId } of open) await writeVerdict(client, { attemptId, ...lost });
  const { rows } = await client.query<{ submission: number }>(
    `SELECT submission FROM submissions s WHERE filing_id = $1 AND state = 'planned'
        AND EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = $1 AND r.submission = s.submission AND r.live)
        AND NOT EXISTS (SELECT FROM attempts a WHERE a.filing_id = $1 AND a.submission = s.submission AND a.verdict = 'accepted')
      ORDER BY submission`,
    [filingId],
  );
  for (const { submission } of rows) {
    const last = (await lockAttempts(client, filingId, submission)).at(-1);
    if (last && !NOT_FILED.includes(last.verdict)) continue;
    const number = (last?.number ?? 0) + 1;
    await doubtAttempt(client, { filingId, submission, number, reason: PUT_BACK_TOGETHER, at: since });
  }
  const submissions = rows.map(({ submission }) => submission);
  const doubted = await doubtRows(client, { filingId, submissions, at: since });
  if (doubted === 0) return false;
  const attention = `It is not known whether the filing was sent: ${PUT_BACK_TOGETHER}. Evidence is gathered.`;
  const event = { kind: 'documents_restored', who: by, text: PUT_BACK_TOGETHER };
  const question = { state: 'outcome_unknown' as const, attention, needsAttention: true };
  await writeMove(client, { filingId, seq: (filing?.seq ?? 0) + LOST_MOVES, ...question, at, event });
  return true;
}
