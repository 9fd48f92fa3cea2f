import { mkdtemp, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Workbook } from 'exceljs';
import type { Cell, Worksheet } from 'exceljs';
import { annotateWorkbook } from '../../src/workbook/annotate';
import { checkWorkbook } from '../../src/workbook/check';
import { readWorkbook } from '../../src/workbook/read';
import { readZip, unpack } from '../../src/workbook/zip';
import { book, brief, cells, columnIndex, rawParts, zipOf } from './fixtures';

const load = async (file: Buffer): Promise<Workbook> => new Workbook().xlsx.load(Uint8Array.from(file).buffer);
const first = async (file: Buffer): Promise<Worksheet> => (await load(file)).worksheets[0] as Worksheet;
const partText = async (file: Buffer, name: string) => {
  const entry = readZip(file, 1000).get(name);
  return entry ? (await unpack(entry)).toString('utf8') : '';
};

const fillOf = (cell: Cell) => (cell.fill?.type === 'pattern' ? cell.fill.fgColor?.argb : undefined);
const checkAndAnnotate = async (source: Buffer) => {
  const { errors, warnings } = await checkWorkbook(source);
  return annotateWorkbook({ source, findings: [...errors, ...warnings] });
};

/** Three rows: right, two errors, a warning; with the user's own formatting, notes, rules and sheets. */
const userBook = () =>
  book(
    [
      cells(),
      cells({ serialNo: 2, irmDt: 'soon', isVostro: 'Yes', mappedIRMAmountFCC: 100, sbCumInvoiceNumber: '8' }),
      cells({ serialNo: 3, irmAdCode: '510001', mappedIRMAmountFCC: 200, sbCumInvoiceNumber: '7' }),
    ],
    (sheet, workbook) => {
      sheet.getRow(1).font = { bold: true };
      sheet.getColumn(2).width = 33;
      sheet.views = [{ state: 'frozen', ySplit: 1 }];
      sheet.autoFilter = 'A1:C1';
      sheet.getCell('B3').fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FF00FF00' } };
      sheet.getCell('J3').numFmt = '#,##0.00 "USD"';
      sheet.getCell('P2').value = { formula: 'Q2*1', result: 8000 };
      sheet.getCell('G3').note = 'ask Meera';
      sheet.getCell('N2').value = { richText: [{ text: 'EXP/' }, { text: '2026/001', font: { italic: true } }] };
      sheet.addConditionalFormatting({
        ref: 'A1:A5',
        rules: [{ type: 'expression', priority: 1, formulae: ['A1>1'], style: { font: { bold: true } } }],
      });
      for (const row of [2, 3, 4])
        sheet.getCell(row, columnIndex('isVostro')).dataValidation = {
          type: 'list',
          allowBlank: true,
          formulae: ['"Y,N"'],
        };
      workbook.addWorksheet('Notes').getCell('A1').value = { text: 'Bank portal', hyperlink: 'https://bank.example' };
      workbook.definedNames.add("'Notes'!$A$1", 'Portal');
    },
  );

test('failing cells are filled and noted; Status and Errors say it row by row; a summary counts', async () => {
  const annotated = await checkAndAnnotate(await userBook());
  const workbook = await load(annotated);
  const sheet = workbook.worksheets[0] as Worksheet;
  expect(sheet.getRow(1).values).toEqual(expect.arrayContaining(['Status', 'Errors']));
  const status = columnIndex('serviceTypeModesValue') + 1;
  expect([2, 3, 4].map((row) => sheet.getCell(row, status).value)).toEqual(['OK', 'Error', 'Warning']);
  expect(sheet.getCell(2, status + 1).value).toBeNull();
  expect(sheet.getCell(3, status + 1).value).toContain('Invalid date value "soon" in irmDt');
  expect(sheet.getCell(3, status + 1).value).toContain('Invalid yesno value "Yes" in isVostro. Expected Y or N.');
  expect(sheet.getCell(4, status + 1).value).toMatch(/^Warning: irmAdCode/);
  expect(fillOf(sheet.getCell('G3'))).toBe('FFFFC7CE');
  expect(fillOf(sheet.getCell('R3'))).toBe('FFFFC7CE');
  expect(fillOf(sheet.getCell('E4'))).toBe('FFFFEB9C');
  expect(JSON.stringify(sheet.getCell('G3').note)).toContain('ask Meera');
  expect(JSON.stringify(sheet.getCell('G3').note)).toContain('Invalid date value');
  const summary = workbook.getWorksheet('eBRC Summary');
  expect(workbook.worksheets.map(({ name }) => name)).toEqual(['Upload', 'Notes', 'eBRC Summary']);
  expect(summary?.getCell('A2').value).toBe('Rows');
  expect(summary?.getCell('B2').value).toBe(3);
});

