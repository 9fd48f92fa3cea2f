/** Words of persons: records that bind what they were said about, and how two of them count. */
import { attemptIdOf, sentAs } from '../../../src/domain/filing/attempt';
import { personKey } from '../../../src/domain/principal';
import { endRequest, readRequests, requestHolder, type Statement } from '../../../src/ledger/submissions/requests';
import { carryOutWord } from '../../../src/ledger/gates/persons';
import { saveIrms } from '../../../src/ledger/exporters/irms';
import { inQuestion } from '../../../src/ledger/filings/filing-view';
import { readStanding } from '../../../src/ledger/filings/filing-now';
import { mergeKnownSends } from '../../../src/ledger/submissions/known-sends';
import { closeOpenWords, judgeWord, recordWord, type NewWord } from '../../../src/ledger/submissions/words';
import { irmRecord, minutesLater, move, NOW, record, rowsOf } from '../filing-support';
import { SETTLE_MS } from '../submissions/attempt-support';
import { LATER, OVER, useGates, type Sent } from './gate-support';

const gates = useGates();
const { ledger, exporter, under, opened, open, accept, word, close, rows, attempts, requests } = gates;

type Party = Awaited<ReturnType<typeof exporter>>;
const refused = (why: RegExp) => ({ outcome: 'refused', why: expect.stringMatching(why) as string });
const stands = (why: RegExp) => ({ outcome: 'stands', why: expect.stringMatching(why) as string });
const again = { outcome: 'again' };
let asked = 0;
const newId = () => `R-PERSON-${(asked += 1)}`;

/** A send whose answer was lost, of a party of its own. */
async function lost(rowsOfIt?: object[]): Promise<Sent & { party: Party }> {
  const party = await exporter();
  return { party, ...(await party.sent(rowsOfIt)) };
}
/** The same, with a complete look after the window. */
async function looked(rowsOfIt?: object[]) {
  const sent = await lost(rowsOfIt);
  await sent.party.look(OVER);
  return sent;
}
const about = ({ filingId, attemptId }: Sent) => ({ filingId, attemptId });
/** The balance of the party's one IRM, of 10,000, is read again. */
const balanceFalls = (party: Party, available: number, at = OVER) => balancesOf(party, [available], at);
/** The balances of all remittances that have the number of the party's IRM, in order of issue. */
const balancesOf = ({ exporterId, iec }: Party, available: number[], at = OVER) => {
  const irms = available.map((each, index) => {
    const irm = irmRecord(each, iec);
    return index === 0 ? irm : { ...irm, irmIssueDate: `0${index}062026` };
  });
  return saveIrms(ledger.pool, exporterId, irms, at);
};

/** The row of a send gets its certificate an hour later. */
const certified = ({ filingId }: Sent, party: Party, at = minutesLater(60)) =>
  party.certify(filingId, { 0: `EB-${filingId}` }, at);

const judgements = async (filingId: string) =>
  (
    await ledger.pool.query<{ by: string; outcome: string }>(
      `SELECT said_by AS by, outcome FROM words JOIN word_judgements USING (word_id) WHERE filing_id = $1 ORDER BY word_id, outcome = 'carried_out'`,
      [filingId],
    )
  ).rows.map(({ by, outcome }) => `${by} ${outcome}`);

const newWord = (more: Partial<NewWord> & { filingId: string }): NewWord => ({
  kind: 'not_filed',
  attemptId: null,
  requestId: null,
  sourceRows: null,
  certificates: [],
  notOurs: [],
  unseen: false,
  by: 'ravi',
  note: 'looked',
  at: LATER,
  step: 'run/1',
  ...more,
});

/** Carries a recorded word out, by default after its window. */
const carry = (filingId: string, wordId: string) =>
  under(filingId, (client) =>
    carryOutWord(client, { filingId, wordId, settleMs: SETTLE_MS, singlePerson: false, at: LATER }),
  );

