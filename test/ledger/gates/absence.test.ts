/** The release gate's ground `absent`: what has to be seen before anything sent is taken for not filed. */
import type { AttemptVerdict } from '../../../src/domain/filing/attempt';
import { certifyByPersons, certifyByRecord } from '../../../src/ledger/gates/certify';
import { readRows } from '../../../src/ledger/rows/filing-rows';
import { minutesLater, move, NOW, readBalance, readBalancesAgain } from '../filing-support';
import { SETTLE_MS } from '../submissions/attempt-support';
import { LATER, OVER, useGates } from './gate-support';

const gates = useGates();
const { ledger, exporter, under, opened, accept, absent, poll, endRequest, rows, attempts } = gates;

type Party = Awaited<ReturnType<typeof exporter>>;
let asked = 0;
const newId = () => `R-ABSENT-${(asked += 1)}`;
const again = { outcome: 'again' };

/** A send of a party of its own whose answer was lost, and a complete look after its window. */
async function looked(...args: Parameters<Party['sent']>) {
  const party = await exporter();
  const sent = await party.sent(...args);
  await party.look(OVER);
  return { party, ...sent };
}

/** Another attempt of a submission, sent after the first was judged absent. */
async function sentTwice(more: Parameters<Party['sendAttempt']>[1] = {}) {
  const party = await exporter();
  const { filingId, first } = await party.absentAndNext();
  return { party, filingId, first, second: await party.sendAttempt(filingId, { at: minutesLater(255), ...more }) };
}

/** The same, whose answer named a request that the service does not know since then. */
async function unknownRequest(at = NOW, rowsOfIt?: object[]) {
  const party = await exporter();
  const sent = await party.sent(rowsOfIt);
  const requestId = newId();
  await accept(sent, requestId);
  await poll(sent.filingId, requestId, 'unknown_request', at);
  return { party, ...sent, requestId, subject: { requestId, filingId: sent.filingId, submission: 1 } };
}

describe('the window', () => {
  it('counts from the last mark', async () => {
    const { filingId, attemptId } = await looked();
    expect(await absent({ attemptId }, { at: minutesLater(239) })).toMatchObject({ code: 'too_early' });
    expect(await attempts(filingId)).toEqual(['marked']);
    expect(await absent({ attemptId })).toEqual(again);
    expect(await attempts(filingId)).toEqual(['absent']);
    expect(await rows(filingId)).toMatchObject([{ state: 'planned', live: true, sent: false }]);
  });

  it('counts from the last mark of the submission, not from that of the attempt in question', async () => {
    const { party, second } = await sentTwice();
    await party.look(minutesLater(400));
    expect(await absent(second, { at: minutesLater(401) })).toMatchObject({ code: 'too_early' });
    await party.look(minutesLater(496));
    expect(await absent(second, { at: minutesLater(497) })).toEqual(again);
  });

  it('counts for a statement of the service from its first sight', async () => {
    const { party, subject } = await unknownRequest(minutesLater(100));
    await party.look(OVER);
    expect(await absent(subject, { at: LATER })).toMatchObject({ code: 'too_early' });
    await party.look(minutesLater(341));
    expect(await absent(subject, { at: minutesLater(342) })).toEqual({ outcome: 'freed', freed: [0] });
  });

  it.each([null, 'errored'] as const)('is started again by an answer that says %s of the request', async (other) => {
    const { party, filingId, requestId, subject } = await unknownRequest();
    await poll(filingId, requestId, other, minutesLater(200));
    await poll(filingId, requestId, 'unknown_request', minutesLater(201));
    await party.look(minutesLater(300));
    expect(await absent(subject, { at: minutesLater(300) })).toMatchObject({ code: 'too_early' });
    await party.look(minutesLater(442));
    expect(await absent(subject, { at: minutesLater(443) })).toMatchObject({ outcome: 'freed' });
  });

  it('is the larger of the sender’s and that of whoever judges', async () => {
    const { attemptId } = await looked([{}], { settleMs: 60_000 });
    expect(await absent({ attemptId }, { at: minutesLater(239) })).toMatchObject({ code: 'too_early' });
    expect(await absent({ attemptId }, { settleMs: 1_000 })).toEqual(again);
    const long = await looked([{}], { settleMs: 2 * SETTLE_MS });
    await long.party.look(minutesLater(481));
    expect(await absent(long, { at: minutesLater(479) })).toMatchObject({ code: 'too_early' });
    expect(await absent(long, { at: minutesLater(482) })).toEqual(again);
  });
});

