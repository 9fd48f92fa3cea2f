import { pendingHolds } from '../../../src/domain/exporter/balance-sums';
import { irmIdentity } from '../../../src/domain/identity';
import type { HeldIrm, Hold } from '../../../src/domain/exporter/balance-sums';
import { checkBalances } from '../../../src/domain/rules/preflight';
import { mapping, mappingRow } from '../../../dev/sample-mapping';

const READ_AT = 1_000_000;

const irm = (changes: Partial<HeldIrm> = {}): HeldIrm => ({
  irmNumber: 'IRM2026000001',
  irmAdCode: '0510001',
  irmIfscCode: 'HDFC0000001',
  issueDate: '05012026',
  remittanceDate: '04012026',
  currency: 'USD',
  purpose: 'P0102',
  amount: '10000.00',
  available: '10000.00',
  status: 'fresh',
  readAt: READ_AT,
  ...changes,
});

const hold = (changes: Partial<Hold> = {}): Hold => ({
  filingId: 'filing-1',
  reference: 'JAN-1',
  state: 'processing',
  irmKey: irmIdentity(mapping()),
  irmDt: mapping().irmDt,
  amount: '8000.00',
  submittedAt: READ_AT - 1,
  outcomeKnown: true,
  certifiedAt: null,
  ...changes,
});

/** What is found of rows, by default the sample mapping of 8,000, on these IRMs beside these holds. */
const expectFindings = (
  expected: string[],
  irms: HeldIrm[] = [irm()],
  holds: Partial<Hold>[] = [],
  rows = [mappingRow()],
) =>
  expect(
    checkBalances(rows, irms, holds.map(hold)).map(({ severity, row, field, code, filingId }) =>
      [severity, row, field, code, ...(filingId ? [filingId] : [])].join(' '),
    ),
  ).toEqual(expected);
const messageOf = (irms: HeldIrm[], holds: Partial<Hold>[] = [], row = mappingRow()) =>
  checkBalances([row], irms, holds.map(hold)).map(({ message }) => message)[0];
const of = (row: number, what: string) => `${what} ${row} mappedIRMAmountFCC`;
const OVER_BALANCE = `${of(1, 'error')} over_balance`;
const HELD = `${of(1, 'error')} balance_held filing-1`;
const MAYBE_HELD = `${of(1, 'warning')} balance_maybe_held filing-1`;
const UNKNOWN = 'warning 1 irmNumber irm_unknown';
const IFSC_DIFFERS = 'warning 1 irmIfscCode irm_ifsc_differs';
const AMOUNT_DIFFERS = 'warning 1 irmRemitAmtFCC irm_amount_differs';
const OPEN = { submittedAt: null };
const OTHER_BANK = { irmAdCode: '0510002' };
/** A second row of the IRM, under its other date. */
const later = mappingRow({ serialNo: 2, irmDt: '04012026', sbCumInvoiceNumber: '2' });

describe('the balance', () => {
  it('bears a mapping within it', () => expectFindings([]));
  it('is compared exactly', () => {
    const tenth = Array.from({ length: 10 }, (_, index) =>
      mappingRow({ serialNo: index + 1, mappedIRMAmountFCC: 0.1, irmRemitAmtFCC: 1 }),
    );
    expectFindings([], [irm({ amount: '1', available: '1' })], [], tenth);
    expectFindings([`${of(10, 'error')} over_balance`], [irm({ amount: '1', available: '0.99' })], [], tenth);
  });
  it('is one per IRM key', () =>
    expectFindings([], [irm(), irm(OTHER_BANK)], [], [mappingRow(), mappingRow({ serialNo: 2, ...OTHER_BANK })]));
  it('is less than the remittance where some of it was used', () =>
    expectFindings([OVER_BALANCE], [irm({ available: '7999.99' })]));
  it('is not needed to see that more is mapped than was remitted', () => {
    const little = irm({ amount: '7999.99', available: '7999.99' });
    expect(checkBalances([mappingRow()], [little], []).map(({ code }) => code)).toContain('over_remittance');
  });
  it('is unknown where the remittance amount is missing, not 0', () => {
    expectFindings([], [irm({ amount: null })]);
    expectFindings([`${of(1, 'warning')} irm_amount_unknown`], [irm({ amount: null, available: null })]);
    expectFindings([AMOUNT_DIFFERS, OVER_BALANCE], [irm({ amount: null, available: '7999' })]);
  });
});