describe('a word', () => {
  it('is recorded once for a step that is repeated, with the mark that it was said about', async () => {
    const sent = await lost();
    const said = newWord(about(sent));
    const ids = [await recordWord(ledger.pool, said), await recordWord(ledger.pool, said)];
    expect(ids[0]).toBe(ids[1]);
    const kept = await gates.stored(sent.filingId, 'marked_at AS at, person_key AS person', 'words');
    expect(kept).toEqual([{ at: NOW, person: personKey('ravi') }]);
  });

  it('has one final judgement: a later one changes nothing', async () => {
    const sent = await looked();
    const wordId = await recordWord(ledger.pool, newWord(about(sent)));
    expect(await carry(sent.filingId, wordId)).toEqual(again);
    await judgeWord(ledger.pool, { filingId: sent.filingId, wordId, outcome: 'refused', why: 'too late', at: LATER });
    expect(await carry(sent.filingId, wordId)).toEqual(again);
    expect(await judgements(sent.filingId)).toEqual(['ravi carried_out']);
    expect(await gates.releases(sent.filingId)).toHaveLength(1);
  });

  it('of a filing that the ledger lost is said to nobody', async () => {
    expect(await recordWord(ledger.pool, newWord({ filingId: 'F-GONE' }))).toBe('');
  });

  it('stands open until it is carried out, refused or put aside', async () => {
    const sent = await lost();
    const resolve = await recordWord(ledger.pool, newWord({ ...about(sent), step: 'run/2' }));
    const abandon = await recordWord(ledger.pool, newWord({ ...about(sent), kind: 'abandon', step: 'run/3' }));
    const pending = async () => (await readStanding(ledger.pool, sent.filingId)).words;
    expect(await pending()).toMatchObject({
      resolve: { wordId: resolve, as: 'not-filed', attemptId: sent.attemptId },
      abandon: { wordId: abandon, by: 'ravi' },
    });
    await closeOpenWords(ledger.pool, { filingId: sent.filingId, kinds: ['not_filed'], why: 'past it', at: LATER });
    expect(await pending()).toEqual({ abandon: expect.objectContaining({ wordId: abandon }) as object });
    await judgeWord(ledger.pool, { filingId: sent.filingId, wordId: abandon, outcome: 'carried_out', at: LATER });
    expect(await pending()).toEqual({});
  });
});

describe('nothing of this send was filed', () => {
  it('is one person’s word where a complete look shows no certificate', async () => {
    const sent = await looked();
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(again);
    expect(await attempts(sent.filingId)).toEqual(['absent']);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned', live: true, sent: false }]);
    expect(await judgements(sent.filingId)).toEqual(['ravi carried_out']);
  });

  it('names the attempt that it answers, and is not taken for another send of it', async () => {
    const sent = await looked();
    const wordId = await recordWord(ledger.pool, newWord(about(sent)));
    // After a restore the same attempt was sent once more.
    await ledger.pool.query('UPDATE attempts SET marked_at = $2 WHERE attempt_id = $1', [
      sent.attemptId,
      minutesLater(1),
    ]);
    expect(await carry(sent.filingId, wordId)).toEqual(refused(/another time/u));
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    expect(await word({ filingId: sent.filingId, by: 'ravi' })).toEqual(refused(/neither an attempt nor a request/u));
  });

  it('is about an attempt of its own filing', async () => {
    const [own, other] = [await looked(), await looked()];
    const said = { filingId: own.filingId, attemptId: other.attemptId, by: 'ravi' };
    expect(await word(said)).toEqual(refused(/not one of this filing/u));
    expect(await word({ ...said, kind: 'filed', requestId: newId() })).toEqual(refused(/not one of this filing/u));
    expect(await attempts(other.filingId)).toEqual(['marked']);
  });

  it('counts by when it was said, not by when it is carried out', async () => {
    const sent = await looked();
    const wordId = await recordWord(ledger.pool, newWord({ ...about(sent), at: minutesLater(100) }));
    expect(await carry(sent.filingId, wordId)).toEqual(refused(/settle window/u));
  });

  it('is said of an attempt that the ledger has lost, whose number it takes', async () => {
    const party = await exporter();
    const filingId = await party.file();
    await party.look(OVER);
    expect(await word({ filingId, attemptId: attemptIdOf(filingId, 1, 1), by: 'ravi' })).toEqual(again);
    expect(await attempts(filingId)).toEqual(['absent']);
    await party.look(minutesLater(250));
    expect(await open(filingId)).toMatchObject({ number: 2, verdict: 'open' });
  });
});

