/** The send gate: the mark under which the first byte may be written. */
import type { AttemptVerdict } from '../../../src/domain/filing/attempt';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import { markSending } from '../../../src/ledger/gates/send';
import { releaseUnfiled } from '../../../src/ledger/gates/release';
import { noteUnknown } from '../../../src/ledger/submissions/attempts';
import { readRows } from '../../../src/ledger/rows/filing-rows';
import { minutesLater, move, NOW } from '../filing-support';
import { SETTLE_MS } from '../submissions/attempt-support';
import { LATER, OVER, useGates } from './gate-support';

const gates = useGates();
const { ledger, exporter, step, opened, open, read, close, check, absent, word, rows } = gates;

type Party = Awaited<ReturnType<typeof exporter>>;
let party: Party;
beforeAll(async () => {
  party = await exporter();
});

const at = NOW;
/** The gate itself, without the balance check that other tests take as made. */
const MARK = { sender: 'a', payloadHash: 'hash', settleMs: SETTLE_MS, timeoutMs: 60_000, at };
const send = (attemptId: string, more: Partial<Parameters<typeof markSending>[1]> = {}) =>
  step((client) => markSending(client, { attemptId, ...MARK, ...more }));
const refused = (why: string, reason?: string) => ({
  marked: false,
  why,
  ...(reason !== undefined && { reason: expect.stringContaining(reason) as string }),
});
const marked = { marked: true };
const sendNumber = async () => Number((await ledger.select('SELECT send_number AS n FROM ledger_identity'))[0]?.['n']);
const free = (filingId: string) =>
  gates.under(filingId, (client) =>
    releaseUnfiled(client, { filingId, submission: null, state: 'withdrawn', reason: 'given up', at }),
  );
/** As an attempt that a lost statement left open. */
const reopen = (attemptId: string) =>
  ledger.pool.query(`UPDATE attempts SET verdict = 'open', marked_at = NULL WHERE attempt_id = $1`, [attemptId]);

describe('the mark', () => {
  it('lets one sender through, once, and takes a send number for that alone', async () => {
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    const before = await sendNumber();
    const marks = await Promise.all(['a', 'b', 'c'].map((sender) => send(attemptId, { sender })));
    expect(marks.filter(({ marked }) => marked)).toEqual([{ marked: true, sendNumber: before + 1 }]);
    expect(await send(attemptId)).toMatchObject(refused('closed'));
    expect(await sendNumber()).toBe(before + 1);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true, sent: true }]);
  });

  it('has one winner when it comes together with the reading of the attempt', async () => {
    for (let round = 0; round < 20; round += 1) {
      const attemptId = await opened(await party.file());
      const [{ marked }, { verdict }] = await Promise.all([send(attemptId), read(attemptId)]);
      // Never both: marked and read as unsent would let it be sent twice.
      expect([marked, verdict]).toEqual(marked ? [true, 'marked'] : [false, 'unsent']);
    }
  });

  it('has one winner when it comes together with the freeing of its rows', async () => {
    for (let round = 0; round < 20; round += 1) {
      const filingId = await party.file();
      const attemptId = await opened(filingId);
      const [{ marked }] = await Promise.all([send(attemptId), free(filingId)]);
      expect(await rows(filingId)).toMatchObject([{ state: marked ? 'submitted' : 'withdrawn', live: marked }]);
    }
  });

  it('takes no number when it is rolled back', async () => {
    const attemptId = await opened(await party.file());
    const before = await sendNumber();
    const broken = step(async (client) => {
      await markSending(client, { attemptId, ...MARK });
      throw new Error('the connection broke');
    });
    await expect(broken).rejects.toThrow('the connection broke');
    expect(await sendNumber()).toBe(before);
    expect(await send(attemptId)).toEqual({ marked: true, sendNumber: before + 1 });
  });

  it('is set for two submissions of one filing at the same time, with the settle window and the HTTP time-out of its process', async () => {
    const filingId = await party.fileInTwo();
    const both = [await opened(filingId, 1), await opened(filingId, 2)];
    await Promise.all(both.map((attemptId) => send(attemptId, { settleMs: 7, timeoutMs: 8 })));
    const columns = 'submission, verdict, settle_ms::int AS settle, timeout_ms::int AS timeout';
    expect(await gates.stored(filingId, columns, 'attempts')).toEqual(
      [1, 2].map((submission) => ({ submission, verdict: 'marked', settle: 7, timeout: 8 })),
    );
  });

  it('may still be written within its HTTP time-out: nothing is absent before, however short the settle windows', async () => {
    const own = await exporter();
    const openedAfterSnapshot = async () => {
      const filingId = await own.file();
      const snapshot = { filingId, submission: 1, exporterId: own.exporterId, certificates: [], at };
      await saveSnapshot(ledger.pool, snapshot);
      return opened(filingId);
    };
    const [under, over] = [await openedAfterSnapshot(), await openedAfterSnapshot()];
    const after = (seconds: number) => new Date(at.getTime() + seconds * 1_000);
    const seconds = { settleMs: 1_000, timeoutMs: 60_000 };
    for (const attemptId of [under, over]) await send(attemptId, seconds);
    await noteUnknown(ledger.pool, { attemptId: over, sender: 'a', reason: 'outcome_unknown' });
    await own.look(after(2));
    expect(await absent({ attemptId: under }, { settleMs: 1_000, at: after(3) })).toMatchObject({ code: 'too_early' });
    // The exchange of this one is over.
    expect(await absent({ attemptId: over }, { settleMs: 1_000, at: after(3) })).toEqual({ outcome: 'again' });
    await own.look(after(61));
    expect(await absent({ attemptId: under }, { settleMs: 1_000, at: after(62) })).toEqual({ outcome: 'again' });
  });
});

