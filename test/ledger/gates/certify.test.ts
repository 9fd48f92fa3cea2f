/** The certify gate: how a row gets its certificate, by record, by details and by persons. */
import type { PoolClient } from 'pg';
import { replacing } from '../../support/replacing';
import { saveSnapshot } from '../../../src/ledger/certificates/snapshots';
import { certifyByDetails, certifyByPersons, certifyByRecord } from '../../../src/ledger/gates/certify';
import { partsOf } from '../../../src/ledger/filings/filing-pages';
import { withTransaction } from '../../../src/ledger/pool';
import { saveIrms } from '../../../src/ledger/exporters/irms';
import { irmRecord, minutesLater, move, readBalance } from '../filing-support';
import { judgeRefused, releaseUnfiled } from '../../../src/ledger/gates/release';
import { SENDER, SETTLE_MS } from '../submissions/attempt-support';
import { LATER, OVER, useGates, type Sent } from './gate-support';

const gates = useGates();
const { ledger, exporter, step, under, opened, close, read, mark, word, absent, rows } = gates;

type Party = Awaited<ReturnType<typeof exporter>>;
let party: Party;
beforeAll(async () => {
  party = await exporter();
});

const AT = minutesLater(30);
/** The balance of the exporter's IRM is read after the send and before a complete look. */
async function balanceFalls(of: Party, available: number, at = minutesLater(20)): Promise<void> {
  await readBalance(ledger, available, at, of.exporterId, of.iec);
  await of.look(AT, { balances: false });
}
const byDetails = (of: Party, filingId: string, { submission = 1, settleMs = SETTLE_MS } = {}) =>
  under(filingId, (client) =>
    certifyByDetails(client, { filingId, submission, exporterId: of.exporterId, settleMs, at: AT }),
  );
const byRecord = (of: Party, filingId: string, certificates: Record<number, string>, at = AT) =>
  of.certify(filingId, certificates, at);

const asks = (text: string) => ({ why: expect.stringContaining(text) as string });
const submitted = [{ state: 'submitted' }];

async function statementsOf(work: (client: PoolClient) => Promise<unknown>): Promise<number> {
  let statements = 0;
  await withTransaction(ledger.pool, (client) => {
    const counted = (...args: Parameters<typeof client.query>) => {
      statements += 1;
      return client.query(...args);
    };
    return work(replacing(client, 'query', counted));
  });
  return statements;
}

/** Details certify this number, or nothing. */
async function expectByDetails(
  of: Party,
  filingId: string,
  number: string | null,
  how: Parameters<typeof byDetails>[2] = {},
) {
  const expected = number === null ? { adopted: [], openRows: 1 } : { adopted: [{ eBRCNumber: number }], openRows: 0 };
  expect(await byDetails(of, filingId, how)).toMatchObject(expected);
  expect((await rows(filingId)).map(({ state }) => state === 'certified')).toEqual([number !== null]);
}

/** A send whose answer was lost, of a party of its own whose balance shows it. */
async function filed(...args: Parameters<Party['sent']>): Promise<Sent & { party: Party }> {
  const own = await exporter();
  const sent = await own.sent(...args);
  await balanceFalls(own, 5_000);
  return { ...sent, party: own };
}