describe('these rows were not filed', () => {
  it('is said of a request that has ended, and frees them one by one', async () => {
    const sent = await looked([{}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    const of = { filingId: sent.filingId, requestId, by: 'ravi', sourceRows: [2] };
    expect(await word(of)).toEqual(refused(/no outcome yet/u));
    await gates.endRequest(sent.filingId, requestId, []);
    expect(await word(of)).toEqual({ outcome: 'freed', freed: 1 });
    expect(await rows(sent.filingId)).toMatchObject([
      { state: 'submitted', live: true },
      { state: 'needs_correction', live: false },
    ]);
  });

  it('is said of a named request with what its record says of each row: that is what a correction needs', async () => {
    const { filingId, ...sent } = await looked([{}, {}]);
    const requestId = newId();
    await word({ ...about({ filingId, ...sent }), kind: 'filed', requestId, by: 'ravi' });
    await gates.endRequest(filingId, requestId, [0]);
    expect(await word({ filingId, requestId, by: 'ravi', note: 'not there' })).toEqual({ outcome: 'freed', freed: 2 });
    const note = expect.stringContaining('not there') as string;
    expect(await gates.stored(filingId, 'position, errors')).toMatchObject([
      { errors: ['ERR28: date'] },
      { errors: [note] },
    ]);
  });

  it('is refused of a request that is none of the filing', async () => {
    const sent = await looked();
    expect(await word({ filingId: sent.filingId, requestId: 'R-NOT-OURS', by: 'ravi' })).toEqual(
      refused(/not one of this filing/u),
    );
  });
});

describe('two persons', () => {
  it('name the certificates that agree; only numbers that both named count', async () => {
    const sent = await lost();
    await sent.party.show(sent.filingId, 'EB-A');
    await sent.party.show(sent.filingId, 'EB-B');
    await sent.party.look(OVER);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(refused(/EB-A, EB-B agree.*--not-ours/u));
    expect(await word({ ...about(sent), by: 'meera', notOurs: ['EB-A'] })).toEqual(stands(/meera is the first/u));
    expect(await word({ ...about(sent), by: 'ravi', notOurs: ['EB-A', 'EB-B'] })).toEqual(stands(/somebody else/u));
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    expect(await word({ ...about(sent), by: 'anil', notOurs: ['EB-A', 'EB-B'] })).toEqual(again);
    // Everybody's word that was needed is carried out; a refused one stays refused.
    expect(await judgements(sent.filingId)).toEqual([
      'ravi refused',
      'meera stands',
      'meera carried_out',
      'ravi stands',
      'ravi carried_out',
      'anil carried_out',
    ]);
  });

  it('say so where the IRM was used since the send and no certificate accounts for it', async () => {
    const sent = await looked();
    await balanceFalls(sent.party, 9_995.01);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(
      stands(/fell by 4.99 since the send, and certificates account for 0 of it: ravi is the first/u),
    );
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/somebody else/u));
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned', live: true }]);
  });

  it('are not needed where less was used than a row, or as much as was certified on the IRM since', async () => {
    const sent = await looked([{}, { mappedIRMAmountFCC: 7 }]);
    await balanceFalls(sent.party, 9_995.02);
    const other = await sent.party.sent([{ mappedIRMAmountFCC: 9 }], { at: minutesLater(1) });
    await certified(other, sent.party);
    // 9 were certified: less than 5 is left to account for.
    await balanceFalls(sent.party, 9_986.02);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(again);
  });

  it('say so where what was certified on the IRM since was cancelled: its use was given back', async () => {
    const sent = await looked();
    const other = await sent.party.sent([{}], { at: minutesLater(1) });
    await certified(other, sent.party);
    await balanceFalls(sent.party, 9_995);
    await sent.party.show(other.filingId, `EB-${other.filingId}`, { eBRCStatus: 'Cancelled' });
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/fell by 5 .* account for 0 of it/u));
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
  });

  it.each<[string, (party: Party) => Promise<unknown>]>([
    [
      'the remittance was amended since',
      ({ exporterId, iec }) =>
        saveIrms(ledger.pool, exporterId, [{ ...irmRecord(10_000, iec), remittanceFCCAmount: 10_005 }], OVER),
    ],
    ['its balance rose', (party) => balanceFalls(party, 9_995).then(() => balanceFalls(party, 10_000, LATER))],
    [
      'less of it was used than was certified on it since',
      async (party) => certified(await party.sent([{}], { at: minutesLater(1) }), party),
    ],
  ])('say so where %s: that may hide a use', async (_, change) => {
    const sent = await looked();
    await change(sent.party);
    const why =
      /balance of IRM .* tells nothing: since the send it rose, or the remittance was amended: ravi is the first/u;
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(why));
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
  });

  it.each([
    ['the rows may have used all of it', 4_000, /fell by 6000/u],
    ['more was used than the rows need, and too little is left for them', 3_999, /fell by 6001/u],
  ])('say so where %s: a correction may take less, or another IRM', async (_, available, why) => {
    const sent = await looked([{ mappedIRMAmountFCC: 6_000 }]);
    await balanceFalls(sent.party, available);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(why));
  });

  it('say so where the balance was not read since the window is over: an outage may hide the certificate and its use', async () => {
    const sent = await looked();
    await ledger.pool.query('UPDATE irms SET read_at = $2 WHERE exporter_id = $1', [
      sent.party.exporterId,
      minutesLater(239),
    ]);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/balance of IRM .* was not read since/u));
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
  });

  it('say so where it was sent before its IRM was ever read: no use of the balance could show', async () => {
    const own = await exporter();
    const sent = await own.sent([{ irmNumber: 'IRM2026000777' }]);
    await own.look(OVER);
    const why = /IRM2026000777 was not read before the send/u;
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(why));
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(again);
  });

  it('say so where the IRM was used since the last reading before a send without a snapshot', async () => {
    const [unused, used] = [await exporter(), await exporter()];
    const sentBy = async (own: Party) => {
      await balanceFalls(own, 8_000, minutesLater(0.5));
      const sent = await own.sent([{}], { held: null, at: minutesLater(1) });
      await own.look(minutesLater(241.5));
      return sent;
    };
    expect(await word({ ...about(await sentBy(unused)), by: 'ravi' })).toEqual(again);
    const sent = about(await sentBy(used));
    await balanceFalls(used, 7_995, minutesLater(241.5));
    expect(await word({ ...sent, by: 'ravi' })).toEqual(stands(/fell by 5 since the send/u));
    expect(await word({ ...sent, by: 'meera' })).toEqual(again);
  });

  it('say so where the balance of one of the number’s remittances was not known before the send', async () => {
    const party = await exporter();
    const { exporterId, iec } = party;
    const later = { ...irmRecord(0, iec), irmIssueDate: '01062026', irmAvailableAmt: null };
    await saveIrms(ledger.pool, exporterId, [irmRecord(10_000, iec), later], NOW);
    const sent = await party.sent();
    await party.look(OVER);
    await balancesOf(party, [9_995, 300]);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/was not read before the send/u));
  });

  it('say so where the certificate that may account for it came after the balance was read', async () => {
    const sent = await looked();
    const other = await sent.party.sent([{}], { at: minutesLater(1) });
    await balanceFalls(sent.party, 9_995, minutesLater(241.5));
    await certified(other, sent.party, minutesLater(241.6));
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/fell by 5 .* account for 0 of it/u));
    // Read once more, the balance shows one use alone, which is the certificate's.
    await balanceFalls(sent.party, 9_995, minutesLater(241.7));
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(again);
  });

  it.each([
    ['as much', 10_000],
    ['less', 300],
  ])('say so where another remittance of the number has %s', async (_, beside) => {
    const party = await exporter();
    await balancesOf(party, [10_000, beside], NOW);
    const sent = await party.sent();
    await party.look(OVER);
    await balancesOf(party, [10_000, beside - 5]);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/fell by 5 since the send/u));
  });

  it('say so where another remittance takes the number after the send', async () => {
    const sent = await looked();
    await balancesOf(sent.party, [9_995, 300]);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/fell by 5 since the send/u));
  });

  it('say so where what was certified on the IRM may have been in the balance before the send', async () => {
    const party = await exporter();
    const before = await party.sent([{}], { at: minutesLater(-10) });
    await balanceFalls(party, 9_995, minutesLater(-5));
    const sent = await party.sent();
    await certified(before, party);
    await party.look(OVER);
    await balanceFalls(party, 9_990);
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(stands(/ravi is the first/u));
  });

  it('stand in for a look that was not possible for a whole window', async () => {
    const sent = await lost();
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(refused(/--unseen/u));
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(stands(/ravi is the first/u));
    // A refused word, without --unseen, is nobody's second one.
    expect(await word({ ...about(sent), by: 'meera' })).toEqual(refused(/--unseen/u));
    expect(await word({ ...about(sent), by: 'meera', unseen: true })).toEqual(again);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned', live: true }]);
  });

  it('are two names, compared without case, white space and width of letters', async () => {
    const sent = await lost();
    await word({ ...about(sent), by: 'Ravi Kumar', unseen: true });
    for (const by of ['ravi kumar', ' RAVI  KUMAR ', '\uff32avi kumar'])
      expect(await word({ ...about(sent), by, unseen: true })).toEqual(stands(/somebody else/u));
    expect(await word({ ...about(sent), by: 'ravi k', unseen: true })).toEqual(again);
  });

  it('are not one person and somebody without a name', async () => {
    const sent = await lost();
    await word({ ...about(sent), by: ' ', unseen: true });
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(stands(/somebody else/u));
  });

  it('say the same about the same send: a word about another attempt does not count', async () => {
    const [one, other] = [await lost(), await lost()];
    await word({ ...about(other), by: 'meera', unseen: true });
    expect(await word({ ...about(one), by: 'ravi', unseen: true })).toEqual(stands(/somebody else/u));
  });

  it('are both after the window: a word that was refused as too early counts for nothing', async () => {
    const sent = await lost();
    const early = { at: minutesLater(100), unseen: true };
    expect(await word({ ...about(sent), by: 'meera', ...early })).toEqual(refused(/settle window/u));
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(stands(/ravi is the first/u));
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    expect(await judgements(sent.filingId)).toEqual(['meera refused', 'ravi stands']);
  });

  it('say the same about the same rows: a word about another row of the request does not count', async () => {
    const sent = await lost([{}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    await gates.poll(sent.filingId, requestId, 'unknown_request', NOW);
    const said = { filingId: sent.filingId, requestId, unseen: true };
    expect(await word({ ...said, sourceRows: [1], by: 'meera' })).toEqual(stands(/meera is the first/u));
    expect(await word({ ...said, sourceRows: [2], by: 'ravi' })).toEqual(stands(/ravi is the first/u));
    expect(await rows(sent.filingId)).toMatchObject([{ live: true }, { live: true }]);
    expect(await word({ ...said, sourceRows: [1], by: 'ravi' })).toEqual({ outcome: 'freed', freed: 1 });
  });

  it('say the same about rows in whatever order they name them', async () => {
    const sent = await lost([{}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    await gates.poll(sent.filingId, requestId, 'unknown_request', NOW);
    const said = { filingId: sent.filingId, requestId, unseen: true };
    expect(await word({ ...said, sourceRows: [1, 2], by: 'meera' })).toEqual(stands(/meera is the first/u));
    expect(await word({ ...said, sourceRows: [2, 1, 1], by: 'ravi' })).toEqual({ outcome: 'freed', freed: 2 });
  });

  it('name a certificate as not theirs for their own lineage alone: its owner is not sent again by it', async () => {
    const party = await exporter();
    const tranche = { sbCumInvoiceNumber: '8600002', billNo: 'EXP/8600002' };
    const first = await party.file([tranche]);
    const permitted = [{ row: 1, reason: 'a second tranche', besides: [first] }];
    const owner = await party.file([tranche], { permitted });
    const [one, two] = [await party.sendAttempt(first), await party.sendAttempt(owner)];
    await party.look(OVER);
    expect(await gates.absent({ attemptId: two.attemptId })).toEqual(again);
    await party.show(owner, 'OWNERS');
    await party.look(minutesLater(243));
    for (const by of ['ravi', 'meera']) await word({ ...about(one), by, notOurs: ['OWNERS'], at: minutesLater(244) });
    expect(await attempts(first)).toEqual(['absent']);
    expect(await open(owner)).toMatchObject({ outcome: 'look', agreeing: ['OWNERS'] });
  });

  it('count no word from before the window that the service’s next statement began', async () => {
    const sent = await lost();
    const requestId = newId();
    await accept(sent, requestId);
    const polls = (statement: Statement | null, minutes: number) =>
      gates.poll(sent.filingId, requestId, statement, minutesLater(minutes));
    const say = (by: string, minutes: number) =>
      word({ filingId: sent.filingId, requestId, by, unseen: true, at: minutesLater(minutes) });
    await polls('unknown_request', 1);
    expect(await say('ravi', 242)).toMatchObject({ outcome: 'stands' });
    await polls(null, 243);
    await polls('unknown_request', 244);
    expect(await say('meera', 500)).toMatchObject({ outcome: 'stands' });
    expect(await say('asha', 501)).toMatchObject({ outcome: 'freed' });
  });

  it('may be the maker of the filing and somebody else', async () => {
    const sent = await lost();
    await word({ ...about(sent), by: 'asha', unseen: true });
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(again);
  });

  it.each([
    ['are one person a day later, where an installation says that it has one', true, again],
    ['are not one person a day later where it does not say so', false, stands(/somebody else/u)],
  ])('%s', async (_, singlePerson, aDayLater) => {
    const sent = await lost();
    const say = (minutes: number) =>
      word({ ...about(sent), by: 'ravi', unseen: true, singlePerson, at: minutesLater(minutes) });
    const day = 24 * 60;
    for (const minutes of [242, 242 + day - 1]) expect(await say(minutes)).toEqual(stands(/somebody else/u));
    expect(await say(242 + day)).toEqual(aDayLater);
  });

  it('do not count with a word that nobody has carried out yet', async () => {
    const sent = await lost();
    await recordWord(ledger.pool, newWord({ ...about(sent), by: 'meera', unseen: true }));
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(stands(/somebody else/u));
  });

  it('do not count with a word that was withdrawn', async () => {
    const sent = await lost();
    await word({ ...about(sent), by: 'meera', unseen: true });
    await ledger.pool.query(
      `INSERT INTO word_judgements (word_id, outcome, judged_at) SELECT word_id, 'withdrawn', $2 FROM words WHERE filing_id = $1`,
      [sent.filingId, LATER],
    );
    expect(await word({ ...about(sent), by: 'ravi', unseen: true })).toEqual(stands(/somebody else/u));
  });
});

describe('filed', () => {
  const filed = (sent: Sent, requestId: string, by = 'ravi') => word({ ...about(sent), kind: 'filed', requestId, by });

  it('has the submission followed under the request that is named, and the same word again changes nothing', async () => {
    const sent = await lost();
    const requestId = newId();
    expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
    expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
    expect(await requests(sent.filingId)).toEqual([{ id: requestId, source: 'named', state: 'followed' }]);
    expect(await open(sent.filingId)).toEqual({ outcome: 'passed', state: 'acknowledged' });
    expect(await attempts(sent.filingId)).toEqual(['marked']);
  });

  it('is refused of a request that has ended: it would be asked about for ever, and the rows stay without a certificate', async () => {
    const sent = await lost([{}, {}]);
    const requestId = 'R-ENDED';
    expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
    await gates.endRequest(sent.filingId, requestId, [0, 1]);
    const ended = refused(/known already and has ended.*--as not-filed/u);
    expect(await filed(sent, ` ${requestId.toLowerCase()}`)).toEqual(ended);
    expect(await requests(sent.filingId)).toEqual([{ id: requestId, source: 'named', state: 'ended' }]);
    expect(await filed(sent, 'R-ENDED-2')).toEqual({ outcome: 'filed' });
  });

  it('never hides another request: both are followed', async () => {
    const sent = await lost();
    const [own, named] = [newId(), newId()];
    await accept(sent, own);
    expect(await filed(sent, named)).toEqual({ outcome: 'filed' });
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
    expect(await filed(one, typed)).toEqual({ outcome: 'filed' });
    expect([await requests(one.filingId), await requests(two.filingId)]).toMatchObject([[{ id: requestId }], []]);
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
    expect(await filed({ ...second, attemptId: first.attemptId }, 'R-OF-THE-FIRST')).toEqual({ outcome: 'filed' });
    expect(await inQuestion(ledger.pool, filingId)).toEqual({ attempt: second.attemptId, request: null });
  });

  it('has a request asked about again that was taken for absent', async () => {
    const sent = await looked([{}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    await gates.poll(sent.filingId, requestId, 'unknown_request', NOW);
    expect(await word({ filingId: sent.filingId, requestId, by: 'ravi' })).toMatchObject({ freed: 2 });
    expect(await requests(sent.filingId)).toMatchObject([{ state: 'absent' }]);
    expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
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
    expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
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
    expect(await filed(sent, newId())).toEqual({ outcome: 'filed' });
    expect(await rows(filingId)).toMatchObject([{ state: 'abandoned_after_send', live: true }]);
    expect(await rows(correction)).toMatchObject([{ state: 'needs_correction', live: false }]);
    expect(await gates.mark(next)).toMatchObject({ marked: false, why: 'closed' });
  });

  it('may name a request that another client has under the same id', async () => {
    const requestId = newId();
    for (const sent of [await lost(), await lost()]) expect(await filed(sent, requestId)).toEqual({ outcome: 'filed' });
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
    const name = (by: string, ...numbers: string[]) =>
      word({
        ...about(sent),
        kind: 'filed',
        by,
        certificates: numbers.map((eBRCNumber, n) => ({ row: n + 1, eBRCNumber })),
      });
    expect(await name('ravi', 'EB-P1', 'EB-P2')).toEqual(stands(/ravi is the first/u));
    expect(await name('meera', 'EB-P1', 'EB-P3')).toEqual(stands(/somebody else/u));
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'submitted' }, { state: 'submitted' }]);
    expect(await name('anil', 'eb-p1', 'EB-P2')).toEqual({ outcome: 'filed' });
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'certified' }, { state: 'certified' }]);
    // What every row has by now takes no second person.
    expect(await name('kamal', 'EB-P1', 'EB-P2')).toEqual({ outcome: 'filed' });
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
      const said = { ...about(sent), kind: 'filed' as const, certificates };
      await word({ ...said, by: 'ravi' });
      return word({ ...said, by: 'meera' });
    };
    const before = await rows(sent.filingId);
    expect(before.map(({ state }) => state)).toEqual(['certified', 'needs_correction', 'submitted']);
    expect(await both(` ${taken.toLowerCase()}`, free)).toEqual(refused(/another row has it/u));
    expect(await both(free, free.toLowerCase())).toEqual(refused(/another row has it/u));
    expect(await rows(sent.filingId)).toEqual(before);
    expect(await both(free)).toEqual({ outcome: 'filed' });
    expect((await rows(sent.filingId)).map(({ state }) => state)).toEqual(['certified', 'certified', 'submitted']);
    // A row's own certificate, while another row has none yet: one person's word moves nothing.
    const certificates = [{ row: 1, eBRCNumber: taken }];
    expect(await word({ ...about(sent), kind: 'filed', by: 'kamal', certificates })).toEqual(stands(/is the first/u));
  });

  it('with a certificate for a row that is not there is refused', async () => {
    const sent = await lost();
    const certificates = [{ row: 9, eBRCNumber: 'EB-NINE' }];
    expect(await word({ ...about(sent), kind: 'filed', by: 'ravi', certificates })).toEqual(refused(/no row 9/u));
  });
});

