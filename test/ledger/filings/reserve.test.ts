import fc from 'fast-check';
import { holdsOn, reserveBalances } from '../../../src/ledger/filings/reserve';
import { useTestDatabase } from '../../support/postgres';
import { EXPORTER, IEC, irm, knowExporter, locked, made, newRows, readIrms, sent, settled } from './recording';

const ledger = useTestDatabase(knowExporter);

let irms = 0;
/** An IRM of its own for a test, of 10,000 USD, that was read so long ago. */
async function newIrm(available = 10_000, agoMs = 0) {
  irms += 1;
  const irmNumber = `IRM-R${irms}`;
  await readIrm(irmNumber, available, agoMs);
  return irmNumber;
}
const known = new Map<string, number>();
/** The complete list is read, in which this IRM has the balance; null: it is no longer listed. */
async function readIrm(irmNumber: string, available: number | null, agoMs = 0) {
  if (available === null) known.delete(irmNumber);
  else known.set(irmNumber, available);
  const records = [...known].map(([number, amount]) => irm({ irmNumber: number, irmAvailableAmt: amount }));
  await readIrms(ledger, records, agoMs);
}

let filings = 0;
const filing = (irmNumber: string, amount: number, more = {}) => {
  filings += 1;
  const amounts = { mappedIRMAmountFCC: amount, sbCumInvoiceValueinFCC: amount };
  return made(ledger, `RESERVE-${filings}`, newRows(1, { irmNumber, ...amounts, ...more }));
};
async function reserve(filingId: string): Promise<string> {
  const { outcome, findings } = await locked(ledger, filingId, reserveBalances);
  return [outcome, ...findings.map(({ code, filingId: holder }) => [code, holder].filter(Boolean).join(' '))].join(
    ': ',
  );
}
const isReserved = async (filingId: string) =>
  (await ledger.select('SELECT reserved_at IS NOT NULL AS yes FROM filings WHERE filing_id = $1', filingId))[0]?.yes;

const HOUR = 3_600_000;

it('lets one of many pass that come at once, and names it to the others', async () => {
  const number = await newIrm();
  const many = await Promise.all(Array.from({ length: 6 }, () => filing(number, 6_000)));
  const outcomes = await Promise.all(many.map(reserve));
  const winner = many[outcomes.indexOf('reserved')] ?? '';
  expect(outcomes.filter((one) => one === 'reserved')).toHaveLength(1);
  expect(outcomes.filter((one) => one === `refused: balance_held ${winner}`)).toHaveLength(5);
  expect(await isReserved(winner)).toBe(true);
});

it('counts what is recorded and not reserved for nobody, and a filing never against itself', async () => {
  const number = await newIrm();
  await filing(number, 8_000);
  const second = await filing(number, 8_000);
  for (let times = 0; times < 3; times += 1) expect(await reserve(second)).toBe('reserved');
});

it('waits where it is short through what others have sent, until their outcomes are in the balance', async () => {
  const number = await newIrm();
  const [first, second] = [await filing(number, 6_000), await filing(number, 6_000)];
  expect(await reserve(first)).toBe('reserved');
  await sent(ledger, first);
  const waits = `short: balance_held ${first}`;
  expect(await reserve(second)).toBe(waits);
  expect(await isReserved(second)).toBe(false);
  // The balance is lower already: it counts twice until the certificate is known.
  await readIrm(number, 4_000);
  expect(await reserve(second)).toMatch(/^refused: over_balance/);
  await readIrm(number, 10_000);
  await settled(ledger, first, 'rejected');
  expect(await reserve(second)).toBe('reserved');
});

it('reads afresh before it refuses what a certificate, newer than the balance, takes', async () => {
  const number = await newIrm();
  const [first, second] = [await filing(number, 6_000), await filing(number, 4_000)];
  await sent(ledger, first);
  await settled(ledger, first, 'certified');
  expect(await reserve(second)).toBe('reserved');
  const third = await filing(number, 4_001);
  expect(await reserve(third)).toMatch(/^stale: balance_held/);
  await readIrm(number, 4_000);
  expect(await reserve(third)).toBe('refused: over_balance');
  await readIrm(number, 9_000);
  // What was certified before the reading is in it; the second filing's 4,000 are reserved.
  expect(await reserve(third)).toBe('reserved');
});