describe('by its request’s own record', () => {
  it('gives a row its number', async () => {
    const { filingId } = await party.sent();
    expect(await byRecord(party, filingId, { 0: `EB-${filingId}` })).toEqual([]);
    const columns = 'state, ebrc_number AS number, ebrc_date AS on, adoption';
    const certified = { state: 'certified', number: `EB-${filingId}`, on: '10022026', adoption: 'record' };
    expect(await gates.stored(filingId, columns)).toMatchObject([certified]);
  });

  it('gives no number that the first snapshot holds: that is a question', async () => {
    const { filingId } = await party.sent([{}], { held: ['EB-HELD'] });
    const asked = { position: 0, eBRCNumber: 'EB-HELD', ...asks('before the filing was sent') };
    expect(await byRecord(party, filingId, { 0: 'EB-HELD' })).toMatchObject([asked]);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  });

  it('gives no number that another row has: that is a question', async () => {
    const [one, two] = [await party.sent(), await party.sent()];
    await byRecord(party, one.filingId, { 0: 'EB-OWNED' });
    expect(await byRecord(party, two.filingId, { 0: 'EB-OWNED' })).toMatchObject([asks('another row has it')]);
    expect(await rows(two.filingId)).toMatchObject([{ state: 'submitted' }]);
  });

  it('never changes the number of a row: another one is a question, and a step that is repeated changes nothing', async () => {
    const { filingId } = await party.sent();
    for (const at of [AT, LATER]) expect(await byRecord(party, filingId, { 0: 'EB-FIRST' }, at)).toEqual([]);
    expect(await byRecord(party, filingId, { 0: 'EB-SECOND' })).toMatchObject([asks('certified as EB-FIRST')]);
    const kept = await gates.stored(filingId, 'ebrc_number AS number, settled_at AS at');
    expect(kept).toEqual([{ number: 'EB-FIRST', at: AT }]);
  });

  it('certifies a row that was abandoned after the send', async () => {
    const { filingId } = await party.sent();
    await gates.putRows(filingId, 'abandoned_after_send');
    await byRecord(party, filingId, { 0: 'EB-LATE' });
    expect(await rows(filingId)).toMatchObject([{ state: 'certified', live: true }]);
  });

  it('of one row takes the release of all back: the others are in doubt again, and nothing of them is sent or stuck', async () => {
    for (const ended of [false, true]) {
      const own = await exporter();
      const { filingId, attemptId } = await own.sent([{}, {}]);
      if (ended) {
        await gates.putRows(filingId, 'abandoned_after_send');
        await move(ledger, filingId, 'submitting', 'outcome_unknown', 'abandoned');
      }
      await own.look(OVER);
      expect(await absent({ attemptId })).toMatchObject({ outcome: ended ? 'freed' : 'again' });
      await own.look(minutesLater(250));
      const next = ended ? null : await opened(filingId);
      await byRecord(own, filingId, { 0: `EB-FIRST-${filingId}` }, minutesLater(260));
      const state = ended ? 'abandoned_after_send' : 'submitted';
      expect(await rows(filingId)).toMatchObject([{ state: 'certified' }, { state, live: true }]);
      expect(await gates.attempts(filingId)).toEqual(next ? ['accepted', 'unsent'] : ['accepted']);
      // The other one can be answered for.
      const later = { at: minutesLater(270) };
      expect(await absent({ attemptId }, later)).toEqual({ outcome: 'freed', freed: [1] });
    }
  });

  it('takes a handful of statements for a whole submission', async () => {
    const own = await exporter();
    const { filingId } = await own.sent(Array.from({ length: 300 }, () => ({ mappedIRMAmountFCC: 1 })));
    const statements = await statementsOf((client) => {
      const records = Array.from({ length: 300 }, (_, position) => ({
        position,
        eBRCNumber: position === 1 ? 'W-0' : `W-${position}`,
        eBRCDate: '10022026',
      }));
      return certifyByRecord(client, { filingId, submission: 1, exporterId: own.exporterId, records, at: AT });
    });
    expect(statements).toBeLessThan(8);
    // Position 1 was given the certificate of position 0.
    const parts = await partsOf(ledger.pool, [filingId]);
    expect(parts.get(filingId)?.counts).toMatchObject({ rows: 300, certified: 299, open: 1 });
  });
});

