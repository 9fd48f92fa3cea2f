/** Words of persons: records that bind what they were said about, and how two of them count. */
import { readRows } from '../../../src/ledger/rows/filing-rows';
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { personKey } from '../../../src/domain/principal';
import type { Statement } from '../../../src/ledger/submissions/requests';
import { carryOutWord } from '../../../src/ledger/gates/persons';
import { saveIrms } from '../../../src/ledger/exporters/irms';
import { readStanding } from '../../../src/ledger/filings/filing-now';
import { closeOpenWords, judgeWord, recordWord, type NewWord } from '../../../src/ledger/submissions/words';
import { irmRecord, minutesLater, NOW, record, rowsOf } from '../filing-support';
import { SETTLE_MS, WORD } from '../submissions/attempt-support';
import { LATER, OVER, type Sent } from './gate-support';
import { about, again, newId, refused, somebodyElse, stands, usePersons, type Party } from './person-support';
import { shownOfSend } from '../../../src/ledger/principals/shown';
import { writeGrant } from '../../../src/ledger/principals/grants';
import { readSent } from '../../../src/ledger/submissions/lost-time';
import { principalOf } from '../../support/principals';

const gates = usePersons();
const { ledger, exporter, under, open, accept, word, rows, attempts, lost, looked, say } = gates;

const SIX_THOUSAND = { mappedIRMAmountFCC: 6_000 };
type Looked = Awaited<ReturnType<typeof looked>>;
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

/** The service lists the party's IRM without its balance. */
const balanceUntold = ({ exporterId, iec }: Party, at: Date) =>
  saveIrms(ledger.pool, exporterId, [{ ...irmRecord(0, iec), irmAvailableAmt: null }], at);

/** One person's word about a send stands, however often it is said; another person's carries it out. */
async function needsTwo(sent: Sent, why: RegExp, more: Parameters<typeof say>[1] = {}) {
  expect(await say(sent, more)).toEqual(stands(why));
  expect(await attempts(sent.filingId)).toEqual(['marked']);
  expect(await say(sent, more)).toEqual(somebodyElse);
  expect(await say(sent, { ...more, by: 'meera' })).toEqual(again);
}

/** The row of a send gets its certificate an hour later. */
const certified = ({ filingId }: Sent, party: Party, at = minutesLater(60)) =>
  party.certify(filingId, { 0: `EB-${filingId}` }, at);

const judgements = async (filingId: string) => {
  const judged = `SELECT said_by || ' ' || outcome AS judged FROM words JOIN word_judgements USING (word_id)
    WHERE filing_id = $1 ORDER BY word_id, outcome = 'carried_out'`;
  return (await ledger.select(judged, filingId)).map((row) => row['judged']);
};

/** A word that is recorded and not carried out yet. */
const recorded = (more: Partial<NewWord> & { filingId: string }) =>
  recordWord(ledger.pool, { ...WORD, by: 'ravi', at: LATER, step: 'run/1', ...more });

/** Carries a recorded word out, by default after its window. */
const carry = (filingId: string, wordId: string) =>
  under(filingId, (client) =>
    carryOutWord(client, { filingId, wordId, settleMs: SETTLE_MS, singlePerson: false, at: LATER }),
  );

