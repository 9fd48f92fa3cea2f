import { ANSWERS_USED, OPEN_USED } from '../../../src/domain/filing/poll-cadence';
import { readSeenAnswers, recordSeenAnswer } from '../../../src/ledger/submissions/answer-times';
import { withTransaction } from '../../../src/ledger/pool';
import { addRequest, endRequest, readNextPoll } from '../../../src/ledger/submissions/requests';
import { useTestDatabase } from '../../support/postgres';
import { knowExporter, minutesLater, NOW, open, rowsOf } from '../filing-support';

const MINUTE = 60_000;
const ledger = useTestDatabase(knowExporter);

const saw = (nth: number, afterMs: number, byMs: number, mode = 'test') => {
  const answer = { afterMs, byMs };
  return recordSeenAnswer(ledger.pool, { filingId: `F${nth}`, submission: 1, mode, answer, at: minutesLater(nth) });
};

describe('answers that polling saw', () => {
  it('come newest first, those of the mode alone, each once', async () => {
    await saw(1, 0, 20 * MINUTE);
    await saw(2, 100 * MINUTE, 103.4 * MINUTE);
    await saw(3, MINUTE, 2 * MINUTE, 'live');
    await saw(1, 0, 999 * MINUTE);
    expect(await readSeenAnswers(ledger.pool, 'test')).toEqual([
      { afterMs: 100 * MINUTE, byMs: 103.4 * MINUTE },
      { afterMs: 0, byMs: 20 * MINUTE },
    ]);
  });

  it('never lie before the poll that found nothing', async () => {
    await saw(4, 9 * MINUTE, 5 * MINUTE);
    expect((await readSeenAnswers(ledger.pool, 'test'))[0]).toEqual({ afterMs: 5 * MINUTE, byMs: 5 * MINUTE });
  });

  it('are as many as the cadence uses', async () => {
    for (let nth = 10; nth < 15 + ANSWERS_USED; nth += 1) await saw(nth, 0, nth * MINUTE);
    const seen = await readSeenAnswers(ledger.pool, 'test');
    expect(seen).toHaveLength(ANSWERS_USED);
    expect(seen[0]?.byMs).toBe((14 + ANSWERS_USED) * MINUTE);
  });
});

describe('open requests', () => {
  const loadOf = async (mode: string, at: Date) =>
    (await readNextPoll(ledger.pool, { filingId: '', submission: 1, mode, at })).load;
  const openNow = () => loadOf('test', minutesLater(100));

  it('are those that are followed and have not ended, with their ages', async () => {
    const { seen, ...none } = await openNow();
    expect(seen).toEqual(await readSeenAnswers(ledger.pool, 'test'));
    expect(none).toEqual({ openRequests: 0, openAgesMs: [] });
    const filingId = await open(ledger, 'OPEN-1', rowsOf({ sbCumInvoiceNumber: '1', mappedIRMAmountFCC: 1 }));
    expect((await openNow()).openRequests).toBe(0);
    const request = { filingId, submission: 1, requestId: 'R-OPEN' };
    const added = { ...request, source: 'named' as const, attemptId: null, since: NOW };
    await withTransaction(ledger.pool, (client) => addRequest(client, added));
    expect(await openNow()).toMatchObject({ openRequests: 1, openAgesMs: [100 * MINUTE] });
    expect((await loadOf('live', NOW)).openRequests).toBe(0);
    const end = { state: 'ended' as const, processingStatus: 'Processed', errored: [], at: NOW };
    await withTransaction(ledger.pool, (client) => endRequest(client, request, end));
    expect((await openNow()).openRequests).toBe(0);
  });

  it('are counted in full, while the ages are those of the youngest', async () => {
    const filingId = await open(ledger, 'OPEN-2', rowsOf({ sbCumInvoiceNumber: '2', mappedIRMAmountFCC: 1 }));
    await ledger.pool.query('DELETE FROM requests');
    await ledger.pool.query(
      `INSERT INTO requests (filing_id, submission, request_id, mode, customer_id, source, since)
       SELECT $1, 1, 'R-' || n, 'test', 'E', 'acknowledged', $2::timestamptz - n * interval '1 minute'
         FROM generate_series(1, $3) n`,
      [filingId, minutesLater(100), OPEN_USED + 40],
    );
    const { openRequests, openAgesMs } = await openNow();
    expect(openRequests).toBe(OPEN_USED + 40);
    expect(openAgesMs).toEqual(Array.from({ length: OPEN_USED }, (_, nth) => (nth + 1) * MINUTE));
  });
});
