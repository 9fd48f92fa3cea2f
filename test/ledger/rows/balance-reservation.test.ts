import { markSending, openAttempt, releaseUnsent, settleRows } from '../ledger-steps';
import { attemptIdOf } from '../../../src/domain/filing/attempt';
import { reserveBalances } from '../../../src/ledger/rows/balance-reservation';
import { lockFiling } from '../../../src/ledger/filings/filing-lock';
import { judgeUnsent } from '../../../src/ledger/gates/release';
import { moveRows } from '../../../src/ledger/rows/filing-rows';
import { withTransaction } from '../../../src/ledger/pool';
import type { Finding } from '../../../src/domain/rules/finding';
import { useLedgerPutBack } from '../sends/put-back';
import type { Mapping } from '../../../src/domain/filing/mapping';
import { saveIrms } from '../../../src/ledger/exporters/irms';
import { readIrmViews } from '../../../src/starter/exporters/views';
import { EXPORTER, irmRecord, minutesLater, NOW, open, readBalance, rowsOf } from '../filing-support';
import { needFiling } from '../../../src/ledger/filings/filings';
import type { Intent } from '../../../src/ledger/filings/filing-intent';

const ledger = useLedgerPutBack();

let documents = 6_000_000;
/** A filing of its own document that maps `amount` of the one IRM. */
function filing(reference: string, amount: number, more: Partial<Mapping> = {}): Promise<string> {
  documents += 1;
  const change = {
    sbCumInvoiceNumber: String(documents),
    mappedIRMAmountFCC: amount,
    sbCumInvoiceValueinFCC: amount,
    ...more,
  };
  return open(ledger, reference, rowsOf(change));
}

const reserve = (filingId: string): Promise<Finding[]> =>
  reserveBalances(ledger.pool, { filingId, at: NOW }, (_client, findings) => Promise.resolve(findings));
async function releaseAll(filings: string[]): Promise<void> {
  for (const filingId of filings) {
    await withTransaction(ledger.pool, (db) => releaseUnsent(db, { filingId, state: 'withdrawn', at: NOW }));
  }
}
const codes = (findings: Finding[]) => findings.map((finding) => finding.code);

async function send(filingId: string, at: Date): Promise<void> {
  const attemptId = attemptIdOf(filingId, 1, 1);
  await withTransaction(ledger.pool, (client) => openAttempt(client, { filingId, submission: 1, at: NOW }));
  await withTransaction(ledger.pool, (client) =>
    markSending(client, { attemptId, sender: 'me', payloadHash: 'hash', at }),
  );
}

it('lets one of two filings of 8,000 on a balance of 10,000 pass, and names it to the other', async () => {
  const filings = [await filing('A', 8_000), await filing('B', 8_000)];
  const findings = await Promise.all(filings.map(reserve));
  const passed = findings.findIndex((each) => each.length === 0);
  expect(codes(findings.flat())).toEqual(['balance_held']);
  expect(findings.flat()[0]).toMatchObject({ severity: 'error', filingId: filings[passed] });
});

it('lets one of many pass that come at once, whether it is recorded or checked', async () => {
  const many = ['A', 'B', 'C', 'D', 'E', 'F'];
  await readBalance(ledger, 1_000, NOW);
  // Too little for any of them: each is recorded, and holds nothing.
  const filings = await Promise.all(many.map((each) => filing(each, 8_000)));
  await readBalance(ledger, 10_000, minutesLater(1));
  const checked = await Promise.all(filings.map(reserve));
  expect(codes(checked.flat())).toEqual(Array.from({ length: 5 }, () => 'balance_held'));

  await releaseAll(filings);
  const recorded = await Promise.all(many.map((each) => filing(`${each}-2`, 8_000)));
  expect(
    await ledger.select('SELECT 1 FROM filing_rows WHERE filing_id = ANY($1) AND reserved_at IS NOT NULL', recorded),
  ).toHaveLength(1);
});

it('does not count a filing against itself, however often it is checked', async () => {
  const filingId = await filing('A', 8_000);
  expect(await reserve(filingId)).toEqual([]);
  expect(await reserve(filingId)).toEqual([]);
});

it('counts a filing from its intent on', async () => {
  const recorded = await filing('RECORDED', 8_000);
  const refused = await filing('A', 8_000);
  expect(await reserve(refused)).toMatchObject([{ code: 'balance_held', filingId: recorded }]);
});

