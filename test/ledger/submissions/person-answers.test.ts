import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { addEvent } from '../../../src/ledger/filings/filing-progress';
import { releaseUnsent } from '../../../src/ledger/rows/filing-rows';
import { readFilingView } from '../../../src/ledger/filings/filing-view';
import { adoptAnswer } from '../../../src/ledger/submissions/submissions';
import { withTransaction } from '../../../src/ledger/pool';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { ACCEPTED, attemptSteps } from './attempt-support';
import { knowExporter, minutesLater, move, NOW, open as file, rowsOf } from '../filing-support';

let ledger: TestDatabase;
const { filing, opened, open, mark, read, answer, say, found, rows, attempts } = attemptSteps(() => ledger);

beforeAll(async () => {
  ledger = await createTestDatabase();
  await knowExporter(ledger);
});
afterAll(() => ledger?.drop());

const sent = { state: 'submitted', live: true, sent: true };
const planned = { state: 'planned', live: true, sent: false };
const contradicted = (why: string) => ({ outcome: 'contradicted', why: expect.stringContaining(why) as string });

/** A filing whose attempt was sent, and whose answer was lost. */
async function lost(): Promise<{ filingId: string; attemptId: string }> {
  const filingId = await filing();
  const attemptId = await opened(filingId);
  await mark(attemptId);
  return { filingId, attemptId };
}

/** The attempt's answer comes after all, and is applied to its submission. */
async function accepted({ filingId, attemptId }: { filingId: string; attemptId: string }, requestId: string) {
  await answer(attemptId, { ...ACCEPTED, requestId });
  const adopted = { filingId, submission: 1, attemptId, answer: { ...ACCEPTED, requestId }, at: NOW };
  await withTransaction(ledger.pool, (client) => adoptAnswer(client, adopted));
}

describe("a person's answer that nothing was filed", () => {
  it('closes an attempt of unknown outcome', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    expect(await say(attemptId)).toEqual({ outcome: 'resend' });
    expect(await read(attemptId)).toMatchObject({ verdict: 'not_sent', reason: 'not filed, says ravi: looked' });
    expect(await rows(filingId)).toMatchObject([planned]);
  });

  it('frees nothing of the next attempt, however late the step is repeated', async () => {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    const second = await opened(filingId);
    await mark(second);
    expect(await say(first)).toEqual({ outcome: 'resend' });
    expect(await rows(filingId)).toMatchObject([sent]);
    expect(await attempts(filingId)).toEqual(['not_sent', 'sending']);
  });

  it('is refused when an answer with a request id exists, of that attempt or of another', async () => {
    const filingId = await filing();
    const first = await opened(filingId);
    await mark(first);
    await say(first);
    const second = await opened(filingId);
    await mark(second);
    await answer(first);
    const contradicted = { outcome: 'contradicted', why: expect.stringContaining('request R1') as string };
    expect(await say(second)).toEqual(contradicted);
    expect(await say(first)).toEqual(contradicted);
    expect(await rows(filingId)).toMatchObject([sent]);
  });

  it('is accepted when the answer has no request id to ask about', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await answer(attemptId, { kind: 'accepted', ackStatus: 'Failed', requestId: null });
    expect(await say(attemptId)).toEqual({ outcome: 'resend' });
    expect(await open(filingId)).toMatchObject({ number: 2, state: 'open' });
  });

  it('is accepted for an attempt that the ledger lost, and takes its number', async () => {
    const filingId = await filing();
    expect(await say(attemptIdOf(filingId, 1, 1))).toEqual({ outcome: 'resend' });
    expect(await open(filingId)).toMatchObject({ number: 2, state: 'open' });
  });

  it('changes nothing of a filing that has ended', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await mark(attemptId);
    await move(ledger, filingId, 'submitting', 'outcome_unknown', 'abandoned');
    expect(await say(attemptId)).toMatchObject({ outcome: 'contradicted' });
    expect(await attempts(filingId)).toEqual(['sending']);
  });

  it('is not taken for another send of the same attempt, as after a ledger that was put back', async () => {
    const { filingId, attemptId } = await lost();
    const { markedAt } = await read(attemptId);
    const earlier = { markedAt: (markedAt ?? 0) - 60_000 };
    expect(await say(attemptId, earlier)).toEqual(contradicted('another time'));
    expect(await say(attemptId, { markedAt: null })).toEqual(contradicted('another time'));
    expect(await attempts(filingId)).toEqual(['sending']);
  });

  it('is too early before the settle window since the mark of that attempt is over', async () => {
    const { filingId, attemptId } = await lost();
    expect(await say(attemptId, { at: minutesLater(239) })).toEqual(contradicted('settle window'));
    expect(await attempts(filingId)).toEqual(['sending']);
    expect(await say(attemptId, { at: minutesLater(240) })).toEqual({ outcome: 'resend' });
  });

  it('is not enough while the service cannot be queried, until a second person gives it with --unseen', async () => {
    const { filingId, attemptId } = await lost();
    const other = await lost();
    const lookFailed = 'the portal is away';
    const refuse = (who: string, of = attemptId) =>
      addEvent(ledger.pool, {
        filingId,
        at: NOW,
        kind: 'resolve_refused',
        who,
        text: 'refused',
        data: { as: 'not-filed', attemptId: of },
      });
    expect(await say(attemptId, { lookFailed })).toEqual(contradicted('the portal is away'));
    // Nobody said it before, or it was said of another attempt, or by the same person in other capitals.
    expect(await say(attemptId, { lookFailed, unseen: true })).toEqual(contradicted('somebody else'));
    await refuse('meera', other.attemptId);
    await refuse('Ravi ');
    expect(await say(attemptId, { lookFailed, unseen: true })).toEqual(contradicted('somebody else'));
    await refuse('meera');
    expect(await say(attemptId, { lookFailed })).toEqual(contradicted('the portal is away'));
    expect(await say(attemptId, { lookFailed, unseen: true, at: minutesLater(10) })).toEqual(
      contradicted('settle window'),
    );
    expect(await say(attemptId, { lookFailed, unseen: true })).toEqual({ outcome: 'resend' });
    expect(await rows(filingId)).toMatchObject([planned]);
  });
});

