/** An attempt has one verdict: how attempts are opened, read, judged by their own execution, and judged anew. */
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { withTransaction } from '../../../src/ledger/pool';
import { markRowsUnknown } from '../../../src/ledger/submissions/attempts';
import { readSent } from '../../../src/ledger/submissions/lost-time';
import { settleSubmission } from '../../../src/ledger/submissions/submissions';
import { move, NOW, minutesLater, open as record, rowsOf } from '../filing-support';
import { ACCEPTED } from '../submissions/attempt-support';
import { useGates, LATER, OVER, type Sent } from './gate-support';
import { TEST_CADENCE } from '../../support/settings';
import { inQuestion, readFilingView } from '../../../src/ledger/filings/filing-view';
import { readStanding } from '../../../src/ledger/filings/filing-now';
import { releaseUnfiled } from '../../../src/ledger/gates/release';
import { readRequests } from '../../../src/ledger/submissions/requests';

const gates = useGates();
const { ledger, exporter, under, opened, open, mark, read, close, lose, accept, absent, answer, rows, attempts } =
  gates;

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
    expect(await readSent(ledger.pool, attemptId)).toMatchObject({ markedAt: NOW });
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

/** An acceptance: it may follow any other verdict, and takes a release back. */
describe('an answer that was accepted', () => {
  let asked = 0;
  const newId = () => `R-ACCEPT-${(asked += 1)}`;
  const free = (filingId: string) =>
    under(filingId, (client) =>
      releaseUnfiled(client, { filingId, submission: null, state: 'withdrawn', reason: 'given up', at: LATER }),
    );

  describe('an acceptance', () => {
    it('of an attempt whose mark was lost counts as sent since it was opened: looks have to cover that day', async () => {
      const filingId = await party.file();
      const attemptId = await opened(filingId);
      await accept({ attemptId }, newId());
      expect(await gates.stored(filingId, 'marked_at = opened_at AS since', 'attempts')).toEqual([{ since: true }]);
    });

    const verdicts: [string, (sent: Sent) => Promise<unknown>][] = [
      ['in doubt', () => Promise.resolve()],
      ['unsent', ({ attemptId }) => close(attemptId)],
      ['refused', ({ attemptId }) => read(attemptId, 'validation_failed')],
      ['absent', ({ attemptId }) => party.look(OVER).then(() => absent({ attemptId }))],
      ['unknown to its own execution', ({ attemptId }) => lose(attemptId)],
      [
        'rejected',
        ({ attemptId }) => ledger.select(`UPDATE attempts SET verdict = 'rejected' WHERE attempt_id = $1`, attemptId),
      ],
    ];
    it.each(verdicts)('is stored although the attempt is %s', async (_, bring) => {
      const sent = await party.sent();
      await bring(sent);
      const requestId = newId();
      await accept(sent, requestId);
      expect(await read(sent.attemptId)).toMatchObject({ verdict: 'accepted', answer: { requestId } });
      expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
      expect(await open(sent.filingId)).toEqual({ outcome: 'passed', state: 'acknowledged' });
    });

    it.each([
      ['acknowledged', ['submitting']],
      ['acknowledged_late', ['submitting', 'outcome_unknown']],
    ] as const)('adds the request that it names once, as %s of a filing that is %j', async (source, states) => {
      const sent = await party.sent();
      await move(ledger, sent.filingId, ...states);
      const id = newId();
      expect(await accept(sent, id)).toMatchObject({ fresh: true });
      expect(await accept(sent, id)).toMatchObject({ late: false, fresh: false });
      expect(await gates.requests(sent.filingId)).toEqual([{ id, source, state: 'followed' }]);
      // Neither its own execution nor a refusal that the run returned judges it anew.
      await close(sent.attemptId);
      const kept = { verdict: 'accepted', answer: { requestId: id } };
      expect(await read(sent.attemptId, 'validation_failed')).toMatchObject(kept);
      expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    });

    it('is written down with its attempt where the ledger has lost that', async () => {
      const filingId = await party.file();
      const attemptId = attemptIdOf(filingId, 1, 3);
      await accept({ attemptId }, null);
      expect(await open(filingId)).toMatchObject({ attemptId, number: 3, verdict: 'accepted' });
      expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
    });

    it('without a request id is in doubt like a lost answer: nothing is followed, nothing is sent', async () => {
      const sent = await party.sent();
      await accept(sent, null);
      expect(await readRequests(ledger.pool, sent.filingId, 1)).toEqual([]);
      expect(await open(sent.filingId)).toMatchObject({ outcome: 'attempt', verdict: 'accepted' });
    });

    it.each(['first', 'second'] as const)(
      'of the %s attempt, without a request id, is in question although the other one’s request is followed',
      async (which) => {
        const { filingId, ...both } = await party.absentAndNext();
        await mark(both.second);
        const attemptId = both[which];
        await accept({ attemptId: which === 'first' ? both.second : both.first }, newId());
        await accept({ attemptId }, null);
        expect(await inQuestion(ledger.pool, filingId)).toEqual({ attempt: attemptId, request: null });
        const { submissions } = await readStanding(ledger.pool, filingId);
        expect(submissions).toMatchObject([{ attempt: { attemptId, verdict: 'accepted' } }]);
      },
    );

    it('under the request id of another filing of the client is not followed under it', async () => {
      const [first, second] = [await party.sent(), await party.sent()];
      const requestId = newId();
      await accept(first, requestId);
      await accept(second, requestId);
      expect(await attempts(second.filingId)).toEqual(['accepted']);
      expect(await gates.requests(second.filingId)).toEqual([]);
    });
  });

  describe('an acceptance of an attempt that had been judged', () => {
    it('takes the release back, and closes the open attempt beside it, whose mark is refused', async () => {
      const { filingId, first, second } = await party.absentAndNext();
      expect(await gates.releases(filingId)).toEqual([{ ground: 'absent', withdrawn: false }]);
      await accept({ attemptId: first }, newId());
      expect(await gates.releases(filingId)).toEqual([{ ground: 'absent', withdrawn: true }]);
      expect(await attempts(filingId)).toEqual(['accepted', 'unsent']);
      expect(await rows(filingId)).toEqual([{ state: 'submitted', live: true, sent: true, ordinal: 0 }]);
      expect(await mark(second)).toMatchObject({ marked: false, why: 'closed' });
      expect(await open(filingId)).toEqual({ outcome: 'passed', state: 'acknowledged' });
    });

    it('has one winner when it comes together with the mark of the next one', async () => {
      for (let round = 0; round < 10; round += 1) {
        const { filingId, first, second } = await party.absentAndNext();
        const [marked] = await Promise.all([mark(second), accept({ attemptId: first }, newId())]);
        const view = await readFilingView(ledger.pool, filingId, TEST_CADENCE);
        // Sent all the same: then somebody is told. Never silently.
        expect(view?.attention ?? '').toMatch(marked.marked ? /accepted twice/u : /^$/u);
        expect(await attempts(filingId)).toEqual(['accepted', marked.marked ? 'marked' : 'unsent']);
      }
    });

    it.each([[['first', 'second']], [['second', 'first']]] as const)(
      'asks for attention with both request ids where the other one was accepted too: %j',
      async (order) => {
        const made = await party.absentAndNext();
        await mark(made.second);
        const ids = [newId(), newId()];
        for (const [n, which] of order.entries()) await accept({ attemptId: made[which] }, ids[n] ?? '');
        const view = await readFilingView(ledger.pool, made.filingId, TEST_CADENCE);
        expect(view).toMatchObject({ needsAttention: true });
        for (const id of ids) expect(view?.attention).toContain(id);
        expect(await attempts(made.filingId)).toEqual(['accepted', 'accepted']);
        expect(await gates.requests(made.filingId)).toHaveLength(2);
      },
    );

    it('takes the rows of a filing back that was given up, so that nobody files them again', async () => {
      const { filingId, first } = await party.absentAndNext();
      await free(filingId);
      await move(ledger, filingId, 'abandoned');
      const requestId = newId();
      await accept({ attemptId: first }, requestId);
      expect(await rows(filingId)).toEqual([{ state: 'abandoned_after_send', live: true, sent: true, ordinal: 0 }]);
      expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state: 'acknowledged' }]);
      const view = await readFilingView(ledger.pool, filingId, TEST_CADENCE);
      expect(view).toMatchObject({ needsAttention: true, attention: expect.stringContaining(requestId) as string });
    });

    it.each([
      ['stops the one that is not sent yet', false, { state: 'needs_correction', live: false }, 0],
      ['takes the next ordinal beside the one that is sent', true, { state: 'submitted', live: true }, 1],
    ])('%s, of a mapping that was filed again meanwhile', async (_, sent, again, ordinal) => {
      const own = await exporter();
      const content = rowsOf({ sbCumInvoiceNumber: `300000${ordinal}`, mappedIRMAmountFCC: 1 });
      const { exporterId } = own;
      const filingId = await record(ledger, `FREED-${ordinal}`, content, { exporterId });
      const { attemptId: first } = await own.sendAttempt(filingId);
      await own.look(OVER);
      await absent({ attemptId: first });
      await free(filingId);
      await move(ledger, filingId, 'abandoned');
      const twin = await record(ledger, `FILED-AGAIN-${ordinal}`, content, { exporterId });
      await own.look(minutesLater(300));
      const attemptId = await opened(twin);
      if (sent) expect(await mark(attemptId)).toMatchObject({ marked: true });
      await accept({ attemptId: first }, newId());
      // Beside a row that is stopped in the same transaction it holds its mapping alone.
      const held = { state: 'abandoned_after_send', live: true, sent: true, ordinal };
      expect(await rows(filingId)).toEqual([held]);
      expect(await rows(twin)).toMatchObject([again]);
      expect(await mark(attemptId)).toMatchObject({ marked: false, why: 'closed' });
    });

    it('brings rows back that a rejected sister had freed: its own request decides on them', async () => {
      const { filingId, first, second } = await party.absentAndNext();
      await mark(second);
      const requestId = newId();
      await accept({ attemptId: second }, requestId);
      expect(await gates.endRequest(filingId, requestId, [0])).toEqual([0]);
      expect(await attempts(filingId)).toEqual(['absent', 'rejected']);
      await accept({ attemptId: first }, newId());
      expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
      expect(await attempts(filingId)).toEqual(['accepted', 'rejected']);
    });
  });

  it('never lets a release follow an acceptance, whichever of the two comes first', async () => {
    const own = await exporter();
    for (let round = 0; round < 10; round += 1) {
      const { filingId, attemptId } = await own.sent();
      await own.look(OVER);
      await Promise.all([absent({ attemptId }), accept({ attemptId }, newId())]);
      expect(await attempts(filingId)).toEqual(['accepted']);
      expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
    }
  });

  it('under a request that a person had named for another filing takes it from that one, in whatever case', async () => {
    const [own, other] = [await party.sent(), await party.sent()];
    const requestId = newId();
    const { filingId, attemptId } = other;
    await gates.word({ filingId, attemptId, kind: 'filed', requestId: requestId.toLowerCase(), by: 'ravi' });
    await accept(own, requestId, LATER);
    expect(await gates.requests(own.filingId)).toMatchObject([{ id: requestId, state: 'followed' }]);
    expect(await gates.requests(filingId)).toMatchObject([{ source: 'named', state: 'not_ours' }]);
    expect((await readFilingView(ledger.pool, filingId, TEST_CADENCE))?.attention).toContain(own.attemptId);
  });

  it('holds a row again that was freed while its attempt stayed in doubt', async () => {
    const sent = await party.sent([{}, {}]);
    const [named, own] = [newId(), newId()];
    await gates.name(sent.filingId, named);
    await gates.poll(sent.filingId, named, 'unknown_request', minutesLater(1));
    await party.look(LATER);
    const subject = { requestId: named, filingId: sent.filingId, submission: 1, positions: [0] };
    expect(await absent(subject, { at: minutesLater(243) })).toEqual({ outcome: 'freed', freed: [0] });
    await accept(sent, own);
    const submitted = { state: 'submitted', live: true };
    expect(await rows(sent.filingId)).toMatchObject([submitted, submitted]);
  });

  it('takes the request that a person named for the attempt’s own once its answer names it', async () => {
    const sent = await party.sent();
    const requestId = newId();
    await gates.name(sent.filingId, requestId);
    await accept(sent, requestId);
    expect(await readRequests(ledger.pool, sent.filingId, 1)).toMatchObject([{ requestId, attemptId: sent.attemptId }]);
    expect(await gates.endRequest(sent.filingId, requestId, [0])).toEqual([0]);
  });

  it('of two attempts under one request is one filing: neither is in doubt once that has ended', async () => {
    const { filingId, first, second } = await party.absentAndNext();
    const requestId = newId();
    await mark(second);
    await accept({ attemptId: first }, requestId);
    await accept({ attemptId: second }, requestId);
    expect(await inQuestion(ledger.pool, filingId)).toEqual({ attempt: first, request: null });
    expect(await gates.endRequest(filingId, requestId, [0])).toEqual([0]);
    expect(await attempts(filingId)).toEqual(['rejected', 'rejected']);
  });

  it('keeps the complete answer, with every list of it', async () => {
    const { attemptId } = await party.sent();
    const answer = { ...ACCEPTED, requestId: newId(), errorDetails: Array.from({ length: 60 }, (_, n) => `note ${n}`) };
    await gates.answer(attemptId, answer);
    const kept = `SELECT jsonb_array_length(answer -> 'errorDetails') AS n, answered_at AS at FROM attempts`;
    expect(await ledger.select(`${kept} WHERE attempt_id = $1`, attemptId)).toEqual([{ n: 60, at: NOW }]);
  });
});
