/** Where a filing stands when its intent is recorded: further on, where its balances could be reserved at once. */
import type { Mapping } from '../../../src/domain/filing/mapping';
import { needFiling } from '../../../src/ledger/filings/filings';
import type { Intent } from '../../../src/ledger/filings/filing-intent';
import { useTestDatabase } from '../../support/postgres';
import { knowExporter, minutesLater, open, rowsOf } from '../filing-support';

const ledger = useTestDatabase();
let documents = 5_500_000;
let references = 0;

beforeEach(async () => {
  await ledger.pool.query('TRUNCATE filings, exporters, parties, irms CASCADE');
  await knowExporter(ledger);
});

const settings = { overdueAfterMs: 14_400_000, rateWindowMs: 60_000 };

async function opened(amounts: readonly number[], more: Partial<Intent> = {}, mapping: Partial<Mapping> = {}) {
  const changes = amounts.map((amount) => ({
    sbCumInvoiceNumber: String((documents += 1)),
    mappedIRMAmountFCC: amount,
    ...mapping,
  }));
  const filingId = await open(ledger, `FIRST-${(references += 1)}`, rowsOf(...changes), { settings, ...more });
  const { state, seq, attention, needsAttention } = await needFiling(ledger.pool, filingId);
  const events = await ledger.select('SELECT kind FROM filing_events WHERE filing_id = $1 ORDER BY event_id', filingId);
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

it('keeps what the check of the balances warns of', async () => {
  const { warnings } = await needFiling(
    ledger.pool,
    (await opened([3_000], {}, { irmIfscCode: 'OTHR0000001' })).filingId,
  );
  expect(warnings).toMatchObject([{ code: 'irm_ifsc_differs' }]);
});