describe('by details', () => {
  it('gives one candidate row its one candidate certificate, and settles the submission with it', async () => {
    const { party: own, filingId } = await filed();
    await own.show(filingId, 'NEW-1');
    await expectByDetails(own, filingId, 'NEW-1');
    expect(await gates.stored(filingId, 'state', 'submissions')).toEqual([{ state: 'settled' }]);
  });

  it('takes a handful of statements for a whole submission of an IRM', async () => {
    const own = await exporter();
    const { filingId } = await own.sent(Array.from({ length: 50 }, () => ({ mappedIRMAmountFCC: 1 })));
    for (let position = 0; position < 50; position += 1) await own.show(filingId, `S-${position}`, { position });
    await balanceFalls(own, 9_950);
    const args = { filingId, submission: 1, exporterId: own.exporterId, settleMs: SETTLE_MS, at: AT };
    expect(await statementsOf((client) => certifyByDetails(client, args))).toBeLessThan(20);
    expect((await rows(filingId)).every(({ state }) => state === 'certified')).toBe(true);
  });

  it.each<[string, object]>([
    ['agrees in another document only', { sbCumInvoiceNumber: '999' }],
    ['has another date of the document', { sbCumInvoiceDate: '04012026' }],
    ['has another amount', { realisedValueFCC: 6 }],
    ['has another currency', { currencyCode: 'EUR' }],
    ['was issued two days before the first mark', { eBRCDate: '08022026' }],
    ['was cancelled', { eBRCStatus: 'Cancelled' }],
    ['has no status', { eBRCStatus: null }],
    ['has another bill number, which is asked about', { billNo: 'EXP/OTHER' }],
  ])('takes none that %s', async (_, more) => {
    const { party: own, filingId } = await filed();
    await own.show(filingId, `NO-${filingId}`, more);
    await expectByDetails(own, filingId, null);
  });

  it('takes one that is dated the day before the first mark', async () => {
    const { party: own, filingId } = await filed();
    await own.show(filingId, 'MIDNIGHT', { eBRCDate: '09022026' });
    await balanceFalls(own, 4_000);
    await expectByDetails(own, filingId, 'MIDNIGHT');
  });

  it('takes none that the first snapshot holds, or that an earlier one of the party held', async () => {
    const own = await exporter();
    const before = await own.sent([{}], { held: ['HIDDEN'], at: minutesLater(-60) });
    await close(before.attemptId);
    const lost = await own.sent([{}], { held: ['OLD'] });
    await balanceFalls(own, 5_000);
    for (const number of ['OLD', 'HIDDEN']) {
      await own.show(lost.filingId, number);
      await expectByDetails(own, lost.filingId, null);
    }
  });

  it('takes none that a person says is another’s, as long as that word stands, and after two persons did', async () => {
    const { party: own, filingId, attemptId } = await filed();
    const notOurs = [`THEIRS-${filingId}`];
    await own.show(filingId, `THEIRS-${filingId}`);
    const theirs = { filingId, attemptId, notOurs };
    expect(await word({ ...theirs, by: 'ravi', at: minutesLater(1) })).toMatchObject({ outcome: 'refused' });
    await own.look(OVER);
    expect(await word({ ...theirs, by: 'asha' })).toMatchObject({ outcome: 'stands' });
    await expectByDetails(own, filingId, null);
    expect(await word({ ...theirs, by: 'meera' })).toEqual({ outcome: 'again' });
    await own.look(minutesLater(250));
    await gates.mark(await opened(filingId));
    // It uses the balance as the certificate would.
    await balanceFalls(own, 4_000, minutesLater(249));
    await expectByDetails(own, filingId, null);
  });

  it('takes one of which a word that was refused said that it is another’s', async () => {
    const { party: own, filingId, attemptId } = await filed();
    await own.show(filingId, 'SAID-TOO-EARLY');
    const early = { filingId, attemptId, notOurs: ['SAID-TOO-EARLY'], by: 'ravi', at: minutesLater(1) };
    expect(await word(early)).toMatchObject({ outcome: 'refused' });
    await expectByDetails(own, filingId, 'SAID-TOO-EARLY');
  });

  it('takes none that two persons said is another’s, although a refusal took the release back', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent();
    await own.show(filingId, `TWIN-${filingId}`);
    await own.look(OVER);
    const theirs = { filingId, attemptId, notOurs: [`TWIN-${filingId}`] };
    for (const by of ['ravi', 'meera']) await word({ ...theirs, by });
    await own.look(minutesLater(250));
    const second = await opened(filingId);
    await gates.mark(second);
    const refusal = { attemptId: second, sender: SENDER, reason: '400', answer: { kind: 'x', status: 400 }, at: LATER };
    const released = { filingId, submission: 1, state: 'needs_correction' as const, reason: '400', at: LATER };
    await under(filingId, (client) => judgeRefused(client, refusal).then(() => releaseUnfiled(client, released)));
    expect(await gates.attempts(filingId)).toEqual(['marked', 'refused']);
    // The first one was filed after all, and uses the balance; its certificate is not shown yet.
    await readBalance(ledger, 9_995, minutesLater(251), own.exporterId, own.iec);
    await own.look(minutesLater(252), { balances: false });
    await expectByDetails(own, filingId, null);
  });

  it('takes none without a snapshot', async () => {
    const { party: own, filingId } = await filed([{}], { held: null });
    await own.show(filingId, 'UNSEEN');
    expect(await byDetails(own, filingId)).toMatchObject({ ambiguous: [], contradicted: [] });
    await expectByDetails(own, filingId, null);
  });

  it('measures a later attempt by the snapshot before the first one: its certificates may have come of that', async () => {
    const own = await exporter();
    const first = await own.sent([{}], { held: [] });
    await close(first.attemptId);
    await read(first.attemptId);
    const snapshot = { filingId: first.filingId, submission: 1, exporterId: own.exporterId };
    await saveSnapshot(ledger.pool, { ...snapshot, certificates: ['BETWEEN'], at: minutesLater(5) });
    await mark(await opened(first.filingId));
    await own.show(first.filingId, 'BETWEEN');
    await balanceFalls(own, 5_000);
    await expectByDetails(own, first.filingId, 'BETWEEN');
  });

  it('lets the sent rows of the party’s other filings compete for a certificate', async () => {
    const tranche = { sbCumInvoiceNumber: '8500002', billNo: 'EXP/8500002' };
    const [own, twin] = [await exporter('AAGCTWOIDS'), await exporter('AAGCTWOIDS')];
    const filingId = await own.file([tranche]);
    const permitted = [{ row: 1, reason: 'a second tranche', besides: [filingId] }];
    const refused = await own.file([tranche]).catch(() => null);
    expect(refused).toBeNull();
    // Of another client of the IEC, whose certificates are shown to both.
    const second = await twin.file([tranche], { permitted });
    await own.sendAttempt(filingId);
    await own.show(filingId, 'ONE-OF-TWO');
    expect(await byDetails(twin, second)).toMatchObject({ adopted: [] });
    await twin.sendAttempt(second);
    expect(await byDetails(own, filingId)).toMatchObject({
      adopted: [],
      ambiguous: [{ candidates: ['ONE-OF-TWO'], competingFilings: [second] }],
    });
  });

  it('lets no row compete for it that was not sent', async () => {
    const tranche = { sbCumInvoiceNumber: '8500004', billNo: 'EXP/8500004' };
    const own = await exporter();
    const filingId = await own.file([tranche]);
    await own.file([tranche], { permitted: [{ row: 1, reason: 'a second tranche', besides: [filingId] }] });
    await own.sendAttempt(filingId);
    await own.show(filingId, 'OF-THE-SENT');
    await balanceFalls(own, 9_995);
    await expectByDetails(own, filingId, 'OF-THE-SENT');
  });

  it('has rows that were released as absent as candidates too', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent();
    await own.look(OVER);
    expect(await absent({ attemptId })).toEqual({ outcome: 'again' });
    await own.look(minutesLater(243));
    await opened(filingId);
    await own.show(filingId, 'CAME-LATE');
    await readBalance(ledger, 5_000, minutesLater(245), own.exporterId, own.iec);
    await own.look(minutesLater(250));
    await expectByDetails(own, filingId, 'CAME-LATE');
    expect(await rows(filingId)).toMatchObject([{ live: true }]);
    // The attempt that was judged absent was accepted, and the next one is not sent.
    expect(await gates.attempts(filingId)).toEqual(['accepted', 'unsent']);
  });

  it('changes what is asked of a filing whose row is at the service after all, although it has ended', async () => {
    const own = await exporter();
    const { filingId, attemptId } = await own.sent([{}, {}]);
    await byRecord(own, filingId, { 0: `EB-${filingId}` });
    await readBalance(ledger, 9_995, minutesLater(60), own.exporterId, own.iec);
    await own.look(OVER);
    expect(await absent({ attemptId })).toEqual({ outcome: 'freed', freed: [1] });
    await move(ledger, filingId, 'submitting', 'collecting', 'partly_certified');
    const asked = async () => {
      const open = `SELECT text FROM questions WHERE filing_id = $1 AND kind = 'changed_after_end' AND closed_at IS NULL`;
      return (await ledger.select(open, filingId)).map((question) => question['text']);
    };
    await gates.accept({ attemptId }, `R-${filingId}`);
    expect(await asked()).toEqual([expect.stringContaining('1 of its rows count as sent since')]);
    await own.show(filingId, 'CAME-AFTER', { position: 1 });
    await readBalance(ledger, 9_990, minutesLater(245), own.exporterId, own.iec);
    await own.look(minutesLater(250));
    expect(await byDetails(own, filingId)).toMatchObject({ adopted: [{ position: 1, eBRCNumber: 'CAME-AFTER' }] });
    expect(await asked()).toEqual([expect.stringContaining('2 of its 2 rows are certified since')]);
  });

  it('has them as candidates although a correction has taken them over: a late certificate may be theirs', async () => {
    const own = await exporter();
    const reference = `CANDIDATE-${own.exporterId}`;
    const mapped = { sbCumInvoiceNumber: '8500003', billNo: 'EXP/8500003' };
    const original = await own.file([mapped, {}], { reference });
    const { attemptId } = await own.sendAttempt(original);
    const requestId = `R-${original}`;
    await gates.accept({ attemptId }, requestId);
    await gates.endRequest(original, requestId, []);
    await own.look(OVER);
    const subject = { requestId, filingId: original, submission: 1, positions: [0] };
    expect(await absent(subject)).toEqual({ outcome: 'freed', freed: [0] });
    await byRecord(own, original, { 1: `EB-${original}` });
    await move(ledger, original, 'submitting', 'processing', 'collecting', 'partly_certified');
    const correction = await own.file([mapped], { reference, n: 2, corrects: original });
    await own.look(minutesLater(250));
    await own.sendAttempt(correction, { at: minutesLater(255) });
    expect(await rows(original)).toMatchObject([{ state: 'corrected', live: false }, { state: 'certified' }]);
    await own.show(correction, 'WHOSE');
    expect(await byDetails(own, correction)).toMatchObject({
      adopted: [],
      ambiguous: [{ candidates: ['WHOSE'], competingFilings: [original] }],
    });
  });

  it('gives no certificate to a row that was not sent', async () => {
    const own = await exporter();
    const filingId = await own.file();
    await own.show(filingId, 'NOT-SENT');
    await balanceFalls(own, 5_000);
    await expectByDetails(own, filingId, null);
  });

  it('asks about the certificate of a row with two currencies whose amount is in the other one', async () => {
    const { party: own, filingId } = await filed([{ sbCumInvoiceFCC: 'EUR' }]);
    await own.show(filingId, 'IN-EUR', { currencyCode: 'EUR', realisedValueFCC: 4 });
    expect(await byDetails(own, filingId)).toMatchObject({ adopted: [], ambiguous: [{ candidates: ['IN-EUR'] }] });
    await own.show(filingId, 'IN-USD');
    await expectByDetails(own, filingId, 'IN-USD');
  });
});