describe("a person's answer with the request it was filed under", () => {
  it('has the submission followed under it, and the same word again changes nothing', async () => {
    const { filingId, attemptId } = await lost();
    expect(await found(attemptId, 'REQ-1')).toBeNull();
    expect(await found(attemptId, 'REQ-1')).toBeNull();
    expect(await rows(filingId)).toMatchObject([sent]);
    expect(await readFilingView(ledger.pool, filingId)).toMatchObject({
      attempt: attemptId,
      submissions: [{ state: 'acknowledged', requestId: 'REQ-1' }],
    });
    expect(await open(filingId)).toEqual({ outcome: 'passed', state: 'acknowledged' });
  });

  it('is refused by the name of the filing that has the request, of two at once too', async () => {
    const first = await lost();
    const second = await lost();
    const taken = await Promise.all([found(first.attemptId, 'REQ-2'), found(second.attemptId, 'REQ-2')]).catch(
      (error: unknown) => [String(error)],
    );
    const holders = await ledger.pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM submissions WHERE request_id = 'REQ-2'`,
    );
    expect(holders.rows[0]?.n).toBe(1);
    expect(taken.filter((why) => why !== null)).toHaveLength(1);
    const loser = (await readFilingView(ledger.pool, first.filingId))?.requestId === 'REQ-2' ? second : first;
    expect(await found(loser.attemptId, 'REQ-2')).toContain('is the one of filing');
  });

  it('does not give a submission the request of another one, whatever the service answers', async () => {
    const first = await lost();
    await found(first.attemptId, 'REQ-3');
    const second = await lost();
    await accepted(second, 'REQ-3');
    expect(await read(second.attemptId)).toMatchObject({ verdict: 'answered' });
    expect((await readFilingView(ledger.pool, second.filingId))?.requestId).toBeNull();
  });

  it('may be equal for two exporters, whose requests are both followed', async () => {
    const requestId = '1';
    const requestOf = async (filingId: string) => (await readFilingView(ledger.pool, filingId))?.requestId;
    await knowExporter(ledger, 'exporter-2', 'AAGCM9999K');
    const others = async (document: string) => {
      const made = [`OTHERS-${document}`, rowsOf({ sbCumInvoiceNumber: document, mappedIRMAmountFCC: 1 })] as const;
      const filingId = await file(ledger, ...made, { exporterId: 'exporter-2' });
      const attemptId = await opened(filingId);
      await mark(attemptId);
      return { filingId, attemptId };
    };
    for (const { filingId, attemptId } of [await lost(), await others('3100001')]) {
      await accepted({ filingId, attemptId }, requestId);
      expect(await requestOf(filingId)).toBe(requestId);
    }
    expect(await found((await others('3100002')).attemptId, requestId)).toContain('is the one of filing');
  });

  it('is refused of an attempt that was closed, and of a filing that has ended', async () => {
    const { attemptId } = await lost();
    await say(attemptId);
    expect(await found(attemptId, 'REQ-4')).toContain('not_sent');
    const over = await lost();
    await move(ledger, over.filingId, 'submitting', 'outcome_unknown', 'abandoned');
    expect(await found(over.attemptId, 'REQ-5')).toContain('ended');
  });

  it('has freed rows hold their mappings again', async () => {
    const { filingId, attemptId } = await lost();
    await ledger.pool.query(`UPDATE filing_rows SET state = 'planned', submitted_at = NULL WHERE filing_id = $1`, [
      filingId,
    ]);
    await withTransaction(ledger.pool, (client) => releaseUnsent(client, { filingId, state: 'withdrawn', at: NOW }));
    expect(await rows(filingId)).toMatchObject([{ live: false }]);
    expect(await found(attemptId, 'REQ-6')).toBeNull();
    expect(await rows(filingId)).toMatchObject([sent]);
  });
});
