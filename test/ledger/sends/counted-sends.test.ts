import { TEST_CADENCE } from '../../support/settings';
import { markSending, readAttempt, releaseUnsent } from '../ledger-steps';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import pino from 'pino';
import { onWholeLedger } from '../../../src/activities/filings/moves';
import { partsOfAttemptId } from '../../../src/domain/filing/attempt';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { withConnection, withTransaction, type Queryable } from '../../../src/ledger/pool';
import { readLedgerStatus } from '../../../src/ledger/sends/ledger-status';
import { importSends } from '../../../src/ledger/sends/send-import';
import { countSend } from '../../../src/ledger/sends/conclusion';
import { sendName } from '../../../src/ledger/sends/send-record';
import {
  askStore,
  assertWhole,
  LedgerPutBack,
  readIdentity,
  SendStoreError,
  storeIdOf,
  type SendStore,
} from '../../../src/ledger/sends/sends';
import type { MappingRow } from '../../../src/domain/filing/mapping';
import { gate } from '../../support/gate';
import { replacing } from '../../support/replacing';
import { attemptSteps } from '../submissions/attempt-support';
import { knowExporter, minutesLater, move, NOW, open as file, record, refusal, rowsOf } from '../filing-support';
import { newStore, remember, sender, SETTINGS, useLedgerPutBack } from './put-back';

const logger = pino({ level: 'silent' });
const ledger = useLedgerPutBack();
let store: Awaited<ReturnType<typeof newStore>>;
const { filing, opened, mark, close, answer, rows, attempts } = attemptSteps(ledger);

beforeEach(async () => {
  store = await newStore();
});

interface Marked {
  number: number;
  attemptId: string;
  sender: string;
}

/** An attempt of a filing of its own, marked by a sender of its own. */
async function marked(attemptId?: string): Promise<Marked> {
  const id = attemptId ?? (await opened(await filing()));
  const by = sender();
  const set = await mark(id, by);
  if (!set.marked) throw new Error(set.reason);
  return { number: set.sendNumber, attemptId: id, sender: by };
}
const count = (send: Marked, at = NOW) => countSend(ledger.pool, store, { ...SETTINGS, ...send, at });
/** Marked and counted: from here on the bytes may be out. */
async function sent(attemptId?: string, at = NOW): Promise<Marked> {
  const send = await marked(attemptId);
  expect(await count(send, at)).toBeNull();
  return send;
}
/** A send of which a ledger that was put back since then knows nothing. */
async function lost(of: { filingId?: string; attemptId?: string } = {}): Promise<Marked> {
  const back = await remember(ledger);
  const send = await sent(of.attemptId ?? (of.filingId && (await opened(of.filingId))));
  await back();
  return send;
}
/** A filing that was sent, and of which a ledger that was put back since then knows nothing. */
async function lostFiling(reference: string, content: MappingRow[], more?: Parameters<typeof file>[3]) {
  const back = await remember(ledger);
  const filingId = await file(ledger, reference, content, more);
  const send = await sent(await opened(filingId));
  await back();
  return { filingId, ...send };
}
async function threeLost() {
  const back = await remember(ledger);
  for (let n = 0; n < 3; n += 1) await sent();
  await back();
}
/** Counts a send, and stops right before a call to the store. */
function freezeBefore(call: 'createRecord' | 'recordsAfter', send: Marked) {
  const [reached, woken] = [gate(), gate()];
  const frozen = replacing(store, call, async (...args: never[]) => {
    reached.open();
    await woken.passed;
    return (store[call] as (...all: never[]) => unknown)(...args);
  });
  const counted = countSend(ledger.pool, frozen, { ...SETTINGS, ...send, at: NOW });
  return { reached: reached.passed, wake: woken.open, counted };
}
const whole = () =>
  withConnection(ledger.pool, async (pinned) => assertWhole(pinned, store, { storeId: await storeIdOf(store) }));