describe('the look', () => {
  it.each<[string, (party: Party) => Promise<void>]>([
    ['began before the window was over', (party) => party.look(minutesLater(239), { endedAt: OVER })],
    ['is not complete', (party) => party.look(OVER, { problem: 'an entry could not be read' })],
    ['does not reach back to the day before the first mark', (party) => party.look(OVER, { from: '10022026' })],
    ['does not reach to the day on which it began', (party) => party.look(OVER, { to: '09022026' })],
    ['was another party’s', async () => (await exporter()).look(OVER)],
  ])('proves nothing where it %s', async (where, look) => {
    const party = await exporter();
    const { attemptId } = await party.sent();
    await look(party);
    const refused = await absent({ attemptId });
    expect(refused).toMatchObject({ code: 'look' });
    // A look that failed is named with its reason.
    if (where.includes('not complete')) expect(JSON.stringify(refused)).toContain('an entry could not be read');
    await party.look(OVER);
    expect(await absent({ attemptId })).toEqual(again);
  });

  it('has to begin after the newest statement that it backs', async () => {
    const { party, filingId, requestId, subject } = await unknownRequest();
    await party.look(OVER);
    await poll(filingId, requestId, 'unknown_request', LATER);
    expect(await absent(subject, { at: minutesLater(243) })).toMatchObject({ code: 'look' });
    await party.look(minutesLater(243));
    expect(await absent(subject, { at: minutesLater(244) })).toMatchObject({ outcome: 'freed' });
  });

  it('is the party’s: one serves all its filings, whichever client of the IEC it was made for', async () => {
    const one = await exporter('AAGCSHARED');
    const two = await exporter('AAGCSHARED');
    const sends = [await one.sent(), await one.sent(), await two.sent()];
    await two.look(OVER);
    await readBalancesAgain(ledger, one.exporterId, OVER);
    for (const { attemptId } of sends) expect(await absent({ attemptId })).toEqual(again);
  });

  it('reaches back to the first mark of the lineage, which a correction takes over', async () => {
    const party = await exporter();
    const { correction } = await party.corrected();
    const days = (n: number) => minutesLater(n * 24 * 60);
    const { attemptId } = await party.sendAttempt(correction, { at: days(10) });
    await party.look(days(11), { from: '18022026' });
    expect(await absent({ attemptId }, { at: days(11) })).toMatchObject({ code: 'look' });
    await party.look(days(11), { from: '09022026' });
    expect(await absent({ attemptId }, { at: days(11) })).toEqual(again);
  });

  it('is replaced by “unseen” only where none was complete for a whole window, the sender’s too', async () => {
    const party = await exporter();
    const { attemptId } = await party.sent([{}], { settleMs: SETTLE_MS });
    await party.look(minutesLater(200));
    const unseen = { unseen: true, byTwo: true, settleMs: 5 * 60_000 };
    expect(await absent({ attemptId }, unseen)).toMatchObject({ code: 'look' });
    const at = minutesLater(200 + 241);
    expect(await absent({ attemptId }, { at })).toMatchObject({ code: 'look' });
    expect(await absent({ attemptId }, { ...unseen, at })).toEqual(again);
    expect(await gates.releases(attemptId.slice(0, -4))).toMatchObject([{ ground: 'absent' }]);
  });
});

