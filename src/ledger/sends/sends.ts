import type { Connection, Queryable } from '../pool';
import { LedgerUnavailableError } from '../unavailable';
import { decodeSend, encodeSend, numberOfName, sendFolder, sendName, type SendRecord } from './send-record';

/** The part of the document store that counting sends needs. */
export interface SendStore {
  createRecord(name: string, content: Buffer): Promise<boolean>;
  readRecord(name: string): Promise<Buffer | null>;
  recordsAfter(folder: string, after: string, limit: number): Promise<string[]>;
  storeId(): Promise<string>;
}

/** The ledger was restored to an earlier state: the store has sends that it does not know. */
export class LedgerPutBack extends Error {
  override readonly name = 'LedgerPutBack';
  constructor(
    readonly ledgerId: string,
    /** The numbers of these sends, ascending. */
    readonly unknown: readonly number[],
  ) {
    super(
      `The document store has ${unknown.length} sends that the ledger does not know (number ${unknown[0]} and ` +
        'above): the ledger was put back to an earlier state. Nothing is sent or judged until: ebrc ledger restored',
    );
  }
}

/** The document store is unavailable, full, a different one, or has lost sends. */
export class SendStoreError extends Error {
  override readonly name = 'SendStoreError';
}

export interface Identity {
  ledgerId: string;
  sendNumber: number;
  /** Up to this number the store is known to have a record of one of our own senders for every send. */
  seen: number;
  storeId: string | null;
  inRecovery: boolean;
}

const PAGE = 1_000;
const STORE_ANSWERS_WITHIN_MS = 10_000;

export const IDENTITY = `ledger_id AS "ledgerId", send_number::float8 AS "sendNumber", sends_seen::float8 AS seen,
  store_id AS "storeId", pg_is_in_recovery() AS "inRecovery"`;

export function needIdentity<I extends Identity>(found: I | undefined): I {
  if (!found) throw new Error('The ledger has lost its identity (table ledger_identity is empty).');
  return found;
}

export async function readIdentity(db: Queryable): Promise<Identity> {
  const { rows } = await db.query<Identity>(`SELECT ${IDENTITY} FROM ledger_identity`);
  return needIdentity(rows[0]);
}

