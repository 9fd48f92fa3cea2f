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

const check = (irms: HeldIrm[], holds: Hold[] = [], rows = [mappingRow()]) =>
  checkBalances(rows, irms, holds).map(({ severity, row, field, code, filingId }) =>
    [severity, row, field, code, ...(filingId ? [filingId] : [])].join(' '),
  );

test('a mapping within the balance gives no finding', () => {
  expect(check([irm()])).toEqual([]);
});

test('sums are compared exactly and per IRM key', () => {
  const tenth = Array.from({ length: 10 }, (_, index) =>
    mappingRow({ serialNo: index + 1, mappedIRMAmountFCC: 0.1, irmRemitAmtFCC: 1 }),
  );
  expect(check([irm({ amount: '1', available: '1' })], [], tenth)).toEqual([]);
  expect(check([irm({ amount: '1', available: '0.99' })], [], tenth)).toEqual([
    'error 10 mappedIRMAmountFCC over_balance',
  ]);
  const other = irm({ irmAdCode: '0510002' });
  const both = [mappingRow(), mappingRow({ serialNo: 2, irmAdCode: '0510002' })];
  expect(check([irm(), other], [], both)).toEqual([]);
});

test('every row is compared with the held IRM, not only the first of its IRM', () => {
  const right = mappingRow({ mappedIRMAmountFCC: 1000 });
  const copied = { mappedIRMAmountFCC: 1000, irmFCC: 'EUR', irmPurposeCode: 'P0802', irmIfscCode: 'HDFC0000009' };
  const rows = [
    right,
    mappingRow({ serialNo: 2, ...copied }),
    mappingRow({ serialNo: 3, irmRemitAmtFCC: 77, mappedIRMAmountFCC: 1 }),
  ];
  expect(check([irm({ status: 'Cancelled' })], [], rows)).toEqual([
    'warning 1 irmNumber irm_cancelled',
    'warning 2 irmIfscCode irm_ifsc_differs',
    'warning 2 irmFCC irm_currency_differs',
    'warning 2 irmPurposeCode irm_purpose_differs',
    'warning 3 irmRemitAmtFCC irm_amount_differs',
  ]);
});

test('an AD code without its leading zeros is told the record’s', () => {
  const [found, ...others] = checkBalances([mappingRow({ irmAdCode: '510001' })], [irm()], []);
  expect([found?.code, others]).toEqual(['irm_ad_code_differs', []]);
  expect(found?.message).toContain('has the AD code 0510001, this row says 510001');
});

test('more than the remittance, and more than is left of it', () => {
  expect(check([irm({ amount: '7999.99', available: '7999.99' })])).toContain(
    'error 1 mappedIRMAmountFCC over_remittance',
  );
  expect(check([irm({ available: '7999.99' })])).toEqual(['error 1 mappedIRMAmountFCC over_balance']);
});

test.each([
  ['not submitted yet', { submittedAt: null }],
  ['of unknown outcome', { outcomeKnown: false }],
  ['submitted after the balance was read', { submittedAt: READ_AT + 1 }],
])('a filing %s blocks what it holds, and is named', (_, changes) => {
  expect(check([irm()], [hold(changes)])).toEqual(['error 1 mappedIRMAmountFCC balance_held filing-1']);
  expect(check([irm()], [hold({ ...changes, amount: '2000' })])).toEqual([]);
  const [finding] = checkBalances([mappingRow()], [irm()], [hold(changes)]);
  expect(finding?.message).toContain(
    'filing JAN-1 (processing, filing-1) holds part of the 10000.00 available, which leaves 2000.00',
  );
});

test('a filing submitted before the balance was read may be in it already: it warns', () => {
  expect(check([irm()], [hold()])).toEqual(['warning 1 mappedIRMAmountFCC balance_maybe_held filing-1']);
  expect(check([irm()], [hold({ amount: '2000' })])).toEqual([]);
});

test('what is free of an IRM is net of every filing that its reading cannot know', () => {
  const pending = (irms: HeldIrm, ...changes: Partial<Hold>[]) =>
    pendingHolds(changes.map(hold), irms).map(({ amount }) => amount);
  const sent = { submittedAt: READ_AT - 2 };
  expect(pending(irm(), { ...sent, certifiedAt: READ_AT + 1 }, { amount: '1' })).toEqual(['8000.00', '1']);
  expect(pending(irm(), { submittedAt: READ_AT + 1, certifiedAt: READ_AT + 2 })).toEqual(['8000.00']);
  // Known before the reading, or covered by what is used.
  expect(pending(irm(), { ...sent, certifiedAt: READ_AT - 1 })).toEqual([]);
  const used = irm({ amount: '18000.00', available: '10000.00' });
  expect(pending(used, { ...sent, certifiedAt: READ_AT + 1 })).toEqual([]);
  expect(
    pending(used, { ...sent, certifiedAt: READ_AT - 1 }, { ...sent, amount: '100', certifiedAt: READ_AT + 1 }),
  ).toEqual(['100']);
});

test('a certified filing that is newer than the reading is no outcome to wait for', () => {
  const [finding] = checkBalances(
    [mappingRow()],
    [irm()],
    [hold({ submittedAt: READ_AT + 1, certifiedAt: READ_AT + 2 })],
  );
  expect(finding?.message).toMatch(/refresh the IRMs, or lower/);
});

test('a certified filing that the utilised amount covers is in the balance', () => {
  const used = irm({ amount: '18000.00', available: '10000.00' });
  const row = [mappingRow({ irmRemitAmtFCC: 18000 })];
  expect(check([used], [hold({ certifiedAt: 1 })], row)).toEqual([]);
  expect(check([irm()], [hold({ certifiedAt: 1 })])).toEqual([
    'warning 1 mappedIRMAmountFCC balance_maybe_held filing-1',
  ]);
});

