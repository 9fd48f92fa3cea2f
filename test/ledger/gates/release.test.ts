/** The release gate, apart from `absent`: what judges an attempt as not filed, and what frees rows. */
import { judgeRefused, judgeUnsent, releaseUnfiled } from '../../../src/ledger/gates/release';
import { endRequest as endOf } from '../../../src/ledger/submissions/requests';
import { readQuestions } from '../../../src/ledger/questions/questions';
import { minutesLater, move, NOW, record, rowsOf, untilLockWaits } from '../filing-support';
import { SENDER } from '../submissions/attempt-support';
import { LATER, useGates } from './gate-support';

const gates = useGates();
const { ledger, exporter, step, under, opened, open, mark, read, accept, absent, rows, attempts } = gates;
const { endRequest, releases } = gates;

type Party = Awaited<ReturnType<typeof exporter>>;
let party: Party;
beforeAll(async () => {
  party = await exporter();
});

let asked = 0;
const newId = () => `R-RELEASE-${(asked += 1)}`;
const freed = { state: 'needs_correction', live: false };
const submitted = { state: 'submitted', live: true };
const expectReleased = async (filingId: string, ground: string) => {
  expect(await rows(filingId)).toMatchObject([freed]);
  expect(await releases(filingId)).toEqual([{ ground, withdrawn: false }]);
};
const release = (filingId: string, submission: number | null = null) =>
  under(filingId, (client) =>
    releaseUnfiled(client, { filingId, submission, state: 'needs_correction', reason: 'refused', at: NOW }),
  );
const refuse = (attemptId: string, sender = SENDER, reason = 'validation_failed') =>
  under(attemptId.slice(0, -4), (client) =>
    judgeRefused(client, { attemptId, sender, reason, answer: { kind: reason, status: 400 }, at: NOW }),
  );
const unsent = (attemptId: string, proof: 'unmarked' | 'void' | { sender: string }) =>
  under(attemptId.slice(0, -4), (client) => judgeUnsent(client, { attemptId, proof, reason: 'no file', at: NOW }));

/** A submission that was accepted under a request. */
async function accepted(rowsOfIt?: object[], requestId = newId()) {
  const sent = await party.sent(rowsOfIt);
  await accept(sent, requestId);
  return { ...sent, requestId };
}

/** Another attempt of a submission, sent after the first was judged absent. */
async function sentTwice() {
  const own = await exporter();
  const { filingId, first } = await own.absentAndNext();
  const { attemptId: second } = await own.sendAttempt(filingId, { at: minutesLater(255) });
  return { own, filingId, first, second };
}

describe('the ground never_attempted', () => {
  it('frees the rows of a submission that never had an attempt', async () => {
    const filingId = await party.file();
    await release(filingId);
    await expectReleased(filingId, 'never_attempted');
  });
});

describe('the ground unsent', () => {
  it.each(['void', { sender: SENDER }] as const)(
    'is proven by a void file, and by who wrote nothing: %j',
    async (proof) => {
      const { filingId, attemptId } = await party.sent();
      expect(await unsent(attemptId, proof)).toBe(true);
      expect(await rows(filingId)).toMatchObject([{ state: 'planned', live: true, sent: false }]);
    },
  );

  it('is not proven of a marked attempt because nobody knows better, nor by another worker, nor where another has sent it too', async () => {
    const { filingId, attemptId } = await party.sent();
    for (const proof of ['unmarked', { sender: 'another' }] as const)
      expect(await unsent(attemptId, proof)).toBe(false);
    const sentToo = `INSERT INTO sends (number, attempt_id, sender) SELECT 1000000 + max(number), $1, 'another' FROM sends`;
    await ledger.select(sentToo, attemptId);
    expect(await unsent(attemptId, { sender: SENDER })).toBe(false);
    expect(await attempts(filingId)).toEqual(['marked']);
  });

  it('frees the rest of a submission that was not sent after all, and that has a certificate: it is settled', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent([{}, {}]);
    await own.certify(filingId, { 0: `EB-${filingId}` });
    // The worker that held the attempt says that it wrote nothing: somebody else filed the certified row.
    expect(await unsent(attemptId, { sender: SENDER })).toBe(true);
    await release(filingId, 1);
    expect(await rows(filingId)).toMatchObject([{ state: 'certified', live: true }, freed]);
    expect(await releases(filingId)).toEqual([{ ground: 'unsent', withdrawn: false }]);
    expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state: 'settled' }]);
  });

  it.each([null, 'R-BESIDE'])(
    'leaves the rows as they are while another attempt may have filed them (its request: %s)',
    async (requestId) => {
      const { filingId, attemptId } = await party.sent();
      if (requestId !== null) await accept({ attemptId }, requestId);
      await ledger.pool.query(
        `INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1 || '-1-2', $1, 1, 2)`,
        [filingId],
      );
      expect(await unsent(`${filingId}-1-2`, 'unmarked')).toBe(true);
      expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
      const state = requestId === null ? 'planned' : 'acknowledged';
      expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state }]);
    },
  );

  it('frees the rows where the submission does not go again', async () => {
    const { filingId, attemptId } = await party.sent();
    await unsent(attemptId, 'void');
    await release(filingId);
    await expectReleased(filingId, 'unsent');
  });
});