describe('an attempt whose named request the service denies', () => {
  it('is not filed by what was seen after that alone: until then it may have been processed', async () => {
    const sent = await looked();
    const named = newId();
    await word({ ...about(sent), kind: 'filed', requestId: named, by: 'ravi' });
    await gates.poll(sent.filingId, named, 'unknown_request', minutesLater(300));
    const say = (minutes: number) => word({ ...about(sent), by: 'ravi', at: minutesLater(minutes) });
    // Its certificate came meanwhile, and the look that would show it failed.
    expect(await say(541)).toEqual(refused(/no complete look at the certificates was possible since/u));
    await sent.party.look(minutesLater(542), { balances: false });
    expect(await say(543)).toEqual(stands(/was not read since/u));
    await sent.party.look(minutesLater(544));
    expect(await say(545)).toEqual(again);
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
  async function misnamed(rowsOfIt?: object[]) {
    const sent = await looked(rowsOfIt);
    const named = newId();
    await word({ ...about(sent), kind: 'filed', requestId: named, by: 'ravi' });
    return { sent, named };
  }

  it('holds *not filed* up until two persons say so, after the window, of the same request', async () => {
    const { sent, named } = await misnamed();
    const say = (by: string, minutes = 250, notOurs = [named]) =>
      word({ ...about(sent), by, notOurs, at: minutesLater(minutes) });
    expect(await say('meera', 250, [])).toEqual(refused(new RegExp(`request ${named}`, 'u')));
    expect(await say('meera', 200)).toEqual(refused(/settle window/u));
    expect(await say('ravi')).toEqual(stands(/ravi is the first/u));
    expect(await say('ravi', 251)).toEqual(stands(/somebody else/u));
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'followed' }]);
    expect(await say('meera')).toEqual(again);
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'not_ours' }]);
    expect(await attempts(sent.filingId)).toEqual(['absent']);
  });

  it('is nobody’s any more: its own filing can have it, and this one cannot name it again', async () => {
    const { sent, named } = await misnamed();
    const owner = await sent.party.sent();
    const claim = { ...about(owner), kind: 'filed' as const, requestId: named, by: 'ravi' };
    expect(await word(claim)).toEqual(refused(new RegExp(sent.filingId, 'u')));
    for (const by of ['ravi', 'meera']) await word({ ...about(sent), by, notOurs: [named] });
    expect(await open(sent.filingId)).toMatchObject({ outcome: 'look' });
    expect(await word({ ...about(sent), kind: 'filed', requestId: named, by: 'anil' })).toMatchObject({
      outcome: 'refused',
    });
    expect(await word(claim)).toEqual({ outcome: 'filed' });
  });

  it('is closed although something else still speaks against *not filed*', async () => {
    const { sent, named } = await misnamed();
    await sent.party.show(sent.filingId, `EB-${named}`);
    await word({ ...about(sent), by: 'ravi', notOurs: [named] });
    expect(await word({ ...about(sent), by: 'meera', notOurs: [named] })).toEqual({ outcome: 'not_ours' });
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'not_ours' }]);
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    // Nothing is concluded from what the service says of it, and the attempt can be answered for again.
    const of = { filingId: sent.filingId, submission: 1, requestId: named };
    expect(await gates.absent(of)).toMatchObject({ code: 'not_in_doubt' });
    expect(await word({ ...about(sent), by: 'ravi' })).toEqual(refused(/agree/u));
    // What both said by mistake is mended by naming it again.
    expect(await word({ ...about(sent), kind: 'filed', requestId: named, by: 'anil' })).toEqual({ outcome: 'filed' });
    expect(await requests(sent.filingId)).toMatchObject([{ id: named, state: 'followed' }]);
  });

  it('is not named again where its own record showed other rows alone', async () => {
    const { sent, named } = await misnamed();
    const request = { filingId: sent.filingId, submission: 1, requestId: named };
    const end = { state: 'not_ours' as const, processingStatus: 'Processed', errored: [], at: OVER };
    await gates.step((client) => endRequest(client, request, end));
    expect(await word({ ...about(sent), kind: 'filed', requestId: named, by: 'anil' })).toEqual(
      refused(/another filing/u),
    );
  });

  it('stays closed where a run’s history hands it in again, and the rows stay planned', async () => {
    const { sent, named } = await misnamed();
    for (const by of ['ravi', 'meera']) await word({ ...about(sent), by, notOurs: [named] });
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
    for (const by of ['ravi', 'meera']) await word({ ...about(sent), by, notOurs: [named] });
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'needs_correction', live: false }]);
  });

  it('is never one of our own answers', async () => {
    const sent = await looked();
    const own = newId();
    await accept(sent, own);
    for (const by of ['ravi', 'meera'])
      expect(await word({ ...about(sent), by, notOurs: [own] })).toEqual(refused(new RegExp(own, 'u')));
    expect(await requests(sent.filingId)).toMatchObject([{ id: own, state: 'followed' }]);
  });
});

