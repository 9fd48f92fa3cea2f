import { convert, type Converter } from '../../src/assistant/extraction/convert';
import { extractionMapping, mapDocument } from '../../src/assistant/extraction/mapping';
import { joinDocuments, type ReadDocument } from '../../src/assistant/drafts/join';

it.each<[Converter, unknown, string | null]>([
  ['date', '1-6-26', '01062026'],
  ['date', '01-Jun-2026', '01062026'],
  ['date', 'June 1, 2026', '01062026'],
  ['date', '2026-06-01T00:00:00+05:30', '01062026'],
  ['date', '31/02/2026', null],
  ['amount', 'USD 1,23,456.50', '123456.5'],
  ['amount', '1.234,50 EUR', '1234.5'],
  ['amount', '₹ 1,00,000/-', '100000'],
  ['amount', 1234.5, '1234.5'],
  ['amount', '(500)', null],
  ['amount', 'twelve', null],
  ['amount', '1.5E3', null],
  ['amount', '2 bags at USD 500', null],
  // Digit groups that nobody writes are two numbers, or one that was read wrongly.
  ['amount', '1,234,5', null],
  ['amount', '10,000.5,0', null],
  ['currency', 'US$', 'USD'],
  ['currency', 'AUS$', null],
  ['currency', 'BUS', null],
  ['currency', 'eur', 'EUR'],
  ['currency', '$', null],
  ['digits', 'SB No. 4512345', '4512345'],
  ['port', 'Nhava Sheva (INNSA1)', 'INNSA1'],
  ['text', 'NA', null],
  ['text', { a: 1 }, null],
])('%s reads %p', (converter, value, expected) => {
  expect(convert(value, converter)).toBe(expected);
});

it('reads plausible names without a mapping, and shows where each came from', () => {
  const { values, explained } = mapDocument('shipping-bill', {
    shippingBillNumber: '4512345',
    shippingBillDate: '01062026',
    portCode: 'INNSA1',
    invoices: [{ invoiceNumber: 'INV/1' }, { invoiceNumber: 'INV/2' }],
    fobValue: 'on request',
    exporter: { iec: 'AAGCM4521K' },
    consignee: { name: 'Northwind Textiles Inc' },
  });
  expect(values).toEqual({
    number: '4512345',
    date: '01062026',
    portCode: 'INNSA1',
    invoiceNumbers: ['INV/1', 'INV/2'],
    iec: 'AAGCM4521K',
    buyer: 'Northwind Textiles Inc',
  });
  const from = (name: string) => explained.find(({ field }) => field === name)?.from;
  expect([from('buyer'), from('iec'), from('value')]).toEqual(['consignee.name', 'exporter.iec', null]);
});

it('reads an amount that is an object, and the currency beside it', () => {
  const { values, explained } = mapDocument('shipping-bill', {
    freight: { amount: 900, currency: 'INR' },
    fob_value: { amount: '12,500.50', currency: 'USD' },
  });
  expect(values).toEqual({ value: '12500.5', currency: 'USD' });
  expect(explained.find(({ field }) => field === 'value')?.from).toBe('fob_value.amount');
  expect(explained.find(({ field }) => field === 'currency')?.from).toBe('fob_value.currency');
  expect(mapDocument('invoice', { total: { value: 70, currency_code: 'EUR' } }).values).toEqual({
    value: '70',
    currency: 'EUR',
  });
  const flat = { currency: 'GBP', fobValueFCC: 10, fobValue: { amount: 900, currency: 'INR' } };
  expect(mapDocument('shipping-bill', flat).values).toEqual({ value: '10', currency: 'GBP' });
});

it('takes the values of the shallowest level that has the name', () => {
  const data = {
    list: [{ inv_no: 'x' }, { INV_NO: 'y' }],
    deep: { list: [{ invNo: 'z' }], __proto__: { port: 'INNSA1' } },
  };
  expect(mapDocument('shipping-bill', data).values).toEqual({ invoiceNumbers: ['x', 'y'] });
});

