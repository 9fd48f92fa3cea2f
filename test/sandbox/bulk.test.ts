import { Workbook } from 'exceljs';
import { HOUR, irm, readyClient, seedOf, startSandbox, type Harness } from './support';
import { FIELDS, upload, workbookOf, type RowValues } from './workbook-support';

let harness: Harness;
let id: string;
beforeAll(async () => {
  harness = await startSandbox();
  id = await readyClient(harness);
});

const send = async (rows: (RowValues | null)[], options = {}) => upload(harness, id, await workbookOf(rows, options));

test('an accepted file is answered with its rows in file order', async () => {
  const answered = await send([
    { serialNo: 1, mappedIRMAmountFCC: 100 },
    null,
    { serialNo: 2, irmNumber: 'IRM2', irmFCC: 'EUR', sbCumInvoiceNumber: '77' },
  ]);
  expect(answered.status).toBe(200);
  expect(answered.data).toEqual({
    dgftAckId: expect.any(String),
    requestId: expect.any(String),
    ackStatus: 'Validated',
    recordResCount: 2,
    errorDetails: [],
    parsedRowCount: 2,
    irmNumbers: ['IRM1', 'IRM2'],
    irms: [
      {
        serialNo: 1,
        irmNumber: 'IRM1',
        irmDt: '12052026',
        irmAdCode: '0510060',
        irmIfscCode: 'HDFC0000060',
        sbCumInvoiceNumber: '1234567',
      },
      expect.objectContaining({ serialNo: 2, irmNumber: 'IRM2', sbCumInvoiceNumber: '77' }),
    ],
  });
});

describe('headers', () => {
  test('match without case, punctuation and order; unknown columns are ignored', async () => {
    const answered = await send([{ mappedIRMAmountFCC: 1 }], {
      header: (label: string) => ` ${label.toUpperCase().replaceAll(' ', '_')}. `,
      fields: [...FIELDS].reverse().concat('Remarks'),
    });
    expect(answered.status).toBe(200);
  });

  test('a missing mandatory column is missing in every row', async () => {
    const refused = await send([{}, {}], { fields: FIELDS.filter((field) => field !== 'billNo') });
    expect(refused.body.errors).toEqual([
      { row: 2, field: 'billNo', message: 'Required field billNo is missing' },
      { row: 3, field: 'billNo', message: 'Required field billNo is missing' },
    ]);
  });
});

test('a cell of dates with a number that is no day is no date', async () => {
  const workbook = new Workbook();
  await workbook.xlsx.load((await workbookOf([{}])) as unknown as ArrayBuffer);
  const cell = workbook.worksheets[0]!.getRow(2).getCell(FIELDS.indexOf('irmDt') + 1);
  cell.value = 1e12;
  cell.numFmt = 'dd/mm/yyyy';
  const refused = await upload(harness, id, Buffer.from(await workbook.xlsx.writeBuffer()));
  expect(refused.body.errors).toEqual([
    { row: 2, field: 'irmDt', message: expect.stringContaining('Invalid date value') },
  ]);
});

test('a link is read as its text, formatted or not', async () => {
  const hyperlink = 'https://books.example/7';
  const formatted = { text: { richText: [{ text: 'INV/' }, { font: { bold: true }, text: '7' }] }, hyperlink };
  const answered = await send([{ billNo: formatted as never }, { billNo: { text: 'INV/8', hyperlink } }]);
  expect(answered.status).toBe(200);
  const { filings } = await harness.sandbox.state();
  expect([...filings.values()].at(-1)?.rows.map(({ item }) => item.billNo)).toEqual(['INV/7', 'INV/8']);
});

test.each<[string, RowValues, string, string]>([
  ['no value', { irmNumber: null }, 'irmNumber', 'Required field irmNumber is missing'],
  ['only blanks', { irmNumber: ' \u00a0' }, 'irmNumber', 'Required field irmNumber is missing'],
  ['True', { isVostro: true }, 'isVostro', 'Invalid yesno value "TRUE" for isVostro. Expected Y or N'],
  ['words', { serialNo: 'one' }, 'serialNo', 'Invalid number value "one" for serialNo. Expected digits'],
  [
    'an impossible day',
    { irmDt: '31/02/2026' },
    'irmDt',
    'Invalid date value "31/02/2026" for irmDt. Expected a date as DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY, YYYY-MM-DD, or a real Excel date cell',
  ],
])('a cell with %s is reported once, with row, field and message', async (_what, values, field, message) => {
  const refused = await send([{ mappedIRMAmountFCC: 1 }, null, { mappedIRMAmountFCC: 1, ...values }]);
  const errors = [{ row: 4, field, message }];
  expect([refused.status, refused.body]).toEqual([
    400,
    { statusCode: 400, message: 'Excel validation failed', errors },
  ]);
});

