import type pg from 'pg';
import { withConnection } from '../pool';
import { contentOfSend, type SendRecord } from './send-record';
import { assertStillWhole, assertWhole, claimStore, createOrRead, type SendStore } from './sends';

/** A send that has been marked, by the process that is to write it. */
export interface MarkedSend {
  number: number;
  attemptId: string;
  sender: string;
  at: Date;
  /** This process's settle window and HTTP time-out: whoever judges the send later may have others. */
  settleMs: number;
  timeoutMs: number;
}

/**
 * Counts a marked send outside the database, before its first byte: creates its record, holds the ledger against the
 * store, and makes sure that the mark is still there, its own, and not older than an import. @returns null when it may
 * be written; else why it may not.
 * @throws LedgerPutBack, SendStoreError: then nothing may be written either
 */
export async function countSend(pool: pg.Pool, store: SendStore, send: MarkedSend): Promise<string | null> {
  const { number, attemptId, sender, at, settleMs, timeoutMs } = send;
  const { ledgerId, storeId } = await claimStore(pool, store);
  const record: SendRecord = {
    version: 1,
    ledgerId,
    number,
    sender,
    void: false,
    attemptId,
    settleMs,
    timeoutMs,
    at: at.toISOString(),
    content: await contentOfSend(pool, attemptId),
  };
  const kept = await createOrRead(store, record);
  if (kept?.sender !== sender || kept.void) return `send number ${number} has been taken or given up`;
  return withConnection(pool, async (connection) => {
    await assertStillWhole(connection, await assertWhole(connection, store, storeId));
    const { rowCount } = await connection.query(
      `SELECT FROM ledger_identity i, sends s JOIN attempts a USING (attempt_id)
        WHERE s.number = $1 AND s.sender = $2 AND s.number > i.marks_lapsed_to
          AND a.sender = $2 AND a.attempt_id = $3 AND a.verdict = 'marked' AND a.reason IS NULL`,
      [number, sender, attemptId],
    );
    return rowCount ? null : 'the attempt was closed, or sends were imported, before anything was written';
  });
}
