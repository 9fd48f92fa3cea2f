import fc from 'fast-check';
import {
  errorTexts,
  judgeStatus,
  type SentRow,
  type StatusRecord,
  type StatusRecordEntry,
} from '../../../src/domain/service/request-status';

const sent = (serialNo: number, more: Partial<SentRow['mapping']> = {}): SentRow => ({
  position: serialNo - 1,
  serialNo,
  mapping: { irmNumber: 'IRM1', sbCumInvoiceNumber: `100${serialNo}`, ...more },
  eBRCNumber: null,
  eBRCDate: null,
});

function entry(row: SentRow, more: Partial<StatusRecordEntry> = {}): StatusRecordEntry {
  return {
    serialNo: String(row.serialNo),
    ...row.mapping,
    irmDt: '05012026',
    sbCumInvoiceDate: '03012026',
    eBRCNumber: `EBRC${row.serialNo}`,
    eBRCDt: '06012026',
    processingStatus: 'Processed',
    errorDetails: [],
    ...more,
  };
}

const errored = (row: SentRow, ...errorDetails: unknown[]) =>
  entry(row, { eBRCNumber: null, eBRCDt: null, processingStatus: 'Errored', errorDetails });

const record = (more: Partial<StatusRecord>): StatusRecord => ({
  processingStatus: 'Processed',
  recordProCount: 0,
  recordFailCount: 0,
  ebrcBulkGenStatusLst: [],
  ...more,
});

const one = sent(1);
const two = sent(2);
/** A row of the same IRM and document as the first one. */
const twin = sent(2, { sbCumInvoiceNumber: one.mapping.sbCumInvoiceNumber });
const known = { ...one, eBRCNumber: 'EBRC1', eBRCDate: '06012026' };
const certified = (eBRCNumber: string) => ({ outcome: 'certified', eBRCNumber });
const rejected = (...errors: string[]) => ({ outcome: 'errored', errors });
const open = { outcome: 'open' };

/** A request with this list and these fields has this verdict, and its rows these outcomes. */
type Judged = [rows: SentRow[], list: StatusRecordEntry[], outcomes: object[], more?: Partial<StatusRecord>];
const judged =
  (verdict: string) =>
  (...[rows, list, outcomes, more]: Judged) =>
    expect(judgeStatus(rows, record({ ebrcBulkGenStatusLst: list, ...more }))).toMatchObject({
      verdict,
      rows: outcomes,
    });
const final = judged('terminal');
const incomplete = judged('incomplete');
const notYet = judged('not_yet');
const denied = judged('errored');

const ERRORED = { processingStatus: 'Errored' };
const COUNTS = { ...ERRORED, recordProCount: 1, recordFailCount: 1 };
const FAILED = { ...ERRORED, recordFailCount: 1 };
const MORE = 'ERR38: more than available';
const ERR38 = errored(two, { errorCode: 'ERR38', errorMessage: 'more than available' });

