/** Answers of senders: what they prove, alone and beside what is known of other attempts. */
import { applyReadings } from '../../../src/ledger/attempts/settle';
import { storeAnswer } from '../../../src/ledger/attempts/answer';
import type { StoredAnswer } from '../../../src/ledger/attempts/attempts';
import { beginToSend } from '../../../src/ledger/attempts/send';
import { createSeenTime, readLedgerTime } from '../../../src/ledger/time';
import { withTransaction } from '../../../src/ledger/pool';
import { useTestDatabase } from '../../support/postgres';
import { addAttempt, findingsOf, namesOf, rowsIn, sentFiling, verdictsOf, wholeReading } from './in-doubt';
import { ended, irm, knowExporter, locked, made, newRows, readIrms, settled } from './recording';

const database = useTestDatabase(async (ledger) => {
  await knowExporter(ledger);
  await readIrms(ledger, [irm()]);
});

const answerOf = (kind: StoredAnswer['kind'], status: number | null, message: string | null = null): StoredAnswer => ({
  ...{ kind, status, requestId: null, dgftAckId: null, ackStatus: null, errorCode: null, message },
  ...{ texts: message === null ? [] : [message], fieldErrors: [], errorDetails: [], warnings: [], irms: null },
});
const accepted = (requestId: string): StoredAnswer => ({ ...answerOf('accepted', 200), requestId });
const DUPLICATE = answerOf('validation_failed', 400, 'The mapping already exists');

const store = (filingId: string, n: number, answer: StoredAnswer) =>
  withTransaction(database.pool, (client) =>
    storeAnswer(client, { filingId, mode: 'test', n, sender: 'its own', answer }),
  );
const send = (filingId: string, n: number, verdict: 'sending' | 'unknown' = 'sending') =>
  addAttempt(database, filingId, { number: n, verdict, ageMs: 1_000 }).then(() =>
    database.pool.query(`UPDATE attempts SET sender = 'its own' WHERE filing_id = $1 AND number = $2`, [filingId, n]),
  );
const stateOf = async (filingId: string) =>
  (await database.select('SELECT state, closed_at IS NULL AS open FROM filings WHERE filing_id = $1', filingId))[0];

let filings = 0;
/** Attempt 1 was said not to be filed, and attempt 2 is out. */
async function second(): Promise<string> {
  filings += 1;
  const filingId = await sentFiling(database, `SECOND-${filings}`, newRows(), { verdict: 'not_filed' });
  await send(filingId, 2);
  return filingId;
}

describe('an answer to an attempt that was said not to be filed', () => {
  it.each<[string, StoredAnswer, string, string]>([
    ['an acceptance', accepted('REQ-A'), 'accepted', 'processing'],
    ['words of a duplicate', DUPLICATE, 'unknown', 'outcome_unknown'],
  ])('%s: while another is in doubt it is kept, and judged once that one is none', async (_, late, verdict, state) => {
    const filingId = await second();
    await store(filingId, 1, late);
    expect(await verdictsOf(database, filingId)).toEqual(['not_filed', 'sending']);
    expect(await findingsOf(database, filingId)).toEqual([expect.stringMatching(/^accepted_twice: Attempt 1 /u)]);
    await store(filingId, 2, answerOf('rate_limited', 429));
    expect(await verdictsOf(database, filingId)).toEqual([verdict, 'not_sent']);
    expect(await rowsIn(database, filingId)).toEqual(['sent']);
    expect(await stateOf(filingId)).toEqual({ state, open: true });
  });

  it('words of the service that may mean that it has it: its freed rows are held again, and it is unknown', async () => {
    const filingId = await sentFiling(database, 'WORDS', newRows(), { verdict: 'not_filed' });
    await settled(database, filingId, 'released');
    await ended(database, filingId, 'needs_correction');
    expect(await store(filingId, 1, DUPLICATE)).toBe(true);
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
    expect(await rowsIn(database, filingId)).toEqual(['sent']);
    expect(await stateOf(filingId)).toEqual({ state: 'outcome_unknown', open: true });
  });

  it('other words prove nothing', async () => {
    const filingId = await sentFiling(database, 'OTHER', newRows(), { verdict: 'not_filed' });
    await settled(database, filingId, 'released');
    await ended(database, filingId, 'needs_correction');
    await store(filingId, 1, answerOf('validation_failed', 400, 'No such port'));
    expect(await verdictsOf(database, filingId)).toEqual(['not_filed']);
    expect(await stateOf(filingId)).toEqual({ state: 'needs_correction', open: false });
  });
});