describe('a balance contradicts a certificate of details', () => {
  const contradicted = { adopted: [], contradicted: [{ position: 0 }], openRows: 1 };

  it('where the IRM’s use has not grown by it: it is another remittance’s', async () => {
    const own = await exporter();
    const { filingId } = await own.sent();
    await own.show(filingId, 'FOREIGN');
    await balanceFalls(own, 10_000);
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
    expect(await rows(filingId)).toMatchObject(submitted);
    await balanceFalls(own, 9_995, minutesLater(25));
    await expectByDetails(own, filingId, 'FOREIGN');
  });

  it('not for one smallest unit', async () => {
    const own = await exporter();
    const one = await own.sent();
    await own.show(one.filingId, 'UNIT-1');
    await balanceFalls(own, 9_995.02, minutesLater(25));
    expect(await byDetails(own, one.filingId, { settleMs: 0 })).toMatchObject(contradicted);
    await balanceFalls(own, 9_995.01, minutesLater(26));
    await expectByDetails(own, one.filingId, 'UNIT-1', { settleMs: 0 });
  });

  it.each<[string, (own: Party) => Promise<void>]>([
    ['after the look that shows it', (own) => own.look(minutesLater(10)).then(() => balanceRead(own))],
    ['without a complete look', (own) => balanceRead(own)],
    [
      'after the last look at the days of the certificate',
      (own) =>
        balanceRead(own)
          .then(() => own.look(minutesLater(19), { balances: false }))
          .then(() => own.look(AT, { balances: false, to: '31012026' })),
    ],
  ])('where it was read %s', async (_, reads) => {
    const own = await exporter();
    const { filingId } = await own.sent();
    await own.show(filingId, `WHEN-${filingId}`);
    await reads(own);
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
  });
  const balanceRead = async (own: Party, at = minutesLater(20), available = 1) =>
    readBalance(ledger, available, at, own.exporterId, own.iec);

  it('where it was read before the send, although after the snapshot', async () => {
    const own = await exporter();
    const filingId = await own.file();
    const snapshot = { filingId, submission: 1, exporterId: own.exporterId, certificates: [], at: minutesLater(1) };
    await saveSnapshot(ledger.pool, snapshot);
    await balanceRead(own, minutesLater(5), 5_000);
    await own.sendAttempt(filingId, { held: null, at: minutesLater(6) });
    await own.show(filingId, 'USED-BEFORE');
    await own.look(AT, { balances: false });
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
    await balanceFalls(own, 5_000);
    await expectByDetails(own, filingId, 'USED-BEFORE');
  });

  it('where it was read before the day of the certificate’s issue', async () => {
    const { party: own, filingId } = await filed();
    await own.show(filingId, 'TOMORROW', { eBRCDate: '11022026' });
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
  });

  it('within the window by what else was sent on the IRM, and not after it', async () => {
    const own = await exporter();
    const { filingId } = await own.sent();
    await own.sent([{ mappedIRMAmountFCC: 7 }]);
    await own.show(filingId, 'BESIDE');
    await balanceFalls(own, 9_995);
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
    await expectByDetails(own, filingId, 'BESIDE', { settleMs: 0 });
  });

  it('by what was sent on the IRM later, until its own window is over, or the longer one of its sender', async () => {
    const own = await exporter();
    const { filingId } = await own.sent();
    await own.sent([{ mappedIRMAmountFCC: 7 }], { at: minutesLater(15) });
    await own.show(filingId, 'LATER');
    await balanceFalls(own, 9_993);
    // Which of the two used the balance is not known while the certificate of the later one may still appear.
    const after = (minutes: number) => byDetails(own, filingId, { settleMs: minutes * 60_000 });
    expect(await after(16)).toMatchObject(contradicted);
    const slow = await own.sent([{}], { settleMs: SETTLE_MS });
    expect(await after(14)).toMatchObject(contradicted);
    await gates.close(slow.attemptId);
    expect(await after(14)).toMatchObject({ adopted: [{ eBRCNumber: 'LATER' }] });
  });

  it('by another send on the IRM while its request is processed, however long that takes', async () => {
    const own = await exporter();
    const [one, two] = [await own.sent(), await own.sent([{ mappedIRMAmountFCC: 7 }])];
    await gates.accept(two, 'R-PROCESSED');
    await own.show(one.filingId, 'PROCESSED');
    await balanceFalls(own, 9_993);
    for (const statement of [null, 'incomplete'] as const) {
      await gates.poll(two.filingId, 'R-PROCESSED', statement, AT);
      expect(await byDetails(own, one.filingId, { settleMs: 0 })).toMatchObject(contradicted);
    }
    await gates.poll(two.filingId, 'R-PROCESSED', 'unknown_request', AT);
    expect(await byDetails(own, one.filingId, { settleMs: 0 })).toMatchObject({ openRows: 0 });
  });

  it('not by the other rows of its own request, which is processed', async () => {
    const own = await exporter();
    const sent = await own.sent([{}, {}]);
    await gates.accept(sent, `R-${sent.filingId}`);
    await own.show(sent.filingId, 'ONE-OF-TWO-ROWS');
    await balanceFalls(own, 9_995);
    const found = await byDetails(own, sent.filingId, { settleMs: 0 });
    expect(found).toMatchObject({ adopted: [{ eBRCNumber: 'ONE-OF-TWO-ROWS' }], openRows: 1 });
  });

  it('by another send on the IRM that a certificate fits too: one use of the balance does not tell whose it is', async () => {
    const own = await exporter();
    const [one, two] = [await own.sent(), await own.sent([{ mappedIRMAmountFCC: 7 }])];
    await own.show(one.filingId, 'TWIN');
    await own.show(two.filingId, 'USED');
    await balanceFalls(own, 9_993);
    for (const { filingId } of [one, two])
      expect(await byDetails(own, filingId, { settleMs: 0 })).toMatchObject(contradicted);
    await balanceFalls(own, 9_988, minutesLater(25));
    for (const { filingId } of [one, two])
      expect(await byDetails(own, filingId, { settleMs: 0 })).toMatchObject({ openRows: 0 });
  });

  it.each<[string, object]>([
    ['is older than that', { eBRCDate: '08022026' }],
    ['was cancelled', { eBRCStatus: 'Cancelled' }],
  ])('not by another send that only a certificate fits which %s', async (_, more) => {
    const own = await exporter();
    const [one, two] = [await own.sent(), await own.sent([{ mappedIRMAmountFCC: 7 }])];
    await own.show(one.filingId, `OWN-${one.filingId}`);
    await own.show(two.filingId, `OLD-${one.filingId}`, more);
    await balanceFalls(own, 9_995);
    expect(await byDetails(own, one.filingId, { settleMs: 0 })).toMatchObject({ openRows: 0 });
  });

  it('by a send that was judged absent, once a certificate fits it: that came late, and its filing uses the balance', async () => {
    const own = await exporter();
    const absentOne = await own.sent([{}], { at: minutesLater(-300) });
    await own.look(minutesLater(-40));
    expect(await absent(absentOne, { at: minutesLater(-30) })).toEqual({ outcome: 'again' });
    const { filingId } = await own.sent([{ mappedIRMAmountFCC: 5 }]);
    await own.show(filingId, 'ANOTHER-IRM');
    await own.show(absentOne.filingId, 'LATE');
    await balanceFalls(own, 9_995);
    for (const each of [filingId, absentOne.filingId])
      expect(await byDetails(own, each, { settleMs: 0 })).toMatchObject(contradicted);
    await balanceFalls(own, 9_990, minutesLater(25));
    await expectByDetails(own, filingId, 'ANOTHER-IRM', { settleMs: 0 });
  });

  it.each<[string, object]>([
    ['amended', { remittanceFCCAmount: 9_995 }],
    ['cancelled', { irmStatus: 'Cancelled' }],
  ])('where the remittance was %s since the send: that is no use of it', async (_, change) => {
    const own = await exporter();
    const { filingId } = await own.sent();
    await own.show(filingId, `CHANGED-${filingId}`);
    await saveIrms(ledger.pool, own.exporterId, [{ ...irmRecord(9_995, own.iec), ...change }], minutesLater(20));
    await own.look(AT, { balances: false });
    expect(await byDetails(own, filingId)).toMatchObject(contradicted);
  });

  it('by what was certified on the IRM since the snapshot', async () => {
    const own = await exporter();
    const [one, two] = [await own.sent(), await own.sent()];
    await byRecord(own, two.filingId, { 0: `EB-${two.filingId}` });
    await own.show(one.filingId, 'SINCE');
    await balanceFalls(own, 9_995);
    expect(await byDetails(own, one.filingId, { settleMs: 0 })).toMatchObject(contradicted);
    await balanceFalls(own, 9_990, minutesLater(25));
    await expectByDetails(own, one.filingId, 'SINCE', { settleMs: 0 });
  });

  it('not by a row that was on its way when the snapshot was read: an earlier reading tells', async () => {
    const own = await exporter();
    const before = await own.sent([{ mappedIRMAmountFCC: 7 }], { at: minutesLater(1) });
    // The authority has processed the first row here, and its certificate is seen later.
    await balanceRead(own, minutesLater(5), 9_993);
    const { filingId } = await own.sent([{}], { at: minutesLater(6) });
    await byRecord(own, before.filingId, { 0: `EB-${before.filingId}` }, minutesLater(10));
    await own.show(filingId, 'ON-ITS-WAY');
    await balanceFalls(own, 9_993);
    expect(await byDetails(own, filingId, { settleMs: 0 })).toMatchObject(contradicted);
    await balanceFalls(own, 9_988, minutesLater(25));
    await expectByDetails(own, filingId, 'ON-ITS-WAY', { settleMs: 0 });
  });

  it.each([
    // What has fallen is the first row; the certificate is another remittance's.
    ['by a row that was on its way and used the balance only after the snapshot', 10_000, 9_993],
    ['by another use from before the snapshot, beside a row that was on its way', 9_988, 9_988],
  ])('%s', async (_, atSnapshot, available) => {
    const own = await exporter();
    const before = await own.sent([{ mappedIRMAmountFCC: 7 }], { at: minutesLater(1) });
    await balanceRead(own, minutesLater(5), atSnapshot);
    const { filingId } = await own.sent([{}], { at: minutesLater(6) });
    await byRecord(own, before.filingId, { 0: `EB-${before.filingId}` }, minutesLater(10));
    await own.show(filingId, `FOREIGN-${filingId}`);
    await balanceFalls(own, available);
    expect(await byDetails(own, filingId, { settleMs: 0 })).toMatchObject(contradicted);
    expect(await rows(filingId)).toMatchObject([{ state: 'submitted' }]);
  });
});