it('is absent where the submission was judged so before, and is given up instead of being sent again', async () => {
  const { filingId, second } = await (await exporter()).absentAndNext();
  await release(filingId);
  expect(await attempts(filingId)).toEqual(['absent', 'unsent']);
  expect(await read(second)).toMatchObject({ verdict: 'unsent' });
  expect(await rows(filingId)).toMatchObject([freed]);
  // Once for the judgement of the attempt, and once for the rows.
  const absence = { ground: 'absent', withdrawn: false };
  expect(await releases(filingId)).toEqual([absence, absence]);
});

describe('the ground refused', () => {
  it('is the verdict of its own attempt, with its reason, by the execution that read it and no other', async () => {
    const { filingId, attemptId } = await party.sent();
    expect(await refuse(attemptId, 'another')).toBe(false);
    expect(await attempts(filingId)).toEqual(['marked']);
    expect(await refuse(attemptId, SENDER, 'not_found')).toBe(true);
    expect(await read(attemptId)).toMatchObject({ verdict: 'refused', reason: 'not_found' });
  });

  it('lets the submission go again where it does not end it', async () => {
    const { filingId, attemptId } = await party.sent();
    await refuse(attemptId, SENDER, 'rate_limited');
    expect(await rows(filingId)).toMatchObject([{ state: 'planned', live: true, sent: false }]);
    expect(await open(filingId)).toMatchObject({ number: 2, verdict: 'open' });
  });

  it('frees the rows of the submission that it ends', async () => {
    const { filingId, attemptId } = await party.sent();
    await refuse(attemptId);
    expect(await release(filingId, 1)).toEqual({ doubtful: [] });
    await expectReleased(filingId, 'refused');
  });

  it('frees nothing after an absent sister: it may be the proof that the first was filed', async () => {
    const { filingId, first, second } = await sentTwice();
    await refuse(second);
    expect(await release(filingId, 1)).toEqual({ doubtful: [1] });
    expect(await attempts(filingId)).toEqual(['marked', 'refused']);
    expect(await rows(filingId)).toMatchObject([{ state: 'unknown', live: true, sent: true }]);
    expect(await releases(filingId)).toEqual([{ ground: 'absent', withdrawn: true }]);
    expect(await read(first)).toMatchObject({ verdict: 'marked' });
  });
});

describe('rows that are at the service, or may be', () => {
  it('are freed by nothing of this', async () => {
    const { filingId } = await party.sent();
    expect(await release(filingId)).toEqual({ doubtful: [] });
    expect(await release(filingId, 1)).toEqual({ doubtful: [] });
    expect(await rows(filingId)).toMatchObject([submitted]);
    expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state: 'planned' }]);
    expect(await releases(filingId)).toEqual([]);
  });

  it('stay while the other submissions of the filing are freed, whose open attempts are closed', async () => {
    const filingId = await party.fileInTwo();
    await party.sendAttempt(filingId);
    const second = await opened(filingId, 2);
    await release(filingId);
    expect(await rows(filingId)).toMatchObject([submitted, freed]);
    expect(await mark(second)).toMatchObject({ marked: false });
    expect(await attempts(filingId)).toEqual(['marked', 'unsent']);
  });
});