describe('a word', () => {
  it('is recorded once for a step that is repeated, with the mark that it was said about', async () => {
    const sent = await lost();
    expect(await recorded(about(sent))).toBe(await recorded(about(sent)));
    const kept = await gates.stored(sent.filingId, 'marked_at AS at, person_key AS person', 'words');
    expect(kept).toEqual([{ at: NOW, person: personKey('ravi') }]);
    // Of a filing that the ledger lost it is said to nobody.
    expect(await recorded({ filingId: 'F-GONE' })).toBe('');
  });

  it('has one final judgement: a later one changes nothing', async () => {
    const sent = await looked();
    const wordId = await recorded(about(sent));
    expect(await carry(sent.filingId, wordId)).toEqual(again);
    await judgeWord(ledger.pool, { filingId: sent.filingId, wordId, outcome: 'refused', why: 'too late', at: LATER });
    expect(await carry(sent.filingId, wordId)).toEqual(again);
    expect(await judgements(sent.filingId)).toEqual(['ravi carried_out']);
    expect(await gates.releases(sent.filingId)).toHaveLength(1);
  });

  it('stands open until it is carried out, refused or put aside', async () => {
    const sent = await lost();
    const resolve = await recorded({ ...about(sent), step: 'run/2' });
    const abandon = await recorded({ ...about(sent), kind: 'abandon', step: 'run/3' });
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
    expect(await say(sent)).toEqual(again);
    expect(await attempts(sent.filingId)).toEqual(['absent']);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned', live: true, sent: false }]);
    expect(await judgements(sent.filingId)).toEqual(['ravi carried_out']);
  });

  it('names the attempt of its own filing that it answers, and is not taken for another send of it', async () => {
    const [sent, other] = [await looked(), await looked()];
    for (const more of [{}, { kind: 'filed' as const, requestId: newId() }])
      expect(await say(sent, { attemptId: other.attemptId, ...more })).toEqual(refused(/not one of this filing/u));
    expect(await say(sent, { attemptId: null })).toEqual(refused(/neither an attempt nor a request/u));
    const wordId = await recorded(about(sent));
    // After a restore the same attempt was sent once more.
    const sentAgain = 'UPDATE attempts SET marked_at = $2 WHERE attempt_id = $1';
    await ledger.select(sentAgain, sent.attemptId, minutesLater(1));
    expect(await carry(sent.filingId, wordId)).toEqual(refused(/another time/u));
    for (const { filingId } of [sent, other]) expect(await attempts(filingId)).toEqual(['marked']);
  });

  it('counts by when it was said, not by when it is carried out', async () => {
    const sent = await looked();
    const wordId = await recorded({ ...about(sent), at: minutesLater(100) });
    expect(await carry(sent.filingId, wordId)).toEqual(refused(/settle window/u));
  });

  it('is said of an attempt that the ledger has lost, whose number it takes', async () => {
    const party = await exporter();
    const filingId = await party.file();
    await party.look(OVER);
    expect(await say({ filingId, attemptId: attemptIdOf(filingId, 1, 1) })).toEqual(again);
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
    for (const number of ['EB-A', 'EB-B']) await sent.party.show(sent.filingId, number);
    await sent.party.look(OVER);
    const both = ['EB-A', 'EB-B'];
    expect(await say(sent)).toEqual(refused(/EB-A, EB-B agree.*--not-ours/u));
    expect(await say(sent, { by: 'meera', notOurs: ['EB-A'] })).toEqual(stands(/meera is the first/u));
    expect(await say(sent, { notOurs: both })).toEqual(somebodyElse);
    expect(await attempts(sent.filingId)).toEqual(['marked']);
    expect(await say(sent, { by: 'anil', notOurs: both })).toEqual(again);
    // Everybody's word that was needed is carried out; a refused one stays refused.
    const [meera, ravi] = ['meera', 'ravi'].map((by) => [`${by} stands`, `${by} carried_out`]) as [string[], string[]];
    expect(await judgements(sent.filingId)).toEqual(['ravi refused', ...meera, ...ravi, 'anil carried_out']);
  });

  it('stand in for a look that was not possible for a whole window', async () => {
    const sent = await lost();
    expect(await say(sent)).toEqual(refused(/--unseen/u));
    expect(await say(sent, { unseen: true })).toEqual(stands(/ravi is the first/u));
    // A refused word, without --unseen, is nobody's second one.
    expect(await say(sent, { by: 'meera' })).toEqual(refused(/--unseen/u));
    expect(await say(sent, { by: 'meera', unseen: true })).toEqual(again);
    expect(await rows(sent.filingId)).toMatchObject([{ state: 'planned', live: true }]);
  });

  it('stand in for a look only where both say so, although a look was complete when the first one spoke', async () => {
    const sent = await lost();
    const requestId = newId();
    await accept(sent, requestId);
    const denied = (minutes: number) => gates.poll(sent.filingId, requestId, 'unknown_request', minutesLater(minutes));
    const of = (by: string, minutes: number, unseen: boolean) =>
      word({ filingId: sent.filingId, requestId, by, unseen, notOurs: ['EB-OTHER'], at: minutesLater(minutes) });
    await denied(0);
    await sent.party.show(sent.filingId, 'EB-OTHER');
    await sent.party.look(OVER);
    expect(await of('ravi', 242, false)).toMatchObject({ outcome: 'stands' });
    // The look does not back what the service says after it.
    await denied(243);
    expect(await of('meera', 490, true)).toMatchObject({ outcome: 'stands' });
    expect(await of('ravi', 491, true)).toMatchObject({ outcome: 'freed' });
  });

  it('are two names, compared without case, white space and width of letters; one may be the maker’s', async () => {
    const sent = await lost();
    await say(sent, { by: 'Asha Kumar', unseen: true });
    for (const by of ['asha kumar', ' ASHA  KUMAR ', '\uff21sha kumar'])
      expect(await say(sent, { by, unseen: true })).toEqual(somebodyElse);
    expect(await say(sent, { by: 'asha', unseen: true })).toEqual(again);
  });

  it.each<[string, (sent: Sent) => Promise<unknown>]>([
    ['of somebody without a name', (sent) => say(sent, { by: ' ', unseen: true })],
    ['about another attempt', async () => say(await lost(), { by: 'meera', unseen: true })],
    [
      'about another attempt of the filing',
      async ({ filingId, attemptId }) => {
        const other = `${filingId}-1-2`;
        const insert = `INSERT INTO attempts (attempt_id, filing_id, submission, number, verdict, marked_at)
          SELECT $1, filing_id, 1, 2, 'marked', marked_at FROM attempts WHERE attempt_id = $2`;
        await ledger.pool.query(insert, [other, attemptId]);
        await say({ filingId, attemptId: other }, { by: 'meera', unseen: true });
      },
    ],
    [
      'about an earlier mark of the attempt',
      async (sent) => {
        await say(sent, { by: 'meera', unseen: true });
        const later = `UPDATE attempts SET marked_at = marked_at + interval '1 minute' WHERE attempt_id = $1`;
        await ledger.pool.query(later, [sent.attemptId]);
      },
    ],
    ['that nobody has carried out yet', (sent) => recorded({ ...about(sent), by: 'meera', unseen: true })],
    ['that was refused as too early', (sent) => say(sent, { by: 'meera', unseen: true, at: minutesLater(100) })],
    [
      'that was withdrawn',
      async (sent) => {
        await say(sent, { by: 'meera', unseen: true });
        const [word] = await ledger.select('SELECT word_id AS id FROM words WHERE filing_id = $1', sent.filingId);
        const wordId = word?.['id'] as string;
        await judgeWord(ledger.pool, { filingId: sent.filingId, wordId, outcome: 'withdrawn', at: LATER });
      },
    ],
  ])('are not one person and a word %s', async (_, first) => {
    const sent = await lost();
    await first(sent);
    expect(await say(sent, { unseen: true })).toMatchObject({ outcome: 'stands' });
    expect(new Set(await attempts(sent.filingId))).toEqual(new Set(['marked']));
    expect(await say(sent, { unseen: true })).toEqual(somebodyElse);
  });

  it('are not one who says that it was filed and one who says that it was not', async () => {
    const sent = await lost();
    await balanceFalls(sent.party, 9_995);
    await sent.party.look(OVER);
    const filed = { kind: 'filed' as const, by: 'meera', certificates: [{ row: 1, eBRCNumber: 'EB-SAID' }] };
    expect(await say(sent, filed)).toMatchObject({ outcome: 'stands' });
    expect(await say(sent)).toEqual(stands(/fell by 5/u));
    expect(await say(sent, { by: 'asha' })).toEqual(again);
  });

  it('are not one person and a word about another request', async () => {
    const sent = await lost();
    const [one, other] = [newId(), newId()];
    for (const requestId of [one, other]) {
      await gates.name(sent.filingId, requestId);
      await gates.poll(sent.filingId, requestId, 'errored', minutesLater(1));
    }
    const of = (requestId: string, by: string) => word({ filingId: sent.filingId, requestId, by, unseen: true });
    expect(await of(one, 'meera')).toMatchObject({ outcome: 'stands' });
    expect(await of(other, 'ravi')).toMatchObject({ outcome: 'stands' });
    expect(await of(one, 'ravi')).toMatchObject({ outcome: 'freed' });
  });

  it('say the same about the same rows, in whatever order they name them', async () => {
    const sent = await lost([{}, {}, {}]);
    const requestId = newId();
    await accept(sent, requestId);
    await gates.poll(sent.filingId, requestId, 'unknown_request', NOW);
    const of = (by: string, ...sourceRows: number[]) =>
      word({ filingId: sent.filingId, requestId, unseen: true, by, sourceRows });
    expect(await of('meera', 1)).toEqual(stands(/meera is the first/u));
    expect(await of('ravi', 2)).toEqual(stands(/ravi is the first/u));
    expect((await rows(sent.filingId)).map(({ live }) => live)).toEqual([true, true, true]);
    expect(await of('ravi', 1)).toEqual({ outcome: 'freed', freed: 1 });
    expect(await of('meera', 2, 3)).toEqual(stands(/meera is the first/u));
    expect(await of('ravi', 3, 2, 2)).toEqual({ outcome: 'freed', freed: 2 });
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
    for (const by of ['ravi', 'meera']) await say(one, { by, notOurs: ['OWNERS'], at: minutesLater(244) });
    expect(await attempts(first)).toEqual(['absent']);
    expect(await open(owner)).toMatchObject({ outcome: 'look', agreeing: ['OWNERS'] });
  });

  it('count no word from before the window that the service’s next statement began', async () => {
    const sent = await lost();
    const requestId = newId();
    await accept(sent, requestId);
    const polls = (statement: Statement | null, minutes: number) =>
      gates.poll(sent.filingId, requestId, statement, minutesLater(minutes));
    const of = (by: string, minutes: number) =>
      word({ filingId: sent.filingId, requestId, by, unseen: true, at: minutesLater(minutes) });
    await polls('unknown_request', 1);
    expect(await of('ravi', 242)).toMatchObject({ outcome: 'stands' });
    await polls(null, 243);
    await polls('unknown_request', 244);
    expect(await of('meera', 500)).toMatchObject({ outcome: 'stands' });
    expect(await of('asha', 501)).toMatchObject({ outcome: 'freed' });
  });

  it.each([
    ['are one person a day later, where an installation says that it has one', true, again],
    ['are not one person a day later where it does not say so', false, somebodyElse],
  ])('%s', async (_, singlePerson, aDayLater) => {
    const sent = await lost();
    const at = (minutes: number) => say(sent, { unseen: true, singlePerson, at: minutesLater(minutes) });
    const day = 24 * 60;
    for (const minutes of [242, 242 + day - 1]) expect(await at(minutes)).toEqual(somebodyElse);
    expect(await at(242 + day)).toEqual(aDayLater);
  });
});