describe('a duplicate beside a row in doubt, or abandoned after the send', () => {
  const content = (document: string) => rowsOf({ sbCumInvoiceNumber: document, mappedIRMAmountFCC: 5 });
  let references = 0;
  async function holderInDoubt(state: 'unknown' | 'abandoned_after_send' | 'submitted') {
    const party = await exporter();
    references += 1;
    const document = String(8_400_000 + references);
    const sent = await party.sent([{ sbCumInvoiceNumber: document, billNo: 'EXP/2026/001' }]);
    await gates.putRows(sent.filingId, state);
    const file = (besides: string[] | undefined) => {
      references += 1;
      const permitted = [{ row: 1, reason: 'again', ...(besides && { besides }) }];
      return record(ledger, `BESIDE-${references}`, content(document), { exporterId: party.exporterId, permitted });
    };
    const permit = (person: string) => word({ filingId: sent.filingId, kind: 'permit', sourceRows: [1], by: person });
    return { ...sent, party, file, permit };
  }

  it.each(['unknown', 'abandoned_after_send', 'submitted'] as const)(
    '(%s) is permitted by two words on the holder’s rows',
    async (state) => {
      const { filingId, file, permit } = await holderInDoubt(state);
      expect(await file([filingId])).toMatchObject({ outcome: 'refused' });
      await permit('ravi');
      expect(await file([filingId])).toMatchObject({ outcome: 'refused' });
      await permit(' RAVI');
      expect(await file([filingId])).toMatchObject({ outcome: 'refused' });
      await permit('meera');
      expect(await file(['F-ANOTHER'])).toMatchObject({ outcome: 'refused' });
      expect(await file([filingId])).toMatchObject({ outcome: 'opened' });
    },
  );

  it('is one: another one beside the same row needs two words more', async () => {
    const { filingId, file, permit } = await holderInDoubt('unknown');
    await permit('ravi');
    await permit('meera');
    const first = await file([filingId]);
    expect(first).toMatchObject({ outcome: 'opened' });
    const besides = [filingId, ...('filingId' in first ? [first.filingId] : [])];
    expect(await file(besides)).toMatchObject({ outcome: 'refused', findings: [{ code: 'mapping_live' }] });
    await permit('ravi');
    await permit('meera');
    expect(await file(besides)).toMatchObject({ outcome: 'opened' });
  });

  it('is not permitted by a word about an earlier send and one about this', async () => {
    const { filingId, attemptId, party, permit } = await holderInDoubt('submitted');
    await accept({ attemptId }, null);
    await permit('ravi');
    await party.look(OVER);
    expect(await word({ filingId, attemptId, by: 'meera' })).toEqual(again);
    await party.look(minutesLater(250));
    await party.sendAttempt(filingId, { at: minutesLater(255) });
    await gates.putRows(filingId, 'unknown');
    const say = (by: string) => word({ filingId, kind: 'permit', sourceRows: [1], by, at: minutesLater(300) });
    expect(await say('meera')).toEqual(stands(/meera is the first/u));
    expect(await say('ravi')).toEqual({ outcome: 'permitted' });
  });

  it('is not permitted twice by a command that is repeated', async () => {
    const { filingId, file, permit } = await holderInDoubt('unknown');
    await permit('ravi');
    for (const by of ['meera', 'meera', 'ravi']) expect(await permit(by)).toEqual({ outcome: 'permitted' });
    const first = await file([filingId]);
    const besides = [filingId, ...('filingId' in first ? [first.filingId] : [])];
    expect(await file(besides)).toMatchObject({ outcome: 'refused' });
  });

  it('needs a refusal that names the holder once its outcome is known, whoever permitted it before', async () => {
    const { filingId, attemptId, file, permit } = await holderInDoubt('submitted');
    await accept({ attemptId }, null);
    await permit('ravi');
    await permit('meera');
    await accept({ attemptId }, newId());
    expect(await file(undefined)).toMatchObject({ outcome: 'refused', findings: [{ filingId }] });
    expect(await file(undefined)).toMatchObject({ outcome: 'opened' });
  });

  it('is one beside a row whose acceptance named no request, too', async () => {
    const { filingId, attemptId, file, permit } = await holderInDoubt('submitted');
    await accept({ attemptId }, null);
    expect(await file([filingId])).toMatchObject({ outcome: 'refused' });
    await permit('ravi');
    expect(await file([filingId])).toMatchObject({ outcome: 'refused' });
    await accept({ attemptId }, newId());
    expect(await file([filingId])).toMatchObject({ outcome: 'opened' });
  });

  it('is printed ready to copy by no refusal', async () => {
    const { filingId, file } = await holderInDoubt('unknown');
    const outcome = await file(undefined);
    expect(outcome).toMatchObject({ outcome: 'refused', findings: [{ code: 'mapping_live', filingId }] });
    expect(JSON.stringify(outcome)).not.toContain('allow-duplicate');
    expect(JSON.stringify(outcome)).not.toContain('allowDuplicate');
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
