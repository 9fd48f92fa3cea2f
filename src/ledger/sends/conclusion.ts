/** Operations that need a whole ledger: writing the first byte of a send, and every conclusion about past sends. */
import type pg from 'pg';
import { lockFiling, type LockedFiling } from '../filings/filing-lock';
import { withConnection, type Connection, type Queryable } from '../pool';
import { PUT_BACK_TOGETHER } from '../gates/held-rows';
import { judgeUnsent } from '../gates/release';
import { CONTENT_OF_SEND, voidRecord } from './send-record';
import {
  assertWhole,
  claimStore,
  claimStoreOf,
  createOrRead,
  IDENTITY,
  stillCounts,
  needIdentity,
  readSend,
  storeIdOf,
  type Identity,
  type SendStore,
} from './sends';

/** The marked attempts of a filing: one, or all (null). */
interface Marks {
  filingId: string;
  attemptId: string | null;
  at: Date;
}

/** By send number: whether its record is void, so that nothing was or will be written under it. */
type Filed = ReadonlyMap<number, boolean>;

/**
 * Concludes something about a filing in one transaction, on a primary, after the ledger was compared with the store.
 * @param judged marks that get a void record first where they have none, which closes their attempts
 * @throws LedgerPutBack, SendStoreError if nothing can be concluded
 */
export async function concludeOnWholeLedger<T>(
  pool: pg.Pool,
  store: SendStore,
  { filingId, judged }: { filingId: string; judged?: Omit<Marks, 'filingId'> },
  work: (client: pg.PoolClient, filing: LockedFiling | null) => Promise<T>,
): Promise<T> {
  const storeId = await storeIdOf(store);
  return withConnection(pool, async (connection) => {
    const compared = await assertWhole(connection, store, { storeId });
    if (!judged) {
      return connection.transaction(async (client) => {
        const filing = await lockFiling(client, filingId);
        await stillCounts(client, compared);
        return work(client, filing);
      });
    }
    const marks = { ...judged, filingId };
    return closeFiled(connection, store, marks, async (client, filing, filed) => {
      await stillCounts(client, compared);
      await closeVoided(client, marks, filed);
      return work(client, filing);
    });
  });
}

/** Runs `close` under the filing's lock once every mark has its record, because comparisons would stop at a gap. */
export async function closeFiled<T>(
  connection: Connection,
  store: SendStore,
  marks: Marks,
  close: (client: pg.PoolClient, filing: LockedFiling | null, filed: Filed) => Promise<T>,
): Promise<T> {
  for (;;) {
    const filed = await fileMarks(connection, store, marks);
    const closed = await connection.transaction(async (client) => {
      const filing = await lockFiling(client, marks.filingId);
      // Marked meanwhile: repeat. This ends, because an attempt is marked once.
      if ((await readMarks(client, marks)).some(({ number }) => !filed.has(number))) return null;
      return { result: await close(client, filing, filed) };
    });
    if (closed) return closed.result;
  }
}

/** Creates a void record for marks that have none, so that the sender writes nothing if it wakes later. */
async function fileMarks(db: Queryable, store: SendStore, marks: Marks): Promise<Filed> {
  const filed = new Map<number, boolean>();
  const found = await readMarks(db, marks);
  if (found.length === 0) return filed;
  const { ledgerId, seen } = await claimStore(db, store);
  for (const mark of found) {
    const { number } = mark;
    // A record that was seen before and is gone was lost by the store, which proves nothing about the send; nor does a
    // void record that replaced it.
    const lost = mark.counted || (number <= seen && (await readSend(store, ledgerId, number)) === null);
    const record = lost ? null : await createOrRead(store, voidRecord({ ...mark, ledgerId, at: marks.at }));
    filed.set(number, record?.void ?? false);
  }
  return filed;
}

/** Closes the marked attempts whose numbers are all void, and plans their rows again. Requires a transaction. */
export async function closeVoided(client: Queryable, marks: Marks, filed: Filed): Promise<void> {
  const found = await readMarks(client, marks);
  const written = new Set(found.filter(({ number }) => !filed.get(number)).map(({ attemptId }) => attemptId));
  const reason = 'nothing was written: its send was never counted';
  for (const { attemptId } of found)
    if (!written.has(attemptId)) await judgeUnsent(client, { attemptId, proof: 'void', reason, at: marks.at });
}

/** Send numbers of marked attempts, except of a lost time: a missing record proves nothing about those. */
async function readMarks(db: Queryable, { filingId, attemptId }: Marks) {
  const { rows } = await db.query<{ number: number; sender: string; attemptId: string; counted: boolean }>(
    `SELECT s.number::float8 AS number, s.sender, attempt_id AS "attemptId", s.counted FROM attempts a JOIN sends s USING (attempt_id)
      WHERE a.filing_id = $1 AND ($2::text IS NULL OR attempt_id = $2) AND a.verdict = 'marked'
        AND a.reason IS DISTINCT FROM $3 ORDER BY s.number`,
    [filingId, attemptId, PUT_BACK_TOGETHER],
  );
  return rows;
}

/**
 * Counts a marked send before its first byte: creates its record, compares ledger and store, and checks its own mark.
 * @returns null if it may be written, else why not @throws LedgerPutBack, SendStoreError: it may not
 */
export async function countSend(
  pool: pg.Pool,
  store: SendStore,
  send: {
    number: number;
    attemptId: string;
    sender: string;
    at: Date;
    /** This process's settle window and HTTP time-out, because whoever judges the send later may have others. */
    settleMs: number;
    timeoutMs: number;
  },
): Promise<string | null> {
  const { number, attemptId, sender, at, settleMs, timeoutMs } = send;
  const storeId = await storeIdOf(store);
  return withConnection(pool, async (connection) => {
    const { content, ...identity } = await readToCount(connection, attemptId);
    const claimed = await claimStoreOf(connection, storeId, identity);
    const kept = await createOrRead(store, {
      version: 1,
      ledgerId: claimed.ledgerId,
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
    const compared = await assertWhole(connection, store, { storeId, known: claimed });
    // If a lower number has no record yet, this send's record has to be noted separately.
    if (number > (compared.whole?.number ?? compared.identity.seen))
      await connection.query('UPDATE sends SET counted = true WHERE number = $1 AND sender = $2', [number, sender]);
    return (await stillCounts(connection, compared, send))
      ? null
      : 'the attempt was closed, or sends were imported, before anything was written';
  });
}

/** The ledger's identity, and the content of a send's record. */
export async function readToCount(db: Queryable, attemptId: string): Promise<Identity & { content: string | null }> {
  const { rows } = await db.query<Identity & { content: string | null }>(
    `SELECT ${IDENTITY}, ${CONTENT_OF_SEND} AS content FROM ledger_identity`,
    [attemptId],
  );
  return needIdentity(rows[0]);
}