describe('two persons are needed where a certificate may be hidden:', () => {
  const ROSE = /balance of IRM .* tells nothing: since the send it rose, or the remittance was amended/u;
  it.each<[string, RegExp, (sent: Looked) => Promise<unknown>, object?]>([
    [
      'the IRM was used since the send and no certificate accounts for it',
      /fell by 4.99 since the send, and certificates account for 0 of it: ravi is the first/u,
      ({ party }) => balanceFalls(party, 9_995.01),
    ],
    ['the rows may have used all of it', /fell by 6000/u, ({ party }) => balanceFalls(party, 4_000), SIX_THOUSAND],
    // A correction may take less, or another IRM.
    ['more was used than they need', /fell by 6001/u, ({ party }) => balanceFalls(party, 3_999), SIX_THOUSAND],
    [
      'what was certified on the IRM since was cancelled: its use was given back',
      /fell by 5 .* account for 0 of it/u,
      async ({ party }) => {
        const other = await party.sent([{}], { at: minutesLater(1) });
        await certified(other, party);
        await balanceFalls(party, 9_995);
        await party.show(other.filingId, `EB-${other.filingId}`, { eBRCStatus: 'Cancelled' });
      },
    ],
    [
      'the balance was not read since the window is over, as in an outage',
      /balance of IRM .* was not read since/u,
      ({ party: { exporterId } }) =>
        ledger.select('UPDATE irms SET read_at = $2 WHERE exporter_id = $1', exporterId, minutesLater(239)),
    ],
    [
      'another remittance takes the number after the send',
      /fell by 5 since the send/u,
      ({ party }) => balancesOf(party, [9_995, 300]),
    ],
    [
      'the remittance was amended since',
      ROSE,
      ({ party: { exporterId, iec } }) =>
        saveIrms(ledger.pool, exporterId, [{ ...irmRecord(10_000, iec), remittanceFCCAmount: 10_005 }], OVER),
    ],
    [
      'its balance rose',
      ROSE,
      ({ party }) => balanceFalls(party, 9_995).then(() => balanceFalls(party, 10_000, LATER)),
    ],
    [
      'it was given back between two readings of which one did not tell the balance',
      ROSE,
      async ({ party }) => {
        await balanceFalls(party, 9_995);
        await balanceUntold(party, minutesLater(241.3));
        await balanceFalls(party, 10_000, minutesLater(241.5));
      },
    ],
    ['the last reading did not tell the balance', ROSE, ({ party }) => balanceUntold(party, OVER)],
    [
      'less of it was used than was certified on it since',
      ROSE,
      async ({ party }) => certified(await party.sent([{}], { at: minutesLater(1) }), party),
    ],
  ])('%s', async (_, why, happens, row = {}) => {
    const sent = await looked([row]);
    await happens(sent);
    await needsTwo(sent, why);
  });

  it('but not where less was used than a row, or as much as was certified on the IRM since', async () => {
    const sent = await looked([{}, { mappedIRMAmountFCC: 7 }]);
    await balanceFalls(sent.party, 9_995.02);
    const other = await sent.party.sent([{ mappedIRMAmountFCC: 9 }], { at: minutesLater(1) });
    await certified(other, sent.party);
    // 9 were certified: less than 5 is left to account for.
    await balanceFalls(sent.party, 9_986.02);
    expect(await say(sent)).toEqual(again);
  });

  it.each<[string, RegExp, (party: Party) => Promise<unknown>, (party: Party) => Promise<unknown>, object?]>([
    [
      'its IRM was never read before the send',
      /IRM2026000777 was not read before the send/u,
      () => Promise.resolve(),
      () => Promise.resolve(),
      { irmNumber: 'IRM2026000777' },
    ],
    [
      'the balance of one of the number’s remittances was not known before the send',
      /was not read before the send/u,
      ({ exporterId, iec }) => {
        const later = { ...irmRecord(0, iec), irmIssueDate: '01062026', irmAvailableAmt: null };
        return saveIrms(ledger.pool, exporterId, [irmRecord(10_000, iec), later], NOW);
      },
      (party) => balancesOf(party, [9_995, 300]),
    ],
    ...([10_000, 300].map((beside): [string, RegExp, ...((party: Party) => Promise<unknown>)[]] => [
      `another remittance of the number has ${beside}`,
      /fell by 5 since the send/u,
      (party) => balancesOf(party, [10_000, beside], NOW),
      (party) => balancesOf(party, [10_000, beside - 5]),
    ]) as never[]),
  ])('%s', async (_, why, before, after, row = {}) => {
    const party = await exporter();
    await before(party);
    const sent = await party.sent([row]);
    await party.look(OVER);
    await after(party);
    await needsTwo(sent, why);
  });

  it('what was certified on the IRM may have been in the balance before the send', async () => {
    const party = await exporter();
    const before = await party.sent([{}], { at: minutesLater(-10) });
    await balanceFalls(party, 9_995, minutesLater(-5));
    const sent = await party.sent();
    await certified(before, party);
    await party.look(OVER);
    await balanceFalls(party, 9_990);
    await needsTwo(sent, /fell by 10 since the send, and certificates account for 0 of it/u);
  });

  it('the same of a row that was sent after the refresh whose balances were read only later', async () => {
    const party = await exporter();
    const before = await party.sent();
    await balanceFalls(party, 9_995, NOW);
    const sent = await party.sent([{}], { at: minutesLater(1) });
    await certified(before, party);
    await party.look(OVER);
    await balanceFalls(party, 9_990);
    await needsTwo(sent, /fell by 5 since the send, and certificates account for 0 of it/u);
  });

  it('the IRM was used since the last reading before a send without a snapshot', async () => {
    for (const used of [false, true]) {
      const party = await exporter();
      await balanceFalls(party, 8_000, minutesLater(0.5));
      const sent = await party.sent([{}], { held: null, at: minutesLater(1) });
      await party.look(minutesLater(241.5));
      if (used) await balanceFalls(party, 7_995, minutesLater(241.5));
      if (used) await needsTwo(sent, /fell by 5 since the send/u);
      else expect(await say(sent)).toEqual(again);
    }
  });

  it('the certificate that may account for the use came after the balance was read', async () => {
    const sent = await looked();
    const other = await sent.party.sent([{}], { at: minutesLater(1) });
    await balanceFalls(sent.party, 9_995, minutesLater(241.5));
    await certified(other, sent.party, minutesLater(241.6));
    expect(await say(sent)).toEqual(stands(/fell by 5 .* account for 0 of it/u));
    // Read once more, the balance shows one use alone, which is the certificate's.
    await balanceFalls(sent.party, 9_995, minutesLater(241.7));
    expect(await say(sent)).toEqual(again);
  });
});

