/** What rests on a whole ledger: the first byte of a send, and whatever is concluded from what it says of the past. */
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

/** Marked attempts of a filing: one of them, or all. */
interface Marks {
  filingId: string;
  attemptId: string | null;
  at: Date;
}

/** Whether the record of a marked number is void, by its number: then nothing was or will be written under it. */
type Filed = ReadonlyMap<number, boolean>;

/**
 * Concludes something about a filing in one transaction, on a primary whose ledger was held against the store before.
 * @param judged of these marks each has its record then, a void one where there was none, which closes its attempt
 * @throws LedgerPutBack, SendStoreError: then nothing can be concluded
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

/** Runs `close` under the filing's lock once every mark has its record: comparisons would stop at a gap. */
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
      // Marked since: once more. An attempt is marked once.
      if ((await readMarks(client, marks)).some(({ number }) => !filed.has(number))) return null;
      return { result: await close(client, filing, filed) };
    });
    if (closed) return closed.result;
  }
}

/** Gives every number of the marks a record, void where there was none: its sender writes nothing if it wakes later. */
async function fileMarks(db: Queryable, store: SendStore, marks: Marks): Promise<Filed> {
  const filed = new Map<number, boolean>();
  const found = await readMarks(db, marks);
  if (found.length === 0) return filed;
  const { ledgerId, seen } = await claimStore(db, store);
  for (const mark of found) {
    const { number } = mark;
    // What was seen once and is gone now was lost by the store, and says nothing about the send; nor does a void one
    // that was put in its place.
    const lost = mark.counted || (number <= seen && (await readSend(store, ledgerId, number)) === null);
    const record = lost ? null : await createOrRead(store, voidRecord({ ...mark, ledgerId, at: marks.at }));
    filed.set(number, record?.void ?? false);
  }
  return filed;
}

/** Closes the marked attempts of which every number is void, and plans their rows again. Must run in a transaction. */
export async function closeVoided(client: Queryable, marks: Marks, filed: Filed): Promise<void> {
  const found = await readMarks(client, marks);
  const written = new Set(found.filter(({ number }) => !filed.get(number)).map(({ attemptId }) => attemptId));
  const reason = 'nothing was written: its send was never counted';
  for (const { attemptId } of found)
    if (!written.has(attemptId)) await judgeUnsent(client, { attemptId, proof: 'void', reason, at: marks.at });
}

/** Numbers of marked attempts, without marks that nothing can be proven of: the store lost sends as well. */
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
 * Counts a marked send before its first byte: its record, the ledger held against the store, its own mark.
 * @returns null when it may be written, else why not @throws LedgerPutBack, SendStoreError: it may not
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
    return (await stillCounts(connection, compared, send))
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
