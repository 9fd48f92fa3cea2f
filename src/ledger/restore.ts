/** Brings into a ledger that went back what Temporal knows of its filings, and says that work may go on. */
import type pg from 'pg';
import { mayBeFiled } from '../domain/filing/states';
import type { Mode } from '../domain/names';
import { insertUnknown, readAttempts, sentFrom } from './attempts/attempts';
import { lockFiling, lockIrmsOf, type LockedFiling } from './filings/lock';
import { moveFiling } from './filings/move';
import { withTransaction, type Queryable } from './pool';
import { renewEpoch, WENT_BACK } from './time';

/** What Temporal knows of a filing's sends. */
export interface KnownSends {
  filingId: string;
  /** Abandoned before a send: nothing of it may have arrived. */
  abandoned: boolean;
  /** The request that its result, or a stored answer, names; null: none is known. */
  requestId: string | null;
  dgftAckId: string | null;
  /** From when on it may have been sent, epoch ms. */
  sentFromMs: number;
}

export interface RestoreSettings {
  settleAfterMs: number;
  httpTimeoutMs: number;
  overdueAfterMs: number;
}

/**
 * Gives a recorded filing the attempt that the ledger lost: accepted where its request is known, otherwise unknown. Its
 * settle time runs from now on, while what proves or contradicts it may be as old as the time of the backup.
 * @returns what was done; `there`: the ledger knows as much already
 */
export async function restoreSends(
  pool: pg.Pool,
  known: KnownSends,
  settings: RestoreSettings,
): Promise<'accepted' | 'unknown' | 'abandoned' | 'there'> {
  return withTransaction(pool, async (client) => {
    await lockIrmsOf(client, known.filingId);
    const filing = await lockFiling(client, known.filingId);
    const attempts = await readAttempts(client, known.filingId);
    const request = await freeRequest(client, filing, known.requestId);
    if (known.requestId !== null && request === null) return 'there';
    const maybe = attempts.find(mayBeFiled);
    if (known.abandoned && attempts.length === 0) return abandon(client, filing);
    if (maybe && (request === null || maybe.requestId !== null)) return 'there';
    const n = maybe?.number ?? (attempts.at(-1)?.number ?? 0) + 1;
    const { settleAfterMs: settleMs, httpTimeoutMs: timeoutMs } = settings;
    const fromMs = known.sentFromMs;
    if (!maybe) await insertUnknown(client, filing, n, { settleMs, timeoutMs, fromMs });
    // Its run inserted it, which did not know since when.
    else if (maybe.sender === null) await sentFrom(client, filing, n, fromMs);
    if (request !== null) {
      await client.query(
        `UPDATE attempts SET verdict = 'accepted', reason = 'its run in Temporal named the request', request_id = $3,
            request_from = 'service', dgft_ack_id = coalesce(dgft_ack_id, $4) WHERE filing_id = $1 AND number = $2`,
        [filing.filingId, n, request, known.dgftAckId],
      );
    }
    const text =
      request === null ? `attempt ${n} may have been sent` : `attempt ${n} was accepted as request ${request}`;
    await moveFiling(client, filing, {
      ...{ state: request === null ? 'outcome_unknown' : 'processing', attention: null, asked: false },
      dueInMs: settings.overdueAfterMs,
      event: { kind: 'restored', text: `the ledger was restored: ${text}`, always: true },
    });
    return request === null ? 'unknown' : 'accepted';
  });
}

/** The request, where no attempt has it yet. */
async function freeRequest(client: Queryable, filing: LockedFiling, request: string | null): Promise<string | null> {
  if (request === null) return null;
  const { rowCount } = await client.query(
    'SELECT FROM attempts WHERE mode = $1 AND exporter_id = $2 AND lower(request_id) = lower($3)',
    [filing.mode, filing.exporterId, request],
  );
  return rowCount === 0 ? request : null;
}

async function abandon(client: Queryable, filing: LockedFiling): Promise<'abandoned'> {
  await client.query(
    `UPDATE filing_rows SET state = 'released', settled_at = clock_timestamp() WHERE filing_id = $1 AND state = 'planned'`,
    [filing.filingId],
  );
  const event = { kind: 'restored', text: 'the ledger was restored: it had been abandoned before a send' };
  await moveFiling(client, filing, { state: 'abandoned', attention: null, asked: false, dueInMs: null, event });
  return 'abandoned';
}

/** Answers of attempts that the ledger lacks, from their findings. */
export async function answersOfFindings(db: Queryable, mode: Mode) {
  const { rows } = await db.query<{ filingId: string; requestId: string | null; dgftAckId: string | null }>(
    `SELECT filing_id AS "filingId", theirs ->> 'requestId' AS "requestId", theirs ->> 'dgftAckId' AS "dgftAckId"
       FROM findings WHERE mode = $1 AND kind = $2 AND closed_at IS NULL AND filing_id IS NOT NULL AND key LIKE $2 || '|answer/%'`,
    [mode, WENT_BACK],
  );
  return rows;
}

/**
 * Says that the ledger has what can be known, and lets work go on: with another epoch, so that every run learns of
 * it. No IEC sends before a whole reading that began a settle time from now.
 * @param healed what was done, by whom; with it the findings are closed
 */
export async function endRestore(pool: pg.Pool, mode: Mode, healed: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query(
      `UPDATE ledger SET branch = '/' || left(gen_random_uuid()::text, 8), restored_at = clock_timestamp()`,
    );
    // Readings that the backup was taken in have lost their readers, and would keep others waiting.
    await client.query(
      `UPDATE readings SET ended_at = clock_timestamp(), problem = 'the ledger was restored' WHERE mode = $1 AND ended_at IS NULL`,
      [mode],
    );
    await client.query(
      `UPDATE findings SET closed_at = clock_timestamp(), healed = $3 WHERE mode = $1 AND kind = $2 AND closed_at IS NULL`,
      [mode, WENT_BACK, healed],
    );
    await renewEpochNow(client, mode, true);
  });
}

/** Says that nothing was lost, as after a planned move. What a comparison found missing stays open. */
export async function endMove(pool: pg.Pool, mode: Mode, healed: string): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query(
      `UPDATE findings SET closed_at = clock_timestamp(), healed = $3
        WHERE mode = $1 AND kind = $2 AND closed_at IS NULL AND key = $2 || '|not-compared'`,
      [mode, WENT_BACK, healed],
    );
    await renewEpochNow(client, mode, false);
  });
}

async function renewEpochNow(client: Queryable, mode: Mode, compared: boolean): Promise<void> {
  const { rows } = await client.query<{ epoch: string; nowMs: number }>(
    `SELECT server_epoch() AS epoch, floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "nowMs"`,
  );
  const { epoch = '', nowMs = 0 } = rows[0] ?? {};
  if (!(await renewEpoch(client, mode, { epoch, comparedMs: compared ? nowMs : null })))
    throw new Error('The server of the ledger changed meanwhile. Repeat the command.');
}