describe('a duplicate beside a row in doubt, or abandoned after the send', () => {
  let references = 0;
  async function holderInDoubt(state: 'unknown' | 'abandoned_after_send' | 'submitted') {
    const party = await exporter();
    references += 1;
    const document = String(8_400_000 + references);
    const sent = await party.sent([{ sbCumInvoiceNumber: document, billNo: 'EXP/2026/001' }]);
    await gates.putRows(sent.filingId, state);
    const { filingId, attemptId } = sent;
    const file = (besides?: string[]) => {
      const permitted = [{ row: 1, reason: 'again', ...(besides && { besides }) }];
      const again = rowsOf({ sbCumInvoiceNumber: document, mappedIRMAmountFCC: 5 });
      return record(ledger, `BESIDE-${(references += 1)}`, again, { exporterId: party.exporterId, permitted });
    };
    const permit = (by: string, at = LATER) => word({ filingId, kind: 'permit', sourceRows: [1], by, at });
    return { filingId, attemptId, party, file, permit };
  }
  const isRefused = { outcome: 'refused' };
  const isOpened = { outcome: 'opened' };

  it.each(['unknown', 'abandoned_after_send', 'submitted'] as const)(
    '(%s) is permitted by two words on the holder’s rows',
    async (state) => {
      const { filingId, file, permit } = await holderInDoubt(state);
      const secondAsked = async () => {
        const open = `SELECT kind FROM questions WHERE filing_id = $1 AND closed_at IS NULL AND kind = 'second_person'`;
        return (await ledger.select(open, filingId)).length;
      };
      expect(await file([filingId])).toMatchObject(isRefused);
      for (const by of ['ravi', ' RAVI']) {
        await permit(by);
        expect(await file([filingId])).toMatchObject(isRefused);
      }
      expect(await secondAsked()).toBe(1);
      await permit('meera');
      expect(await secondAsked()).toBe(0);
      expect(await file(['F-ANOTHER'])).toMatchObject(isRefused);
      expect(await file([filingId])).toMatchObject(isOpened);
    },
  );

  it('is one, however often the command is repeated: another one beside the same row needs two words more', async () => {
    const { filingId, file, permit } = await holderInDoubt('unknown');
    await permit('ravi');
    for (const by of ['meera', 'meera', 'ravi']) expect(await permit(by)).toEqual({ outcome: 'permitted' });
    const first = await file([filingId]);
    const besides = [filingId, ...('filingId' in first ? [first.filingId] : [])];
    expect(await file(besides)).toMatchObject({ ...isRefused, findings: [{ code: 'mapping_live' }] });
    for (const by of ['ravi', 'meera']) await permit(by);
    expect(await file(besides)).toMatchObject(isOpened);
  });

  it('is one in a file too that has the mapping twice', async () => {
    const { filingId, party, permit } = await holderInDoubt('unknown');
    for (const by of ['ravi', 'meera']) await permit(by);
    const [row] = await readRows(ledger.pool, filingId);
    const again = { ...row?.mapping, billNo: 'EXP/2026/002' };
    const permitted = [1, 2].map((each) => ({ row: each, reason: 'again', besides: [filingId] }));
    const twice = await record(ledger, 'BESIDE-TWICE', rowsOf(again, again), {
      exporterId: party.exporterId,
      permitted,
    });
    expect(twice).toMatchObject(isRefused);
  });

  it('is not permitted by a word about an earlier send and one about this', async () => {
    const { filingId, attemptId, party, permit } = await holderInDoubt('submitted');
    await accept({ attemptId }, null);
    await permit('ravi');
    await party.look(OVER);
    expect(await say({ filingId, attemptId }, { by: 'meera' })).toEqual(again);
    await party.look(minutesLater(250));
    await party.sendAttempt(filingId, { at: minutesLater(255) });
    await gates.putRows(filingId, 'unknown');
    expect(await permit('meera', minutesLater(300))).toEqual(stands(/meera is the first/u));
    expect(await permit('ravi', minutesLater(300))).toEqual({ outcome: 'permitted' });
  });

  it('needs a refusal that names the holder once its outcome is known, whoever permitted it before', async () => {
    const { filingId, attemptId, file, permit } = await holderInDoubt('submitted');
    await accept({ attemptId }, null);
    // An acceptance that named no request is in doubt too.
    expect(await file([filingId])).toMatchObject(isRefused);
    await permit('ravi');
    expect(await file([filingId])).toMatchObject(isRefused);
    await permit('meera');
    await accept({ attemptId }, newId());
    expect(await file()).toMatchObject({ ...isRefused, findings: [{ filingId }] });
    expect(await file()).toMatchObject(isOpened);
  });

  it('is printed ready to copy by no refusal', async () => {
    const { filingId, file } = await holderInDoubt('unknown');
    const outcome = await file();
    expect(outcome).toMatchObject({ ...isRefused, findings: [{ code: 'mapping_live', filingId }] });
    expect(JSON.stringify(outcome)).not.toMatch(/allow-?duplicate/iu);
  });

  it('stands in no option that a refusal prints for other rows', async () => {
    const { filingId, party } = await holderInDoubt('unknown');
    const planned = await party.file();
    const mapped = [filingId, planned].map(async (id, index) => {
      const [row] = await readRows(ledger.pool, id);
      return { ...row?.mapping, serialNo: index + 1 };
    });
    const rowsOfBoth = rowsOf(...(await Promise.all(mapped)));
    const outcome = await record(ledger, 'BESIDE-BOTH', rowsOfBoth, { exporterId: party.exporterId });
    const options = 'findings' in outcome ? outcome.findings.map(({ allowDuplicate }) => allowDuplicate ?? null) : [];
    expect(options).toEqual([null, expect.stringMatching(/^2=/u)]);
  });
});