describe('a filing that holds part of it', () => {
  it.each([
    ['is not submitted yet', OPEN],
    ['is of unknown outcome', { outcomeKnown: false }],
    ['was submitted after the balance was read', { submittedAt: READ_AT + 1 }],
  ])('and %s blocks what it holds, and is named', (_, changes) => {
    expectFindings([HELD], [irm()], [changes]);
    expectFindings([], [irm()], [{ ...changes, amount: '2000' }]);
    expect(messageOf([irm()], [changes])).toContain(
      'filing JAN-1 (processing, filing-1) holds part of the 10000.00 available, which leaves 2000.00',
    );
  });
  it('and was submitted before the balance was read may be in it already: it warns', () => {
    expectFindings([MAYBE_HELD], [irm()], [{}]);
    expectFindings([], [irm()], [{ amount: '2000' }]);
  });
  it('is in the balance once it is certified and the utilised amount covers it', () => {
    const used = irm({ amount: '18000.00', available: '10000.00' });
    expectFindings([], [used], [{ certifiedAt: 1 }], [mappingRow({ irmRemitAmtFCC: 18000 })]);
    expectFindings([MAYBE_HELD], [irm()], [{ certifiedAt: 1 }]);
  });
  it('and was certified after the reading is no outcome to wait for', () =>
    expect(messageOf([irm()], [{ submittedAt: READ_AT + 1, certifiedAt: READ_AT + 2 }])).toMatch(
      /refresh the IRMs, or lower/,
    ));
  it('of another IRM does not count', () => {
    expectFindings([], [irm()], [{ ...OPEN, irmKey: irmIdentity(mapping(OTHER_BANK)) }]);
    const recurring = irm({ issueDate: '01012026', remittanceDate: '01012026' });
    expectFindings([], [irm(), recurring], [{ ...OPEN, irmDt: '01012026' }]);
  });
  it('under a date that no record has may be on any of its number and AD code', () =>
    expectFindings([HELD], [irm()], [{ ...OPEN, irmDt: '09012026' }]));
  it('is pending where the reading cannot know it', () => {
    const expectPending = (amounts: string[], held: HeldIrm, ...changes: Partial<Hold>[]) =>
      expect(pendingHolds(changes.map(hold), held).map(({ amount }) => amount)).toEqual(amounts);
    const sent = { submittedAt: READ_AT - 2 };
    expectPending(['8000.00', '1'], irm(), { ...sent, certifiedAt: READ_AT + 1 }, { amount: '1' });
    expectPending(['8000.00'], irm(), { submittedAt: READ_AT + 1, certifiedAt: READ_AT + 2 });
    // Known before the reading, or covered by what is used.
    const known = { ...sent, certifiedAt: READ_AT - 1 };
    const used = irm({ amount: '18000.00', available: '10000.00' });
    expectPending([], irm(), known);
    expectPending([], used, { ...sent, certifiedAt: READ_AT + 1 });
    expectPending(['100'], used, known, { ...sent, amount: '100', certifiedAt: READ_AT + 1 });
  });
});

