/** "Not filed": when it may be said, by how many, and what it does. */
import { useTestDatabase } from '../../support/postgres';
import { principalOf } from '../../support/principals';
import { removePrincipal } from '../../../src/ledger/principals/principals';
import { daysAgo, judgedBy, knowCompany, makeFiling, makeSent, say, standing, step, told } from './decision-support';

const database = useTestDatabase(({ pool }) => knowCompany(pool));
const notFiled = { kind: 'not_filed' as const };
const READ = 'recorded: it is carried out once the certificates were read anew';

test('without evidence one claimed name is enough, once a reading began after it', async () => {
  const { pool } = database;
  const filing = await makeSent(pool);
  expect(told(await say(pool, filing, null, { ...notFiled, note: 'I looked' }))).toContain(READ);
  expect(await step(pool, filing)).toBe('reading');
  await judgedBy(pool, filing, []);
  await step(pool, filing);
  expect(await standing(pool, filing)).toMatchObject({
    ...{ rows: ['planned'], verdicts: ['not_filed'], said: ['a claim not_filed carried_out'], evidence: [] },
  });
  // Said once more, there is nothing in question.
  expect(told(await say(pool, filing, null, notFiled))).toMatch(/^resolve_refused: no attempt of it is in question/);
});

test('a reading that the run has not looked at yet proves nothing', async () => {
  const { pool } = database;
  const filing = await makeSent(pool);
  await say(pool, filing, null, notFiled);
  await judgedBy(pool, filing, []);
  // A newer whole reading, whose evidence is not known.
  await pool.query(
    `INSERT INTO readings (mode, iec, exporter_id, ended_at, from_date, to_date, whole)
     VALUES ('test', 'AAGCM4521K', 'exporter-1', clock_timestamp(), current_date, current_date, true)`,
  );
  expect(await step(pool, filing)).toBe('reading');
});

test('not before the settle time is over, by clock and by beats, of the sender or of this process', async () => {
  const { pool } = database;
  const early = await makeSent(pool, { ageMs: 3 * 3_600_000 });
  expect(told(await say(pool, early, null, notFiled))).toMatch(/^resolve_refused: .*settle time is not over/);
  const filing = await makeSent(pool);
  expect(told(await say(pool, filing, null, notFiled, { settleAfterMs: 6 * 3_600_000 }))).toMatch(/^resolve_refused/);
  await pool.query('UPDATE ledger SET beat = 5');
  expect(told(await say(pool, filing, null, notFiled))).toMatch(/^resolve_refused/);
  await pool.query('UPDATE ledger SET beat = 100000');
  expect(told(await say(pool, filing, null, notFiled))).toMatch(/^recorded/);
});

test('not while it is being sent, and not of another attempt', async () => {
  const { pool } = database;
  const sending = await makeSent(pool, { verdict: 'sending' });
  expect(told(await say(pool, sending, null, notFiled))).toBe('resolve_refused: attempt 1 is being sent');
  const filing = await makeSent(pool);
  expect(told(await say(pool, filing, null, { ...notFiled, attempt: 2 }))).toMatch(/^attempt_changed/);
  const unsent = await makeFiling(pool, { state: 'submitting' });
  expect(told(await say(pool, unsent, null, notFiled))).toMatch(/^resolve_refused: no attempt/);
});

test('evidence takes two principals, and a reading after both in which nothing was added', async () => {
  const { pool } = database;
  const filing = await makeSent(pool, { evidence: ['certificate:E-1', 'irm_fell:IRM1'] });
  expect(told(await say(pool, filing, null, notFiled))).toMatch(
    /^needs_token: this speaks against it: certificate:E-1/,
  );
  expect(told(await say(pool, filing, 'arun', notFiled))).toBe('recorded: somebody else than arun has to say the same');
  expect(told(await say(pool, filing, 'arun', notFiled))).toMatch(/^said_already/);
  await judgedBy(pool, filing, ['certificate:E-1', 'irm_fell:IRM1']);
  expect(await step(pool, filing)).toBe('person');
  expect(told(await say(pool, filing, 'bela', notFiled))).toContain(READ);
  expect(await step(pool, filing)).toBe('reading');
  // What has gone voids nothing.
  await judgedBy(pool, filing, ['certificate:E-1']);
  await step(pool, filing);
  expect(await standing(pool, filing)).toMatchObject({
    ...{ rows: ['planned'], verdicts: ['not_filed'], evidence: ['certificate:E-1', 'irm_fell:IRM1'] },
    said: ['arun not_filed carried_out', 'bela not_filed carried_out'],
  });
});