test('cells that did not fail keep value and formatting, and everything around them stays', async () => {
  const source = await userBook();
  const before = await first(source);
  const annotated = await checkAndAnnotate(source);
  const workbook = await load(annotated);
  const after = workbook.worksheets[0] as Worksheet;
  const touched = new Set(['G3', 'R3', 'E4']);
  before.eachRow((row, number) =>
    row.eachCell({ includeEmpty: true }, (cell) => {
      const same = after.getCell(cell.address);
      expect([cell.address, same.value]).toEqual([cell.address, cell.value]);
      if (!touched.has(cell.address)) expect([cell.address, same.style]).toEqual([cell.address, cell.style]);
      else expect(same.numFmt).toBe(cell.numFmt);
      expect(number).toBeLessThan(5);
    }),
  );
  expect(after.getColumn(2).width).toBe(33);
  expect(after.views[0]).toMatchObject({ state: 'frozen', ySplit: 1 });
  expect(after.autoFilter).toBe('A1:C1');
  expect(after.getCell('R2').dataValidation).toMatchObject({ type: 'list', formulae: ['"Y,N"'] });
  expect(JSON.stringify((after as unknown as { conditionalFormattings: unknown }).conditionalFormattings)).toContain(
    'A1>1',
  );
  expect(workbook.getWorksheet('Notes')?.getCell('A1').value).toEqual({
    text: 'Bank portal',
    hyperlink: 'https://bank.example',
  });
  expect(workbook.definedNames.getRanges('Portal').ranges).toEqual(['Notes!$A$1']);
});

test('the result is read again like the original, with its statuses, and a second run replaces the marks', async () => {
  const annotated = await checkAndAnnotate(await userBook());
  const again = await checkWorkbook(annotated);
  expect(brief(again.errors)).toEqual(brief((await checkWorkbook(await userBook())).errors));
  expect([...again.reading.statuses]).toEqual([
    [2, 'OK'],
    [3, 'Error'],
    [4, 'Warning'],
  ]);
  expect(again.reading.unknownColumns).toEqual([]);

  const workbook = await load(annotated);
  const sheet = workbook.worksheets[0] as Worksheet;
  sheet.getCell('G3').value = '05/01/2026';
  sheet.getCell('R3').value = 'N';
  sheet.getCell('E4').value = '0510001';
  sheet.getCell('B2').value = 999;
  const corrected = await checkAndAnnotate(Buffer.from(await workbook.xlsx.writeBuffer()));
  const result = await load(corrected);
  const rows = result.worksheets[0] as Worksheet;
  const status = columnIndex('serviceTypeModesValue') + 1;
  expect(rows.getCell(1, status + 2).value).toBeNull();
  expect([2, 3, 4].map((row) => rows.getCell(row, status).value)).toEqual(['Error', 'OK', 'OK']);
  expect([fillOf(rows.getCell('G3')), fillOf(rows.getCell('R3')), fillOf(rows.getCell('B2'))]).toEqual([
    undefined,
    undefined,
    'FFFFC7CE',
  ]);
  expect(JSON.stringify(rows.getCell('G3').note)).toBe('"ask Meera"');
  expect(JSON.stringify(rows.getCell('E4').note) ?? '').not.toContain('eBRC check');
  expect(result.worksheets.map(({ name }) => name)).toEqual(['Upload', 'Notes', 'eBRC Summary']);
});

test('what the service or the authority said lands in the same cells; outcomes stand in Status', async () => {
  const source = await book([cells(), cells({ serialNo: 2, mappedIRMAmountFCC: 100 })]);
  const annotated = await annotateWorkbook({
    source,
    findings: [
      {
        severity: 'error',
        code: 'authority',
        row: 3,
        field: 'irmNumber',
        message: '=ERR19 IRM number and date do not match',
      },
    ],
    rowOutcomes: [
      { row: 2, status: 'certified' },
      { row: 3, status: 'needs_correction' },
    ],
  });
  const sheet = await first(annotated);
  const status = columnIndex('serviceTypeModesValue') + 1;
  expect([2, 3].map((row) => sheet.getCell(row, status).value)).toEqual(['certified', 'Error']);
  expect(fillOf(sheet.getCell('F3'))).toBe('FFFFC7CE');
  expect(sheet.getCell(3, status + 1).value).toBe("'=ERR19 IRM number and date do not match");
});

