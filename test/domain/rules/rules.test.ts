import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Finding } from '../../../src/domain/rules/finding';
import type { Mapping, MappingRow } from '../../../src/domain/filing/mapping';
import { MAPPING_FIELDS } from '../../../src/domain/filing/mapping';
import { checkUncheckedRows, checkRows } from '../../../src/domain/rules/rules';
import { parsePushMessage } from '../../../src/domain/rules/push-message';
import { mapping, mappingRow } from '../../../dev/sample-mapping';

const brief = (findings: Finding[]) =>
  findings.map(({ severity, row, field, code }) => `${severity} ${row} ${field} ${code}`);
const check = (...changes: Partial<Mapping>[]) =>
  brief(checkRows(changes.map((change, index) => mappingRow({ serialNo: index + 1, ...change }, index + 2))));

describe('rules of one row', () => {
  test('a right row gives no finding', () => {
    expect(check({})).toEqual([]);
    expect(check({ isGstAvail: 'Y', gstinInvoiceNumber: 'GST/1', gstinInvoiceDate: '04012026' })).toEqual([]);
  });

  test.each<[Partial<Mapping>, string]>([
    [{ irmNumber: '' }, 'error 2 irmNumber missing'],
    [{ irmNumber: ' ' }, 'error 2 irmNumber missing'],
    [{ uploadType: 105 }, 'error 2 uploadType unknown_upload_type'],
    [{ serialNo: 1.5 }, 'error 2 serialNo invalid_number'],
    [{ serialNo: 1000 }, 'warning 2 serialNo serial_range'],
    [{ serialNo: 3_000_000_000 }, 'error 2 serialNo invalid_number'],
    [{ branchSlNo: -1 }, 'error 2 branchSlNo invalid_number'],
    [{ irmRemitAmtFCC: Number.NaN }, 'error 2 irmRemitAmtFCC invalid_number'],
    [{ mappedIRMAmountFCC: -5 }, 'error 2 mappedIRMAmountFCC invalid_number'],
    [{ mappedIRMAmountFCC: 0.125 }, 'error 2 mappedIRMAmountFCC too_many_decimals'],
    [{ mappedIRMAmountFCC: 100.0999 }, 'error 2 mappedIRMAmountFCC too_many_decimals'],
    [{ billNo: 'B'.repeat(251) }, 'error 2 billNo text_too_long'],
    [{ mappedIRMAmountFCC: 0 }, 'warning 2 mappedIRMAmountFCC amount_zero'],
    [{ irmDt: '31022026' }, 'error 2 irmDt invalid_date'],
    [{ irmDt: '2026-01-05' }, 'error 2 irmDt invalid_date'],
    [{ isVostro: 'yes' }, 'error 2 isVostro invalid_yes_no'],
    [{ sbCumInvoiceNumber: 'EXP-1' }, 'error 2 sbCumInvoiceNumber not_a_shipping_bill_number'],
    [{ sbCumInvoiceNumber: '12345678' }, 'error 2 sbCumInvoiceNumber not_a_shipping_bill_number'],
    [{ isGstAvail: 'N', gstinInvoiceNumber: 'GST/1' }, 'error 2 gstinInvoiceNumber gst_not_empty'],
    [{ irmAdCode: '510001' }, 'warning 2 irmAdCode unusual_form'],
    [{ irmNumber: 'HDFC\n1' }, 'warning 2 irmNumber unusual_form'],
    [{ billNo: 'EXP\t1' }, 'warning 2 billNo unusual_form'],
    [{ irmIfscCode: 'HDFC1' }, 'warning 2 irmIfscCode unusual_form'],
    [{ portCode: 'USNYC' }, 'warning 2 portCode unusual_port'],
    [{ irmPurposeCode: 'P0108' }, 'warning 2 irmPurposeCode purpose_excluded'],
    [{ irmPurposeCode: 'P0103' }, 'warning 2 sbCumInvoiceDate document_before_advance'],
    [{ sbCumInvoiceDate: '20052062' }, 'warning 2 sbCumInvoiceDate dates_far_apart'],
    [{ sbCumInvoiceDate: '20051926' }, 'warning 2 sbCumInvoiceDate dates_far_apart'],
    [{ sbCumInvoiceFCC: 'EUR' }, 'warning 2 sbCumInvoiceFCC cross_currency'],
    [{ sbCumInvoiceValueinFCC: 7999.99 }, 'warning 2 mappedIRMAmountFCC over_document_value'],
    [{ billNo: '=HYPERLINK("x")' }, 'warning 2 billNo formula_text'],
    [{ billNo: '＝1+1' }, 'warning 2 billNo formula_text'],
    [{ billNo: '-2+3+cmd' }, 'warning 2 billNo formula_text'],
    [{ billNo: 'A\u0000' }, 'error 2 billNo control_character'],
    [{ billNo: 'A\ud800' }, 'error 2 billNo control_character'],
    [{ billNo: '#N/A' }, 'error 2 billNo error_value'],
    [{ billNo: '12345.0' }, 'warning 2 billNo added_characters'],
    [{ billNo: ' A1' }, 'warning 2 billNo surrounding_blanks'],
    [{ irmNumber: '1.23457E+14' }, 'error 2 irmNumber lost_digits'],
    [{ isVostro: 'Y' }, 'warning 2 isVostro vostro_type_missing'],
  ])('%j: %s', (change, expected) => {
    expect(check(change)).toEqual([expected]);
  });

  test('GST Y needs both columns', () => {
    expect(check({ isGstAvail: 'Y' })).toEqual([
      'error 2 gstinInvoiceNumber gst_missing',
      'error 2 gstinInvoiceDate gst_missing',
    ]);
  });

  test('only Direct Export has the shipping bill rule, only Softex its purposes', () => {
    expect(check({ uploadType: 103, sbCumInvoiceNumber: 'INV-2026/7', irmPurposeCode: 'P0802' })).toEqual([]);
    expect(check({ uploadType: 102, sbCumInvoiceNumber: 'AB123456/2026' })).toEqual([
      'warning 2 irmPurposeCode purpose_for_softex',
    ]);
  });

  test('a document number has plain characters only; an amount the decimals of its currency', () => {
    expect(check({ uploadType: 103, sbCumInvoiceNumber: 'INV-А1' })).toContain(
      'error 2 sbCumInvoiceNumber document_characters',
    );
    expect(check({ uploadType: 103, sbCumInvoiceNumber: 'inv\u20131' })).toEqual([]);
    const yen = { irmFCC: 'JPY', sbCumInvoiceFCC: 'JPY', sbCumInvoiceValueinFCC: 8000 };
    expect(check({ ...yen, mappedIRMAmountFCC: 100.5 })).toEqual(['error 2 mappedIRMAmountFCC too_many_decimals']);
    expect(check({ ...yen, mappedIRMAmountFCC: 100 })).toEqual([]);
  });

  test('every message is a sentence that names the field', () => {
    const findings = checkRows([mappingRow({ irmNumber: '', isVostro: 'maybe', irmDt: 'soon' }, 2)]);
    expect(findings.map(({ message }) => message)).toEqual([
      'Required field irmNumber is missing: fill it in.',
      'Invalid date value "soon" in irmDt. Expected a date as DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY, YYYY-MM-DD, or a real Excel date cell.',
      'Invalid value "maybe" in isVostro: write Y or N.',
    ]);
  });
});