test('what was added to the evidence voids what was said before', async () => {
  const { pool } = database;
  const filing = await makeSent(pool);
  await say(pool, filing, 'arun', notFiled);
  await judgedBy(pool, filing, ['certificate:E-9']);
  expect(await step(pool, filing)).toBeNull();
  expect(await standing(pool, filing)).toMatchObject({ rows: ['sent'], said: ['arun not_filed void'] });
  expect(told(await say(pool, filing, 'arun', notFiled))).toMatch(/^recorded: somebody else/);
  await judgedBy(pool, filing, ['certificate:E-9', 'irm_fell:X']);
  expect(told(await say(pool, filing, 'bela', notFiled))).toMatch(/^recorded: somebody else/);
  expect(told(await say(pool, filing, 'arun', { ...notFiled, shown: ['certificate:E-9'] }))).toMatch(
    /found since: irm_fell:X/,
  );
});

test('what somebody said who was removed since does not count, alone or as one of two', async () => {
  const { pool } = database;
  const filing = await makeSent(pool);
  await say(pool, filing, 'rahul', notFiled);
  await removePrincipal(pool, (await principalOf(pool, 'rahul')).principalId);
  await judgedBy(pool, filing, []);
  await step(pool, filing);
  expect(await standing(pool, filing)).toMatchObject({ rows: ['sent'], said: ['rahul not_filed void'] });
});

test('where no reading succeeds, two persons who were shown that are enough', async () => {
  const { pool } = database;
  await pool.query('DELETE FROM readings');
  const filing = await makeSent(pool, { evidence: ['reading:none'] });
  expect(told(await say(pool, filing, null, notFiled))).toContain(READ);
  expect(told(await say(pool, filing, 'arun', notFiled))).toContain(READ);
  expect(told(await say(pool, filing, 'bela', notFiled))).toBe('carried_out');
  expect(await standing(pool, filing)).toMatchObject({ verdicts: ['not_filed'], evidence: ['reading:none'] });
  // One of them had been shown evidence of a reading.
  const other = await makeSent(pool);
  await say(pool, other, 'arun', notFiled);
  await pool.query('DELETE FROM readings');
  await judgedBy(pool, other, ['reading:none']);
  expect(told(await say(pool, other, 'bela', notFiled))).toContain(READ);
  // A whole reading within the settle time: what it found has to be known.
  await pool.query('DELETE FROM readings');
  const read = await makeSent(pool, { evidence: ['reading:none'] });
  await pool.query(
    `INSERT INTO readings (mode, iec, exporter_id, began_at, ended_at, from_date, to_date, whole)
     VALUES ('test', 'AAGCM4521K', 'exporter-1', clock_timestamp() - interval '1 h', clock_timestamp(), current_date, current_date, true)`,
  );
  await say(pool, read, 'arun', notFiled);
  expect(told(await say(pool, read, 'bela', notFiled))).toContain(READ);
});

test('an accepted attempt takes two persons, once it is denied or overdue', async () => {
  const { pool } = database;
  const followed = await makeSent(pool, { verdict: 'accepted', requestId: 'R-1' });
  expect(told(await say(pool, followed, 'arun', notFiled))).toMatch(/^resolve_refused: the service accepted it/);
  const filing = await makeSent(pool, { verdict: 'accepted', requestId: 'R-2', denied: true });
  expect(told(await say(pool, filing, null, notFiled))).toMatch(/^needs_token: this speaks against it: request:R-2/);
  await say(pool, filing, 'arun', notFiled);
  await say(pool, filing, 'bela', notFiled);
  await judgedBy(pool, filing, []);
  await step(pool, filing);
  expect(await standing(pool, filing)).toMatchObject({
    rows: ['planned'],
    verdicts: ['not_filed'],
    evidence: ['request:R-2'],
  });
});