describe('the record of an IRM', () => {
  it('is compared with every row, not only with the first of its IRM', () => {
    const copied = { mappedIRMAmountFCC: 1000, irmFCC: 'EUR', irmPurposeCode: 'P0802', irmIfscCode: 'HDFC0000009' };
    const rows = [
      mappingRow({ mappedIRMAmountFCC: 1000 }),
      mappingRow({ serialNo: 2, ...copied }),
      mappingRow({ serialNo: 3, irmRemitAmtFCC: 77, mappedIRMAmountFCC: 1 }),
    ];
    const differs = ['irmIfscCode irm_ifsc', 'irmFCC irm_currency', 'irmPurposeCode irm_purpose'];
    expectFindings(
      [
        'warning 1 irmNumber irm_cancelled',
        ...differs.map((each) => `warning 2 ${each}_differs`),
        'warning 3 irmRemitAmtFCC irm_amount_differs',
      ],
      [irm({ status: 'Cancelled' })],
      [],
      rows,
    );
  });
  it('tells its AD code to a row without the leading zeros', () =>
    expect(messageOf([irm()], [], mappingRow({ irmAdCode: '510001' }))).toContain(
      'has the AD code 0510001, this row says 510001',
    ));
  it('is one under either of its two dates, and under any IFSC', () => {
    expectFindings([`${of(2, 'error')} over_remittance`], [irm()], [], [mappingRow(), later]);
    const other = { ...OPEN, irmDt: '04012026' };
    expectFindings([HELD], [irm()], [other]);
    expectFindings([IFSC_DIFFERS, HELD], [irm()], [other], [mappingRow({ irmIfscCode: 'HDFC0000009' })]);
  });
  it('is found by its issue date, or by the remittance date where only that fits', () => {
    expectFindings([], [irm({ issueDate: '06012026', remittanceDate: '05012026' })]);
    const byRemittance = irm({ issueDate: '01012026', remittanceDate: '05012026', available: '1' });
    expectFindings([], [byRemittance, irm()]);
  });
  it('that is missing for the date makes all of the number and AD code count together', () => {
    const unknown = [mappingRow({ irmDt: '09012026' })];
    expectFindings([UNKNOWN, HELD], [irm({ available: '9000' })], [OPEN], unknown);
    expectFindings([UNKNOWN], [irm(), irm({ issueDate: '01012026', remittanceDate: null })], [OPEN], unknown);
  });
  it('that is missing leaves what the rows state of the remittance to bear all of it', () => {
    expectFindings([UNKNOWN, HELD], [], [OPEN]);
    expectFindings([UNKNOWN], [], [{ ...OPEN, amount: '2000' }]);
    const second = ['warning 2 irmNumber irm_unknown', `${of(2, 'error')} over_remittance`];
    expectFindings([UNKNOWN, ...second], [], [], [mappingRow(), later]);
  });
  it('that is one of several has to bear the amount, with a warning', () => {
    const twin = irm({ irmIfscCode: 'ICIC0000001', amount: '12000.00', available: '9000.00' });
    expectFindings([IFSC_DIFFERS, AMOUNT_DIFFERS, 'warning 1 irmNumber irm_ambiguous'], [irm(), twin]);
    const less = checkBalances([mappingRow()], [irm(), { ...twin, available: '7999' }], []);
    expect(less.map(({ code }) => code)).toContain('over_balance');
  });
  it.each<[string[], Partial<HeldIrm>]>([
    [[UNKNOWN], { irmAdCode: '0510009' }],
    [[UNKNOWN], { issueDate: null, remittanceDate: null }],
    ...['C', 'cancelled', 'Canceled'].map((status): [string[], object] => [
      ['warning 1 irmNumber irm_cancelled'],
      { status },
    ]),
    ...[null, 'closed?', 'fresh'].map((status): [string[], object] => [[], { status }]),
    [['warning 1 irmFCC irm_currency_differs'], { currency: 'EUR' }],
    [['warning 1 irmPurposeCode irm_purpose_differs'], { purpose: 'P0103' }],
    [[AMOUNT_DIFFERS], { amount: '12000', available: '9000' }],
  ])('warns and never blocks where the authority may see it otherwise: %j for %j', (expected, changes) =>
    expectFindings(expected, [irm(changes)]),
  );
  it('that is unknown has the known ones of its number reported', () =>
    expect(messageOf([irm({ irmAdCode: '0510009' })])).toContain(
      'That number is held with AD code 0510009, dated 2026-01-05 and 2026-01-04',
    ));
});
