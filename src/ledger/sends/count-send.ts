import type pg from 'pg';
import { withConnection, type Queryable } from '../pool';
import { CONTENT_OF_SEND } from './send-record';
import { assertWhole, claimStoreOf, createOrRead, IDENTITY, markStillCounts, needIdentity, storeIdOf } from './sends';
import type { Identity, SendStore } from './sends';

/**
 * Counts a marked send before its first byte: creates its record, holds the ledger against the store, and checks that
 * the mark is there and its own.
 * @returns null when it may be written, else why not
 * @throws LedgerPutBack, SendStoreError: it may not
 */
export async function countSend(
  pool: pg.Pool,
  store: SendStore,
  send: {
    number: number;
    attemptId: string;
    sender: string;
    at: Date;
    /** This process's settle window and HTTP time-out: whoever judges the send later may have others. */
    settleMs: number;
    timeoutMs: number;
  },
): Promise<string | null> {
  const { number, attemptId, sender, at, settleMs, timeoutMs } = send;
  const storeId = await storeIdOf(store);
  return withConnection(pool, async (connection) => {
    const { content, ...identity } = await readToCount(connection, attemptId);
    const known = await claimStoreOf(connection, storeId, identity);
    const kept = await createOrRead(store, {
      version: 1,
      ledgerId: known.ledgerId,
      number,
      sender,
      void: false,
      attemptId,
      settleMs,
      timeoutMs,
      at: at.toISOString(),
      content,
    });
    if (kept?.sender !== sender || kept.void) return `send number ${number} has been taken or given up`;
    const compared = await assertWhole(connection, store, { storeId, known });
    // A number below has no record yet: the one that is there is noted by itself.
    if (number > (compared.whole?.number ?? compared.identity.seen))
      await connection.query('UPDATE sends SET counted = true WHERE number = $1 AND sender = $2', [number, sender]);
    return (await markStillCounts(connection, compared, send))
      ? null
      : 'the attempt was closed, or sends were imported, before anything was written';
  });
}

/** The ledger's identity, and what the record of a send keeps of the ledger's tables. */
export async function readToCount(db: Queryable, attemptId: string): Promise<Identity & { content: string | null }> {
  const { rows } = await db.query<Identity & { content: string | null }>(
    `SELECT ${IDENTITY}, ${CONTENT_OF_SEND} AS content FROM ledger_identity`,
    [attemptId],
  );
  return needIdentity(rows[0]);
}