describe('the ground rejected', () => {
  it('frees the rows that a request of one of our own answers reports Errored', async () => {
    const { filingId, requestId } = await accepted();
    expect(await endRequest(filingId, requestId, [0])).toEqual([0]);
    expect(await attempts(filingId)).toEqual(['rejected']);
    expect(await gates.stored(filingId, 'errors')).toEqual([{ errors: ['ERR28: date'] }]);
    // The same for a step that is repeated.
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    await expectReleased(filingId, 'rejected');
  });

  it('frees those rows alone', async () => {
    const { filingId, requestId } = await accepted([{}, {}]);
    expect(await endRequest(filingId, requestId, [1])).toEqual([1]);
    expect(await rows(filingId)).toMatchObject([submitted, freed]);
    // Something of the attempt stands: it was accepted.
    expect(await attempts(filingId)).toEqual(['accepted']);
  });

  it('frees nothing while another request of the submission is followed, and all once that has ended without it', async () => {
    const { filingId, requestId } = await accepted();
    const other = newId();
    await gates.name(filingId, other);
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await rows(filingId)).toMatchObject([submitted]);
    expect(await endRequest(filingId, other, [])).toEqual([0]);
  });

  it('settles no submission of which a request is followed, although each row has its outcome', async () => {
    const { filingId, requestId } = await accepted();
    const other = newId();
    await gates.name(filingId, other);
    await party.certify(filingId, { 0: `EB-${filingId}` });
    const state = () => gates.stored(filingId, 'state', 'submissions');
    await endRequest(filingId, requestId, []);
    expect(await state()).toEqual([{ state: 'acknowledged' }]);
    await endRequest(filingId, other, []);
    expect(await state()).toEqual([{ state: 'settled' }]);
  });

  it('frees nothing while another attempt of the submission is in doubt', async () => {
    const { own, filingId, first, second } = await sentTwice();
    const requestId = newId();
    await accept({ attemptId: first }, requestId);
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await rows(filingId)).toMatchObject([{ live: true }]);
    expect(await attempts(filingId)).toEqual(['accepted', 'marked']);
    // The other one is settled by evidence: nothing of it came, and what the request rejected is free with that.
    await own.look(minutesLater(500));
    expect(await absent({ attemptId: second }, { at: minutesLater(501) })).toEqual({ outcome: 'freed', freed: [0] });
    expect(await rows(filingId)).toMatchObject([freed]);
  });

  it('frees nothing while another attempt of the submission is open', async () => {
    const { filingId, requestId } = await accepted();
    await ledger.pool.query(
      `INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1 || '-1-2', $1, 1, 2)`,
      [filingId],
    );
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await rows(filingId)).toMatchObject([submitted]);
    expect(await unsent(`${filingId}-1-2`, 'unmarked')).toBe(true);
    expect(await rows(filingId)).toMatchObject([freed]);
  });

  it('frees the rows once the other attempt is proven not to be sent', async () => {
    const { filingId, first, second } = await sentTwice();
    const requestId = newId();
    await accept({ attemptId: first }, requestId);
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await unsent(second, 'void')).toBe(true);
    expect(await rows(filingId)).toMatchObject([freed]);
    expect(await attempts(filingId)).toEqual(['rejected', 'unsent']);
    expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state: 'settled' }]);
  });

  it('frees nothing while an acceptance has no request to ask about', async () => {
    const { filingId, first, second } = await sentTwice();
    await accept({ attemptId: second }, null);
    const requestId = newId();
    await accept({ attemptId: first }, requestId);
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await rows(filingId)).toMatchObject([{ live: true }]);
  });

  it.each([false, true])(
    'is not what a request that a person named says, alone or beside our own, which ended without the row: %p',
    async (beside) => {
      const { filingId, requestId } = await (beside ? accepted() : { ...(await party.sent()), requestId: '' });
      const named = newId();
      await gates.name(filingId, named);
      if (beside) await endRequest(filingId, requestId, []);
      expect(await endRequest(filingId, named, [0])).toEqual([]);
      expect(await rows(filingId)).toMatchObject([submitted]);
      expect(await releases(filingId)).toEqual([]);
    },
  );

  it('does not free a row that is certified', async () => {
    const { filingId, requestId } = await accepted();
    await party.certify(filingId, { 0: `EB-${filingId}` });
    expect(await endRequest(filingId, requestId, [0])).toEqual([]);
    expect(await rows(filingId)).toMatchObject([{ state: 'certified', live: true }]);
  });

  it('frees no row for which another request names a certificate that it cannot have', async () => {
    const { filingId, requestId } = await accepted([{}, {}]);
    const sister = newId();
    await gates.name(filingId, sister);
    await endRequest(filingId, requestId, [0, 1]);
    expect(await endRequest(filingId, sister, [], LATER, [0])).toEqual([1]);
    expect(await rows(filingId)).toMatchObject([submitted, freed]);
  });

  it('frees a row that was abandoned after the send', async () => {
    const { filingId, requestId } = await accepted();
    await gates.putRows(filingId, 'abandoned_after_send');
    await move(ledger, filingId, 'submitting', 'processing', 'abandoned');
    expect(await endRequest(filingId, requestId, [0])).toEqual([0]);
  });
});