const restored = () => importSends(ledger.pool, store, { at: minutesLater(60), by: 'ravi' });
/** What the ledger holds of a filing of one row: the verdicts of its attempts, and its row. */
async function expectHeld(filingId: string, verdicts: string[], row: object) {
  expect(await attempts(filingId)).toEqual(verdicts);
  expect(await rows(filingId)).toMatchObject([row]);
}
const UNKNOWN = { state: 'unknown', live: true, sent: true };
const PLANNED = { state: 'planned', live: true, sent: false };
const viewOf = (filingId: string) => readFilingView(ledger.pool, filingId, TEST_CADENCE);
const filingOf = ({ attemptId }: { attemptId: string }) => partsOfAttemptId(attemptId).filingId;
/** Reads an attempt as the worker does. */
const judge = (attemptId: string, at = NOW, documents: SendStore = store, pool = ledger.pool) =>
  onWholeLedger(
    { pool, documents: { ...store, ...documents }, clock: () => at.getTime(), logger },
    filingOf({ attemptId }),
    (client) => readAttempt(client, { attemptId, at }),
    { attemptId },
  );

describe('a counted send', () => {
  it('has a record in the store before its first byte, and the next one the next number', async () => {
    const first = await sent();
    const second = await sent();
    const { ledgerId, seen } = await readIdentity(ledger.pool);
    expect(await readdir(join(store.root, 'sent', ledgerId, '000/000/000'))).toEqual(['001', '002']);
    expect([first.number, second.number, seen]).toEqual([1, 2, 2]);
    expect((await whole()).unknown).toEqual([]);
  });

  it('shows that the moves before it were changed afterwards', async () => {
    const send = await sent();
    const { pool } = ledger;
    const rewritten = async () => (await readLedgerStatus(pool, store)).rewritten;
    expect(await rewritten()).toEqual([]);
    const filingId = filingOf(send);
    const add = `INSERT INTO filing_events (filing_id, seq, at, kind, text) VALUES ($1, 0, now(), 'approved', 'by mallory')`;
    await pool.query(add, [filingId]);
    expect(await rewritten()).toEqual([{ filingId, sendNumber: send.number }]);
    expect((await readLedgerStatus(pool, store)).problem).toContain(filingId);
  });

  it('may be counted again by its own sender, and by nobody else', async () => {
    const send = await sent();
    expect(await count(send)).toBeNull();
    expect(await count({ ...send, sender: 'another' })).toMatch(/has been taken/u);
  });

  it('is not written when its attempt was closed meanwhile', async () => {
    const send = await marked();
    await ledger.pool.query(`UPDATE attempts SET verdict = 'unsent' WHERE attempt_id = $1`, [send.attemptId]);
    expect(await count(send)).toMatch(/closed/u);
  });

  it('of two workers at once each has its own number', async () => {
    const sends = await Promise.all([marked(), marked(), marked()]);
    expect(await Promise.all(sends.map((send) => count(send)))).toEqual([null, null, null]);
    expect(new Set(sends.map(({ number }) => number)).size).toBe(3);
  });
});

describe('a mark without a record', () => {
  it('is proven not to be sent: a void record is put there, and the sender that wakes late writes nothing', async () => {
    const send = await marked();
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'unsent' });
    expect(await rows(filingOf(send))).toMatchObject([{ state: 'planned', live: true, sent: false }]);
    expect(await count(send)).toMatch(/given up/u);
  });

  it('has one winner when the sender and the judge come together', async () => {
    for (let round = 0; round < 10; round += 1) {
      const send = await marked();
      const [refused, { verdict }] = await Promise.all([count(send), judge(send.attemptId)]);
      expect(verdict).toBe(refused === null ? 'marked' : 'unsent');
    }
  });

  it('concludes nothing if the record existed once: then the store has lost it', async () => {
    const send = await sent();
    await sent();
    const { ledgerId } = await readIdentity(ledger.pool);
    await rm(join(store.root, sendName(ledgerId, 1)));
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'marked' });
    await rm(join(store.root, sendName(ledgerId, 2)));
    await expect(judge(send.attemptId)).rejects.toMatchObject({ type: 'documents_unavailable' });
  });

  it('concludes nothing if the record existed above one that was missing, and the store was put back since', async () => {
    const dead = await marked();
    const send = await sent();
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 0 });
    const { ledgerId } = await readIdentity(ledger.pool);
    await rm(join(store.root, sendName(ledgerId, send.number)));
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'marked' });
    expect(await judge(dead.attemptId)).toMatchObject({ verdict: 'unsent' });
    await restored();
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'marked' });
  });
});