it('by two persons is replaced by the record of its own request that names the same, and by nothing else', async () => {
  const { filingId } = await party.sent();
  const number = `EB-R-${filingId}`;
  const of = { filingId, submission: 1, exporterId: party.exporterId, at: AT };
  const certificates = [{ position: 0, eBRCNumber: number, eBRCDate: null }];
  const byPersons = () => under(filingId, (client) => certifyByPersons(client, { ...of, certificates }));
  const adoption = () => gates.stored(filingId, 'adoption');
  expect([await byPersons(), await adoption()]).toEqual([[], [{ adoption: 'persons' }]]);
  await byRecord(party, filingId, { 0: number });
  await byPersons();
  expect(await adoption()).toEqual([{ adoption: 'record' }]);
});

it('gives a certificate to one row of the party, however many ask for it at once', async () => {
  const one = await exporter('AAGCRACING');
  const two = await exporter('AAGCRACING');
  for (let round = 0; round < 10; round += 1) {
    const sends = [await one.sent(), await two.sent()];
    const claims = sends.map(({ filingId }, n) => byRecord(n ? two : one, filingId, { 0: `EB-RACE-${round}` }));
    const refused = (await Promise.all(claims)).filter((contradictions) => contradictions.length > 0);
    expect(refused).toHaveLength(1);
  }
  const { rows: found } = await step((client) =>
    client.query<{ n: number }>(`SELECT count(*)::int AS n FROM filing_rows WHERE ebrc_number LIKE 'EB-RACE-%'`),
  );
  expect(found).toEqual([{ n: 10 }]);
});