describe('a final record', () => {
  it('certifies every row that is listed as Processed, with its day', () =>
    final([one], [entry(one)], [{ ...certified('EBRC1'), eBRCDate: '06012026' }]));
  it('reads a list that has every entry twice', () =>
    final([one, two], [entry(one), ERR38, entry(one), ERR38], [certified('EBRC1'), rejected(MORE)], COUNTS));
  it('keeps the certificates of an Errored request beside the authority’s words for the others', () =>
    final([one, two], [entry(one), ERR38], [certified('EBRC1'), rejected(MORE)], ERRORED));
  it('takes the rows that the list leaves out as errored where the counts leave no other outcome', () =>
    final([one, two], [entry(one)], [certified('EBRC1'), rejected('ERR36')], { ...COUNTS, errorDetails: ['ERR36'] }));
  it('reads the words in whatever case and with blanks around them', () =>
    final([one], [entry(one, { processingStatus: ' PROCESSED ', eBRCNumber: ' EBRC1 ' })], [certified('EBRC1')], {
      processingStatus: 'processed ',
    }));
  it('finds entries in another order and with other serial numbers by IRM and document', () => {
    const list = [entry(two, { serialNo: '7' }), entry(one, { serialNo: null })];
    final([one, two], list, [certified('EBRC1'), certified('EBRC2')]);
  });
  it('distinguishes rows of the same IRM and document by their serial numbers', () =>
    final([one, twin], [entry(twin), entry(one)], [certified('EBRC1'), certified('EBRC2')]));
  it('may have entries about rows that were never sent', () =>
    final([one], [entry(sent(9)), entry(one)], [certified('EBRC1')]));
  it('has the certificate of a row that is certified already, and counts the others', () =>
    final([known, two], [entry(one)], [certified('EBRC1'), rejected()], COUNTS));
  it('frees a row by an entry that names its document alone', () =>
    final([one], [{ ...errored(one), serialNo: null, irmNumber: null }], [rejected()], FAILED));
  it('frees a row beside the certificate of another one', () =>
    final([one, two], [errored(one, 'ERR19'), entry(two)], [rejected('ERR19'), certified('EBRC2')], ERRORED));
});

describe('a record leaves open', () => {
  it('rows that two different entries name', () =>
    incomplete([one, two], [entry(one), ERR38, entry(two)], [certified('EBRC1'), open], COUNTS));
  it('what the list and the counts leave out', () =>
    incomplete([one, two], [entry(one)], [certified('EBRC1'), open], { recordProCount: 1 }));
  it('what the counts show as processed', () =>
    incomplete([one, two], [entry(one)], [certified('EBRC1'), open], { recordProCount: 2 }));
  it('all rows where there are counts alone', () => incomplete([one, two], [], [open, open], COUNTS));
  it('a row whose certificate another row has already, or is given too', () => {
    incomplete([known, two], [entry(two, { eBRCNumber: 'EBRC1' })], [certified('EBRC1'), open]);
    incomplete([one, two], [entry(one), entry(two, { eBRCNumber: 'EBRC1' })], [certified('EBRC1'), open]);
  });
  it('a row whose Processed entry names no certificate', () =>
    incomplete([one], [entry(one, { eBRCNumber: ' ' })], [open], { recordProCount: 1 }));
  it('a row whose serial number is given for the IRM or document of another row', () =>
    incomplete([one, two], [entry(two, { serialNo: '1' }), entry(two)], [open, certified('EBRC2')]));
  it('rows of the same IRM and document without serial numbers', () =>
    incomplete([one, twin], [entry(one, { serialNo: null }), entry(twin, { serialNo: null })], [open, open]));
  it('a row whose Errored entry names a certificate, whatever the counts', () =>
    incomplete([one], [entry(one, ERRORED)], [open], FAILED));
  it('a row whose own entry has an unknown word, whatever the counts', () =>
    incomplete([one], [entry(one, { processingStatus: 'UnderProcess', eBRCNumber: null })], [open], FAILED));
  it('a row while there is a certificate that could not be placed, whatever the counts', () =>
    incomplete([one], [entry(one, { serialNo: null, sbCumInvoiceNumber: null })], [open], FAILED));
  it('a row of which an entry names another IRM or document, whatever the counts', () => {
    incomplete([one], [errored(two, 'ERR19')], [open], FAILED);
    incomplete([one], [errored(sent(1, { irmNumber: 'IRM9' }))], [open], FAILED);
  });
  it.each([{}, { irmNumber: null }, { serialNo: '7' }])(
    'an Errored row while another entry names a certificate that may be its own: %j',
    (more) => incomplete([one], [errored(one, 'ERR19'), entry(one, { serialNo: null, ...more })], [open], ERRORED),
  );
});

it.each([null, '', 'UnderProcess', 'Something New', 'Pending'])('a record waits at the word %p', (processingStatus) =>
  notYet([one], [entry(one)], [{}], { processingStatus }),
);