it('reads afresh before it refuses by a balance that was read long ago', async () => {
  const number = await newIrm(1_000, HOUR);
  const one = await filing(number, 2_000);
  expect(await reserve(one)).toBe('stale: over_balance');
  await readIrm(number, 1_000);
  expect(await reserve(one)).toBe('refused: over_balance');
  await readIrm(number, 2_000);
  expect(await reserve(one)).toBe('reserved');
});

it('refuses more than the remittance, and an IRM that left the list', async () => {
  const number = await newIrm();
  const one = await filing(number, 10_001, { irmRemitAmtFCC: 20_000 });
  expect(await reserve(one)).toBe('refused: over_remittance');
  const other = await filing(number, 10);
  expect(await reserve(other)).toBe('reserved');
  await readIrm(number, null);
  expect(await reserve(other)).toBe('refused: irm_missing');
  expect(await isReserved(other)).toBe(false);
});

it('passes where the service does not say what is available, and holds to what the rows state of an unknown IRM', async () => {
  await readIrms(ledger, [
    irm({ irmNumber: 'IRM-UNSAID', irmAvailableAmt: null, irmUtilizedAmt: null, remittanceFCCAmount: null }),
  ]);
  expect(await reserve(await filing('IRM-UNSAID', 50_000))).toBe('reserved');
  expect(await reserve(await filing('IRM-UNREAD', 10_000))).toBe('reserved');
  expect(await reserve(await filing('IRM-UNREAD', 1))).toMatch(/^refused: balance_held/);
  for (const number of known.keys()) known.delete(number);
});

it('tells records of one number apart by date, and those of one date by AD code', async () => {
  const number = 'IRM-RECURS';
  await readIrms(ledger, [
    irm({ irmNumber: number }),
    irm({ irmNumber: number, irmIssueDate: '09012026', remittanceDate: '09012026', irmAvailableAmt: 500 }),
    irm({ irmNumber: number, remittanceAdCode: '0510002', irmAvailableAmt: 100 }),
  ]);
  expect(await reserve(await filing(number, 600))).toBe('reserved');
  expect(await reserve(await filing(number, 501, { irmDt: '09012026' }))).toBe('refused: over_balance');
  expect(await reserve(await filing(number, 500, { irmDt: '09012026' }))).toBe('reserved');
  expect(await reserve(await filing(number, 101, { irmAdCode: '0510002' }))).toBe('refused: over_balance');
  // After a merger of banks no record has the AD code: both must cover it.
  expect(await reserve(await filing(number, 101, { irmAdCode: '0999999' }))).toBe('refused: over_balance');
  expect(await reserve(await filing(number, 9_400))).toBe('reserved');
});

it('counts the holds of every client of the IEC', async () => {
  await knowExporter(ledger, 'exporter-twin', IEC);
  const number = await newIrm();
  filings += 1;
  const amounts = { mappedIRMAmountFCC: 6_000, sbCumInvoiceValueinFCC: 6_000 };
  const rows = newRows(1, { irmNumber: number, ...amounts });
  const twin = await made(ledger, `RESERVE-${filings}`, rows, { exporterId: 'exporter-twin' });
  expect(await reserve(twin)).toBe('reserved');
  expect(await reserve(await filing(number, 6_000))).toBe(`refused: balance_held ${twin}`);
  const holds = await holdsOn(ledger.pool, { mode: 'test', iec: IEC, exporterId: EXPORTER, irmKeys: [number] });
  expect(holds).toMatchObject([{ filingId: twin, amount: '6000', kind: 'planned', certifiedAt: null }]);
});

it('never lets planned and sent rows together take more than the balance, whatever the order', async () => {
  const amounts = fc.array(fc.record({ amount: fc.integer({ min: 1, max: 6 }), sends: fc.boolean() }), {
    minLength: 2,
    maxLength: 5,
  });
  await fc.assert(
    fc.asyncProperty(amounts, async (all) => {
      const number = await newIrm();
      let taken = 0;
      for (const { amount, sends } of all) {
        const filingId = await filing(number, amount * 1_000);
        const outcome = await reserve(filingId);
        expect(outcome === 'reserved').toBe(taken + amount <= 10);
        if (outcome !== 'reserved') continue;
        taken += amount;
        if (sends) await sent(ledger, filingId);
      }
    }),
    { numRuns: 15 },
  );
});