describe('sums per IRM', () => {
  test('the row that passes the remittance is reported, once', async () => {
    const refused = await send([
      { mappedIRMAmountFCC: 6_000 },
      { mappedIRMAmountFCC: 5_000, serialNo: 2 },
      { mappedIRMAmountFCC: 1, serialNo: 3 },
    ]);
    expect(refused.body.errors).toEqual([
      { row: 3, field: 'mappedIRMAmountFCC', message: expect.stringContaining('remittance') },
    ]);
  });

  test('so is one that passes what is still available', async () => {
    const own = await startSandbox();
    const client = await readyClient(own);
    await upload(own, client, await workbookOf([{ mappedIRMAmountFCC: 9_000 }]));
    own.advance(2 * HOUR);
    await own.api.post('/irm/refresh', { platformCustomerId: client });
    const refused = await upload(own, client, await workbookOf([{ mappedIRMAmountFCC: 1_001 }]));
    expect(refused.body.errors).toEqual([
      { row: 2, field: 'mappedIRMAmountFCC', message: expect.stringContaining('still available 1000.00') },
    ]);
  });

  test('an IRM is the same one by the date of its issue and by that of its remittance', async () => {
    const own = await startSandbox({ seed: seedOf({ irms: [irm({ remittanceDate: '10052026' })] }) });
    const rows = [{ mappedIRMAmountFCC: 6_000 }, { mappedIRMAmountFCC: 5_000, irmDt: '10052026' }];
    const refused = await upload(own, await readyClient(own), await workbookOf(rows));
    expect(refused.body.errors).toEqual([
      { row: 3, field: 'mappedIRMAmountFCC', message: expect.stringContaining('remittance') },
    ]);
  });
});

describe('the file', () => {
  test('more than 999 rows are refused before any row is looked at', async () => {
    const refused = await send(Array.from({ length: 1_000 }, () => ({ irmNumber: null })));
    expect(refused.body.errors).toEqual([{ row: 1_001, field: 'file', message: expect.stringContaining('999') }]);
  });

  test('a file that is no workbook, a wrong part, a large one and wrong queries are 400s', async () => {
    const unreadable = await upload(harness, id, Buffer.from('not a workbook'), { fileName: 'old.xls' });
    expect(unreadable.body).toMatchObject({ statusCode: 400, message: 'Excel validation failed' });
    const file = await workbookOf([{}]);
    expect((await upload(harness, id, file, { part: 'sheet' })).body.errors).toEqual(['file: file is required']);
    expect((await upload(harness, id, file, { fileName: 'bulk.csv' })).body.errors).toHaveLength(1);
    const large = await upload(harness, id, Buffer.alloc(5 * 1024 * 1024 + 1));
    expect(large.body.errors).toEqual(['file: file must be at most 5 MB']);
    const queries = await upload(harness, id, file, { query: { uploadType: '1', decalarationFlag: 'yes' } });
    expect(queries.body.errors).toHaveLength(2);
  });
});

describe('the template', () => {
  const fetchTemplate = () => harness.api.get(`/irm/bulk-template?platformCustomerId=${id}`);

  test('has 37 columns, a row for each saved IRM, and can be filled and uploaded back', async () => {
    const answered = await fetchTemplate();
    expect(answered.status).toBe(200);
    expect(answered.headers.get('content-disposition')).toMatch(/filename="ebrc-bulk-base-2026-07-02\.xlsx"/);
    const workbook = new Workbook();
    await workbook.xlsx.load(answered.body);
    const sheet = workbook.worksheets[0]!;
    expect((sheet.getRow(1).values as string[]).filter(Boolean)).toHaveLength(37);
    expect(sheet.rowCount).toBe(4);
    const column = (label: string) => (sheet.getRow(1).values as string[]).indexOf(label);
    expect(sheet.getRow(2).getCell(column('IRM Number')).value).toBe('IRM1');
    for (const label of ['Is Vostro', 'Is Third Party Export', 'Is GST Avail']) {
      expect(sheet.getRow(2).getCell(column(label)).value).toBe('N');
    }
    expect(sheet.getRow(2).getCell(column('SB Cum Invoice Number')).value).toBeNull();
    for (const unused of [3, 4]) sheet.getRow(unused).values = [];
    const filled: Record<string, string | number> = {
      'Upload Type': 101,
      'Branch Sl No': 0,
      'SB Cum Invoice Number': '4711',
      'SB Cum Invoice Date': '01/06/2026',
      'Port Code': 'INNSA1',
      'Bill No': 'B1',
      'SB Cum Invoice FCC': 'USD',
      'SB Cum Invoice Value In FCC': 10,
      'Mapped IRM Amount FCC': 10,
    };
    for (const [label, value] of Object.entries(filled)) sheet.getRow(2).getCell(column(label)).value = value;
    const back = await upload(harness, id, Buffer.from(await workbook.xlsx.writeBuffer()));
    expect(back.body).toMatchObject({ success: true });
    expect(back.data).toMatchObject({ ackStatus: 'Validated', parsedRowCount: 1, irmNumbers: ['IRM1'] });
  });
});
