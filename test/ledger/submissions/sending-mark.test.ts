import { releaseUnsent } from '../../../src/ledger/rows/filing-rows';
import { withTransaction } from '../../../src/ledger/pool';
import { markSending } from '../../../src/ledger/submissions/sending-mark';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { attemptSteps } from './attempt-support';
import { knowExporter, move, NOW, open as file, rowsOf } from '../filing-support';

let ledger: TestDatabase;
const { filing, opened, open, mark, read, answer, say, rows, attempts } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const at = NOW;
const sendNumber = async () => {
  const { rows: found } = await ledger.pool.query<{ n: string }>('SELECT send_number AS n FROM ledger_identity');
  return Number(found[0]?.n);
};
const free = (filingId: string) =>
  withTransaction(ledger.pool, (client) => releaseUnsent(client, { filingId, state: 'withdrawn', at }));
/** As an attempt that a lost statement, or a ledger of another version, left open. */
const reopen = (attemptId: string) =>
  ledger.pool.query(`UPDATE attempts SET state = 'open' WHERE attempt_id = $1`, [attemptId]);

describe('the fence', () => {
  it('lets one mark through, once, and takes a send number for that alone', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    const before = await sendNumber();
    const marks = await Promise.all(['a', 'b', 'c'].map((sender) => mark(attemptId, sender)));
    expect(marks.filter(({ marked }) => marked)).toEqual([{ marked: true, sendNumber: before + 1 }]);
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'closed' });
    expect(await sendNumber()).toBe(before + 1);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
  });

  it('has one winner when the mark and the reading come together', async () => {
    for (let round = 0; round < 20; round += 1) {
      const attemptId = await opened(await filing());
      const [{ marked }, { verdict }] = await Promise.all([mark(attemptId), read(attemptId)]);
      // Never both: marked and read as not sent would let it be sent twice.
      expect([marked, verdict]).toEqual(marked ? [true, 'sending'] : [false, 'not_sent']);
    }
  });

  it('has one winner when the mark and the freeing of its rows come together', async () => {
    for (let round = 0; round < 20; round += 1) {
      const filingId = await filing();
      const attemptId = await opened(filingId);
      const [{ marked }] = await Promise.all([mark(attemptId), free(filingId)]);
      const state = marked ? 'submitted' : 'withdrawn';
      expect(await rows(filingId)).toMatchObject([{ state, live: marked }]);
    }
  });

  it('waits for a transaction that is freeing the rows, and then finds them gone', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    const freeing = await ledger.pool.connect();
    await freeing.query('BEGIN');
    await releaseUnsent(freeing, { filingId, state: 'withdrawn', at });
    const marking = mark(attemptId);
    await freeing.query('COMMIT');
    freeing.release();
    expect(await marking).toMatchObject({ marked: false });
    expect(await rows(filingId)).toMatchObject([{ state: 'withdrawn', live: false }]);
  });

  it('is closed to an attempt whose rows were freed, and may be live elsewhere by now', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await free(filingId);
    await reopen(attemptId);
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'rows' });
  });

  it.each(['submitted', 'unknown', 'certified', 'abandoned_after_send'])(
    'is closed to an attempt one of whose rows is %s, although it is live',
    async (state) => {
      const filingId = await filing();
      const attemptId = await opened(filingId);
      await ledger.pool.query('UPDATE filing_rows SET state = $2 WHERE filing_id = $1', [filingId, state]);
      expect(await mark(attemptId)).toMatchObject({
        marked: false,
        why: 'rows',
        reason: expect.stringContaining(state) as string,
      });
    },
  );

  it('is closed once the filing has ended', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await move(ledger, filingId, 'abandoned');
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'ended' });
  });

  it('is closed while another attempt of the submission was accepted', async () => {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    const second = await opened(filingId);
    await answer(first);
    // PostgreSQL itself holds it too: the second cannot be opened again beside the first.
    await expect(reopen(second)).rejects.toThrow(/attempts_one_standing/u);
    await ledger.pool.query(`UPDATE attempts SET late = true WHERE attempt_id = $1`, [first]);
    await ledger.pool.query(`UPDATE filing_rows SET state = 'planned' WHERE filing_id = $1`, [filingId]);
    await reopen(second);
    expect(await mark(second)).toMatchObject({ marked: false, why: 'other_attempt' });
  });

  it('is closed to an attempt that the ledger does not hold', async () => {
    expect(await mark(`${await filing()}-1-9`)).toMatchObject({ marked: false, why: 'gone' });
    expect(await mark('F0-1-1')).toMatchObject({ marked: false, why: 'gone' });
  });

  it('opens the way for two submissions of one filing at the same time', async () => {
    const two = rowsOf({ sbCumInvoiceNumber: '4000001' }, { sbCumInvoiceNumber: '4000002' });
    const filingId = await file(ledger, 'TWO-SUBMISSIONS', two);
    await ledger.pool.query(
      `INSERT INTO submissions (filing_id, submission, mode, customer_id, row_count) VALUES ($1, 2, 'test', $2, 1)`,
      [filingId, 'exporter-1'],
    );
    await ledger.pool.query('UPDATE filing_rows SET submission = 2 WHERE filing_id = $1 AND position = 1', [filingId]);
    const both = [await opened(filingId, 1), await opened(filingId, 2)];
    expect((await Promise.all(both.map((attemptId) => mark(attemptId)))).map(({ marked }) => marked)).toEqual([
      true,
      true,
    ]);
    expect(await attempts(filingId)).toEqual(['sending', 'sending']);
    expect(await open(filingId, 2)).toMatchObject({ state: 'sending' });
  });

  it('takes no number for a mark that is rolled back', async () => {
    const attemptId = await opened(await filing());
    const before = await sendNumber();
    await withTransaction(ledger.pool, async (client) => {
      await markSending(client, { attemptId, sender: 'a', payloadHash: 'hash', at });
      throw new Error('the connection broke');
    }).catch(() => undefined);
    expect(await sendNumber()).toBe(before);
    expect(await mark(attemptId)).toEqual({ marked: true, sendNumber: before + 1 });
  });
});
