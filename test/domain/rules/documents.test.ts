import { mappingRow } from '../../../dev/sample-mapping';
import { judgeCertified, judgeDocuments, type DocumentUse } from '../../../src/domain/rules/documents';
import type { Mapping } from '../../../src/domain/filing/mapping';

/** The sample's document of 03012026, worth 8,000 USD, of which 5,000 is mapped. */
const row = (changes: Partial<Mapping> = {}, at = 1) => mappingRow({ mappedIRMAmountFCC: 5_000, ...changes }, at);
const use = (changes: Partial<DocumentUse> = {}): DocumentUse => ({
  ...{ document: '1234567', on: '2026-01-03', amount: '3000', currency: 'USD' },
  ...{ filingId: 'F1', eBRCNumber: null, unknown: false },
  ...changes,
});
const certificate = (changes: Partial<DocumentUse> = {}) => use({ filingId: null, eBRCNumber: 'E1', ...changes });

function judge(uses: DocumentUse[], rows = [row()]) {
  const { objections, warnings } = judgeDocuments(rows, uses);
  return [
    ...objections.map(({ row: at, filings, certificates }) => ['error', at, ...filings, ...certificates].join(' ')),
    ...warnings.map(({ row: at }) => `warning ${at}`),
  ];
}

describe('the account of a document', () => {
  it('bears what is held and certified up to its value, to the paisa', () => {
    expect(judge([use()])).toEqual([]);
    expect(judge([use({ amount: '3000.01' })])).toEqual(['error 1 F1']);
    expect(judge([use({ amount: '2000' }), certificate({ amount: '1000.01' })])).toEqual(['error 1 F1 E1']);
  });
  it('is one for all rows of the file, whatever their IRM, and names the row that exceeds it', () => {
    const rows = [row(), row({ irmNumber: 'IRM2', sbCumInvoiceNumber: '01234567' }, 2)];
    expect(judge([], rows)).toEqual(['error 2']);
    expect(judge([], [row({ mappedIRMAmountFCC: 8_000 })])).toEqual([]);
  });
  it('only warns of the same number with another or an unknown date', () => {
    for (const on of ['2025-01-03', null]) {
      expect(judge([use({ on })])).toEqual([]);
      expect(judge([use({ on, amount: '3001' })])).toEqual(['warning 1']);
    }
  });
  it('adds no other currency, and is not kept for rows whose IRM is in another', () => {
    expect(judge([use({ currency: 'EUR', amount: '9000' })])).toEqual([]);
    expect(judge([use({ amount: '9000' })], [row({ irmFCC: 'EUR' })])).toEqual([]);
  });
  it('of another document is another one', () =>
    expect(judge([use({ document: '7654321', amount: '9000' })])).toEqual([]));
});

describe('a certificate that no row has', () => {
  const found = (changes: Partial<DocumentUse>) =>
    judgeCertified([row()], [certificate(changes)]).map(({ code, certificates }) => `${code} ${certificates.join()}`);

  it('stands against a row of its document, currency and amount, whatever its date', () => {
    expect(found({ amount: '5000.00', currency: 'usd', on: null })).toEqual(['already_certified E1']);
    for (const other of [{ amount: '3000' }, { amount: '5000', currency: 'EUR' }, { amount: '5000', document: '1' }])
      expect(found(other)).toEqual([]);
  });
  it('is none that a filing holds', () => expect(judgeCertified([row()], [use({ amount: '5000' })])).toEqual([]));
});
