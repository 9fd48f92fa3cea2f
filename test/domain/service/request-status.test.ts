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
const outcomes = (rows: SentRow[], status: StatusRecord) => judgeStatus(rows, status).rows.map((row) => row.outcome);

describe('a record that is final', () => {
  it('certifies every row that is listed as Processed with its number and date', () => {
    const verdict = judgeStatus([one, two], record({ ebrcBulkGenStatusLst: [entry(one), entry(two)] }));
    expect(verdict).toMatchObject({
      verdict: 'terminal',
      rows: [
        { position: 0, outcome: 'certified', eBRCNumber: 'EBRC1', eBRCDate: '06012026' },
        { position: 1, outcome: 'certified', eBRCNumber: 'EBRC2' },
      ],
    });
  });

  it('reads a record that lists every entry twice, and leaves rows open that two different entries name', () => {
    const list = [entry(one), errored(two, 'ERR38')];
    const twice = [...list, ...list.map((each) => ({ ...each }))];
    const status = record({ processingStatus: 'Errored', recordProCount: 1, recordFailCount: 1 });
    expect(judgeStatus([one, two], { ...status, ebrcBulkGenStatusLst: twice })).toMatchObject({
      verdict: 'terminal',
      rows: [{ outcome: 'certified' }, { outcome: 'errored', errors: ['ERR38'] }],
    });
    const unlike = [...list, entry(two)];
    expect(outcomes([one, two], { ...status, ebrcBulkGenStatusLst: unlike })).toEqual(['certified', 'open']);
  });

  it('keeps the certificates of an Errored request beside the authority’s words for the others', () => {
    const list = [entry(one), errored(two, { errorCode: 'ERR38', errorMessage: 'more than available' })];
    const verdict = judgeStatus([one, two], record({ processingStatus: 'Errored', ebrcBulkGenStatusLst: list }));
    expect(verdict).toMatchObject({
      verdict: 'terminal',
      rows: [{ outcome: 'certified' }, { outcome: 'errored', errors: ['ERR38: more than available'] }],
    });
  });

  it('takes the rows that the list leaves out as errored where the counts leave no other outcome', () => {
    const status = record({
      processingStatus: 'Errored',
      recordProCount: 1,
      recordFailCount: 1,
      ebrcBulkGenStatusLst: [entry(one)],
      errorDetails: ['ERR36: Declaration flag'],
    });
    expect(judgeStatus([one, two], status)).toMatchObject({
      verdict: 'terminal',
      rows: [{ outcome: 'certified' }, { outcome: 'errored', errors: ['ERR36: Declaration flag'] }],
    });
  });

  it('reads the words in whatever case and with blanks around them', () => {
    const list = [entry(one, { processingStatus: ' PROCESSED ', eBRCNumber: ' EBRC1 ' })];
    expect(judgeStatus([one], record({ processingStatus: 'processed ', ebrcBulkGenStatusLst: list }))).toMatchObject({
      verdict: 'terminal',
      rows: [{ eBRCNumber: 'EBRC1' }],
    });
  });

  it('finds the entries of a list in another order and with other serial numbers by IRM and document', () => {
    const list = [entry(two, { serialNo: '7' }), entry(one, { serialNo: null })];
    expect(judgeStatus([one, two], record({ ebrcBulkGenStatusLst: list }))).toMatchObject({
      verdict: 'terminal',
      rows: [{ eBRCNumber: 'EBRC1' }, { eBRCNumber: 'EBRC2' }],
    });
  });

  it('distinguishes rows of the same IRM and document by their serial numbers', () => {
    const again = sent(2, { sbCumInvoiceNumber: one.mapping.sbCumInvoiceNumber });
    const list = [entry(again), entry(one)];
    expect(judgeStatus([one, again], record({ ebrcBulkGenStatusLst: list }))).toMatchObject({
      rows: [{ eBRCNumber: 'EBRC1' }, { eBRCNumber: 'EBRC2' }],
    });
  });
});