test('a certificate that the record names is evidence though nobody read it', async () => {
  const { pool } = database;
  const filing = await makeSent(pool, { verdict: 'accepted', requestId: 'R-3', denied: true });
  await pool.query(`UPDATE filing_rows SET record_status = 'processed', record_number = 'E-77' WHERE filing_id = $1`, [
    filing.filingId,
  ]);
  expect(told(await say(pool, filing, null, notFiled))).toContain('certificate:E-77');
});

describe('the filing ends', () => {
  const carriedOut = async (filing: Awaited<ReturnType<typeof makeSent>>, ends = false) => {
    const { pool } = database;
    await say(pool, filing, null, { ...notFiled, ends });
    await judgedBy(pool, filing, []);
    await step(pool, filing);
    return standing(pool, filing);
  };

  test('where that was asked for', async () => {
    const ended = await carriedOut(await makeSent(database.pool), true);
    expect(ended).toMatchObject({ rows: ['released'], verdicts: ['not_filed'] });
  });

  test('after a refusal of the content, which may be the proof that it was filed', async () => {
    const answer = { kind: 'validation_failed', status: 400, requestId: null, texts: ['duplicate invoice'] };
    expect((await carriedOut(await makeSent(database.pool, { answer }))).rows).toEqual(['released']);
    const silent = { kind: 'outcome_unknown', status: 504, requestId: null, texts: [] };
    expect((await carriedOut(await makeSent(database.pool, { answer: silent }))).rows).toEqual(['planned']);
  });

  test('where a row of it is certified: the attempt did arrive', async () => {
    const { pool } = database;
    const filing = await makeSent(pool, { verdict: 'accepted', requestId: null, rows: 2 });
    await pool.query(
      `UPDATE filing_rows SET state = 'certified', ebrc_number = 'E-50', certified_by = 'details' WHERE filing_id = $1 AND position = 0`,
      [filing.filingId],
    );
    expect(told(await say(pool, filing, 'arun', notFiled))).toMatch(/its outcome is not overdue/);
    await pool.query(`UPDATE filings SET due_at = now() WHERE filing_id = $1`, [filing.filingId]);
    await say(pool, filing, 'arun', notFiled);
    await say(pool, filing, 'bela', notFiled);
    await judgedBy(pool, filing, []);
    await step(pool, filing);
    expect(await standing(pool, filing)).toMatchObject({ rows: ['certified', 'released'], verdicts: ['accepted'] });
  });
});

test('where there is one person, her two words are a day apart', async () => {
  const { pool } = database;
  const single = { singlePerson: true };
  const filing = await makeSent(pool, { evidence: ['certificate:E-1'] });
  await say(pool, filing, 'meera', notFiled, single);
  expect(told(await say(pool, filing, 'meera', notFiled, single))).toMatch(/^said_already/);
  await daysAgo(pool, 1);
  expect(told(await say(pool, filing, 'meera', notFiled, single))).toContain(READ);
  await judgedBy(pool, filing, ['certificate:E-1']);
  await step(pool, filing, single);
  expect((await standing(pool, filing)).verdicts).toEqual(['not_filed']);
});

test('two persons who answer at once have a word each', async () => {
  const { pool } = database;
  await pool.query('DELETE FROM readings');
  const filing = await makeSent(pool, { evidence: ['reading:none', 'certificate:E-1'] });
  await Promise.all([principalOf(pool, 'arun'), principalOf(pool, 'bela')]);
  const both = await Promise.all(['arun', 'bela'].map((who) => say(pool, filing, who, notFiled)));
  expect(both.map(({ outcome }) => outcome).sort()).toEqual(['carried_out', 'recorded']);
  expect((await standing(pool, filing)).verdicts).toEqual(['not_filed']);
});