it('counts only filings whose own check has passed, and none that was given up', async () => {
  await filing('OVER', 10_001);
  const given = await filing('GIVEN-UP', 9_000);
  expect(await reserve(given)).toEqual([]);
  await releaseUnsent(ledger.pool, { filingId: given, state: 'withdrawn', at: NOW });
  expect(await reserve(await filing('A', 9_000))).toEqual([]);
});

it('judges a row too that is planned again while the check waits for its locks', async () => {
  const filingId = await filing('AGAIN', 8_000);
  await reserve(filingId);
  await send(filingId, NOW);
  await readBalance(ledger, 1_000, minutesLater(1));
  let findings: Promise<Finding[]> = Promise.resolve([]);
  await withTransaction(ledger.pool, async (client) => {
    await lockFiling(client, filingId);
    findings = reserve(filingId);
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    while (!(await ledger.pool.query(waits)).rowCount);
    const attemptId = attemptIdOf(filingId, 1, 1);
    await judgeUnsent(client, { attemptId, proof: { sender: 'me' }, reason: 'nothing was written', at: NOW });
  });
  expect(codes(await findings)).toEqual(['over_balance']);
});

it('blocks on a filing that was submitted after the balance was read', async () => {
  const sent = await filing('SENT', 8_000);
  await reserve(sent);
  await send(sent, minutesLater(1));
  expect(codes(await reserve(await filing('A', 8_000)))).toEqual(['balance_held']);
});

it('warns of a filing that was submitted before the balance was read: it may be in it already', async () => {
  const sent = await filing('SENT', 4_000);
  await reserve(sent);
  await send(sent, minutesLater(1));
  await readBalance(ledger, 6_000, minutesLater(5));
  const next = await filing('A', 5_000);
  const findings = await reserve(next);
  expect(findings).toMatchObject([{ severity: 'warning', code: 'balance_maybe_held', filingId: sent }]);
});

it('blocks on a filing of unknown outcome whenever the balance was read', async () => {
  const lost = await filing('LOST', 8_000);
  await reserve(lost);
  await send(lost, minutesLater(1));
  await moveRows(ledger.pool, { filingId: lost, submission: 1, state: 'unknown' });
  await readBalance(ledger, 10_000, minutesLater(5));
  expect(codes(await reserve(await filing('A', 8_000)))).toEqual(['balance_held']);
});

it('accepts a balance that shows the certified filings', async () => {
  const done = await filing('DONE', 8_000);
  await reserve(done);
  await send(done, minutesLater(1));
  const certified = { position: 0, outcome: 'certified' as const, eBRCNumber: 'E1', eBRCDate: '10022026' };
  await settleRows(ledger.pool, { filingId: done, exporterId: EXPORTER, verdicts: [certified], at: minutesLater(2) });
  await readBalance(ledger, 2_000, minutesLater(5));
  expect(await reserve(await filing('A', 2_000))).toEqual([]);
  expect(codes(await reserve(await filing('B', 2_001)))).toEqual(['over_balance']);
});

it('shows of a thousand IRMs what each page of them shows: held while it may not be in the balance', async () => {
  const irm = (nth: number) => ({ ...irmRecord(10_000), irmNumber: `IRM-${nth}` });
  await saveIrms(
    ledger.pool,
    EXPORTER,
    Array.from({ length: 1_001 }, (_, nth) => irm(nth)),
    NOW,
  );
  const certify = async (filingId: string, at: Date) => {
    await send(filingId, at);
    const certified = { position: 0, outcome: 'certified' as const, eBRCNumber: `E-${filingId}`, eBRCDate: '10022026' };
    await settleRows(ledger.pool, { filingId, exporterId: EXPORTER, verdicts: [certified], at });
  };
  const planned = await filing('PLANNED', 1_000, { irmNumber: 'IRM-1' });
  const sent = await filing('SENT', 2_000, { irmNumber: 'irm-2' });
  const inBalance = await filing('IN-BALANCE', 3_000, { irmNumber: 'IRM-3' });
  const newer = await filing('NEWER', 4_000, { irmNumber: 'IRM-4' });
  for (const each of [planned, sent, inBalance, newer]) expect(await reserve(each)).toEqual([]);
  await send(sent, minutesLater(1));
  await certify(inBalance, minutesLater(-2 * 24 * 60));
  await certify(newer, minutesLater(2));
  const all = await readIrmViews(ledger.pool, EXPORTER);
  const page = await readIrmViews(ledger.pool, EXPORTER, { limit: 500 });
  expect(all.filter(({ held }) => held !== '0').map(({ irmNumber, held }) => [irmNumber, held])).toEqual([
    ['IRM-1', '1000'],
    ['IRM-2', '2000'],
    ['IRM-4', '4000'],
  ]);
  expect(page).toEqual(all.slice(0, 500));
});