describe('a certificate that agrees', () => {
  const agrees = (number: string) => ({ code: 'agrees', why: expect.stringContaining(number) as string });

  it.each<[string, object, object?]>([
    ['in document and date', { billNo: null }],
    ['whatever the amount and the currency', { billNo: null, realisedValueFCC: 77.5, currencyCode: 'EUR' }],
    ['without a date', { billNo: null, sbCumInvoiceDate: null }],
    ['with a row whose date is not known', { billNo: null, sbCumInvoiceDate: '04012026' }, { sbCumInvoiceDate: '' }],
    ['without an amount', { billNo: null, realisedValueFCC: null, currencyCode: null }],
    ['in another spelling of the document', { billNo: null, sbCumInvoiceNumber: undefined }],
    [
      'of a row in another spelling',
      { billNo: null, sbCumInvoiceNumber: 'INV-77/A' },
      { sbCumInvoiceNumber: 'inv-77 /a' },
    ],
    ['in the bill number alone', { sbCumInvoiceNumber: '999', sbCumInvoiceDate: '01012020' }],
    ['although it was cancelled', { eBRCStatus: 'Cancelled' }],
    ['issued the day before the first mark', { eBRCDate: '09022026' }],
    ['without a day of issue', { eBRCDate: null }],
  ])('%s keeps the rows', async (_, more, ours = {}) => {
    const { party, filingId, attemptId } = await looked([ours]);
    const number = `EB-${filingId}`;
    const spelled = 'sbCumInvoiceNumber' in more && more.sbCumInvoiceNumber === undefined;
    const [row] = await readRows(ledger.pool, filingId);
    const spelling = ` 0${row?.mapping.sbCumInvoiceNumber}`;
    await party.show(filingId, number, { ...more, ...(spelled && { sbCumInvoiceNumber: spelling }) });
    expect(await absent({ attemptId })).toMatchObject(agrees(number));
    expect(await attempts(filingId)).toEqual(['marked']);
    expect(await rows(filingId)).toMatchObject([{ live: true, sent: true }]);
    expect(await absent({ attemptId }, { notOurs: ['EB-ANOTHER'] })).toMatchObject(agrees(number));
    expect(await absent({ attemptId }, { notOurs: [number] })).toEqual(again);
  });

  it.each<[string, object]>([
    ['of another document and bill', { sbCumInvoiceNumber: '999', billNo: 'EXP/OTHER' }],
    ['of another date of the document and another bill', { sbCumInvoiceDate: '04012026', billNo: 'EXP/OTHER' }],
    ['issued two days before the first mark', { eBRCDate: '08022026' }],
  ])('is not one %s', async (_, more) => {
    const { party, filingId, attemptId } = await looked();
    await party.show(filingId, `EB-${filingId}`, more);
    expect(await absent({ attemptId })).toEqual(again);
  });

  it('is not one that the snapshot before the first mark of the lineage held', async () => {
    const { party, filingId, attemptId } = await looked([{}], { held: ['EB-OLD'] });
    await party.show(filingId, 'EB-OLD');
    expect(await absent({ attemptId })).toEqual(again);
  });

  it('is one where no list from before the send was read: it may have come of the send', async () => {
    const { party, filingId, attemptId } = await looked([{}], { held: null });
    await party.show(filingId, 'EB-NO-LIST');
    expect(await absent({ attemptId })).toMatchObject(agrees('EB-NO-LIST'));
  });

  it('is one that only the snapshot before a later mark held: it may have come of the first', async () => {
    const { party, filingId, second } = await sentTwice({ held: ['EB-BETWEEN'] });
    await party.show(filingId, 'EB-BETWEEN');
    await party.look(minutesLater(500));
    expect(await absent(second, { at: minutesLater(501) })).toMatchObject(agrees('EB-BETWEEN'));
  });

  it.each([
    ['record', again],
    ['persons', { code: 'agrees' }],
    ['record, which a third one disputes', { code: 'agrees' }],
  ] as const)('that another row holds by its %s', async (how, expected) => {
    const { party, filingId, attemptId } = await looked();
    const other = await party.sent();
    const number = `EB-${filingId}`;
    await party.show(filingId, number);
    const of = { filingId: other.filingId, submission: 1, exporterId: party.exporterId, at: LATER };
    const certificates = [{ position: 0, eBRCNumber: number, eBRCDate: '10022026' }];
    await under(other.filingId, (client) =>
      how === 'persons'
        ? certifyByPersons(client, { ...of, certificates })
        : certifyByRecord(client, { ...of, records: certificates }),
    );
    if (how.includes('disputes'))
      await ledger.pool.query('UPDATE filing_rows SET disputed = true WHERE filing_id = $1', [other.filingId]);
    expect(await rows(other.filingId)).toMatchObject([{ state: 'certified' }]);
    expect(await absent({ attemptId })).toMatchObject(expected);
  });

  it('agrees in any identity of the lineage: the document of the row that a correction took over counts', async () => {
    const party = await exporter();
    const { original, correction } = await party.corrected();
    const { attemptId } = await party.sendAttempt(correction);
    await party.show(original, `EB-LINE-${original}`);
    await party.look(OVER);
    expect(await absent({ attemptId })).toMatchObject(agrees(`EB-LINE-${original}`));
  });

  it('stands against a request that the service does not know, of equal tranches too', async () => {
    const tranche = { sbCumInvoiceNumber: '8700001', billNo: 'EXP/8700001' };
    const { party, filingId, subject } = await unknownRequest(NOW, [tranche]);
    await party.show(filingId, 'EB-T1');
    await party.show(filingId, 'EB-T2');
    await party.look(OVER);
    expect(await absent(subject)).toMatchObject(agrees('EB-T1, EB-T2'));
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  });
});