/** Words of two persons, of an exporter whose policy asks for approval: they are words of two principals. */
describe('words of an exporter whose policy asks for approval', () => {
  /** A send whose answer was lost, with certificates that cannot be looked at. */
  async function lost(): Promise<Sent & { exporterId: string }> {
    const party = await exporter();
    const sent = await party.sent();
    // A claim from before the policy is nobody's second word.
    const claimed = await word({ ...about(sent), by: 'asha', unseen: true });
    expect(claimed).toMatchObject({ outcome: 'stands' });
    await ledger.pool.query('UPDATE exporters SET requires_approval = true WHERE exporter_id = $1', [party.exporterId]);
    return { ...sent, exporterId: party.exporterId };
  }

  type Sends = Awaited<ReturnType<typeof lost>>;

  async function grantOf({ filingId, attemptId, exporterId }: Sends, by: string, unseen = true): Promise<string> {
    const { pool } = ledger;
    const principal = await principalOf(pool, by, ['checker']);
    const none = { requestId: null, sourceRows: null, certificates: [], notOurs: [] };
    const about = {
      ...none,
      filingId,
      kind: 'not_filed' as const,
      attemptId,
      markedAt: (await readSent(pool, attemptId))?.markedAt ?? null,
    };
    return writeGrant(pool, principal, {
      action: 'resolve',
      exporterId,
      filingId,
      shown: shownOfSend({ ...about, unseen }),
    });
  }

  it('counts those of principals alone, and each as long as its principal may say it', async () => {
    const sent = await lost();
    const { filingId, attemptId } = sent;
    const say = (by: string, grantId?: string, singlePerson = false) =>
      word({ filingId, attemptId, by, unseen: true, grantId, singlePerson });
    const refused = (why: RegExp) => ({ outcome: 'refused', why: expect.stringMatching(why) as string });
    const stands = { outcome: 'stands', why: expect.stringMatching(/somebody else/u) as string };

    for (const by of ['ravi', 'meera']) expect(await say(by)).toEqual(refused(/a name alone proves nobody/u));
    expect(await say('ravi', await grantOf(sent, 'ravi', false))).toEqual(refused(/what was shown to ravi/u));
    expect(await say('somebody', await grantOf(sent, 'ravi'))).toEqual({
      ...stands,
      why: expect.stringMatching(/ravi is/u),
    });
    // The same principal again, also where one person answers for the installation.
    expect(await say('meera', await grantOf(sent, 'ravi'), true)).toEqual(stands);
    expect(await say('meera')).toEqual(refused(/a name alone proves nobody/u));
    await ledger.pool.query(`UPDATE principals SET removed_at = now() WHERE name = 'ravi'`);
    expect(await say('meera', await grantOf(sent, 'meera'))).toEqual(stands);
    expect(await say('anil', await grantOf(sent, 'anil'))).toEqual({ outcome: 'again' });
  });
});