it('counts that fit only with certificates that the record does not list are a statement alone', () => {
  denied([known, two], [], [certified('EBRC1'), rejected()], COUNTS);
  denied([known, two, sent(3)], [entry(two)], [certified('EBRC1'), certified('EBRC2'), rejected()], {
    ...COUNTS,
    recordProCount: 2,
  });
});

it.each([0, null])('an Errored request with counts %p and no list is held back for a second look', (count) => {
  const more = { ...ERRORED, recordProCount: count, recordFailCount: count, errorDetails: ['ERR08: record count'] };
  denied([one], [], [rejected('ERR08: record count')], more);
});

it('error details are read in every form that they may have', () => {
  const details = ['ERR19: IRM', { code: 'ERR15', message: 'IFSC' }, { errorDescription: 'odd' }, { x: 1 }, 7, null];
  expect(errorTexts(details)).toEqual(['ERR19: IRM', 'ERR15: IFSC', 'odd', 'x: 1', '7', 'null']);
  expect(errorTexts([{ errorCode: 'ERR38', errorDetails: 'over balance' }])).toEqual(['ERR38: over balance']);
  const remarks = { code: 23, reason: 'amount', remarks: 'ask the bank', at: null };
  expect(errorTexts([remarks])).toEqual(['23: amount, ask the bank']);
  expect(errorTexts([{ errorCode: 'ERR15', description: 'IFSC', field: 'irmIfscCode' }])).toEqual(['ERR15: IFSC']);
  expect(errorTexts([{ errorCode: ' ', field: 'portCode' }])).toEqual(['field: portCode']);
});

const word = fc.constantFrom('Processed', 'Errored', 'UnderProcess', 'processed', '', null);
const oddEntry = fc.record({
  serialNo: fc.constantFrom('1', '2', '3', 'x', '', null),
  irmNumber: fc.constantFrom('IRM1', 'irm1', 'IRM2', null),
  irmDt: fc.constantFrom('05012026', null),
  sbCumInvoiceNumber: fc.constantFrom('1001', '01001', '1002', null),
  sbCumInvoiceDate: fc.constantFrom('03012026', null),
  eBRCNumber: fc.constantFrom('A', 'B', '', null),
  eBRCDt: fc.constantFrom('06012026', null),
  processingStatus: word,
  errorDetails: fc.array(fc.anything(), { maxLength: 2 }),
});
const oddRecord = fc.record({
  processingStatus: word,
  recordProCount: fc.constantFrom(0, 1, 2, null),
  recordFailCount: fc.constantFrom(0, 1, 2, null),
  errorDetails: fc.array(fc.string(), { maxLength: 2 }),
  ebrcBulkGenStatusLst: fc.array(oddEntry, { maxLength: 4 }),
});

it('whatever the service answers, a final verdict leaves no row open, gives no certificate twice, and frees what failed', () => {
  fc.assert(
    fc.property(oddRecord, (status) => {
      const { verdict, rows } = judgeStatus([one, two], status);
      expect(rows.map((row) => row.position)).toEqual([0, 1]);
      const numbers = rows.flatMap((row) => (row.outcome === 'certified' ? [row.eBRCNumber] : []));
      expect(new Set(numbers).size).toBe(numbers.length);
      if (!['processed', 'errored'].includes((status.processingStatus ?? '').toLowerCase()))
        expect(verdict).toBe('not_yet');
      if (verdict !== 'terminal') return;
      expect(rows.every((row) => row.outcome !== 'open')).toBe(true);
      const listed = status.ebrcBulkGenStatusLst.filter((each) => each.processingStatus === 'Errored').length;
      const freed = rows.filter((row) => row.outcome === 'errored').length;
      expect(freed).toBeLessThanOrEqual(Math.max(listed, status.recordFailCount ?? 0));
    }),
  );
});