it('is refused to the service where the IRM was used and no certificate accounts for it', async () => {
  const { party, filingId, subject } = await unknownRequest();
  await readBalance(ledger, 9_995, OVER, party.exporterId, party.iec);
  await party.look(OVER);
  expect(await absent(subject)).toMatchObject({ code: 'used', why: expect.stringMatching(/fell by 5/u) as string });
  expect(await rows(filingId)).toMatchObject([{ state: 'submitted', live: true }]);
  expect(await absent(subject, { byTwo: true })).toEqual({ outcome: 'freed', freed: [0] });
});

describe('what is asked about', () => {
  const expectRefused = async (code: string, ...asked: Parameters<typeof absent>) =>
    expect(await absent(...asked)).toMatchObject({ code });

  it.each<AttemptVerdict>(['unsent', 'refused', 'absent', 'rejected'])(
    'is not an attempt that is %s already',
    async (verdict) => {
      const { attemptId } = await looked();
      await ledger.select('UPDATE attempts SET verdict = $2 WHERE attempt_id = $1', attemptId, verdict);
      await expectRefused('not_in_doubt', { attemptId });
    },
  );

  it('is not an attempt that has not been sent', async () => {
    const party = await exporter();
    const attemptId = await opened(await party.file());
    await party.look(OVER);
    await expectRefused('not_in_doubt', { attemptId });
  });

  it('is nothing of a submission whose rows all have their certificates', async () => {
    const { party, filingId, attemptId } = await looked();
    await party.certify(filingId, { 0: `EB-ALL-${filingId}` });
    await expectRefused('not_in_doubt', { attemptId });
    expect(await attempts(filingId)).toEqual(['marked']);
  });

  it('is not an attempt whose answer named a request: that is asked about', async () => {
    const { party, attemptId } = await unknownRequest();
    await party.look(OVER);
    await expectRefused('not_in_doubt', { attemptId });
  });

  it('may be an attempt whose acceptance named no request', async () => {
    const { filingId, attemptId } = await looked();
    await accept({ attemptId }, null);
    expect(await absent({ attemptId })).toEqual(again);
    expect(await attempts(filingId)).toEqual(['absent']);
  });

  it('has no answer while another request of the submission is unfinished', async () => {
    const { filingId, attemptId } = await looked();
    const requestId = newId();
    await gates.name(filingId, requestId);
    await expectRefused('unfinished', { attemptId });
    await endRequest(filingId, requestId, []);
    expect(await absent({ attemptId })).toEqual(again);
  });

  it('is no attempt that the ledger has lost while a request of the submission is followed', async () => {
    const sent = await looked();
    await accept(sent, newId());
    await expectRefused('unfinished', { attemptId: `${sent.filingId}-1-7` });
  });

  it('is a request only once the service reports it ended or, through the window, unknown', async () => {
    const { filingId, ...sent } = await looked();
    const subject = { requestId: newId(), filingId, submission: 1 };
    await expectRefused('not_in_doubt', subject);
    await accept(sent, subject.requestId);
    await expectRefused('unfinished', subject);
    await endRequest(filingId, subject.requestId, []);
    expect(await absent(subject)).toEqual({ outcome: 'freed', freed: [0] });
  });

  it('is a request that has ended without accounting for every record, once that was so for a window', async () => {
    const party = await exporter();
    const sent = await party.sent([{}, {}]);
    const [requestId, beside] = [newId(), newId()];
    await accept(sent, requestId);
    await party.certify(sent.filingId, { 0: `EB-${requestId}` });
    await readBalance(ledger, 9_995, LATER, party.exporterId, party.iec);
    await poll(sent.filingId, requestId, 'incomplete', minutesLater(60));
    const subject = { requestId, filingId: sent.filingId, submission: 1 };
    await party.look(OVER);
    expect(await absent(subject)).toMatchObject({ code: 'too_early' });
    await party.look(minutesLater(301));
    // Unlike one that the service denies it blocks another: it may have filed the rows.
    await gates.name(sent.filingId, beside);
    await poll(sent.filingId, beside, 'unknown_request', NOW);
    const at = minutesLater(302);
    expect(await absent({ ...subject, requestId: beside }, { at })).toMatchObject({ code: 'unfinished' });
    expect(await absent(subject, { at })).toEqual({ outcome: 'freed', freed: [1] });
  });

  it('is a request beside another of the submission only once the service denied that one through its window', async () => {
    const { party, filingId } = await unknownRequest(minutesLater(100));
    const subject = { requestId: newId(), filingId, submission: 1 };
    await gates.name(filingId, subject.requestId);
    await poll(filingId, subject.requestId, 'unknown_request', NOW);
    await party.look(OVER);
    await expectRefused('unfinished', subject);
    await party.look(minutesLater(341));
    expect(await absent(subject, { at: minutesLater(342) })).toEqual({ outcome: 'freed', freed: [0] });
  });

  it('is not a request that a person named while two attempts are in doubt: it decides on neither', async () => {
    const { party, filingId, first } = await sentTwice();
    const setFirst = (verdict: string) =>
      ledger.select('UPDATE attempts SET verdict = $2 WHERE attempt_id = $1', first, verdict);
    // As an import of lost sends leaves it.
    await setFirst('marked');
    const subject = { requestId: newId(), filingId, submission: 1 };
    await gates.name(filingId, subject.requestId);
    await poll(filingId, subject.requestId, 'errored', minutesLater(256));
    await party.look(minutesLater(500));
    const at = minutesLater(501);
    await expectRefused('unfinished', subject, { at });
    await setFirst('absent');
    expect(await absent(subject, { at })).toEqual({ outcome: 'freed', freed: [0] });
  });

  it('is not a request while an attempt of the submission is in doubt', async () => {
    const { party, filingId, first } = await sentTwice();
    const requestId = newId();
    await accept({ attemptId: first }, requestId, minutesLater(256));
    await poll(filingId, requestId, 'unknown_request', minutesLater(256));
    await party.look(minutesLater(600));
    await expectRefused('unfinished', { requestId, filingId, submission: 1 }, { at: minutesLater(601) });
  });
});