describe('a ledger that was put back to an earlier state', () => {
  it('sends and concludes nothing, because the store has sends that it lacks', async () => {
    const other = await filing();
    const send = await lost();
    expect(await ledger.pool.query('SELECT FROM attempts')).toMatchObject({ rowCount: 0 });
    const next = await marked(await opened(other));
    // The number is taken again, which hides the record from a look at the numbers alone.
    expect(next.number).toBe(send.number);
    expect(await count(next)).toMatch(/has been taken/u);
    await expect(whole()).rejects.toThrow(LedgerPutBack);
    await expect(judge(next.attemptId, minutesLater(60))).rejects.toMatchObject({ type: 'ledger_put_back' });
    const after = await marked();
    await expect(count(after)).rejects.toThrow(LedgerPutBack);
  });

  it('has its lost sends brought back: the filing is there, its rows are live and unknown, and nobody files them again', async () => {
    const content = rowsOf({ sbCumInvoiceNumber: '5000001', mappedIRMAmountFCC: '8000.10' as unknown as number });
    const { filingId, ...send } = await lostFiling('LOST', content);
    expect(await restored()).toEqual({ filings: [filingId], sends: 1, unreadable: [] });
    // With the settings of its sender, which the judge's do not shorten.
    const kept = 'SELECT settle_ms::int AS settle, timeout_ms::int AS timeout FROM attempts WHERE attempt_id = $1';
    const { settleMs: settle, timeoutMs: timeout } = SETTINGS;
    expect(await ledger.select(kept, send.attemptId)).toEqual([{ settle, timeout }]);
    const row = { state: 'unknown', sbCumInvoiceNumber: '5000001', mappedIRMAmountFCC: 8000.1 };
    const view = { state: 'outcome_unknown', reference: 'LOST', needsAttention: true, rows: [row] };
    expect(await viewOf(filingId)).toMatchObject(view);
    await expectHeld(filingId, ['marked'], { ...UNKNOWN, ordinal: 0 });
    expect(await record(ledger, 'AGAIN', content)).toMatchObject(refusal({ code: 'mapping_live', filingId }));
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'marked', underWay: false });
    expect((await sent()).number).toBe(send.number + 1);
    expect(await restored()).toEqual({ filings: [], sends: 0, unreadable: [] });
  });

  it('has a lost exporter’s rows brought back for the party of its IEC here, whatever number that has', async () => {
    const putBack = await remember(ledger);
    await knowExporter(ledger, 'exporter-2', 'AAGCM9999K');
    const content = rowsOf({ sbCumInvoiceNumber: '4999999' });
    const { filingId } = await lostFiling('LOST-EXPORTER', content, { exporterId: 'exporter-2' });
    await putBack();
    await ledger.pool.query(`DELETE FROM parties WHERE iec = 'AAGCM9999K'`);
    await restored();
    const held = `SELECT r.live, p.iec, split_part(r.fingerprint, ':', 1)::int = r.party_id AS own, e.party_id = r.party_id AS same
       FROM filing_rows r JOIN parties p USING (party_id) JOIN exporters e ON e.exporter_id = r.exporter_id WHERE r.filing_id = $1`;
    expect(await ledger.select(held, filingId)).toEqual([{ live: true, iec: 'AAGCM9999K', own: true, same: true }]);
  });

  it('finds the party of a client that it lacks, under any number', async () => {
    const back = await remember(ledger);
    await knowExporter(ledger, 'exporter-2');
    await ledger.pool.query(`UPDATE exporters SET iec = NULL WHERE exporter_id = 'exporter-2'`);
    const content = rowsOf({ sbCumInvoiceNumber: '5000005' });
    const { filingId } = await lostFiling('LOST-CLIENT', content, { exporterId: 'exporter-2' });
    await back();
    await restored();
    await expectHeld(filingId, ['marked'], UNKNOWN);
    expect(await record(ledger, 'AGAIN-2', content)).toMatchObject(refusal({ code: 'mapping_live', filingId }));
  });

  it("imports the send of a filing that it has, whatever the filing's state", async () => {
    const filingId = await filing();
    await lost({ filingId });
    // Somebody gave it up before anybody noticed: the ledger said that it had not been sent.
    await withTransaction(ledger.pool, (client) => releaseUnsent(client, { filingId, state: 'withdrawn', at: NOW }));
    await move(ledger, filingId, 'abandoned');
    await restored();
    await expectHeld(filingId, ['marked'], { ...UNKNOWN, state: 'abandoned_after_send', ordinal: 0 });
    expect(await viewOf(filingId)).toMatchObject({ state: 'abandoned', needsAttention: true });
  });

  it('stops a filing of the same mapping that was made since and is not sent', async () => {
    const content = rowsOf({ sbCumInvoiceNumber: '5000002' });
    const { filingId } = await lostFiling('LOST-2', content);
    const twin = await file(ledger, 'TWIN', content);
    const attemptId = await opened(twin);
    await restored();
    expect(await mark(attemptId)).toMatchObject({ marked: false });
    expect(await rows(twin)).toMatchObject([{ state: 'needs_correction', live: false }]);
    await expectHeld(filingId, ['marked'], { ...UNKNOWN, ordinal: 1 });
  });

  it('gives the send a filing of its own where its id was taken by other content', async () => {
    const { filingId } = await lostFiling('SAME-NAME', rowsOf({ sbCumInvoiceNumber: '5000003' }));
    const taken = await file(ledger, 'SAME-NAME', rowsOf({ sbCumInvoiceNumber: '5000004' }));
    expect(taken).toBe(filingId);
    const { filings } = await restored();
    expect(filings).not.toContain(taken);
    const brought = await viewOf(filings[0] ?? '');
    expect(brought?.rows).toMatchObject([{ state: 'unknown', sbCumInvoiceNumber: '5000003' }]);
    expect(await rows(taken)).toMatchObject([{ state: 'planned' }]);
  });

  it('closes the attempt that took a number again, and lets its sender write nothing', async () => {
    const other = await filing();
    const gone = await lost();
    const frozen = await marked(await opened(other));
    expect(frozen.number).toBe(gone.number);
    await restored();
    await expectHeld(other, ['unsent'], PLANNED);
    expect(await count(frozen)).toMatch(/has been taken/u);
  });

  it('makes no mark valid again: a sender that froze after its record writes nothing once it is brought back', async () => {
    const frozen = await lost();
    await restored();
    expect(await count(frozen)).toMatch(/closed/u);
    // Its own word does not close what is unknown now for a sender that the store names too.
    expect(await judge(frozen.attemptId)).toMatchObject({ verdict: 'marked', underWay: false });
  });

  it('has two senders of one attempt, of which neither may close what the other one sent', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    const first = await lost({ attemptId });
    await mark(await opened(await filing()));
    const second = await marked(attemptId);
    await restored();
    await close(attemptId, first.sender);
    await close(attemptId, second.sender);
    await expectHeld(filingId, ['marked'], UNKNOWN);
    expect(await count(second)).toMatch(/closed|given up/u);
  });

  it('leaves an earlier attempt in doubt that was sent again before the later one’s sender woke', async () => {
    const filingId = await filing();
    const back = await remember(ledger);
    await close(await opened(filingId));
    await marked();
    const frozen = await marked(await opened(filingId));
    const { reached, wake, counted } = freezeBefore('createRecord', frozen);
    await reached;
    await back();
    const again = await sent(await opened(filingId));
    expect([again.number, frozen.number]).toEqual([1, 2]);
    wake();
    // It makes its record and writes nothing; the record is brought back all the same.
    await expect(counted).rejects.toThrow(LedgerPutBack);
    await restored();
    await expectHeld(filingId, ['marked', 'marked'], UNKNOWN);
  });

  it('counts what is waited for from the newest mark of an attempt', async () => {
    const attemptId = await opened(await filing());
    await lost({ attemptId });
    await mark(await opened(await filing()));
    await withTransaction(ledger.pool, (client) =>
      markSending(client, { attemptId, sender: sender(), payloadHash: 'hash', at: minutesLater(30) }),
    );
    await restored();
    expect((await judge(attemptId)).markedAt).toBe(minutesLater(30).getTime());
  });

  it('keeps an attempt in doubt whose second number turns out to be another send’s', async () => {
    const filingId = await filing();
    const other = await filing();
    const attemptId = await opened(filingId);
    const back = await remember(ledger);
    await sent(attemptId);
    await sent(await opened(await filing()));
    await back();
    await marked(await opened(other));
    const second = await marked(attemptId);
    expect(second.number).toBe(2);
    await restored();
    await expectHeld(filingId, ['marked'], UNKNOWN);
  });

  it('proves not to be sent what was marked above its last record and not counted', async () => {
    const waiting = await filing();
    await lost();
    await marked();
    const above = await marked(await opened(waiting));
    await restored();
    await expectHeld(waiting, ['unsent'], PLANNED);
    expect(await count(above)).toMatch(/given up/u);
  });

  it('keeps an answer that came from the history of a run', async () => {
    const filingId = await filing();
    const { attemptId } = await lost({ filingId });
    await answer(attemptId);
    await restored();
    expect(await attempts(filingId)).toEqual(['accepted']);
  });

  it('imports the few sends that a failover lost, and reports them; an older one is left to a person', async () => {
    const waiting = await opened(await filing());
    const gone = await lost();
    await expect(judge(waiting, minutesLater(11))).rejects.toMatchObject({ type: 'ledger_put_back' });
    expect(await judge(waiting, minutesLater(9))).toMatchObject({ verdict: 'unsent' });
    expect(await viewOf(filingOf(gone))).toMatchObject({ state: 'outcome_unknown', needsAttention: true });
  });

  it('is found out by a judgement whose comparison came before it', async () => {
    const attemptId = await opened(await filing());
    const back = await remember(ledger);
    await sent(attemptId);
    await ledger.pool.query('UPDATE ledger_identity SET sends_seen = 0');
    let gone = false;
    // The last that a comparison reads: of the ledger it has read all by now.
    const readRecord = async (name: string) => {
      const content = await store.readRecord(name);
      if (name.startsWith('sent/') && !gone) await back();
      gone = true;
      return content;
    };
    const late = { ...store, readRecord };
    await expect(judge(attemptId, minutesLater(60), late)).rejects.toMatchObject({ type: 'ledger_put_back' });
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 0, sendNumber: 0 });
  });
});