/** Where a filing stands when its intent is recorded: further on, where its balances could be reserved at once. */
describe('where a filing stands when its intent is recorded', () => {
  let references = 0;
  const settings = { overdueAfterMs: 14_400_000, rateWindowMs: 60_000 };

  async function opened(amounts: readonly number[], more: Partial<Intent> = {}, mapping: Partial<Mapping> = {}) {
    const changes = amounts.map((amount) => ({
      sbCumInvoiceNumber: String((documents += 1)),
      mappedIRMAmountFCC: amount,
      ...mapping,
    }));
    const filingId = await open(ledger, `FIRST-${(references += 1)}`, rowsOf(...changes), { settings, ...more });
    const { state, seq, attention, needsAttention } = await needFiling(ledger.pool, filingId);
    const events = await ledger.select(
      'SELECT kind FROM filing_events WHERE filing_id = $1 ORDER BY event_id',
      filingId,
    );
    const ofRows = 'SELECT 1 FROM filing_rows WHERE filing_id = $1 AND reserved_at IS NOT NULL';
    const reserved = await ledger.select(ofRows, filingId);
    return {
      filingId,
      state,
      seq,
      attention,
      needsAttention,
      story: events.map(({ kind }) => kind),
      reserved: reserved.length,
    };
  }

  it('is its sending, with the balances reserved, where these are fresh', async () => {
    const filing = await opened([3_000, 4_000], { at: minutesLater(60) });
    expect(filing).toMatchObject({ state: 'submitting', seq: 1, attention: null, needsAttention: false, reserved: 2 });
    expect(filing.story).toEqual(['made', 'submitting']);
  });

  it('is the wait for approval, where somebody else has to approve it', async () => {
    const filing = await opened([3_000], { approvalNeeded: true });
    expect(filing).toMatchObject({ state: 'awaiting_approval', seq: 1, needsAttention: true, reserved: 1 });
    expect(filing.attention).toBe(`Waiting for approval by somebody other than asha: ebrc approve ${filing.filingId}`);
  });

  describe('is the checks that its run makes', () => {
    it('with balances older than an hour, which have to be read again', async () => {
      expect(await opened([3_000], { at: minutesLater(61) })).toMatchObject({ state: 'checking', seq: 1 });
    });

    it('with a balance that was never read', async () => {
      await ledger.pool.query('DELETE FROM irms');
      expect(await opened([3_000])).toMatchObject({ state: 'checking', seq: 1 });
    });

    it('with a balance that does not suffice, and nothing is reserved', async () => {
      expect(await opened([10_001])).toMatchObject({ state: 'checking', seq: 1, reserved: 0 });
    });

    it('while the exporter’s activation is pending', async () => {
      await ledger.pool.query(`UPDATE exporters SET api_state = 'Activation_Pending '`);
      expect(await opened([3_000])).toMatchObject({ state: 'checking', seq: 1 });
    });
  });

  it('is the sending of one alone of two filings whose amounts the balance does not have', async () => {
    const both = await Promise.all([opened([8_000]), opened([8_000])]);
    expect(both.map(({ state }) => state).sort()).toEqual(['checking', 'submitting']);
    expect(both.map(({ reserved }) => reserved).sort()).toEqual([0, 1]);
  });

  it.each<[string, Partial<Mapping>]>([
    ['irm_ifsc_differs', { irmIfscCode: 'OTHR0000001' }],
    ['iec_unknown', {}],
  ])('keeps what the check of the balances warns of: %s', async (code, mapping) => {
    if (code === 'iec_unknown') await ledger.pool.query('UPDATE exporters SET iec = NULL, iec_source = NULL');
    const { warnings } = await needFiling(ledger.pool, (await opened([3_000], {}, mapping)).filingId);
    expect(warnings).toMatchObject([{ code }]);
  });
});