/** Calls the store. @throws SendStoreError for every failure, including no answer in time */
export async function askStore<T>(call: () => Promise<T>, withinMs = STORE_ANSWERS_WITHIN_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    const message = `The document store has not answered within ${withinMs / 1000} s.`;
    timer = setTimeout(() => reject(new SendStoreError(message)), withinMs).unref();
  });
  try {
    return await Promise.race([call(), silence]);
  } catch (error) {
    if (error instanceof SendStoreError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new SendStoreError(`The document store (EBRC_DOCUMENTS) cannot be used: ${message}.`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** The id of the current store. Call it before taking a database connection, which would be held meanwhile. */
export const storeIdOf = (store: SendStore): Promise<string> => askStore(() => store.storeId());

/** @throws SendStoreError unless it is the store of this ledger's sends, or the ledger has sent nothing yet */
function assertOwnStore({ storeId }: Identity, found: string): void {
  if (storeId === null || storeId === found) return;
  throw new SendStoreError(
    `The document store (${found}) is not the one that has this ledger's sends (${storeId}): nothing is sent ` +
      'from here. Check EBRC_DOCUMENTS, and that its folder is mounted.',
  );
}

/** Makes the store of the first send the ledger's store; to be called before a record is created. */
export async function claimStore(db: Queryable, store: SendStore): Promise<Identity> {
  const storeId = await storeIdOf(store);
  return claimStoreOf(db, storeId, await readIdentity(db));
}

/** {@link claimStore} for a store id and an identity that were already read. */
export async function claimStoreOf(db: Queryable, storeId: string, known: Identity): Promise<Identity> {
  let identity = known;
  if (identity.storeId === null) {
    await db.query('UPDATE ledger_identity SET store_id = $1 WHERE store_id IS NULL', [storeId]);
    identity = await readIdentity(db);
  }
  assertOwnStore(identity, storeId);
  return identity;
}

export async function createOrRead(store: SendStore, record: SendRecord): Promise<SendRecord | null> {
  const { ledgerId, number } = record;
  if (await askStore(() => store.createRecord(sendName(ledgerId, number), encodeSend(record)))) return record;
  return readSend(store, ledgerId, number);
}

/** The record of a send; null if there is none, or it cannot be read. */
export async function readSend(store: SendStore, ledgerId: string, number: number): Promise<SendRecord | null> {
  const content = await askStore(() => store.readRecord(sendName(ledgerId, number)));
  return content && decodeSend(content);
}

/** The ledger compared with the store's records above the number up to which the store was known to be whole. */
export interface Comparison {
  identity: Identity;
  /** Whether the connection was to a standby before the listing; its session survives a promotion. */
  onStandby: boolean;
  listed: number[];
  /** The listed numbers that are not this ledger's own. */
  unknown: number[];
  /** The highest own number and its sender, which reveal a ledger that goes back later; null: none is listed. */
  highest: { number: number; sender: string } | null;
  /** Up to here every number has a record of one of our own senders; null: no further than before. */
  whole: { number: number; sender: string } | null;
}

/**
 * Lists the store's records above the number seen before, then reads the ledger: a send that the ledger does not know
 * by then was made in a state of the ledger that is lost.
 * @param known the ledger's identity, if it was read on this connection just before
 * @param mayHaveLost skips the check that the last send that was seen is still there
 * @throws SendStoreError if the store is unavailable, another one, or has lost a send that was seen
 */
export async function compareSends(
  db: Queryable,
  store: SendStore,
  { storeId, known: read, mayHaveLost = false }: { storeId: string; known?: Identity; mayHaveLost?: boolean },
): Promise<Comparison> {
  const before = read ?? (await readIdentity(db));
  assertOwnStore(before, storeId);
  const { ledgerId, seen } = before;
  const numbers = await listFrom(store, before);
  if (seen > 0 && numbers[0] !== seen && !mayHaveLost) {
    throw new SendStoreError(
      `The document store has lost sends of this ledger (number ${seen} is missing). Restore the whole store, or, ` +
        'if that is impossible: ebrc ledger restored --documents restored',
    );
  }
  const listed = numbers.filter((number) => number > seen);
  // One statement, so that identity and senders are of the same moment.
  const { rows } = await db.query<Identity & { known: Record<string, string> }>(
    `SELECT ${IDENTITY}, (SELECT coalesce(jsonb_object_agg(number, sender), '{}') FROM sends WHERE number > $1) AS known
       FROM ledger_identity`,
    [seen],
  );
  const { known, ...identity } = needIdentity(rows[0]);
  const own: { number: number; sender: string }[] = [];
  for (const number of listed) {
    const sender = known[number];
    if (sender === undefined) continue;
    const record = await readSend(store, ledgerId, number);
    // A record that cannot be read is incomplete, so its sender was not allowed to write.
    if (record === null || record.sender === sender) own.push({ number, sender });
  }
  const ours = new Set(own.map(({ number }) => number));
  const unknown = listed.filter((number) => !ours.has(number));
  let whole: Comparison['whole'] = null;
  for (const send of own) {
    if (send.number !== (whole?.number ?? seen) + 1) break;
    whole = send;
  }
  return { identity, onStandby: before.inRecovery, listed, unknown, highest: own.at(-1) ?? null, whole };
}

async function listFrom(store: SendStore, { ledgerId, seen }: Identity): Promise<number[]> {
  const numbers: number[] = [];
  for (let after = sendName(ledgerId, Math.max(0, seen - 1)); ;) {
    const page = await askStore(() => store.recordsAfter(sendFolder(ledgerId), after, PAGE));
    for (const name of page) {
      const number = numberOfName(ledgerId, name);
      if (number !== null) numbers.push(number);
    }
    if (page.length < PAGE) return numbers;
    after = page.at(-1) ?? after;
  }
}

/**
 * {@link compareSends} before a conclusion on the same connection; raises the number up to which the store is whole.
 * @throws LedgerPutBack if the store has sends that the ledger does not know
 */
export async function assertWhole(
  connection: Connection,
  store: SendStore,
  args: { storeId: string; known?: Identity },
): Promise<Comparison> {
  const compared = await compareSends(connection, store, args);
  assertPrimary(compared);
  await noteWhole(connection, compared);
  if (compared.unknown.length > 0) throw new LedgerPutBack(compared.identity.ledgerId, compared.unknown);
  return compared;
}

/** @throws LedgerUnavailableError for a connection to a standby, which may lack what came after the listing */
export function assertPrimary({ onStandby }: Comparison): void {
  if (onStandby) throw new LedgerUnavailableError('25006', false, new Error('the server is a standby'));
}

/** Raises the number up to which the store is known to be whole, unless the ledger has gone back since. */
export async function noteWhole(connection: Connection, { identity, whole }: Comparison): Promise<void> {
  if (whole === null || whole.number <= identity.seen) return;
  await connection.query(
    `UPDATE ledger_identity SET sends_seen = $1
      WHERE sends_seen < $1 AND EXISTS (SELECT FROM sends WHERE number = $1 AND sender = $2)`,
    [whole.number, whole.sender],
  );
}

/**
 * Reads the highest listed number again, because the ledger may have gone back since. @throws LedgerPutBack
 * @returns whether `mark` is in the ledger, still its sender's, and no older than an import
 */
export async function stillCounts(
  client: Queryable,
  { identity, highest }: Comparison,
  mark?: { number: number; sender: string; attemptId: string },
): Promise<boolean> {
  const { rows } = await client.query<{ counts: boolean }>(
    `SELECT EXISTS (SELECT FROM sends s JOIN attempts a USING (attempt_id)
              WHERE s.number = $4 AND s.sender = $5 AND s.number > i.marks_lapsed_to
                AND a.sender = $5 AND a.attempt_id = $6 AND a.verdict = 'marked' AND a.reason IS NULL) AS counts
       FROM ledger_identity i WHERE i.sends_seen >= $1
        AND ($2::bigint IS NULL OR EXISTS (SELECT FROM sends WHERE number = $2 AND sender = $3))`,
    [identity.seen, highest?.number, highest?.sender, mark?.number, mark?.sender, mark?.attemptId],
  );
  if (!rows[0]) throw new LedgerPutBack(identity.ledgerId, [highest?.number ?? identity.seen]);
  return rows[0].counts;
}