test("a user's own Status column is not ours", async () => {
  const source = await book(
    [cells({ sacCode2: 'mine' })],
    (sheet) => (sheet.getCell(1, columnIndex('sacCode2')).value = 'Status'),
  );
  const sheet = await first(await checkAndAnnotate(source));
  expect(sheet.getCell(2, columnIndex('sacCode2')).value).toBe('mine');
  expect(sheet.getCell(2, columnIndex('serviceTypeModesValue') + 1).value).toBe('OK');
});

test('a rule or a name for a whole column costs nothing and stays; the 1904 date system stays', async () => {
  const header = '<c r="A1" t="str"><v>Serial No</v></c>';
  const rules =
    '<dataValidations count="1"><dataValidation type="list" xr:uid="{00000000-0002-0000-0000-000000000000}" sqref="A1:XFD1048576"><mc:AlternateContent xmlns:mc="x"><mc:Choice Requires="x12ac"><x12ac:list>1</x12ac:list></mc:Choice><mc:Fallback><formula1>"1,2"</formula1></mc:Fallback></mc:AlternateContent></dataValidation></dataValidations>';
  const parts = rawParts(
    `<sheetData><row r="1">${header}</row><row r="2"><c r="A2" s="1"><v>44565</v></c></row></sheetData>${rules}<pageMargins left="0.7" right="0.7" top="0.75" bottom="0.75" header="0.3" footer="0.3"/>`,
    { date1904: 'true' },
  );
  const workbookXml = String(parts['xl/workbook.xml']).replace(
    '</sheets>',
    '</sheets><definedNames><definedName name="All">\'Rows &amp;amp; more\'!$A$1:$XFD$1048576</definedName></definedNames>',
  );
  const annotated = await annotateWorkbook({
    source: await zipOf({ ...parts, 'xl/workbook.xml': workbookXml }),
    findings: [],
  });
  const xml = await partText(annotated, 'xl/worksheets/sheet1.xml');
  expect(xml).toContain(
    '<dataValidation type="list" sqref="A1:XFD1048576"><formula1>"1,2"</formula1></dataValidation>',
  );
  expect(xml.indexOf('<dataValidations')).toBeLessThan(xml.indexOf('<pageMargins'));
  const book = await partText(annotated, 'xl/workbook.xml');
  expect(book).toContain('date1904="1"');
  expect(book).toContain('<definedName name="All">');
});

test('a workbook that cannot be kept whole comes back with its first sheet', async () => {
  const source = await book([cells({ irmDt: 'soon' })], (sheet, workbook) => {
    workbook.addWorksheet('Big');
    sheet.getCell('B2').font = { bold: true };
  });
  const annotated = await annotateWorkbook({
    source: await zipOf(
      Object.fromEntries(
        await Promise.all(
          [...readZip(source, 100).values()].map(async (entry): Promise<[string, Buffer]> => {
            const bytes = await unpack(entry);
            return [
              entry.name,
              entry.name === 'xl/worksheets/sheet2.xml'
                ? Buffer.from(
                    bytes
                      .toString()
                      .replace(
                        '<sheetData/>',
                        '<sheetData/><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
                      ),
                  )
                : bytes,
            ];
          }),
        ),
      ),
    ),
    findings: (await checkWorkbook(source)).errors,
  });
  const workbook = await load(annotated);
  expect(workbook.worksheets.map(({ name }) => name)).toEqual(['Upload', 'eBRC Summary']);
  expect(workbook.worksheets[0]?.getCell('B2').font?.bold).toBe(true);
  expect(fillOf((workbook.worksheets[0] as Worksheet).getCell('G2'))).toBe('FFFFC7CE');
});

test('a file that is not read is not annotated', async () => {
  await expect(
    annotateWorkbook({ source: Buffer.from('d0cf11e0a1b11ae1', 'hex'), findings: [] }),
  ).rejects.toMatchObject({ name: 'WorkbookRefused', code: 'xls_format' });
});

test('the output file is written whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-annotate-'));
  const output = join(folder, 'checked.xlsx');
  const bytes = await annotateWorkbook({ source: await book([cells()]), findings: [], output });
  expect((await readFile(output)).equals(bytes)).toBe(true);
  expect(await readdir(folder)).toEqual(['checked.xlsx']);
  expect((await readWorkbook(output)).rows).toHaveLength(1);
});