test('holds on another IRM do not count', () => {
  const otherBank = irmIdentity(mapping({ irmAdCode: '0510002' }));
  expect(check([irm()], [hold({ submittedAt: null, irmKey: otherBank })])).toEqual([]);
  const recurring = irm({ issueDate: '01012026', remittanceDate: '01012026' });
  expect(check([irm(), recurring], [hold({ submittedAt: null, irmDt: '01012026' })])).toEqual([]);
});

test('an IRM is one under either of its two dates, and under any IFSC', () => {
  const later = mappingRow({ serialNo: 2, irmDt: '04012026', sbCumInvoiceNumber: '2' });
  expect(check([irm()], [], [mappingRow(), later])).toEqual(['error 2 mappedIRMAmountFCC over_remittance']);
  const other = { submittedAt: null, irmDt: '04012026' };
  expect(check([irm()], [hold(other)])).toEqual(['error 1 mappedIRMAmountFCC balance_held filing-1']);
  expect(check([irm()], [hold(other)], [mappingRow({ irmIfscCode: 'HDFC0000009' })])).toEqual([
    'warning 1 irmIfscCode irm_ifsc_differs',
    'error 1 mappedIRMAmountFCC balance_held filing-1',
  ]);
});

test('a hold whose date no record has may be on any of its number and AD code', () => {
  expect(check([irm()], [hold({ submittedAt: null, irmDt: '09012026' })])).toEqual([
    'error 1 mappedIRMAmountFCC balance_held filing-1',
  ]);
});

test('without a record for the date, all of the number and AD code counts together', () => {
  const unknown = mappingRow({ irmDt: '09012026' });
  expect(check([irm({ available: '9000' })], [hold({ submittedAt: null })], [unknown])).toEqual([
    'warning 1 irmNumber irm_unknown',
    'error 1 mappedIRMAmountFCC balance_held filing-1',
  ]);
  const second = irm({ issueDate: '01012026', remittanceDate: null });
  expect(check([irm(), second], [hold({ submittedAt: null })], [unknown])).toEqual(['warning 1 irmNumber irm_unknown']);
});

test('without any record, what the rows state of the remittance bears all of it', () => {
  expect(check([], [hold({ submittedAt: null })])).toEqual([
    'warning 1 irmNumber irm_unknown',
    'error 1 mappedIRMAmountFCC balance_held filing-1',
  ]);
  expect(check([], [hold({ submittedAt: null, amount: '2000' })])).toEqual(['warning 1 irmNumber irm_unknown']);
  const later = mappingRow({ serialNo: 2, irmDt: '04012026', sbCumInvoiceNumber: '2' });
  expect(check([], [], [mappingRow(), later])).toEqual([
    'warning 1 irmNumber irm_unknown',
    'warning 2 irmNumber irm_unknown',
    'error 2 mappedIRMAmountFCC over_remittance',
  ]);
});

test('where several records fit, each has to bear the amount, with a warning', () => {
  const twin = irm({ irmIfscCode: 'ICIC0000001', amount: '12000.00', available: '9000.00' });
  expect(check([irm(), twin])).toEqual([
    'warning 1 irmIfscCode irm_ifsc_differs',
    'warning 1 irmRemitAmtFCC irm_amount_differs',
    'warning 1 irmNumber irm_ambiguous',
  ]);
  expect(check([irm(), { ...twin, available: '7999' }])).toContain('error 1 mappedIRMAmountFCC over_balance');
});

test('a missing remittance amount is unknown, not 0', () => {
  expect(check([irm({ amount: null })])).toEqual(['warning 1 mappedIRMAmountFCC irm_amount_unknown'].slice(1));
  expect(check([irm({ amount: null, available: null })])).toEqual(['warning 1 mappedIRMAmountFCC irm_amount_unknown']);
  expect(check([irm({ amount: null, available: '7999' })])).toEqual([
    'warning 1 irmRemitAmtFCC irm_amount_differs',
    'error 1 mappedIRMAmountFCC over_balance',
  ]);
});

test('irmDt is the issue date, or the remittance date where only that fits', () => {
  expect(check([irm({ issueDate: '06012026', remittanceDate: '05012026' })])).toEqual([]);
  const byRemittance = irm({ issueDate: '01012026', remittanceDate: '05012026', available: '1' });
  expect(check([byRemittance, irm()])).toEqual([]);
});

test('what may be seen otherwise by the authority warns and never blocks', () => {
  expect(check([])).toEqual(['warning 1 irmNumber irm_unknown']);
  expect(check([irm({ irmAdCode: '0510009' })])).toEqual(['warning 1 irmNumber irm_unknown']);
  expect(check([irm({ issueDate: null, remittanceDate: null })])).toEqual(['warning 1 irmNumber irm_unknown']);
  for (const status of ['C', 'cancelled', 'Canceled'])
    expect(check([irm({ status })])).toEqual(['warning 1 irmNumber irm_cancelled']);
  for (const status of [null, 'closed?', 'fresh']) expect(check([irm({ status })])).toEqual([]);
  expect(check([irm({ currency: 'EUR' })])).toEqual(['warning 1 irmFCC irm_currency_differs']);
  expect(check([irm({ purpose: 'P0103' })])).toEqual(['warning 1 irmPurposeCode irm_purpose_differs']);
  expect(check([irm({ amount: '12000', available: '9000' })])).toEqual(['warning 1 irmRemitAmtFCC irm_amount_differs']);
});

test('an unknown IRM reports the known records of its number', () => {
  const [finding] = checkBalances([mappingRow()], [irm({ irmAdCode: '0510009' })], []);
  expect(finding?.message).toContain('That number is held with AD code 0510009, dated 2026-01-05 and 2026-01-04');
});
