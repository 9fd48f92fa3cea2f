import type { Queryable } from '../pool';
import {
  contentOfSend,
  decodeSend,
  encodeSend,
  numberOfName,
  sendFolder,
  sendName,
  type SendRecord,
} from './send-record';

/** The functions of the document store that the counting of sends needs. */
export interface SendStore {
  createRecord(name: string, content: Buffer): Promise<boolean>;
  readRecord(name: string): Promise<Buffer | null>;
  recordsAfter(folder: string, after: string, limit: number): Promise<string[]>;
  storeId(): Promise<string>;
}

/** The ledger was restored to an earlier state: the store has sends that it does not know. */
export class LedgerPutBack extends Error {
  override readonly name = 'LedgerPutBack';
  constructor(readonly unknown: readonly FoundSend[]) {
    const numbers = unknown.map(({ number }) => number);
    super(
      `The document store has ${unknown.length} sends that the ledger does not know (number ${Math.min(...numbers)} and ` +
        'above): the ledger was put back to an earlier state. Nothing is sent or judged until: ebrc ledger restored',
    );
  }
}

/** The document store is unavailable, full, a different one, or has lost sends. */
export class SendStoreError extends Error {
  override readonly name = 'SendStoreError';
}

/** A record of the store above those seen before; `record` is null if it cannot be read. */
export interface FoundSend {
  number: number;
  record: SendRecord | null;
}

interface Identity {
  ledgerId: string;
  sendNumber: number;
  seen: number;
  storeId: string | null;
}

const PAGE = 1_000;
const STORE_ANSWERS_WITHIN_MS = 10_000;

type IdentityRow = Record<'ledgerId' | 'sendNumber' | 'seen', string> & { storeId: string | null };

const IDENTITY = 'ledger_id AS "ledgerId", send_number AS "sendNumber", sends_seen AS seen, store_id AS "storeId"';

function identityOf(found: IdentityRow | undefined): Identity {
  if (!found) throw new Error('The ledger has lost its identity (table ledger_identity is empty).');
  const { ledgerId, sendNumber, seen, storeId } = found;
  return { ledgerId, sendNumber: Number(sendNumber), seen: Number(seen), storeId };
}

export async function readIdentity(db: Queryable): Promise<Identity> {
  const { rows } = await db.query<IdentityRow>(`SELECT ${IDENTITY} FROM ledger_identity`);
  return identityOf(rows[0]);
}

/** Makes a call to the store; every failure of it, including no answer, is {@link SendStoreError}. */
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

/** Why the store does not have this ledger's sends; null if it does, or if the ledger has sent nothing yet. */
async function storeProblem(store: SendStore, { storeId }: Identity): Promise<string | null> {
  const found = await askStore(() => store.storeId());
  if (storeId === null || storeId === found) return null;
  return (
    `The document store is another one (${found}) than the one that has this ledger's sends (${storeId}): nothing is sent ` +
    'from here. Check EBRC_DOCUMENTS, and that its folder is mounted.'
  );
}

/** The new records of the store, compared with the ledger. */
export interface Comparison {
  identity: Identity;
  found: FoundSend[];
  /** The records among these that are not this ledger's own. */
  unknown: FoundSend[];
  /** Up to here every send's record is there and the ledger's own. */
  seen: number;
}

/**
 * Lists what the store has above what was seen before, and reads the ledger after it: a send that the ledger does not
 * know by then, by its number and its sender, was made in a state of the ledger that is lost.
 * @throws SendStoreError when the store is away, another one, or has lost a send that was seen
 */
export async function compareSends(db: Queryable, store: SendStore): Promise<Comparison> {
  const before = await readIdentity(db);
  const problem = await storeProblem(store, before);
  if (problem !== null) throw new SendStoreError(problem);
  const names = await listAbove(store, before);
  if (before.seen > 0 && numberOfName(names[0] ?? '') !== before.seen) {
    throw new SendStoreError(
      `The document store has lost sends of this ledger (number ${before.seen} is missing). Put the whole store back, or, ` +
        'where it cannot be had: ebrc ledger restored --documents restored',
    );
  }
  const above = names.filter((name) => numberOfName(name) > before.seen);
  const found: FoundSend[] = [];
  for (const name of above) {
    const content = await askStore(() => store.readRecord(name));
    found.push({ number: numberOfName(name), record: content && decodeSend(content) });
  }
  const { identity, known } = await readKnownSends(db, before.seen);
  const unknown = found.filter(({ number, record }) => {
    const sender = known.get(number);
    return sender === undefined || (record !== null && record.sender !== sender);
  });
  const own = new Set(found.filter((each) => !unknown.includes(each)).map(({ number }) => number));
  let { seen } = before;
  while (own.has(seen + 1)) seen += 1;
  return { identity, found, unknown, seen };
}

/** As {@link compareSends}. @throws LedgerPutBack when the store has sends that the ledger does not know */
export async function assertWhole(db: Queryable, store: SendStore): Promise<Comparison> {
  const compared = await compareSends(db, store);
  if (compared.unknown.length > 0) throw new LedgerPutBack(compared.unknown);
  return compared;
}