describe('days after today', () => {
  const onDay = (today: string | undefined, changes: Partial<Mapping>) =>
    brief(checkRows([mappingRow(changes, 2)], { ...(today && { today }) }));

  test.each(['irmDt', 'sbCumInvoiceDate'] as const)('%s', (field) => {
    const changes = { irmDt: '05012026', sbCumInvoiceDate: '05012026', [field]: '06012026' };
    expect(onDay('05012026', changes)).toEqual([`warning 2 ${field} date_in_future`]);
    expect([onDay('06012026', changes), onDay(undefined, changes)]).toEqual([[], []]);
  });

  test('the days are named', () => {
    const [warning] = checkRows([mappingRow({ irmDt: '06012026' }, 2)], { today: '05012026' });
    expect(warning?.message).toContain('6 January 2026 is after today, 5 January 2026 in India');
  });
});

describe('currencies of three decimals, and of none', () => {
  const inCurrency = (currency: string, changes: Partial<Mapping>, second: Partial<Mapping> = {}) => {
    const shared = { irmFCC: currency, sbCumInvoiceFCC: currency, sbCumInvoiceValueinFCC: 9999 };
    const rows = [{ irmRemitAmtFCC: 1234.56, mappedIRMAmountFCC: 1234.56, ...changes }, second];
    return checkRows(
      rows
        .filter((row) => Object.keys(row).length > 0)
        .map((row, at) => mappingRow({ ...shared, serialNo: at + 1, ...row }, at + 2)),
    );
  };

  test('the one figure that passes everywhere is named', () => {
    const [finding, ...others] = inCurrency('KWD', { mappedIRMAmountFCC: 1234.567, irmRemitAmtFCC: 1234.57 });
    expect([finding?.code, others]).toEqual(['amount_decimals', []]);
    expect(finding?.message).toContain('write 1234.56, rounded down');
    expect(inCurrency('KWD', {})).toEqual([]);
  });

  test('one remittance in two roundings is one; a whole fils of the authority is another', () => {
    const other = { sbCumInvoiceNumber: '7', mappedIRMAmountFCC: 0.01, irmRemitAmtFCC: 1234.57 };
    expect(brief(inCurrency('KWD', { irmRemitAmtFCC: 1234.567, mappedIRMAmountFCC: 1 }, other))).toEqual([
      'warning 2 irmRemitAmtFCC amount_decimals',
    ]);
    expect(brief(inCurrency('KWD', { mappedIRMAmountFCC: 1234.57 }))).toEqual([
      'error 2 mappedIRMAmountFCC over_remittance',
    ]);
  });

  test('a yen has no decimals', () => {
    const [finding] = inCurrency('JPY', { irmRemitAmtFCC: 1300, mappedIRMAmountFCC: 1234.5 });
    expect(finding?.message).toContain('JPY has none');
  });
});

