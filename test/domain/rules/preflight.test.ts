import { judgeBalances, pendingHolds, type HeldIrm, type Hold } from '../../../src/domain/exporter/balance-sums';
import { compareIrms } from '../../../src/domain/rules/preflight';
import { mappingRow } from '../../../dev/sample-mapping';

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
  ...{ filingId: 'filing-1', reference: 'JAN-1', n: 1, state: 'processing', irmKey: 'IRM2026000001' },
  ...{ irmDt: '05012026', irmAdCode: '0510001', amount: '8000.00', kind: 'sent', certifiedAt: null },
  ...changes,
});

/** What is short, by default of the sample mapping of 8,000. */
const short = (irms: HeldIrm[] = [irm()], holds: Partial<Hold>[] = [], rows = [mappingRow()]) =>
  judgeBalances(rows, irms, holds.map(hold)).map(({ waits, finding: { row, code, filingId } }) =>
    [row, code, filingId, waits && 'waits'].filter(Boolean).join(' '),
  );
const OTHER_BANK = { irmAdCode: '0510002' };
/** A second row of the IRM, under its other date. */
const later = mappingRow({ serialNo: 2, irmDt: '04012026', sbCumInvoiceNumber: '2' });

describe('the balance', () => {
  it('bears a mapping within it, compared exactly', () => {
    expect(short()).toEqual([]);
    const tenth = Array.from({ length: 10 }, (_, index) =>
      mappingRow({ serialNo: index + 1, mappedIRMAmountFCC: 0.1, irmRemitAmtFCC: 1 }),
    );
    expect(short([irm({ amount: '1', available: '1' })], [], tenth)).toEqual([]);
    expect(short([irm({ amount: '1', available: '0.99' })], [], tenth)).toEqual(['10 over_balance']);
  });
  it('is less than the remittance where some of it was used, and unknown is not 0', () => {
    expect(short([irm({ available: '7999.99' })])).toEqual(['1 over_balance']);
    expect(short([irm({ amount: '7999.99', available: null })])).toEqual(['1 over_remittance']);
    expect(short([irm({ amount: null })])).toEqual([]);
    expect(short([irm({ amount: null, available: null })])).toEqual([]);
  });
  it('is one for each record of a number: by date, and by AD code where that tells them apart', () => {
    const both = [irm(), irm(OTHER_BANK)];
    expect(short(both, [], [mappingRow(), mappingRow({ serialNo: 2, ...OTHER_BANK })])).toEqual([]);
    expect(short([irm(), irm({ ...OTHER_BANK, available: '1' })], [], [mappingRow({ irmAdCode: '9' })])).toEqual([
      '1 over_balance',
    ]);
    expect(short([irm()], [], [mappingRow(), later])).toEqual(['2 over_remittance']);
  });
  it('of an unknown IRM is what the rows state of the remittance, and of an unknown date that of all records', () => {
    expect(short([], [{}])).toEqual(['1 balance_held filing-1 waits']);
    expect(short([], [], [mappingRow(), later])).toEqual(['2 over_remittance']);
    const unknown = [mappingRow({ irmDt: '09012026' })];
    expect(short([irm({ available: '9000' })], [{}], unknown)).toEqual(['1 balance_held filing-1 waits']);
    expect(short([irm(), irm({ issueDate: '01012026', remittanceDate: null })], [{}], unknown)).toEqual([]);
  });
});

describe('what others hold', () => {
  it('counts until a certificate is older than the balance', () => {
    for (const kind of ['planned', 'sent'] as const)
      expect(short([irm()], [{ kind }])).toEqual([`1 balance_held filing-1${kind === 'sent' ? ' waits' : ''}`]);
    const certified = (certifiedAt: number) => short([irm()], [{ kind: 'certified', certifiedAt }]);
    expect(certified(READ_AT - 1)).toEqual([]);
    expect(certified(READ_AT)).toEqual(['1 balance_held filing-1']);
    expect(short([irm()], [{ amount: '2000' }])).toEqual([]);
  });
  it('is named, and waited for only where what was sent decides', () => {
    const [shortage] = judgeBalances(
      [mappingRow()],
      [irm()],
      [hold({ amount: '2000.01' }), hold({ kind: 'planned', filingId: 'filing-2', amount: '1' })],
    );
    expect(shortage).toMatchObject({ waits: true, certifiedAt: null });
    expect(shortage?.finding.message).toContain(
      'filings JAN-1 (processing, filing-1) and JAN-1 (processing, filing-2) hold',
    );
    const planned: Partial<Hold> = { kind: 'planned', amount: '2000.01' };
    expect(short([irm()], [{ amount: '1' }, planned])).toEqual(['1 balance_held filing-1']);
  });
  it('under a date that no record has may be on any of its number', () => {
    expect(short([irm()], [{ irmDt: '09012026' }])).toEqual(['1 balance_held filing-1 waits']);
    const recurring = irm({ issueDate: '01012026', remittanceDate: '01012026' });
    expect(short([irm(), recurring], [{ irmDt: '01012026' }])).toEqual([]);
  });
  it('is pending where the reading cannot know it', () => {
    const certified = { kind: 'certified' as const };
    const holds = [hold(), hold({ ...certified, certifiedAt: 1 }), hold({ ...certified, certifiedAt: READ_AT + 1 })];
    expect(pendingHolds(holds, irm())).toEqual([holds[0], holds[2]]);
    // What rows state may be what remained.
    expect(pendingHolds(holds, { readAt: null })).toEqual([holds[0]]);
  });
});