async function listAbove(store: SendStore, { ledgerId, seen }: Identity): Promise<string[]> {
  const names: string[] = [];
  for (let after = sendName(ledgerId, Math.max(0, seen - 1)); ; after = names.at(-1) ?? after) {
    const page = await askStore(() => store.recordsAfter(sendFolder(ledgerId), after, PAGE));
    names.push(...page);
    if (page.length < PAGE) return names;
  }
}

/** The ledger's identity, and in the same moment the sender of each send that it has above a number. */
async function readKnownSends(
  db: Queryable,
  above: number,
): Promise<{ identity: Identity; known: Map<number, string> }> {
  const { rows } = await db.query<IdentityRow & { known: Record<string, string> }>(
    `SELECT ${IDENTITY}, (SELECT coalesce(jsonb_object_agg(number, sender), '{}') FROM sends WHERE number > $1) AS known
       FROM ledger_identity`,
    [above],
  );
  const identity = identityOf(rows[0]);
  const known = Object.entries(rows[0]?.known ?? {}).map(([number, sender]) => [Number(number), sender] as const);
  return { identity, known: new Map(known) };
}

/**
 * Counts a marked send outside the database, before its first byte: creates its record, holds the ledger against the
 * store, and makes sure that the mark is still there and its own. @returns null when it may be written; else why it may
 * not.
 * @throws LedgerPutBack, SendStoreError: then nothing may be written either
 */
export async function countSend(
  db: Queryable,
  store: SendStore,
  { number, attemptId, sender, at }: { number: number; attemptId: string; sender: string; at: Date },
): Promise<string | null> {
  const { ledgerId } = await claimStore(db, store);
  const content = await contentOfSend(db, attemptId);
  const record: SendRecord = {
    version: 1,
    ledgerId,
    number,
    sender,
    void: false,
    attemptId,
    at: at.toISOString(),
    content,
  };
  const kept = await createOrRead(store, record);
  if (kept?.sender !== sender || kept.void) return `send number ${number} has been taken or given up`;
  const { seen } = await assertWhole(db, store);
  await db.query('UPDATE ledger_identity SET sends_seen = $1 WHERE sends_seen < $1', [seen]);
  const { rowCount } = await db.query(
    `SELECT FROM sends s JOIN attempts a USING (attempt_id)
      WHERE s.number = $1 AND s.sender = $2 AND a.sender = $2 AND a.attempt_id = $3 AND a.state = 'sending' AND a.reason IS NULL`,
    [number, sender, attemptId],
  );
  return rowCount ? null : 'the attempt was closed before anything was written';
}

/** The store of the first send becomes the ledger's store. */
async function claimStore(db: Queryable, store: SendStore): Promise<Identity> {
  const storeId = await askStore(() => store.storeId());
  let identity = await readIdentity(db);
  if (identity.storeId === null) {
    await db.query('UPDATE ledger_identity SET store_id = $1 WHERE store_id IS NULL', [storeId]);
    identity = await readIdentity(db);
  }
  const problem = await storeProblem(store, identity);
  if (problem !== null) throw new SendStoreError(problem);
  return identity;
}

/**
 * Judges a mark of which nothing more is known: where the store has no record of the send, a void one is put there, and
 * then nothing was and nothing will be written. @returns whether that is so; false: it may have been written.
 */
export async function voidUnsent(
  client: Queryable,
  store: SendStore,
  { attemptId, at, seen }: { attemptId: string; at: Date; seen: number },
): Promise<boolean> {
  const { rows } = await client.query<{ number: string; sender: string }>(
    'SELECT number, sender FROM sends WHERE attempt_id = $1 ORDER BY number',
    [attemptId],
  );
  if (rows.length === 0) return false;
  const { ledgerId } = await claimStore(client, store);
  for (const send of rows) {
    const number = Number(send.number);
    // What was seen once and is gone now was lost by the store, and says nothing about the send.
    if (number <= seen && (await askStore(() => store.readRecord(sendName(ledgerId, number)))) === null) return false;
    const record = voidRecord({ ledgerId, number, sender: send.sender, attemptId, at });
    if (!(await createOrRead(store, record))?.void) return false;
  }
  return true;
}

/** The record that gives up a number: the sender that marked it writes nothing any more. */
export function voidRecord(
  send: Pick<SendRecord, 'ledgerId' | 'number' | 'sender' | 'attemptId'> & { at: Date },
): SendRecord {
  return { ...send, version: 1, void: true, at: send.at.toISOString(), content: null };
}

/** Writes a record, or reads the existing one; null if that cannot be read. */
export async function createOrRead(store: SendStore, record: SendRecord): Promise<SendRecord | null> {
  const name = sendName(record.ledgerId, record.number);
  if (await askStore(() => store.createRecord(name, encodeSend(record)))) return record;
  const content = await askStore(() => store.readRecord(name));
  return content && decodeSend(content);
}