describe('rules between rows', () => {
  test('the same mapping twice would mint a second certificate', () => {
    const row = { irmRemitAmtFCC: 20000, sbCumInvoiceValueinFCC: 20000 };
    expect(check(row, row)).toEqual(['error 3 null duplicate_mapping']);
    expect(check(row, { ...row, sbCumInvoiceDate: '04012026', irmAdCode: '0510002' })).toContain(
      'error 3 null duplicate_mapping',
    );
    expect(check(row, { ...row, mappedIRMAmountFCC: 7999 })).toEqual(['warning 3 null mapping_beside']);
    expect(check(row, { ...row, billNo: 'EXP/2026/002' })).toEqual(['warning 3 null mapping_beside']);
    expect(
      brief(checkRows([mappingRow(row, 2), mappingRow({ ...row, serialNo: 2 }, 3)], { permitted: new Set([3]) })),
    ).toEqual(['warning 3 null duplicate_mapping']);
  });

  test('serial numbers are unique', () => {
    expect(check({ serialNo: 7 }, { serialNo: 7, irmNumber: 'IRM2026000002', mappedIRMAmountFCC: 0.5 })).toEqual(
      expect.arrayContaining(['error 3 serialNo duplicate_serial']),
    );
  });

  test('more rows than one filing has are refused with the row to cut at', () => {
    const rows = Array.from({ length: 1_000 }, (_, at) =>
      mappingRow({ serialNo: at + 1, irmNumber: `IRM${at}`, sbCumInvoiceNumber: `${at + 1}` }, at + 2),
    );
    expect(brief(checkRows(rows))).toEqual(['error 1001 null too_many_rows']);
    expect(brief(checkRows(rows.slice(1)))).toEqual(['warning 1001 serialNo serial_range']);
  });

  test('a port code that is missing is explained where there is no shipping bill', () => {
    const said = (uploadType: number) =>
      checkRows([mappingRow({ uploadType, portCode: '' })]).map((each) => each.message);
    expect(said(101)).toEqual(['Required field portCode is missing: fill it in.']);
    expect(said(103)).toEqual([expect.stringContaining('Service Non IT (103) needs one too') as string]);
  });

  test('upload types agree with the filing, or with each other', () => {
    const rows = [
      mappingRow({}, 2),
      mappingRow({ serialNo: 2, uploadType: 103, sbCumInvoiceNumber: '1234568', mappedIRMAmountFCC: 1 }, 3),
    ];
    expect(brief(checkRows(rows))).toEqual(['error 3 uploadType upload_type_differs']);
    expect(brief(checkRows(rows, { uploadType: 103 }))).toEqual(['error 2 uploadType upload_type_differs']);
  });

  test('sums per IRM key stay within the remittance; the row that goes over is named', () => {
    const each = { mappedIRMAmountFCC: 3333.34, sbCumInvoiceValueinFCC: 20000 };
    const doc = (n: number) => ({ ...each, sbCumInvoiceNumber: `${n}` });
    expect(check(doc(1), doc(2), doc(3))).toEqual(['error 4 mappedIRMAmountFCC over_remittance']);
    expect(check(doc(1), doc(2), { ...doc(3), mappedIRMAmountFCC: 3333.32 })).toEqual([]);
    expect(check(doc(1), doc(2), { ...doc(3), irmAdCode: '0510002' })).toEqual([]);
  });

  test('rows that state two amounts of one remittance warn, and the larger one bears them', () => {
    const one = { mappedIRMAmountFCC: 4000, sbCumInvoiceValueinFCC: 20000 };
    const other = { ...one, sbCumInvoiceNumber: '1234568', mappedIRMAmountFCC: 7000, irmRemitAmtFCC: 11000 };
    const differs = 'warning 3 irmRemitAmtFCC remittance_differs';
    expect(check(one, other)).toEqual([differs]);
    const more = check(one, { ...other, mappedIRMAmountFCC: 7000.01 });
    expect(more).toEqual(expect.arrayContaining([differs, 'error 3 mappedIRMAmountFCC over_remittance']));
  });

  test('IRMs of one document share currency and bank; only P0103 mixes', () => {
    const half = { mappedIRMAmountFCC: 4000 };
    expect(check(half, { ...half, irmNumber: 'IRM2', irmIfscCode: 'ICIC0000002', irmPurposeCode: 'P0104' })).toEqual([
      'warning 3 irmIfscCode clubbed_irms_differ',
      'warning 3 irmPurposeCode clubbed_purposes',
    ]);
  });

  test('each failing cell once, and a failed cell is not called missing', () => {
    const draft = { row: 2, mapping: { ...mapping(), irmDt: undefined }, failed: new Set(['irmDt']) };
    expect(checkUncheckedRows([draft])).toEqual([]);
    fc.assert(
      fc.property(fc.array(anyRow(), { maxLength: 12 }), (rows) => {
        const cells = checkRows(rows)
          .filter((finding) => finding.severity === 'error' && finding.field !== null)
          .map(({ row, field }) => `${row}/${field}`);
        expect(new Set(cells).size).toBe(cells.length);
      }),
    );
  });
});