describe('the mark is refused', () => {
  it('for an attempt, or a filing, that the ledger does not hold', async () => {
    expect(await send(`${await party.file()}-1-9`)).toMatchObject(refused('gone'));
    expect(await send('F0-1-1')).toMatchObject(refused('gone'));
  });

  it('once the filing has ended', async () => {
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    await move(ledger, filingId, 'abandoned');
    expect(await send(attemptId)).toMatchObject(refused('ended'));
  });

  it.each<AttemptVerdict>(['unsent', 'refused', 'absent', 'marked', 'rejected', 'accepted'])(
    'while another attempt of the submission is anything but unsent, refused or absent: %s',
    async (verdict) => {
      const other = await exporter();
      const { filingId, attemptId } = await other.sent();
      await close(attemptId);
      await check(filingId);
      const next = await opened(filingId);
      await ledger.pool.query('UPDATE attempts SET verdict = $2 WHERE attempt_id = $1', [attemptId, verdict]);
      const passes = ['unsent', 'refused', 'absent'].includes(verdict);
      expect(await send(next)).toMatchObject(passes ? { marked: true } : { marked: false, why: 'other_attempt' });
    },
  );

  it('while a transaction frees the rows, which it waits for', async () => {
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    const freeing = await ledger.pool.connect();
    await freeing.query('BEGIN');
    await lockFiling(freeing, filingId);
    await releaseUnfiled(freeing, { filingId, submission: null, state: 'withdrawn', reason: 'given up', at });
    const marking = send(attemptId);
    await freeing.query('COMMIT');
    freeing.release();
    expect(await marking).toMatchObject({ marked: false });
    expect(await rows(filingId)).toMatchObject([{ state: 'withdrawn', live: false }]);
  });

  it('where the rows were freed, and may be live elsewhere by now', async () => {
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    await free(filingId);
    await reopen(attemptId);
    expect(await send(attemptId)).toMatchObject(refused('rows'));
  });

  it.each(['submitted', 'unknown', 'abandoned_after_send'])(
    'where one of the rows is %s, although it is live',
    async (state) => {
      const filingId = await party.file([{}, {}]);
      const attemptId = await opened(filingId);
      const update = 'UPDATE filing_rows SET state = $2 WHERE filing_id = $1 AND position = 1';
      await ledger.select(update, filingId, state);
      expect(await send(attemptId)).toMatchObject(refused('rows', state));
    },
  );

  it('where another filing holds a mapping of it without a permission, as after two parties became one', async () => {
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    const other = await party.file();
    await ledger.pool.query(
      `INSERT INTO held_mappings (fingerprint, ordinal, filing_id, position, beside)
       SELECT fingerprint, 1, $2, 0, 'collided' FROM filing_rows WHERE filing_id = $1`,
      [filingId, other],
    );
    expect(await send(attemptId)).toMatchObject(refused('rows', other));
    const gone = expect.stringContaining(filingId) as string;
    expect(await open(other)).toMatchObject({ outcome: 'rows_gone', reason: gone });
    const permit = `UPDATE filing_rows SET permit_reason = 'said', permit_besides = $2 WHERE filing_id = $1`;
    await ledger.pool.query(permit, [other, [filingId]]);
    expect(await send(attemptId)).toMatchObject(marked);
    expect(await open(other)).toMatchObject({ outcome: 'attempt', verdict: 'open' });
  });

  it.each(['unsent', 'absent'])('until the balances were checked since an attempt that is %s', async (verdict) => {
    const { filingId, attemptId } = await party.sent();
    await party.look(OVER);
    if (verdict === 'unsent') await close(attemptId);
    else await absent({ attemptId });
    await party.look(minutesLater(243));
    const next = await opened(filingId);
    expect(await send(next)).toMatchObject(refused('unchecked'));
    await check(filingId);
    expect(await send(next)).toMatchObject(marked);
  });

  it('while a predecessor of the row is live: the original was certified after all, and its correction is stopped', async () => {
    const { original, correction } = await party.corrected();
    const attemptId = await opened(correction);
    await party.certify(original, { 0: `EB-${original}` });
    expect(await send(attemptId)).toMatchObject(refused('closed'));
    // Its run learns why, instead of opening one attempt after the other.
    const reason = expect.stringContaining(`in filing ${original}`) as string;
    expect(await open(correction)).toMatchObject({ outcome: 'rows_gone', reason });
    await reopen(attemptId);
    expect(await send(attemptId)).toMatchObject(refused('rows'));
  });
});