describe('a number of sends', () => {
  it('up to which the store is whole passes own files only: marks of a restored ledger do not hide lost ones', async () => {
    await threeLost();
    // More marks than there are lost sends.
    for (let n = 0; n < 3; n += 1) expect(await count(await marked())).toMatch(/taken/u);
    await expect(count(await marked())).rejects.toMatchObject({ unknown: [1, 2, 3] });
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 0, sendNumber: 4 });
    expect(await restored()).toMatchObject({ sends: 3 });
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 4, sendNumber: 4 });
  });

  it('is raised by a judgement as well, and reads nothing below it', async () => {
    const send = await marked();
    await judge(send.attemptId);
    const reads: string[] = [];
    const readRecord = (name: string) => (reads.push(name), store.readRecord(name));
    await judge(await opened(await filing()), NOW, { ...store, readRecord });
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 1 });
    await judge(await opened(await filing()), NOW, { ...store, readRecord });
    const { ledgerId } = await readIdentity(ledger.pool);
    expect(reads).toEqual([sendName(ledgerId, 1)]);
  });

  it('gets a file by `restored` too where nobody else can give it one', async () => {
    const send = await marked();
    await ledger.pool.query(`UPDATE attempts SET verdict = 'unsent' WHERE attempt_id = $1`, [send.attemptId]);
    await ledger.pool.query('UPDATE ledger_identity SET send_number = 3');
    await restored();
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 3, sendNumber: 3 });
    expect(await count(send)).toMatch(/given up/u);
  });

  it('is not concluded from on a standby, whose session would survive its promotion', async () => {
    const { attemptId } = await sent();
    const inRecovery = (client: PoolClient) =>
      replacing(client, 'query', (text: string, ...more: never[]) =>
        client.query(text.replace('pg_is_in_recovery()', 'true'), ...more),
      );
    const standby = replacing(ledger.pool, 'connect', async () => inRecovery(await ledger.pool.connect()));
    await expect(judge(attemptId, NOW, store, standby)).rejects.toMatchObject({ code: '25006' });
  });
});

