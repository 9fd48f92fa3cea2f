/** Requests that persons name for a send: which are followed, and whose they turn out to be. */
import { sentAs } from '../../../src/domain/filing/attempt';
import { inQuestion } from '../../../src/ledger/filings/filing-view';
import { mergeKnownSends } from '../../../src/ledger/submissions/known-sends';
import { endRequest, readRequests, requestHolder } from '../../../src/ledger/submissions/requests';
import { minutesLater, move, NOW } from '../filing-support';
import { LATER, OVER, type Sent } from './gate-support';
import { about, again, newId, refused, somebodyElse, stands, usePersons } from './person-support';

const gates = usePersons();
const { ledger, exporter, opened, open, accept, word, close, rows, attempts, requests, lost, looked, say } = gates;

const filedIt = { outcome: 'filed' };

describe('filed', () => {
  const filed = (sent: Sent, requestId: string, by = 'ravi') => word({ ...about(sent), kind: 'filed', requestId, by });

  it('has the submission followed under the request that is named, and the same word again changes nothing', async () => {
    const sent = await lost();
    const requestId = newId();
    expect(await filed(sent, requestId)).toEqual(filedIt);
    expect(await filed(sent, requestId)).toEqual(filedIt);
    expect(await requests(sent.filingId)).toEqual([{ id: requestId, source: 'named', state: 'followed' }]);
    expect(await open(sent.filingId)).toEqual({ outcome: 'passed', state: 'acknowledged' });
    expect(await attempts(sent.filingId)).toEqual(['marked']);
  });

  it('is refused of a request that has ended: it would be asked about for ever, and the rows stay without a certificate', async () => {
    const sent = await lost([{}, {}]);
    const requestId = 'R-ENDED';
    expect(await filed(sent, requestId)).toEqual(filedIt);
    await gates.endRequest(sent.filingId, requestId, [0, 1]);
    const ended = refused(/known already and has ended.*--as not-filed/u);
    expect(await filed(sent, ` ${requestId.toLowerCase()}`)).toEqual(ended);
    expect(await requests(sent.filingId)).toEqual([{ id: requestId, source: 'named', state: 'ended' }]);
    expect(await filed(sent, 'R-ENDED-2')).toEqual(filedIt);
  });

  it('never hides another request: both are followed', async () => {
    const sent = await lost();
    const [own, named] = [newId(), newId()];
    await accept(sent, own);
    expect(await filed(sent, named)).toEqual(filedIt);
    expect(await requests(sent.filingId)).toMatchObject([{ id: own }, { id: named }]);
    await gates.endRequest(sent.filingId, named, [0]);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    await gates.endRequest(sent.filingId, own, [0]);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
  });

  it('is refused by the name of the filing that has the request, of two at once too', async () => {
    const party = await exporter();
    const sends = [await party.sent(), await party.sent()];
    const requestId = newId();
    const carried = await Promise.all(sends.map((sent) => filed(sent, requestId)));
    expect(carried.map(({ outcome }) => outcome).sort()).toEqual(['filed', 'refused']);
    const [winner, loser] = carried[0]?.outcome === 'filed' ? sends : [...sends].reverse();
    expect(carried.find(({ outcome }) => outcome === 'refused')).toEqual(
      refused(new RegExp(winner?.filingId ?? '-', 'u')),
    );
    expect(await requests(loser?.filingId ?? '')).toEqual([]);
  });

  it('is refused of another filing’s request however its id is typed, and finds its own', async () => {
    const party = await exporter();
    const [one, two] = [await party.sent(), await party.sent()];
    const requestId = newId();
    await accept(one, requestId);
    const typed = ` ${requestId.toLowerCase()} `;
    expect(await filed(two, typed)).toEqual(refused(new RegExp(one.filingId, 'u')));
    expect(await requestHolder(ledger.pool, { filingId: two.filingId, requestId: typed.trim() })).toMatchObject({
      filingId: one.filingId,
    });
    expect(await filed(one, typed)).toEqual(filedIt);
    expect([await requests(one.filingId), await requests(two.filingId)]).toMatchObject([[{ id: requestId }], []]);
    // Another client may have a request of the same id.
    expect(await filed(await lost(), requestId)).toEqual(filedIt);
  });

  it('is refused of a request of another submission: its outcome would be taken for this one’s', async () => {
    const party = await exporter();
    const filingId = await party.fileInTwo();
    const requestId = newId();
    await accept(await party.sendAttempt(filingId), requestId);
    const second = { filingId, attemptId: await opened(filingId, 2) };
    await gates.mark(second.attemptId);
    expect(await filed(second, requestId)).toEqual(refused(/belongs to submission 1/u));
    expect(await requests(filingId)).toMatchObject([{ id: requestId }]);
  });

  it('leaves in question the submission that is in doubt, not the one whose named request is followed', async () => {
    const party = await exporter();
    const filingId = await party.fileInTwo();
    const first = await party.sendAttempt(filingId);
    const second = { filingId, attemptId: await opened(filingId, 2) };
    await gates.mark(second.attemptId);
    expect(await inQuestion(ledger.pool, filingId)).toEqual({ attempt: first.attemptId, request: null });
    expect(await filed({ ...second, attemptId: first.attemptId }, 'R-OF-THE-FIRST')).toEqual(filedIt);
    expect(await inQuestion(ledger.pool, filingId)).toEqual({ attempt: second.attemptId, request: null });
  });

  it('has a request asked about again that was taken for absent', async () => {
    const sent = await looked([{}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    await gates.poll(sent.filingId, requestId, 'unknown_request', NOW);
    expect(await word({ filingId: sent.filingId, requestId, by: 'ravi' })).toMatchObject({ freed: 2 });
    expect(await requests(sent.filingId)).toMatchObject([{ state: 'absent' }]);
    expect(await filed(sent, requestId)).toEqual(filedIt);
    expect(await readRequests(ledger.pool, sent.filingId, 1)).toMatchObject([
      { source: 'acknowledged_late', state: 'followed', statement: null, attemptId: sent.attemptId },
    ]);
    expect(await attempts(sent.filingId)).toEqual(['accepted']);
    expect((await rows(sent.filingId)).map(({ live }) => live)).toEqual([true, true]);
  });

  it('of an attempt that was judged absent holds its rows again, and stops the next attempt', async () => {
    const sent = await looked();
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
    await sent.party.look(minutesLater(250));
    const next = await opened(sent.filingId);
    const requestId = newId();
    expect(await filed(sent, requestId)).toEqual(filedIt);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    expect(await attempts(sent.filingId)).toEqual(['marked', 'unsent']);
    expect(await gates.mark(next)).toMatchObject({ marked: false, why: 'closed' });
    // Found to be another filing's, it leaves the attempt in doubt, and "not filed" can be said once more.
    for (const by of ['meera', 'ravi']) {
      await word({ ...about(sent), by, notOurs: [requestId], at: minutesLater(260) });
    }
    expect(await attempts(sent.filingId)).toEqual(['absent', 'unsent']);
    expect(await gates.releases(sent.filingId)).toMatchObject([{ withdrawn: true }, { withdrawn: false }]);
  });

  it('of an attempt in doubt of which single rows were freed holds those again', async () => {
    const sent = await lost([{}, {}]);
    const { filingId, attemptId } = sent;
    const live = async () => (await rows(filingId)).map((row) => row.live);
    const filed = (requestId: string, minutes: number) =>
      word({ filingId, attemptId, kind: 'filed', requestId, by: 'ravi', at: minutesLater(minutes) });
    const first = newId();
    expect(await filed(first, 1)).toEqual({ outcome: 'filed' });
    await gates.poll(filingId, first, 'errored', minutesLater(1));
    await sent.party.look(minutesLater(242));
    const said = { filingId, requestId: first, sourceRows: [1], by: 'ravi', at: minutesLater(243) };
    expect(await word(said)).toEqual({ outcome: 'freed', freed: 1 });
    expect([await live(), await attempts(filingId)]).toEqual([[false, true], ['marked']]);
    expect(await filed(newId(), 244)).toEqual({ outcome: 'filed' });
    expect(await live()).toEqual([true, true]);
  });

  it('of an attempt whose rows were freed stops the correction that was not sent yet', async () => {
    const party = await exporter();
    const reference = `NAMED-${party.exporterId}`;
    const filingId = await party.file([{}], { reference });
    const sent = await party.sendAttempt(filingId);
    await party.look(OVER);
    await gates.putRows(filingId, 'abandoned_after_send');
    await move(ledger, filingId, 'submitting', 'outcome_unknown', 'abandoned');
    expect(await word({ ...about(sent), by: 'meera' })).toEqual({ outcome: 'freed', freed: 1 });
    const correction = await party.file([{}], { reference, n: 2, corrects: filingId });
    await party.look(minutesLater(250));
    const next = await opened(correction);
    expect(await filed(sent, newId())).toEqual(filedIt);
    expect(await rows(filingId)).toMatchObject([{ state: 'abandoned_after_send', live: true }]);
    expect(await rows(correction)).toMatchObject([{ state: 'needs_correction', live: false }]);
    expect(await gates.mark(next)).toMatchObject({ marked: false, why: 'closed' });
  });

  it('needs a request, of an attempt that may have been sent', async () => {
    const sent = await lost();
    expect(await word({ ...about(sent), kind: 'filed', by: 'ravi' })).toEqual(refused(/name the request/u));
    await close(sent.attemptId);
    expect(await filed(sent, newId())).toEqual(refused(/unsent/u));
    const party = await exporter();
    const filingId = await party.file();
    const attemptId = await opened(filingId);
    expect(await filed({ filingId, attemptId }, newId())).toEqual(refused(/nothing of it was sent/u));
  });

  it('with a certificate for each row is two persons’ word, of which each names the same', async () => {
    const sent = await lost([{}, {}]);
    const certificates = (...numbers: string[]) => numbers.map((eBRCNumber, n) => ({ row: n + 1, eBRCNumber }));
    const name = (by: string, ...numbers: string[]) =>
      say(sent, { kind: 'filed', by, certificates: certificates(...numbers) });
    expect(await name('ravi', 'EB-P1', 'EB-P2')).toEqual(stands(/ravi is the first/u));
    expect(await name('meera', 'EB-P1', 'EB-P3')).toEqual(somebodyElse);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted' }, { state: 'submitted' }]);
    expect(await name('anil', 'eb-p1', 'EB-P2')).toEqual(filedIt);
    expect(await gates.stored(sent.filingId, 'position, state, adoption')).toMatchObject(
      [0, 1].map(() => ({ state: 'certified', adoption: 'persons' })),
    );
    expect(await gates.stored(sent.filingId, 'state', 'submissions')).toEqual([{ state: 'settled' }]);
    // What every row has by now takes no second person.
    expect(await name('kamal', 'EB-P1', 'EB-P2')).toEqual(filedIt);
    const ninth = { kind: 'filed' as const, certificates: [{ row: 9, eBRCNumber: 'EB-NINE' }] };
    expect(await say(sent, ninth)).toEqual(refused(/no row 9/u));
  });

  it('with a certificate that another row has, however it is typed, is refused whole: nothing of it is carried out', async () => {
    const sent = await lost([{}, {}, {}]);
    const requestId = newId();
    const [taken, free] = [`EB-${requestId}`, `EB-FREE-${requestId}`];
    await accept(sent, requestId);
    await sent.party.certify(sent.filingId, { 0: taken });
    await gates.endRequest(sent.filingId, requestId, [1]);
    const both = async (...numbers: string[]) => {
      const certificates = numbers.map((eBRCNumber, n) => ({ row: n + 2, eBRCNumber }));
      await say(sent, { kind: 'filed', certificates });
      return say(sent, { kind: 'filed', certificates, by: 'meera' });
    };
    const before = await rows(sent.filingId);
    expect(before.map(({ state }) => state)).toEqual(['certified', 'needs_correction', 'submitted']);
    expect(await both(` ${taken.toLowerCase()}`, free)).toEqual(refused(/another row has it/u));
    expect(await both(free, free.toLowerCase())).toEqual(refused(/another row has it/u));
    const named = [1, 3].map((row, n) => ({ row, eBRCNumber: [`EB-OTHER-${requestId}`, free][n] ?? '' }));
    await say(sent, { kind: 'filed', certificates: named });
    const second = await say(sent, { kind: 'filed', certificates: named, by: 'meera' });
    expect(second).toEqual(refused(/the row is certified as/u));
    expect(await rows(sent.filingId)).toEqual(before);
    expect(await both(free)).toEqual(filedIt);
    expect((await rows(sent.filingId)).map(({ state }) => state)).toEqual(['certified', 'certified', 'submitted']);
    // A row's own certificate, while another row has none yet: one person's word moves nothing.
    const certificates = [{ row: 1, eBRCNumber: taken }];
    expect(await say(sent, { kind: 'filed', by: 'kamal', certificates })).toEqual(stands(/is the first/u));
  });
});

describe('an attempt whose named request the service denies', () => {
  it('is not filed by what was seen after that alone: until then it may have been processed', async () => {
    const sent = await looked();
    const named = newId();
    await word({ ...about(sent), kind: 'filed', requestId: named, by: 'ravi' });
    await gates.poll(sent.filingId, named, 'unknown_request', minutesLater(300));
    const at = (minutes: number) => say(sent, { at: minutesLater(minutes) });
    // Its certificate came meanwhile, and the look that would show it failed.
    expect(await at(541)).toEqual(refused(/no complete look at the certificates was possible since/u));
    await sent.party.look(minutesLater(542), { balances: false });
    expect(await at(543)).toEqual(stands(/was not read since/u));
    await sent.party.look(minutesLater(544));
    expect(await at(545)).toEqual(again);
    // The judgement is about both: a request that is followed would keep the submission from being sent again.
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'absent' }]);
    await sent.party.look(minutesLater(546));
    expect(await open(sent.filingId, 1, minutesLater(547))).toMatchObject({ outcome: 'attempt', number: 2 });
  });

  it('keeps the submission from being sent again until a person answers for the request, where nothing was written', async () => {
    const sent = await looked();
    const named = newId();
    await word({ ...about(sent), kind: 'filed', requestId: named, by: 'ravi' });
    await close(sent.attemptId);
    await gates.poll(sent.filingId, named, 'unknown_request', NOW);
    expect(await open(sent.filingId)).toMatchObject({ outcome: 'passed' });
    expect(await word({ filingId: sent.filingId, requestId: named, by: 'ravi' })).toEqual({
      outcome: 'freed',
      freed: 0,
    });
    expect(await open(sent.filingId, 1, minutesLater(243))).toMatchObject({ outcome: 'attempt', number: 2 });
  });
});