describe('the record of an IRM', () => {
  const compare = (irms: HeldIrm[] = [irm()], rows = [mappingRow()]) =>
    compareIrms(rows, irms).map(({ severity, row, field, code }) => [severity, row, field, code].join(' '));
  const messageOf = (irms: HeldIrm[], row = mappingRow()) => compareIrms([row], irms)[0]?.message;
  const UNKNOWN = 'warning 1 irmNumber irm_unknown';
  const AMOUNT_DIFFERS = 'warning 1 irmRemitAmtFCC irm_amount_differs';

  it('is compared with every row, not only with the first of its IRM', () => {
    const copied = { mappedIRMAmountFCC: 1000, irmFCC: 'EUR', irmPurposeCode: 'P0802', irmIfscCode: 'HDFC0000009' };
    const rows = [
      mappingRow(),
      mappingRow({ serialNo: 2, ...copied }),
      mappingRow({ serialNo: 3, irmRemitAmtFCC: 77, irmAdCode: '510001' }),
    ];
    const differs = ['irmIfscCode irm_ifsc', 'irmFCC irm_currency', 'irmPurposeCode irm_purpose'];
    expect(compare([irm({ status: 'Cancelled' })], rows)).toEqual([
      'warning 1 irmNumber irm_cancelled',
      ...differs.map((each) => `warning 2 ${each}_differs`),
      'warning 3 irmAdCode irm_ad_code_differs',
      'warning 3 irmRemitAmtFCC irm_amount_differs',
    ]);
  });
  it('tells its AD code to a row without the leading zeros', () =>
    expect(messageOf([irm()], mappingRow({ irmAdCode: '510001' }))).toContain(
      'has the AD code 0510001, this row says 510001',
    ));
  it('is found by its issue date, or by the remittance date where only that fits', () => {
    expect(compare([irm({ issueDate: '06012026', remittanceDate: '05012026' })])).toEqual([]);
    expect(compare([irm({ issueDate: '06012026', remittanceDate: '06012026' })])).toEqual([UNKNOWN]);
  });
  it('that may be one of several is warned of', () => {
    const twin = irm({ irmIfscCode: 'ICIC0000001' });
    expect(compare([irm(), twin])).toEqual([
      'warning 1 irmIfscCode irm_ifsc_differs',
      'warning 1 irmNumber irm_ambiguous',
    ]);
    expect(compare([irm(), { ...twin, ...OTHER_BANK }])).toEqual([]);
  });
  it.each<[string[], Partial<HeldIrm>]>([
    [['warning 1 irmAdCode irm_ad_code_differs'], { irmAdCode: '0510009' }],
    [[UNKNOWN], { issueDate: null, remittanceDate: null }],
    ...['C', 'cancelled', 'Canceled'].map((status): [string[], object] => [
      ['warning 1 irmNumber irm_cancelled'],
      { status },
    ]),
    ...[null, 'closed?', 'fresh'].map((status): [string[], object] => [[], { status }]),
    [['warning 1 irmFCC irm_currency_differs'], { currency: 'EUR' }],
    [['warning 1 irmPurposeCode irm_purpose_differs'], { purpose: 'P0103' }],
    [[AMOUNT_DIFFERS], { amount: '12000', available: '9000' }],
    [['warning 1 mappedIRMAmountFCC irm_amount_unknown'], { available: null }],
  ])('warns and never blocks where the authority may see it otherwise: %j for %j', (expected, changes) =>
    expect(compare([irm(changes)])).toEqual(expected),
  );
  it('that is unknown has the known ones of its number reported', () =>
    expect(messageOf([irm({ issueDate: '01012026', remittanceDate: '01012026' })])).toContain(
      'held with AD code 0510001, dated 2026-01-01',
    ));
  it('that left the list is an error, unless another record fits', () => {
    expect(compare([irm({ missing: true })])).toEqual(['error 1 irmNumber irm_missing']);
    expect(compare([irm({ missing: true, issueDate: '01012026', remittanceDate: null })])).toEqual([
      'error 1 irmNumber irm_missing',
    ]);
    expect(compare([irm({ missing: true }), irm(OTHER_BANK)])).toEqual(['warning 1 irmAdCode irm_ad_code_differs']);
  });
  it('has one spelling: another in zeros, case or blanks is an error that says what to write', () => {
    for (const irmNumber of ['irm2026000001', 'IRM2026000001 ']) {
      const row = mappingRow({ irmNumber });
      expect(compare([irm()], [row])).toEqual(['error 1 irmNumber irm_number_spelling']);
      expect(messageOf([irm()], row)).toContain('Write IRM2026000001.');
    }
    expect(
      compare([irm({ irmNumber: '007' }), irm({ irmNumber: '7' })], [mappingRow({ irmNumber: '7' })]),
    ).not.toContain('error 1 irmNumber irm_number_spelling');
  });
});