describe('a row that was released as absent', () => {
  /** A party of its own, whose first attempt was judged absent with a look, and the next attempt's filing, checked. */
  async function released(rowsOfIt: object[] = [{}]) {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent(rowsOfIt);
    await own.look(OVER);
    expect(await absent({ attemptId })).toEqual({ outcome: 'again' });
    await check(filingId);
    return { own, filingId };
  }
  const late = { at: minutesLater(260) };
  /** Another filing of the same document. */
  async function beside(own: Party, filingId: string): Promise<string> {
    const [row] = await readRows(ledger.pool, filingId);
    return own.file([{ sbCumInvoiceNumber: row?.mapping.sbCumInvoiceNumber, mappedIRMAmountFCC: 6 }]);
  }
  /** Opens without the step that asks for the look as well. */
  async function openAnyway(filingId: string): Promise<string> {
    await ledger.pool.query(
      `INSERT INTO attempts (attempt_id, filing_id, submission, number) VALUES ($1 || '-1-2', $1, 1, 2)
        ON CONFLICT DO NOTHING`,
      [filingId],
    );
    return `${filingId}-1-2`;
  }

  it('goes out only after a complete look that is newer than the release', async () => {
    const { own, filingId } = await released();
    expect(await open(filingId)).toMatchObject({ outcome: 'look', since: LATER.getTime(), agreeing: [] });
    const attemptId = await openAnyway(filingId);
    expect(await send(attemptId, late)).toMatchObject(refused('look'));
    for (const incomplete of [{ problem: 'an entry could not be read' }, { from: '10022026' }]) {
      await own.look(minutesLater(250), incomplete);
      expect(await send(attemptId, late)).toMatchObject(refused('look'));
    }
    await own.look(minutesLater(251));
    expect(await send(attemptId, late)).toMatchObject(marked);
  });

  it('goes out only after a look of the last day: a certificate may have come since an older one', async () => {
    const { own, filingId } = await released();
    await own.look(minutesLater(251));
    const days = (n: number) => minutesLater(250 + n * 24 * 60);
    expect(await open(filingId, 1, days(2))).toMatchObject({ outcome: 'look', since: LATER.getTime() });
    const attemptId = await openAnyway(filingId);
    expect(await send(attemptId, { at: days(2) })).toMatchObject(refused('look'));
    await own.look(days(1.5));
    expect(await open(filingId, 1, days(2))).toMatchObject({ outcome: 'attempt' });
    expect(await send(attemptId, { at: days(2) })).toMatchObject(marked);
  });

  it('does not go out while a certificate agrees that nobody named', async () => {
    const { own, filingId } = await released();
    await own.show(filingId, `EBLATE-${filingId}`, { realisedValueFCC: 77, currencyCode: 'EUR' });
    await own.look(minutesLater(250));
    const number = `EBLATE-${filingId}`;
    expect(await open(filingId)).toMatchObject({ outcome: 'look', agreeing: [number] });
    expect(await send(await openAnyway(filingId), late)).toMatchObject(refused('look', number));
  });

  it('goes out beside a certificate that two persons named as another filing’s', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent();
    await own.show(filingId, `EBOTHER-${filingId}`);
    await own.look(OVER);
    for (const by of ['ravi', 'meera']) await word({ filingId, attemptId, by, notOurs: [`EBOTHER-${filingId}`] });
    await check(filingId);
    await own.look(minutesLater(250));
    expect(await send(await opened(filingId), late)).toMatchObject(marked);
  });

  it('goes out without a look where two persons’ “unseen” stands for it', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent();
    for (const by of ['ravi', 'meera']) await word({ filingId, attemptId, by, unseen: true });
    await check(filingId);
    // Days later it counts no more than a look of the day before.
    const next = await opened(filingId);
    expect(await send(next, { at: minutesLater(3 * 24 * 60) })).toMatchObject(refused('look'));
    // They spoke for this lineage: another filing of the document waits for a look.
    const other = await beside(own, filingId);
    expect(await open(other, 1, late.at)).toMatchObject({ outcome: 'look' });
    // Once a look is possible again, as before the send, one of all days has to show that nothing came late.
    await own.look(minutesLater(255), { from: '10022026' });
    expect(await send(next, late)).toMatchObject(refused('look'));
    await own.look(minutesLater(256));
    expect(await send(next, late)).toMatchObject(marked);
  });

  it('waits for a look where another filing of the document was released after it, unseen too', async () => {
    const own = await exporter();
    const sent = await own.sent();
    const other = await own.sendAttempt(await beside(own, sent.filingId));
    for (const [each, at] of [[sent, minutesLater(242)] as const, [other, minutesLater(245)] as const])
      for (const by of ['ravi', 'meera']) await word({ ...each, by, unseen: true, at });
    expect(await open(sent.filingId, 1, late.at)).toMatchObject({ outcome: 'look' });
    expect(await open(other.filingId, 1, late.at)).toMatchObject({ outcome: 'attempt', verdict: 'open' });
  });

  describe('and waits at the gate', () => {
    const expectWord = async (outcome: string, filingId: string, by: string, minutes: number, more: object = {}) =>
      expect(await word({ filingId, by, at: minutesLater(minutes), ...more })).toMatchObject({ outcome });

    it('goes out once two persons have named every certificate that came since, after the release', async () => {
      const { own, filingId } = await released();
      const notOurs = [`EBGATE-${filingId}`];
      await own.show(filingId, notOurs[0] ?? '');
      await own.look(minutesLater(250));
      await expectWord('refused', filingId, 'anil', 241, { notOurs });
      await expectWord('refused', filingId, 'ravi', 252);
      for (const minutes of [252, 253]) await expectWord('stands', filingId, 'ravi', minutes, { notOurs });
      expect(await open(filingId)).toMatchObject({ outcome: 'look', agreeing: notOurs });
      await expectWord('again', filingId, 'meera', 254, { notOurs });
      expect(await rows(filingId)).toMatchObject([{ state: 'planned', live: true }]);
      // One that came after their words is named by nobody.
      await own.look(minutesLater(256));
      await own.show(filingId, `EBSINCE-${filingId}`);
      expect(await open(filingId)).toMatchObject({ outcome: 'look', agreeing: [`EBSINCE-${filingId}`] });
      await ledger.pool.query('DELETE FROM certificates WHERE ebrc_number = $1', [`EBSINCE-${filingId}`]);
      expect(await send(await opened(filingId), late)).toMatchObject(marked);
    });

    it('goes out by two persons’ “unseen” once no look was possible for a whole window', async () => {
      const { own, filingId } = await released();
      const unseen = { unseen: true };
      await expectWord('refused', filingId, 'ravi', 481, unseen);
      await expectWord('refused', filingId, 'ravi', 482);
      await expectWord('stands', filingId, 'ravi', 482, unseen);
      await expectWord('again', filingId, 'meera', 483, unseen);
      // An entry of an older day may keep each look at all days incomplete for ever.
      await own.look(minutesLater(485), { from: '10022026' });
      const second = await opened(filingId);
      expect(await send(second, { at: minutesLater(490) })).toMatchObject(marked);
      // Their words are about this lineage: another filing of the document still waits for a look.
      expect(await open(await beside(own, filingId))).toMatchObject({ outcome: 'look' });
      // And they are not about a send after them.
      await own.look(minutesLater(740));
      expect(await absent({ attemptId: second }, { at: minutesLater(741) })).toEqual({ outcome: 'again' });
      expect(await open(filingId, 1, minutesLater(742))).toMatchObject({ outcome: 'look' });
    });

    it('goes out only once both have named all of them', async () => {
      const { own, filingId } = await released();
      const [first, second] = ['A', 'B'].map((which) => `EB${which}-${filingId}`) as [string, string];
      const agreesToo = (number: string, minutes: number) =>
        own.show(filingId, number).then(() => own.look(minutesLater(minutes)));
      await agreesToo(first, 250);
      await expectWord('stands', filingId, 'ravi', 252, { notOurs: [first] });
      await agreesToo(second, 253);
      await expectWord('stands', filingId, 'meera', 254, { notOurs: [first, second] });
      await expectWord('again', filingId, 'ravi', 255, { notOurs: [first, second] });
    });

    it('goes out by no word from before the newest release', async () => {
      const { own, filingId } = await released();
      await expectWord('stands', filingId, 'anil', 482, { unseen: true });
      await own.look(minutesLater(485));
      const second = await opened(filingId);
      expect(await send(second, { at: minutesLater(490) })).toMatchObject(marked);
      await own.look(minutesLater(740));
      expect(await absent({ attemptId: second }, { at: minutesLater(741) })).toEqual({ outcome: 'again' });
      await expectWord('stands', filingId, 'meera', 985, { unseen: true });
      await expectWord('again', filingId, 'ravi', 986, { unseen: true });
    });

    it('goes out so only after the sender’s window, where that is longer', async () => {
      const own = await exporter();
      const { filingId, attemptId } = await own.sent([{}], { settleMs: 2 * SETTLE_MS });
      await own.look(minutesLater(481));
      expect(await absent({ attemptId }, { at: minutesLater(482) })).toEqual({ outcome: 'again' });
      await expectWord('refused', filingId, 'ravi', 960, { unseen: true });
      await expectWord('stands', filingId, 'ravi', 962, { unseen: true });
    });

    it('is nothing that a word about a filing without such rows can be about', async () =>
      expectWord('refused', await party.file(), 'ravi', 300, { unseen: true }));
  });

  it('is known by its party and document in another filing too', async () => {
    const document = { sbCumInvoiceNumber: '8800001', billNo: 'EXP/8800001' };
    const { own } = await released([document]);
    const other = await own.file([{ ...document, mappedIRMAmountFCC: 6 }]);
    expect(await open(other)).toMatchObject({ outcome: 'look' });
    expect(await send(await openAnyway(other), late)).toMatchObject(refused('look'));
    const stranger = await exporter();
    expect(await send(await opened(await stranger.file([document])), late)).toMatchObject(marked);
  });

  it('is remembered after the release was taken back: what its request rejects is looked for all the same', async () => {
    const own = await exporter();
    const reference = `BACK-${own.exporterId}`;
    const original = await own.file([{}], { reference });
    const { attemptId } = await own.sendAttempt(original);
    await own.look(OVER);
    expect(await absent({ attemptId })).toEqual({ outcome: 'again' });
    await gates.accept({ attemptId }, `R-${original}`);
    expect(await gates.releases(original)).toEqual([{ ground: 'absent', withdrawn: true }]);
    expect(await gates.endRequest(original, `R-${original}`, [0])).toEqual([0]);
    await move(ledger, original, 'submitting', 'processing', 'collecting', 'rejected');
    const correction = await own.file([{}], { reference, n: 2, corrects: original });
    expect(await open(correction)).toMatchObject({ outcome: 'look', since: LATER.getTime() });
    await own.look(minutesLater(250));
    expect(await open(correction)).toMatchObject({ outcome: 'attempt', verdict: 'open' });
  });

  it('is known by any identity of its lineage: a correction with another document waits for the look too', async () => {
    const own = await exporter();
    const reference = `ABSENT-${own.exporterId}`;
    const original = await own.file([{}, {}], { reference });
    const { attemptId } = await own.sendAttempt(original);
    await own.show(original, `EBONE-${original}`);
    await own.certify(original, { 0: `EBONE-${original}` });
    await own.look(OVER);
    expect(await absent({ attemptId })).toEqual({ outcome: 'freed', freed: [1] });
    await move(ledger, original, 'submitting', 'collecting', 'partly_certified');
    const correction = await own.file([{ serialNo: 2 }], { reference, n: 2, corrects: original });
    expect(await open(correction)).toMatchObject({ outcome: 'look' });
    await own.look(minutesLater(250));
    expect(await open(correction)).toMatchObject({ outcome: 'attempt', verdict: 'open' });
  });
});