describe('a record that is not final', () => {
  it.each([null, '', 'UnderProcess', 'Something New', 'Pending'])('waits at the word %p', (processingStatus) => {
    const status = record({ processingStatus, ebrcBulkGenStatusLst: [entry(one)] });
    expect(judgeStatus([one], status).verdict).toBe('not_yet');
  });

  it('does not take Processed for final while the list and the counts leave a row out', () => {
    const status = record({ recordProCount: 1, ebrcBulkGenStatusLst: [entry(one)] });
    expect(judgeStatus([one, two], status)).toMatchObject({
      verdict: 'incomplete',
      rows: [{ outcome: 'certified' }, { outcome: 'open' }],
    });
  });

  it('frees no row by counts that show it processed', () => {
    const status = record({ recordProCount: 2, ebrcBulkGenStatusLst: [entry(one)] });
    expect(judgeStatus([one, two], status).verdict).toBe('incomplete');
  });

  it('takes counts that fit only with certificates that are known otherwise for a statement alone', () => {
    const known = { ...one, eBRCNumber: 'EBRC1', eBRCDate: '06012026' };
    const status = record({ processingStatus: 'Errored', recordProCount: 1, recordFailCount: 1 });
    expect(judgeStatus([one, two], status).verdict).toBe('incomplete');
    const rows = [
      { outcome: 'certified', eBRCNumber: 'EBRC1' },
      { outcome: 'errored', errors: [] },
    ];
    expect(judgeStatus([known, two], status)).toMatchObject({ verdict: 'errored', rows });
    const partly = { ...status, recordProCount: 2, ebrcBulkGenStatusLst: [entry(two)] };
    expect(judgeStatus([known, two, sent(3)], partly).verdict).toBe('errored');
    const listed = { ...status, ebrcBulkGenStatusLst: [entry(one)] };
    expect(judgeStatus([known, two], listed)).toMatchObject({ verdict: 'terminal', rows });
  });

  it('gives a certificate that a row has already to no other row', () => {
    const known = { ...one, eBRCNumber: 'EBRC1' };
    const list = [entry(two, { eBRCNumber: 'EBRC1' })];
    expect(outcomes([known, two], record({ ebrcBulkGenStatusLst: list }))).toEqual(['certified', 'open']);
  });

  it.each([0, null])('holds an Errored request with counts %p and no list back for a second look', (count) => {
    const counts = { recordProCount: count, recordFailCount: count };
    const status = record({ processingStatus: 'Errored', ...counts, errorDetails: ['ERR08: record count'] });
    expect(judgeStatus([one], status)).toMatchObject({
      verdict: 'errored',
      rows: [{ outcome: 'errored', errors: ['ERR08: record count'] }],
    });
  });

  it('leaves a row open whose Processed record names no certificate', () => {
    const list = [entry(one, { eBRCNumber: ' ' })];
    expect(judgeStatus([one], record({ recordProCount: 1, ebrcBulkGenStatusLst: list }))).toMatchObject({
      verdict: 'incomplete',
      rows: [{ outcome: 'open' }],
    });
  });

  it.each<[string, Partial<StatusRecordEntry>]>([
    ['whose Errored record names a certificate', { processingStatus: 'Errored' }],
    ['whose own record has an unknown word', { processingStatus: 'UnderProcess', eBRCNumber: null }],
    ['while the list has a certificate that it could not place', { serialNo: null, sbCumInvoiceNumber: null }],
  ])('never frees a row %s, whatever the counts', (_, more) => {
    const list = [entry(one, more)];
    const status = record({ processingStatus: 'Errored', recordFailCount: 1, ebrcBulkGenStatusLst: list });
    expect(judgeStatus([one], status)).toMatchObject({ verdict: 'incomplete', rows: [{ outcome: 'open' }] });
  });

  it('never frees a row that one entry reports Errored while another names a certificate that may be its own', () => {
    const later = entry(one, { serialNo: null });
    for (const stray of [later, { ...later, irmNumber: null }, { ...later, serialNo: '7' }]) {
      const status = record({ processingStatus: 'Errored', ebrcBulkGenStatusLst: [errored(one, 'ERR19'), stray] });
      expect(judgeStatus([one], status)).toMatchObject({ verdict: 'incomplete', rows: [{ outcome: 'open' }] });
    }
    const others = record({ processingStatus: 'Errored', ebrcBulkGenStatusLst: [errored(one, 'ERR19'), entry(two)] });
    expect(outcomes([one, two], others)).toEqual(['errored', 'certified']);
  });

  it('never frees a row by a record of another IRM or document, whatever the counts', () => {
    const status = (stray: StatusRecordEntry) =>
      record({ processingStatus: 'Errored', recordFailCount: 1, ebrcBulkGenStatusLst: [stray] });
    expect(judgeStatus([one], status(errored(two, 'ERR19'))).verdict).toBe('incomplete');
    expect(judgeStatus([one], status(errored(sent(1, { irmNumber: 'IRM9' })))).verdict).toBe('incomplete');
    expect(judgeStatus([one], status({ ...errored(one), serialNo: null, irmNumber: null })).verdict).toBe('terminal');
  });

  it('gives one certificate to one row alone', () => {
    const list = [entry(one), entry(two, { eBRCNumber: 'EBRC1' })];
    expect(outcomes([one, two], record({ ebrcBulkGenStatusLst: list }))).toEqual(['certified', 'open']);
  });

  it('ignores a serial number whose IRM or document is another row’s', () => {
    const list = [entry(two, { serialNo: '1' }), entry(two)];
    expect(outcomes([one, two], record({ ebrcBulkGenStatusLst: list }))).toEqual(['open', 'certified']);
  });

  it('leaves rows open that have the same IRM and document', () => {
    const again = sent(2, { sbCumInvoiceNumber: one.mapping.sbCumInvoiceNumber });
    const list = [entry(one, { serialNo: null }), entry(again, { serialNo: null })];
    expect(outcomes([one, again], record({ ebrcBulkGenStatusLst: list }))).toEqual(['open', 'open']);
  });

  it('ignores entries about rows that were never sent', () => {
    const list = [entry(sent(9)), entry(one)];
    expect(outcomes([one], record({ ebrcBulkGenStatusLst: list }))).toEqual(['certified']);
  });
});