it('follows a mapping, with the names in order', () => {
  const mapping = extractionMapping.parse({ invoice: { number: ['no', 'ref'], value: 'Line-Total' } });
  const data = {
    doc: { no: '-', ref: 'INV-9' },
    lines: [{ lineTotal: '?' }, { lineTotal: '0.20' }],
    invoiceNumber: 'unread',
  };
  const { values, explained } = mapDocument('invoice', data, mapping);
  expect(values).toMatchObject({ number: 'INV-9', value: '0.2' });
  expect(explained.find(({ field }) => field === 'number')).toMatchObject({ from: 'doc.ref' });
});

describe('documents that belong together', () => {
  const bill = (file: string, data: object): ReadDocument => ({
    file,
    ...mapDocument('shipping-bill', { shippingBillDate: '20/06/2026', currency: 'USD', fobValue: '5000', ...data }),
  });
  const invoice = (file: string, data: object): ReadDocument => ({
    file,
    ...mapDocument('invoice', { invoiceDate: '18/06/2026', currency: 'USD', totalAmount: '5000', ...data }),
  });

  it('joins by the numbers that either names, however they are written', () => {
    const { bills, invoices } = joinDocuments([
      bill('1', { sbNo: '1000001', invoiceNo: 'inv/7' }),
      bill('2', { sbNo: '1000002' }),
      invoice('a', { invoiceNumber: 'INV/ 7', totalAmount: '5100' }),
      invoice('b', { invoiceNumber: 'INV/8', shippingBillNumber: '01000002', currency: 'EUR' }),
    ]);
    expect(bills.map(({ documents }) => documents)).toEqual([
      ['1', 'a'],
      ['2', 'b'],
    ]);
    expect(bills.map(({ cells }) => [cells.billNo?.value, cells.billNo?.mark])).toEqual([
      ['inv/7', undefined],
      ['INV/8', undefined],
    ]);
    expect(invoices).toEqual([]);
  });

  it('joins by currency, value and date where one bill alone fits, as a guess', () => {
    const one = joinDocuments([bill('1', { sbNo: '1000001' }), invoice('a', { invoiceNumber: 'INV/1' })]);
    expect(one.bills[0]?.cells.billNo).toMatchObject({ value: 'INV/1', mark: 'guess' });
    const two = [bill('1', { sbNo: '1000001' }), bill('2', { sbNo: '1000002' })];
    expect(joinDocuments([...two, invoice('a', { invoiceNumber: 'INV/1' })]).invoices).toHaveLength(1);
    for (const other of [{ totalAmount: '5001' }, { currency: 'EUR' }, { invoiceDate: '18/01/2026' }]) {
      expect(joinDocuments([bill('1', {}), invoice('a', { invoiceNumber: 'INV/1', ...other })]).invoices).toHaveLength(
        1,
      );
    }
    // A bill that names another invoice is not for this one.
    expect(
      joinDocuments([bill('1', { invoiceNo: 'INV/9' }), invoice('a', { invoiceNumber: 'INV/1' })]).invoices,
    ).toHaveLength(1);
  });

  it('takes a value that the bill lacks from its invoices, and marks what they contradict', () => {
    const lacking = bill('1', { fobValue: undefined, invoices: [{ invoiceNo: 'A' }, { invoiceNo: 'B' }] });
    const parts = [
      invoice('a', { invoiceNumber: 'A', totalAmount: '0.10' }),
      invoice('b', { invoiceNumber: 'B', totalAmount: '0.20' }),
    ];
    const [summed] = joinDocuments([lacking, ...parts]).bills;
    expect(summed?.cells.sbCumInvoiceValueinFCC).toMatchObject({ value: 0.3, mark: 'guess' });
    expect(summed?.cells.billNo).toMatchObject({ value: 'A', mark: 'guess', note: expect.stringMatching(/A, B/) });
    const [doubted] = joinDocuments([
      bill('1', { invoiceNo: 'A' }),
      invoice('a', { invoiceNumber: 'A', totalAmount: '9000' }),
    ]).bills;
    expect(doubted?.cells.sbCumInvoiceValueinFCC).toMatchObject({
      value: 5000,
      mark: 'guess',
      note: expect.stringMatching(/9000/),
    });
  });
});
