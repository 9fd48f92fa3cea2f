/** An attempt has one verdict: how attempts are opened, read, judged by their own execution, and judged anew. */
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { withTransaction } from '../../../src/ledger/pool';
import { markedAt, markRowsUnknown } from '../../../src/ledger/submissions/attempts';
import { settleSubmission } from '../../../src/ledger/submissions/submissions';
import { move, NOW } from '../filing-support';
import { ACCEPTED } from '../submissions/attempt-support';
import { useGates } from './gate-support';

const { ledger, exporter, opened, open, mark, read, close, lose, answer, rows, attempts } = useGates();

const sent = { state: 'submitted', live: true, sent: true };
const planned = { state: 'planned', live: true, sent: false };
let party: Awaited<ReturnType<typeof exporter>>;
beforeAll(async () => {
  party = await exporter();
});
const filing = () => party.file();

describe('opening an attempt', () => {
  it('finds the one that a repeated step opened, and the next one once that is closed', async () => {
    const filingId = await filing();
    const first = await open(filingId);
    expect(await open(filingId)).toEqual(first);
    expect(first).toEqual({ outcome: 'attempt', attemptId: attemptIdOf(filingId, 1, 1), number: 1, verdict: 'open' });
    await read(attemptIdOf(filingId, 1, 1));
    expect(await open(filingId)).toMatchObject({ number: 2, verdict: 'open' });
    expect(await attempts(filingId)).toEqual(['unsent', 'open']);
  });

  it('answers the attempt that is in doubt or was accepted: a run that was reset does not send again', async () => {
    const { filingId, attemptId } = await party.sent();
    expect(await open(filingId)).toMatchObject({ attemptId, verdict: 'marked' });
    await answer(attemptId, { ...ACCEPTED, requestId: null });
    expect(await open(filingId)).toMatchObject({ attemptId, verdict: 'accepted' });
    expect(await attempts(filingId)).toEqual(['accepted']);
  });

  it('opens none of a filing that has ended, nor of a submission that is past sending', async () => {
    const ended = await filing();
    await move(ledger, ended, 'abandoned');
    expect(await open(ended)).toEqual({ outcome: 'ended', state: 'abandoned' });
    const settled = await filing();
    await settleSubmission(ledger.pool, { filingId: settled, submission: 1, state: 'settled', at: NOW });
    expect(await open(settled)).toEqual({ outcome: 'passed', state: 'settled' });
    expect([await attempts(ended), await attempts(settled)]).toEqual([[], []]);
  });

  it('has one attempt of two runs that open at once', async () => {
    const filingId = await filing();
    const both = await Promise.all([open(filingId), open(filingId)]);
    expect(both[0]).toEqual(both[1]);
    expect(await attempts(filingId)).toEqual(['open']);
  });

  it('is one at a time for PostgreSQL too, whatever statement makes a second one', async () => {
    const filingId = await filing();
    await opened(filingId);
    const second = `INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1 || '-1-2', $1, 1, 2)`;
    await expect(ledger.pool.query(second, [filingId])).rejects.toMatchObject({ constraint: 'attempts_one_open' });
  });
});

describe('reading an attempt', () => {
  it('judges one that was never marked unsent: a worker that wakes late sends nothing', async () => {
    const attemptId = await opened(await filing());
    expect(await read(attemptId)).toMatchObject({ verdict: 'unsent', filingEnded: false, markedAt: null });
    expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'closed' });
  });

  it('returns when the mark was set, from which the waits count, and the HTTP time-out of who set it', async () => {
    const { attemptId } = await party.sent();
    await ledger.select('UPDATE attempts SET timeout_ms = 90000 WHERE attempt_id = $1', attemptId);
    const mark = { markedAt: NOW.getTime(), timeoutMs: 90_000 };
    expect(await read(attemptId)).toMatchObject({ verdict: 'marked', underWay: true, ...mark });
    expect(await markedAt(ledger.pool, attemptId)).toEqual(NOW);
  });

  it('reports that the filing has ended', async () => {
    const filingId = await filing();
    const attemptId = await opened(filingId);
    await move(ledger, filingId, 'abandoned');
    expect(await read(attemptId)).toMatchObject({ verdict: 'unsent', filingEnded: true });
  });

  it("returns the service's answer to another attempt of the submission", async () => {
    const { first, second } = await party.absentAndNext();
    await answer(first, { ...ACCEPTED, requestId: 'R-OTHER' });
    const answered = { verdict: 'accepted', answer: { requestId: 'R-OTHER' } };
    expect(await read(second)).toMatchObject({ ...answered, attemptId: first });
  });

  it('is unknown for an attempt that the ledger does not hold', async () =>
    expect(await read(attemptIdOf(await filing(), 1, 7))).toMatchObject({ verdict: null }));
});

describe('an execution', () => {
  it('judges its own mark unsent when nothing was written, and not that of another: the rows are planned again', async () => {
    const { filingId, attemptId } = await party.sent();
    for (const judge of [close, lose]) await judge(attemptId, 'second-execution');
    expect(await read(attemptId)).toMatchObject({ verdict: 'marked', underWay: true });
    expect(await rows(filingId)).toMatchObject([sent]);
    await close(attemptId);
    expect(await read(attemptId)).toMatchObject({ verdict: 'unsent', reason: 'not_sent' });
    expect(await rows(filingId)).toMatchObject([planned]);
    // A step that is repeated late shows no rows as unknown that were planned again.
    await withTransaction(ledger.pool, (client) => markRowsUnknown(client, attemptId));
    expect(await rows(filingId)).toMatchObject([planned]);
  });

  it('that judges its attempt late leaves the rows of the next one alone', async () => {
    const { filingId, first, second } = await party.absentAndNext();
    await mark(second);
    await close(first);
    await read(first, 'validation_failed');
    expect(await rows(filingId)).toMatchObject([sent]);
    expect(await attempts(filingId)).toEqual(['absent', 'marked']);
  });

  it('reports that its own exchange is over and its outcome unknown', async () => {
    const { filingId, attemptId } = await party.sent();
    await lose(attemptId);
    const reason = 'the answer was lost';
    expect(await read(attemptId)).toMatchObject({ verdict: 'marked', underWay: false, reason, answer: null });
    await withTransaction(ledger.pool, (client) => markRowsUnknown(client, attemptId));
    expect(await rows(filingId)).toMatchObject([{ ...sent, state: 'unknown' }]);
  });

  it('that was refused readably has its mark judged by the reader, where it could not do it itself', async () => {
    const { filingId, attemptId } = await party.sent();
    const reason = 'validation_failed';
    expect(await read(attemptId, reason)).toMatchObject({ verdict: 'refused', reason });
    expect(await rows(filingId)).toMatchObject([planned]);
  });
});

it('the verdict of an attempt with a mark is not open, for PostgreSQL itself', async () => {
  const { attemptId } = await party.sent();
  const reopened = ledger.pool.query(`UPDATE attempts SET verdict = 'open' WHERE attempt_id = $1`, [attemptId]);
  await expect(reopened).rejects.toMatchObject({ code: '23514' });
});