it('the service’s own request takes the place of the one that a person named, with all that this one came to', async () => {
  const filingId = await sentFiling(database, 'NAMED', newRows(), { requestId: 'REQ-NAMED', requestFrom: 'person' });
  await database.pool.query(
    `UPDATE attempts SET denied_since = clock_timestamp(), polled_at = clock_timestamp(), sender = 'its own' WHERE filing_id = $1`,
    [filingId],
  );
  await store(filingId, 1, accepted('REQ-OWN'));
  const [attempt] = await database.select('SELECT * FROM attempts WHERE filing_id = $1', filingId);
  expect(attempt).toMatchObject({ verdict: 'accepted', request_id: 'REQ-OWN', request_from: 'service' });
  expect(attempt).toMatchObject({ denied_since: null, polled_at: null });
});

it('a late acceptance holds again what persons released of a filing that was found in part', async () => {
  const filingId = await sentFiling(database, 'IN-PART', newRows(2), { verdict: 'accepted' });
  await settled(database, filingId, 'certified', 0);
  await settled(database, filingId, 'released', 1);
  await ended(database, filingId, 'partly_certified');
  await store(filingId, 1, accepted('REQ-PART'));
  expect((await rowsIn(database, filingId)).map((row) => row.split(' ')[0])).toEqual(['certified', 'sent']);
  expect(await stateOf(filingId)).toEqual({ state: 'processing', open: true });
  // Of one whose rows are all certified it opens nothing.
  const whole = await sentFiling(database, 'WHOLE', newRows(), { verdict: 'accepted' });
  await settled(database, whole, 'certified');
  await ended(database, whole, 'certified');
  await store(whole, 1, accepted('REQ-WHOLE'));
  expect(await stateOf(whole)).toEqual({ state: 'certified', open: false });
});

it('a late acceptance stops the correction of its rows, also one of another document', async () => {
  const rows = newRows();
  const first = await sentFiling(database, 'TYPO', rows, { verdict: 'not_filed' });
  await settled(database, first, 'released');
  await ended(database, first, 'needs_correction');
  const right = await made(database, 'TYPO', newRows(), { n: 2, corrects: first });
  const begin = () =>
    withTransaction(database.pool, async (client) => {
      const time = await readLedgerTime(client, 'test');
      const own = { sender: 'right', payloadHash: 'x', document: null, settleMs: 14_400_000, timeoutMs: 30_000 };
      return beginToSend(client, { filingId: right, n: 1, time, seen: createSeenTime(), ...own });
    });
  await database.pool.query(`UPDATE filings SET checked_at = now(), reserved_at = now() WHERE filing_id = $1`, [right]);
  await wholeReading(database);
  await store(first, 1, accepted('REQ-TYPO'));
  expect(await rowsIn(database, first)).toEqual(['sent']);
  expect(await begin()).toBe(`filing ${first} holds a row again that it corrects`);
  await settled(database, first, 'released');
  await wholeReading(database);
  expect(await begin()).toBeNull();
});

describe('a refusal of the content', () => {
  const refused = answerOf('validation_failed', 400, 'No such port');

  it('frees the rows', async () => {
    const filingId = await made(database, 'REFUSED', newRows());
    await send(filingId, 1);
    await store(filingId, 1, refused);
    expect(await verdictsOf(database, filingId)).toEqual(['refused']);
    expect(await rowsIn(database, filingId)).toEqual(['released']);
  });

  it('after an attempt that was said not to be filed, of an earlier number of the reference too, is unknown', async () => {
    const rows = newRows();
    const first = await sentFiling(database, 'CORRECTED', rows, { verdict: 'not_filed' });
    await settled(database, first, 'released');
    await ended(database, first, 'needs_correction');
    const filingId = await made(database, 'CORRECTED', rows, { n: 2, corrects: first });
    await send(filingId, 1);
    await database.pool.query(`UPDATE filing_rows SET state = 'sent' WHERE filing_id = $1`, [filingId]);
    await store(filingId, 1, refused);
    expect(await verdictsOf(database, filingId)).toEqual(['unknown']);
    expect(await rowsIn(database, filingId)).toEqual(['sent']);
  });

  it.each<[number, string, string[]]>([
    [400, 'No such port', ['refusal:service']],
    [502, 'Bad gateway', []],
  ])('that leaves it unknown is evidence that it was filed: status %i, %s', async (status, message, names) => {
    const filingId = await sentFiling(database, `EVIDENCE-${status}`, newRows());
    const kind = status === 400 ? 'validation_failed' : 'outcome_unknown';
    await database.pool.query('UPDATE attempts SET answer = $2, answer_status = $3 WHERE filing_id = $1', [
      ...[filingId, JSON.stringify(answerOf(kind, status, message)), status],
    ]);
    await wholeReading(database);
    await locked(database, filingId, (client, filing) => applyReadings(client, filing));
    const found = (await namesOf(database, filingId)) as string[];
    expect(found.filter((name) => name.startsWith('refusal'))).toEqual(names);
  });
});
