/** The pace of the extraction service, which all workers keep together. */
import {
  openExtraction,
  readExtraction,
  settleExtraction,
  releaseSlot,
  noteFailedCall,
  takeSlot,
} from '../../src/assistant/extraction/extractions';
import { useTestDatabase } from '../support/postgres';

const ledger = useTestDatabase();
let service: string;
let next = 0;
beforeEach(() => (service = `https://extraction.example/${(next += 1)} 1`));

const PACE = { atOnce: 3, pauseMs: 60_000 };

async function document(sha256: string, access = 'key-1', again = false): Promise<string> {
  const file = { sha256, document: `${sha256}.pdf`, fileName: 'a.pdf' };
  return (await openExtraction(ledger.pool, { ...file, service, access, endpoint: 'invoice', again })).extractionId;
}

const take = (extractionId: string, pace = PACE) =>
  takeSlot(ledger.pool, { extractionId, service, callMs: 1_000, pace });
const fail = (extractionId: string, more: object = {}) =>
  noteFailedCall(ledger.pool, { extractionId, service, scope: 'document', reason: '500', pace: PACE, ...more });

it('lets few calls run at once over all workers, and the next one when one has ended', async () => {
  const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((name) => document(name)));
  if (!a || !b || !c || !d) throw new Error('not opened');
  const taken = await Promise.all([a, b, c, d].map((id) => take(id)));
  expect(taken.filter((ms) => ms === 0)).toHaveLength(3);
  const [waiting = d] = [a, b, c, d].filter((_id, index) => taken[index] !== 0);
  const [running = a] = [a, b, c, d].filter((_id, index) => taken[index] === 0);
  // The same document again, as after a worker's death: its own place is no hindrance.
  expect(await take(running)).toBe(0);
  expect(await take(waiting)).toBeGreaterThan(0);
  await releaseSlot(ledger.pool, running);
  expect(await take(waiting)).toBe(0);
});

it('closes the service for all after a failure, each time for twice as long, and then lets one call pass', async () => {
  const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => document(name)));
  if (!a || !b || !c) throw new Error('not opened');
  await take(a);
  expect(await fail(a)).toMatchObject({ faults: 1, rateLimits: 0, pauseMs: 60_000 });
  for (const each of [a, b]) expect(await take(each)).toBeGreaterThan(50_000);
  expect(await fail(b, { scope: 'rate' })).toMatchObject({ faults: 0, rateLimits: 1, pauseMs: 120_000 });
  expect(await fail(c, { scope: 'service' })).toMatchObject({ faults: 0, rateLimits: 0, pauseMs: 240_000 });
  await ledger.pool.query('UPDATE extraction_pace SET closed_until = NULL WHERE service = $1', [service]);
  expect(await take(a)).toBe(0);
  expect(await take(b)).toBeGreaterThan(0);
  // Two answers, and the failures no longer count.
  await settleExtraction(ledger.pool, { extractionId: a, state: 'extracted', data: {} });
  expect(await take(b)).toBe(0);
  await settleExtraction(ledger.pool, { extractionId: b, state: 'refused', errorCode: 'refused', error: 'unreadable' });
  expect([await take(c), await take(await document('d'))]).toEqual([0, 0]);
});

it('waits at least as long as the service asks for, and never longer than a quarter of an hour of its own', async () => {
  const a = await document('a');
  await take(a);
  expect((await fail(a, { atLeastMs: 600_000 })).pauseMs).toBe(600_000);
  for (let times = 0; times < 12; times += 1) await fail(a);
  expect((await fail(a)).pauseMs).toBe(15 * 60_000);
});

it('keeps the first outcome, and reopens only what was refused or failed', async () => {
  const good = await document('good');
  await settleExtraction(ledger.pool, { extractionId: good, state: 'extracted', data: { n: 1 } });
  await settleExtraction(ledger.pool, { extractionId: good, state: 'failed', errorCode: 'late', error: 'late' });
  expect(await document('good', 'key-1', true)).toBe(good);
  expect(await readExtraction(ledger.pool, good)).toMatchObject({ state: 'extracted', data: { n: 1 } });

  const key = await document('key');
  const failure = { errorCode: 'unauthorized', error: '401', access: 'key-1' };
  await settleExtraction(ledger.pool, { extractionId: key, state: 'failed', ...failure });
  await document('key', 'key-1');
  expect((await readExtraction(ledger.pool, key))?.state).toBe('failed');
  await document('key', 'key-2');
  expect((await readExtraction(ledger.pool, key))?.state).toBe('asking');
});