describe('a request that a person named, and that is another filing’s', () => {
  /** A send whose answer was lost, and for which ravi named a request that the service goes on processing. */
  async function misnamed() {
    const sent = await looked();
    const named = newId();
    await say(sent, { kind: 'filed', requestId: named });
    return { sent, named };
  }
  const bothSayNotOurs = async (sent: Sent, requestId: string) => {
    await say(sent, { notOurs: [requestId] });
    return say(sent, { notOurs: [requestId], by: 'meera' });
  };

  it('holds *not filed* up until two persons say so, after the window, of the same request', async () => {
    const { sent, named } = await misnamed();
    const notOurs = (by: string, minutes = 250, names = [named]) =>
      say(sent, { by, notOurs: names, at: minutesLater(minutes) });
    expect(await notOurs('meera', 250, [])).toEqual(refused(new RegExp(`request ${named}`, 'u')));
    expect(await notOurs('meera', 200)).toEqual(refused(/settle window/u));
    expect(await notOurs('ravi')).toEqual(stands(/ravi is the first/u));
    expect(await notOurs('ravi', 251)).toEqual(somebodyElse);
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'followed' }]);
    expect(await notOurs('meera')).toEqual(again);
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'not_ours' }]);
    expect(await attempts(sent.filingId)).toEqual(['absent']);
  });

  it('is not closed by one person and a word that named something else', async () => {
    const sent = await lost();
    const requestId = newId();
    await gates.name(sent.filingId, requestId);
    await gates.poll(sent.filingId, requestId, 'errored', minutesLater(1));
    await sent.party.show(sent.filingId, 'EB-ELSE');
    await sent.party.look(minutesLater(242));
    const of = (by: string, ...notOurs: string[]) => say(sent, { by, notOurs, at: minutesLater(243) });
    expect(await of('ravi', 'EB-ELSE')).toEqual(stands(/ravi is the first/u));
    expect(await of('meera', requestId, 'EB-ELSE')).toEqual(stands(/meera is the first to say that request/u));
    expect(await gates.requests(sent.filingId)).toMatchObject([{ id: requestId, state: 'followed' }]);
  });

  it('is nobody’s any more: its own filing can have it, and this one cannot name it again', async () => {
    const { sent, named } = await misnamed();
    const owner = await sent.party.sent();
    const claim = { ...about(owner), kind: 'filed' as const, requestId: named, by: 'ravi' };
    expect(await word(claim)).toEqual(refused(new RegExp(sent.filingId, 'u')));
    await bothSayNotOurs(sent, named);
    expect(await open(sent.filingId)).toMatchObject({ outcome: 'look' });
    const anil = { kind: 'filed' as const, requestId: named, by: 'anil' };
    expect(await say(sent, anil)).toMatchObject({ outcome: 'refused' });
    expect(await word(claim)).toEqual(filedIt);
  });

  it('is closed although something else still speaks against *not filed*', async () => {
    const { sent, named } = await misnamed();
    await sent.party.show(sent.filingId, `EB-${named}`);
    expect(await bothSayNotOurs(sent, named)).toEqual({ outcome: 'not_ours' });
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'not_ours' }]);
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    // Nothing is concluded from what the service says of it, and the attempt can be answered for again.
    const of = { filingId: sent.filingId, submission: 1, requestId: named };
    expect(await gates.absent(of)).toMatchObject({ code: 'not_in_doubt' });
    expect(await say(sent)).toEqual(refused(/agree/u));
    // What both said by mistake is mended by naming it again.
    expect(await say(sent, { kind: 'filed', requestId: named, by: 'anil' })).toEqual(filedIt);
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'followed' }]);
  });

  it('is not named again where its own record showed other rows alone', async () => {
    const { sent, named } = await misnamed();
    const request = { filingId: sent.filingId, submission: 1, requestId: named };
    const end = { state: 'not_ours' as const, processingStatus: 'Processed', errored: [], at: OVER };
    await gates.step((client) => endRequest(client, request, end));
    expect(await say(sent, { kind: 'filed', requestId: named, by: 'anil' })).toEqual(refused(/another filing/u));
  });

  it('stays closed where a run’s history hands it in again, and the rows stay planned', async () => {
    const { sent, named } = await misnamed();
    await bothSayNotOurs(sent, named);
    const sends = [sentAs(sent.attemptId, { requestId: named, sentAt: NOW.getTime() })];
    await gates.step((client) => mergeKnownSends(client, { filingId: sent.filingId, sends, at: LATER }));
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned' }]);
    expect(await requests(sent.filingId)).toMatchObject([{ state: 'not_ours' }]);
  });

  it('no longer keeps a row that one of our own requests rejected', async () => {
    const { sent, named } = await misnamed();
    const own = newId();
    await accept(sent, own);
    await gates.endRequest(sent.filingId, own, [0]);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted', live: true }]);
    await bothSayNotOurs(sent, named);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
  });

  it('is never one of our own answers', async () => {
    const sent = await looked();
    const own = newId();
    await accept(sent, own);
    expect(await bothSayNotOurs(sent, own)).toEqual(refused(new RegExp(own, 'u')));
    expect(await requests(sent.filingId)).toMatchObject([{ id: own, state: 'followed' }]);
  });
});

it('reads the requests of a submission oldest first, with where each comes from', async () => {
  const sent = await lost();
  const [own, named] = [newId(), newId()];
  await accept(sent, own);
  await word({ ...about(sent), kind: 'filed', requestId: named, by: 'ravi' });
  const found = await readRequests(ledger.pool, sent.filingId, 1);
  expect(found.map(({ requestId, attemptId }) => [requestId, attemptId])).toEqual([
    [own, sent.attemptId],
    [named, null],
  ]);
});
