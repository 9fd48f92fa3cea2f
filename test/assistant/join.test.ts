import { joinDocuments, type ReadDocument } from '../../src/assistant/drafts/join';
import { mapDocument } from '../../src/assistant/extraction/mapping';

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
    expect(joinDocuments([bill('1', {}), invoice('a', { invoiceNumber: 'INV/1', ...other })]).invoices).toHaveLength(1);
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