it('reads error details in every form they may have', () => {
  const details = ['ERR19: IRM', { code: 'ERR15', message: 'IFSC' }, { errorDescription: 'odd' }, { x: 1 }, 7, null];
  expect(errorTexts(details)).toEqual(['ERR19: IRM', 'ERR15: IFSC', 'odd', 'x: 1', '7', 'null']);
});

it("keeps the authority's text for an error code, under any name", () => {
  const details = [
    { errorCode: 'ERR38', errorDetails: 'mapped amount exceeds the balance' },
    { code: 23, reason: 'amount', remarks: 'ask the bank', at: null },
    { errorCode: 'ERR15', description: 'IFSC', field: 'irmIfscCode' },
    { errorCode: ' ', field: 'portCode' },
  ];
  expect(errorTexts(details)).toEqual([
    'ERR38: mapped amount exceeds the balance',
    '23: amount, ask the bank',
    'ERR15: IFSC',
    'field: portCode',
  ]);
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

describe('whatever the service answers', () => {
  it('leaves no row open in a final verdict, and gives no certificate twice', () => {
    fc.assert(
      fc.property(oddRecord, (status) => {
        const { verdict, rows } = judgeStatus([one, two], status);
        expect(rows.map((row) => row.position)).toEqual([0, 1]);
        if (verdict === 'terminal') expect(rows.every((row) => row.outcome !== 'open')).toBe(true);
        const numbers = rows.flatMap((row) => (row.outcome === 'certified' ? [row.eBRCNumber] : []));
        expect(new Set(numbers).size).toBe(numbers.length);
      }),
    );
  });

  it("is final only when the request's own status is final", () => {
    fc.assert(
      fc.property(oddRecord, (status) => {
        const said = (status.processingStatus ?? '').toLowerCase();
        if (said !== 'processed' && said !== 'errored') {
          expect(judgeStatus([one, two], status).verdict).toBe('not_yet');
        }
      }),
    );
  });

  it('frees a row by the counts only if they show that it failed', () => {
    fc.assert(
      fc.property(oddRecord, (status) => {
        const { verdict, rows } = judgeStatus([one, two], status);
        const listed = status.ebrcBulkGenStatusLst.filter((each) => each.processingStatus === 'Errored').length;
        const freed = rows.filter((row) => row.outcome === 'errored').length;
        if (verdict === 'terminal') expect(freed).toBeLessThanOrEqual(Math.max(listed, status.recordFailCount ?? 0));
      }),
    );
  });
});