describe('an import', () => {
  it('is made by one process at a time, while the others wait for it', async () => {
    await threeLost();
    const imports = await Promise.all([restored(), restored(), restored()]);
    expect(imports.map(({ sends }) => sends).sort()).toEqual([0, 0, 3]);
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 3, sendNumber: 3 });
  });

  it('waits for a mark that is being decided, which then does not let its sender write', async () => {
    const content = rowsOf({ sbCumInvoiceNumber: '5000009' });
    await lostFiling('BROUGHT-BACK', content);
    await marked();
    const twin = { attemptId: await opened(await file(ledger, 'MADE-SINCE', content)), sender: 'slow' };
    let imported: Promise<unknown> = Promise.resolve();
    const set = await withTransaction(ledger.pool, (client) => {
      // Between what the mark was decided on and its number.
      const query = async (text: string, values: unknown[]): Promise<unknown> => {
        if (text.includes('WITH next')) {
          imported = restored();
          await sleep(500);
        }
        return client.query(text, values);
      };
      return markSending({ query } as Queryable, { ...twin, payloadHash: 'hash', at: NOW });
    });
    if (!set.marked) throw new Error(set.reason);
    await imported;
    expect(await count({ ...twin, number: set.sendNumber })).not.toBeNull();
  });

  it('lets nobody write who had its file before: its mapping may be one that was brought back', async () => {
    const content = rowsOf({ sbCumInvoiceNumber: '5000010' });
    await lostFiling('LOST-TWIN', content);
    await marked();
    const twin = await marked(await opened(await file(ledger, 'TWIN-SINCE', content)));
    const { reached, wake, counted } = freezeBefore('recordsAfter', twin);
    await reached;
    await restored();
    wake();
    expect(await counted).toMatch(/imported/u);
  });

  it('that ends half-way goes on when it is repeated', async () => {
    const back = await remember(ledger);
    const frozen = await marked();
    await sent();
    await sent();
    await back();
    let reads = 0;
    const readRecord = (name: string) => {
      reads += 1;
      if (reads > 1) throw new Error('gone');
      return store.readRecord(name);
    };
    const half = importSends(ledger.pool, { ...store, readRecord }, { at: NOW, by: 'ravi' });
    await expect(half).rejects.toThrow(SendStoreError);
    await expect(whole()).rejects.toMatchObject({ unknown: [3] });
    await restored();
    expect(await readIdentity(ledger.pool)).toMatchObject({ seen: 3, sendNumber: 3 });
    expect(await count(frozen)).toMatch(/taken or given up/u);
  });
});

describe('a document store that is', () => {
  it('another one submits nothing, with the reason', async () => {
    await sent();
    store = await newStore();
    const send = await marked();
    await expect(count(send)).rejects.toThrow(/is not the one that has/u);
    await expect(judge(send.attemptId)).rejects.toMatchObject({ type: 'documents_unavailable' });
  });

  it('away is trouble and not an answer', async () => {
    await sent();
    const send = await marked();
    await rename(store.root, `${store.root}.away`);
    await expect(count(send)).rejects.toThrow(SendStoreError);
    await expect(judge(send.attemptId)).rejects.toMatchObject({ type: 'documents_unavailable' });
    await rename(`${store.root}.away`, store.root);
    expect(await judge(send.attemptId)).toMatchObject({ verdict: 'unsent' });
  });

  it('silent is trouble after a while, not a wait without end', async () => {
    const silence = () => new Promise<string>(() => undefined);
    await expect(askStore(silence, 20)).rejects.toThrow(/not answered/u);
  });
});