/** A person abandons a filing after its send. */
async function abandon(filingId: string): Promise<void> {
  await gates.putRows(filingId, 'abandoned_after_send');
  await move(ledger, filingId, 'submitting', 'outcome_unknown', 'abandoned');
}

describe('what becomes of the rows', () => {
  it('frees single rows of a request, the others stay live', async () => {
    const { party, filingId, subject, requestId } = await unknownRequest(NOW, [{}, {}, {}]);
    await endRequest(filingId, requestId, []);
    await party.look(OVER);
    expect(await absent({ ...subject, positions: [1] })).toEqual({ outcome: 'freed', freed: [1] });
    expect((await rows(filingId)).map(({ live }) => live)).toEqual([true, false, true]);
    expect(await attempts(filingId)).toEqual(['accepted']);
    await absent({ ...subject, positions: [0, 2] });
    expect(await attempts(filingId)).toEqual(['absent']);
  });

  it('leaves a request followed for the rows that nothing was said of, and says nothing of rows of another one', async () => {
    const { party, filingId, subject } = await unknownRequest(NOW, [{}, {}]);
    const second = await party.fileInTwo();
    const other = { requestId: newId(), filingId: second, submission: 1 };
    await accept(await party.sendAttempt(second), other.requestId);
    await poll(second, other.requestId, 'unknown_request', NOW);
    for (const each of [filingId, second])
      await party.show(each, `EB-${each}`, { position: each === filingId ? 1 : 0 });
    await party.look(OVER);
    expect(await absent({ ...subject, positions: [0] })).toEqual({ outcome: 'freed', freed: [0] });
    expect(await absent({ ...subject, positions: [0] })).toMatchObject({ code: 'not_in_doubt' });
    expect(await absent({ ...other, positions: [1] })).toMatchObject({ code: 'not_in_doubt' });
    for (const each of [filingId, second]) expect(await gates.requests(each)).toMatchObject([{ state: 'followed' }]);
    expect(await absent(subject)).toMatchObject({ code: 'agrees' });
  });

  it('frees only the rows without a certificate, where one of the submission has one: it was filed', async () => {
    const { party, filingId, attemptId } = await looked([{}, {}]);
    await party.certify(filingId, { 0: `EB-${filingId}` });
    expect(await absent({ attemptId })).toEqual({ outcome: 'freed', freed: [1] });
    expect(await rows(filingId)).toMatchObject([{ state: 'certified' }, { state: 'needs_correction', live: false }]);
    expect(await attempts(filingId)).toEqual(['accepted']);
  });

  it('frees nothing while another attempt of the submission may have filed the rows', async () => {
    const { party, filingId, first, second } = await sentTwice();
    await ledger.select(`UPDATE attempts SET verdict = 'marked' WHERE attempt_id = $1`, first);
    await abandon(filingId);
    await party.look(minutesLater(500));
    const at = minutesLater(501);
    expect(await absent({ attemptId: first }, { at })).toEqual({ outcome: 'freed', freed: [] });
    expect(await rows(filingId)).toMatchObject([{ state: 'abandoned_after_send', live: true }]);
    expect(await absent(second, { at })).toEqual({ outcome: 'freed', freed: [0] });
    expect(await attempts(filingId)).toEqual(['absent', 'absent']);
  });

  it('frees the rows of a filing that has ended, and was abandoned after the send', async () => {
    const { filingId, attemptId } = await looked();
    await abandon(filingId);
    expect(await absent({ attemptId })).toEqual({ outcome: 'freed', freed: [0] });
    expect(await rows(filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
  });

  it('is recorded with its look, what it reaches back to, and the numbers that persons named', async () => {
    const { party, filingId, attemptId } = await looked();
    await party.show(filingId, 'EB-NAMED');
    const notOurs = ['EB-NAMED'];
    await absent({ attemptId }, { notOurs });
    // A step that is repeated finds nothing in doubt.
    expect(await absent({ attemptId }, { notOurs })).toMatchObject({ code: 'not_in_doubt' });
    const columns =
      'ground, attempt_id AS of, look_id IS NOT NULL AS looked, unseen, not_ours, certificates_from AS from';
    const from = minutesLater(-24 * 60);
    const release = { ground: 'absent', of: attemptId, looked: true, unseen: false, not_ours: notOurs, from };
    expect(await gates.stored(filingId, columns, 'releases')).toEqual([release]);
  });
});