/** Rows with any values at all in their fields, as the types allow. */
function anyRow(): fc.Arbitrary<MappingRow> {
  const amount = fc.oneof(fc.double(), fc.constantFrom(0, 10, 8000, -1));
  const text = fc.oneof(fc.string(), fc.constantFrom('', 'Y', 'N', '05012026', 'P0103', 'USD', '1234567'));
  const values = Object.fromEntries(
    Object.entries(MAPPING_FIELDS).map(([field, kind]) => [
      field,
      kind === 'integer' || kind === 'amount' ? amount : text,
    ]),
  );
  return fc.record({ row: fc.nat(50), mapping: fc.record(values) as unknown as fc.Arbitrary<Mapping> });
}

describe('a push message', () => {
  const message = (changes: Record<string, unknown> = {}, items: unknown[] = [mapping()]) => ({
    platformCustomerId: '5f0c1d0e-2b1a-4c3d-8e9f-001122334455',
    recordResCount: items.length,
    uploadType: '101',
    decalarationFlag: 'Y',
    ebrcBulkGenDtos: items,
    ...changes,
  });

  test('is read whole', () => {
    const { message: parsed, findings } = parsePushMessage(message());
    expect(findings).toEqual([]);
    expect(parsed).toEqual({
      platformCustomerId: '5f0c1d0e-2b1a-4c3d-8e9f-001122334455',
      uploadType: 101,
      decalarationFlag: 'Y',
      allowDuplicate: [],
      rows: [{ row: 1, mapping: mapping() }],
    });
  });

  test('of examples/, which the documents point to, can be filed', () => {
    const example = readFileSync(join(__dirname, '../../../examples/push-message.json'), 'utf8');
    const { message: parsed, findings } = parsePushMessage(JSON.parse(example));
    expect([...findings, ...checkRows(parsed?.rows ?? [], parsed && { uploadType: parsed.uploadType })]).toEqual([]);
  });

  test('may leave the exporter and empty GST fields out', () => {
    const { gstinInvoiceDate: _date, ...item } = { ...mapping(), gstinInvoiceNumber: '' };
    const { message: parsed } = parsePushMessage(message({ platformCustomerId: undefined }, [item]));
    expect(parsed?.platformCustomerId).toBeUndefined();
    expect(parsed?.rows[0]?.mapping).toEqual(mapping());
  });

  test('is the same mapping whatever error a binary sum left in its amounts', () => {
    const sums = { irmRemitAmtFCC: 10_000 - 1e-9, mappedIRMAmountFCC: 100 + 821 / 100 };
    const { message: parsed, findings } = parsePushMessage(message({}, [mapping(sums)]));
    expect(findings).toEqual([]);
    expect(parsed?.rows[0]?.mapping).toEqual(mapping({ irmRemitAmtFCC: 10_000, mappedIRMAmountFCC: 108.21 }));
  });

  test('reports every wrong field at once, with its row', () => {
    const { message: parsed, findings } = parsePushMessage(
      message({ recordResCount: 3, uploadType: 101, decalarationFlag: 'yes', platformCustomerId: 'me', extra: 1 }, [
        { ...mapping(), irmRemitAmtFCC: '10000', irmAdCode: 510001, surprise: true, isGstAvail: 'Y' },
        { ...mapping({ serialNo: 9, sbCumInvoiceNumber: 'INV-1', irmDt: '31/01/2026' }), portCode: undefined },
        'not an item',
      ]),
    );
    expect(parsed).toBeUndefined();
    expect(brief(findings)).toEqual([
      'error null extra unknown_property',
      'error null platformCustomerId invalid_uuid',
      'error null uploadType unknown_upload_type',
      'error null decalarationFlag invalid_yes_no',
      'error 1 surprise unknown_property',
      'error 1 irmAdCode invalid_text',
      'error 1 irmRemitAmtFCC invalid_number',
      'error 1 gstinInvoiceNumber gst_missing',
      'error 1 gstinInvoiceDate gst_missing',
      'error 3 null not_an_item',
      'error 9 irmDt invalid_date',
      'error 9 portCode missing',
      'error 9 sbCumInvoiceNumber not_a_shipping_bill_number',
    ]);
    expect(findings.find(({ field }) => field === 'irmRemitAmtFCC')?.message).toContain('write 10000 without quotes');
  });

  test('counts its items', () => {
    expect(brief(parsePushMessage(message({ recordResCount: 2 })).findings)).toEqual([
      'error null recordResCount count_differs',
    ]);
    expect(brief(parsePushMessage(message({}, [])).findings)).toEqual(['error null ebrcBulkGenDtos missing']);
  });

  test('anything at all is a finding, never an exception', () => {
    // A message inside a text too: what bounds the text around it sees one value.
    for (const bad of [null, 1, [], 'not json', JSON.stringify(message()), undefined, '[]']) {
      expect(brief(parsePushMessage(bad).findings)).toEqual(['error null null not_a_push_message']);
    }
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (items, item) => {
        expect(parsePushMessage(message({ ebrcBulkGenDtos: items })).findings.length).toBeGreaterThan(0);
        expect(() => parsePushMessage(message({}, [item, mapping()]))).not.toThrow();
      }),
    );
  });
});

test('a message of a few MB that would be millions of findings, or more text than a filing may hold, gives one or few', () => {
  const message = { uploadType: '101', decalarationFlag: 'Y', recordResCount: 1 };
  const codes = (items: unknown[]) =>
    brief(parsePushMessage({ ...message, recordResCount: items.length, ebrcBulkGenDtos: items }).findings);
  expect(codes(Array.from({ length: 1_000_000 }, () => 0))).toEqual(['error 1000 null too_many_rows']);
  expect(codes(Array.from({ length: 999 }, () => mapping({ billNo: '\u0001'.repeat(2000) })))).toEqual([
    'error null null too_much_text',
  ]);
  const unknown = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`p${at}`, 1]));
  const found = parsePushMessage({ ...message, ...unknown, ebrcBulkGenDtos: [unknown] }).findings;
  expect(JSON.stringify(found).length).toBeLessThan(100_000);
  expect(found.length).toBeGreaterThan(20);
});