it('gives rows back by two corrections at once: the question of their filing counts both', async () => {
  const own = await exporter();
  const reference = `TWO-${own.exporterId}`;
  const original = await own.file([{}, {}], { reference });
  await accept(await own.sendAttempt(original), `R-${original}`);
  await endRequest(original, `R-${original}`, [0, 1]);
  await move(ledger, original, 'submitting', 'processing', 'collecting', 'rejected');
  const correct = (serialNo: number) => own.file([{ serialNo }], { reference, n: serialNo + 1, corrects: original });
  const [one, two] = [await correct(1), await correct(2)];
  const others: Promise<unknown>[] = [];
  await under(one, async (client) => {
    const unfiled = { filingId: one, submission: null, state: 'needs_correction' as const, reason: 'refused', at: NOW };
    await releaseUnfiled(client, unfiled);
    others.push(release(two));
    await untilLockWaits(ledger);
  });
  await Promise.all(others);
  const text = expect.stringContaining('2 of its rows wait for a correction') as string;
  expect((await readQuestions(ledger.pool, [original])).get(original)).toMatchObject([{ text }]);
});

describe('withdrawing a release', () => {
  /** A rejected filing and the correction that took its row over; `sent`: the correction was sent. */
  async function corrected(sent: boolean) {
    const own = await exporter();
    const { original, correction } = await own.corrected();
    expect(await rows(original)).toMatchObject([{ state: 'corrected', live: false }]);
    if (sent) await own.sendAttempt(correction);
    await own.certify(original, { 0: `EB-${original}` });
    return { original, correction };
  }

  it('for a certificate that turns out to be the row’s stops every unsent row of the lineage', async () => {
    const { original, correction } = await corrected(false);
    expect(await rows(original)).toMatchObject([{ state: 'certified', live: true }]);
    expect(await rows(correction)).toMatchObject([freed]);
  });

  it('leaves what the lineage has sent live beside it, as a collision that somebody has to look at', async () => {
    const { original, correction } = await corrected(true);
    expect(await rows(original)).toMatchObject([{ state: 'certified', live: true, ordinal: 1 }]);
    expect(await rows(correction)).toMatchObject([submitted]);
    expect(await gates.stored(original, 'collided_with AS beside')).toEqual([{ beside: correction }]);
  });

  it('leaves the rows of the submission free that the authority rejected', async () => {
    const { filingId, requestId } = await accepted([{}, {}]);
    await endRequest(filingId, requestId, [0, 1]);
    await party.certify(filingId, { 1: `EB-${filingId}` });
    expect(await rows(filingId)).toMatchObject([freed, { state: 'certified', live: true }]);
  });
});

describe('PostgreSQL itself holds that', () => {
  const change = (filingId: string, set: string) =>
    ledger.pool.query(`UPDATE filing_rows SET ${set} WHERE filing_id = $1`, [filingId]);

  it('a row is live where it has no release, and only there', async () => {
    const filingId = await party.file();
    const constraint = 'filing_rows_freed_by_a_release';
    await expect(change(filingId, 'live = false')).rejects.toMatchObject({ code: '428C9' });
    await expect(change(filingId, `state = 'needs_correction'`)).rejects.toMatchObject({ constraint });
    await release(filingId);
    await expect(change(filingId, `state = 'planned'`)).rejects.toMatchObject({ constraint });
  });

  it('a certified row names its adoption and its number', async () => {
    const filingId = await party.file();
    const constraint = 'filing_rows_certified_by_an_adoption';
    const parts = [`state = 'certified'`, `adoption = 'record'`, `ebrc_number = 'E'`];
    for (const missing of parts) {
      const others = parts.filter((part) => part !== missing).join(', ');
      await expect(change(filingId, others)).rejects.toMatchObject({ constraint });
    }
  });

  it('a certificate is one row’s', async () => {
    const [one, other] = [await party.file(), await party.file()];
    const certified = `state = 'certified', adoption = 'record', ebrc_number = 'EB-ONE-ROW'`;
    await change(one, certified);
    await expect(change(other, certified)).rejects.toMatchObject({ constraint: 'filing_rows_ebrc' });
  });

  it('a freed row holds no mapping, and another filing may hold it', async () => {
    const own = await exporter();
    const content = rowsOf({ sbCumInvoiceNumber: '8600001', mappedIRMAmountFCC: 5 });
    const { exporterId } = own;
    const first = await record(ledger, 'HELD-1', content, { exporterId });
    expect(await record(ledger, 'HELD-2', content, { exporterId })).toMatchObject({ outcome: 'refused' });
    await release(first.outcome === 'opened' ? first.filingId : '');
    expect(await record(ledger, 'HELD-2', content, { exporterId })).toMatchObject({ outcome: 'opened' });
  });
});

it('of a request is not ended twice: its first end stands', async () => {
  const { filingId, requestId } = await accepted();
  await endRequest(filingId, requestId, [0], NOW);
  const end = { state: 'ended' as const, processingStatus: 'Errored', errored: [], at: LATER };
  await step((client) => endOf(client, { filingId, submission: 1, requestId }, end));
  expect(await gates.stored(filingId, 'ended_at AS at', 'requests')).toEqual([{ at: NOW }]);
});
