import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Workbook, type Cell, type Worksheet } from 'exceljs';
import { INVOICE_FIELDS } from '../../src/domain/rules/columns';
import type { Finding } from '../../src/domain/rules/finding';
import { annotateWorkbook } from '../../src/workbook/annotate';
import { checkWorkbook } from '../../src/workbook/check';
import { readWorkbook } from '../../src/workbook/read';
import { columnLetter } from '../../src/workbook/sheet/addresses';
import { partKey, readZip, unpack } from '../../src/workbook/ooxml/zip';
import { book, brief, cells, columnIndex, rawParts, zipOf } from './fixtures';

const load = async (file: Buffer): Promise<Workbook> => new Workbook().xlsx.load(Uint8Array.from(file).buffer);
const first = async (file: Buffer): Promise<Worksheet> => (await load(file)).worksheets[0] as Worksheet;
const partText = async (file: Buffer, name: string) => {
  const entry = (await readZip(file, 1000)).get(partKey(name));
  return entry ? (await unpack(entry)).toString('utf8') : '';
};

const fillOf = (cell: Cell) => (cell.fill?.type === 'pattern' ? cell.fill.fgColor?.argb : undefined);
const checkAndAnnotate = async (source: Buffer) => {
  const { errors, warnings } = await checkWorkbook(source);
  return annotateWorkbook({ source, findings: [...errors, ...warnings] });
};

/** Where the check writes, behind the columns of the template. */
const STATUS = columnIndex('serviceTypeModesValue') + 1;

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

test('failing cells are filled; Status and Errors show it row by row; a summary counts', async () => {
  const annotated = await checkAndAnnotate(await userBook());
  const workbook = await load(annotated);
  const sheet = workbook.worksheets[0] as Worksheet;
  expect(sheet.getRow(1).values).toEqual(expect.arrayContaining(['Status', 'Errors']));
  expect([2, 3, 4].map((row) => sheet.getCell(row, STATUS).value)).toEqual(['OK', 'Error', 'Warning']);
  expect(sheet.getCell(2, STATUS + 1).value).toBeNull();
  expect(sheet.getCell(3, STATUS + 1).value).toContain('Invalid date value "soon" in IRM Date');
  expect(sheet.getCell(3, STATUS + 1).value).toContain('Invalid value "Yes" in Is Vostro: write Y or N.');
  expect(sheet.getCell(4, STATUS + 1).value).toMatch(/^Warning: IRM AD Code/);
  expect(fillOf(sheet.getCell('G3'))).toBe('FFFFC7CD');
  expect(fillOf(sheet.getCell('R3'))).toBe('FFFFC7CD');
  expect(fillOf(sheet.getCell('E4'))).toBe('FFFFEB9B');
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
  expect(again.reading.ownColumns).toEqual([]);

  const workbook = await load(annotated);
  const sheet = workbook.worksheets[0] as Worksheet;
  sheet.getCell('G3').value = '05/01/2026';
  sheet.getCell('R3').value = 'N';
  sheet.getCell('E4').value = '0510001';
  sheet.getCell('B2').value = 999;
  const corrected = await checkAndAnnotate(Buffer.from(await workbook.xlsx.writeBuffer()));
  const result = await load(corrected);
  const rows = result.worksheets[0] as Worksheet;
  expect(rows.getCell(1, STATUS + 2).value).toBeNull();
  expect([2, 3, 4].map((row) => rows.getCell(row, STATUS).value)).toEqual(['Error', 'OK', 'OK']);
  expect([fillOf(rows.getCell('G3')), fillOf(rows.getCell('R3')), fillOf(rows.getCell('B2'))]).toEqual([
    undefined,
    undefined,
    'FFFFC7CD',
  ]);
  expect(result.worksheets.map(({ name }) => name)).toEqual(['Upload', 'Notes', 'eBRC Summary']);
});

test('errors of the service and the authority are written into the same cells; outcomes are in Status', async () => {
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
      { row: 2, status: 'certified', eBRCNumber: 'EB7', eBRCDate: '05012026' },
      { row: 3, status: 'needs_correction' },
    ],
  });
  const sheet = await first(annotated);
  expect([2, 3].map((row) => sheet.getCell(row, STATUS).value)).toEqual(['certified', 'Error']);
  expect(fillOf(sheet.getCell('F3'))).toBe('FFFFC7CD');
  expect(sheet.getCell(3, STATUS + 1).value).toBe("'=ERR19 IRM number and date do not match");
  expect([1, 2, 3].map((row) => sheet.getCell(row, STATUS + 2).value)).toEqual(['eBRC Number', 'EB7', null]);
  expect([1, 2, 3].map((row) => sheet.getCell(row, STATUS + 3).value)).toEqual(['eBRC Date', '2026-01-05', null]);
  const summary = (await load(annotated)).worksheets[1] as Worksheet;
  const counts = [3, 4].map((row) => [summary.getCell(row, 1).value, summary.getCell(row, 2).value]);
  expect(counts).toEqual([
    ['certified', 1],
    ['Error', 1],
  ]);
  const link = `<hyperlink ref="A${summary.rowCount}" location="'${sheet.name}'!F3"/>`;
  expect(String((await partsOf(annotated))['xl/worksheets/sheet2.xml'])).toContain(link);
  expect(summary.getCell(summary.rowCount, 3).value).toBe('IRM Number');
  expect(summary.getCell(summary.rowCount, 5).alignment).toMatchObject({ wrapText: true });
  expect((await checkWorkbook(annotated)).warnings.map(({ code }) => code)).not.toContain('unknown_column');
});

test('an error about a whole row is filled at its Status, and goes again', async () => {
  const source = await book([cells(), cells({ serialNo: 2, irmNumber: 'IRM2026000002' })]);
  const findings: Finding[] = [
    { severity: 'error', code: 'authority', row: 3, field: null, message: 'ERR23: available amount differs' },
  ];
  const annotated = await annotateWorkbook({ source, findings });
  const place = `${columnLetter(STATUS)}3`;
  const marked = await first(annotated);
  expect(marked.getCell(place).value).toBe('Error');
  expect(fillOf(marked.getCell(place))).toBe('FFFFC7CD');
  const clean = (await load(await annotateWorkbook({ source: annotated, findings: [] }))).worksheets[0] as Worksheet;
  expect(clean.getCell(place).value).toBe('OK');
  expect(fillOf(clean.getCell(place))).toBeUndefined();
});

test('a row whose invoice columns are empty is marked where the check refuses it, and else left out', async () => {
  const invoice = Object.fromEntries(INVOICE_FIELDS.map((field) => [field, null]));
  const rows = [cells(), cells({ serialNo: 2, ...invoice, isGstAvail: 'Y', gstinInvoiceNumber: 'G1' })];
  const source = await book([...rows, ...[3, 4].map((serialNo) => cells({ serialNo, ...invoice }))], (sheet) => {
    sheet.mergeCells(4, columnIndex('portCode'), 4, columnIndex('billNo'));
  });
  const sheet = await first(await checkAndAnnotate(source));
  expect([2, 3, 4, 5].map((row) => sheet.getCell(row, STATUS).value)).toEqual(['OK', 'Error', 'Error', null]);
});

test("a user's own Status column is not ours", async () => {
  const source = await book(
    [cells({ sacCode2: 'mine' })],
    (sheet) => (sheet.getCell(1, columnIndex('sacCode2')).value = 'Status'),
  );
  const sheet = await first(await checkAndAnnotate(source));
  expect(sheet.getCell(2, columnIndex('sacCode2')).value).toBe('mine');
  expect(sheet.getCell(2, STATUS).value).toBe('OK');
});

test('a rule or a name for a whole column costs nothing and stays as it is; so does the date system', async () => {
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
  expect(xml).toContain(rules);
  expect(xml.indexOf('<dataValidations')).toBeLessThan(xml.indexOf('<pageMargins'));
  const book = await partText(annotated, 'xl/workbook.xml');
  expect(book.replace(/<sheet xmlns:r[^>]*>/, '')).toBe(workbookXml);
});

/** The parts of a workbook by name, unpacked. */
const partsOf = async (file: Buffer) =>
  Object.fromEntries(
    await Promise.all(
      [...(await readZip(file, 1000)).values()].map(async (entry): Promise<[string, Buffer]> => [
        entry.name,
        await unpack(entry),
      ]),
    ),
  );

test('what no library carries stays byte for byte: charts, pivot tables, pictures, sheets of any weight', async () => {
  const parts = await partsOf(
    await book([cells({ irmDt: 'soon' })], (_, workbook) => void workbook.addWorksheet('Big')),
  );
  const heavy = String(parts['xl/worksheets/sheet2.xml']).replace(
    '<sheetData/>',
    '<sheetData/><mergeCells count="1"><mergeCell ref="A1:XFD1048576"/></mergeCells>',
  );
  const foreign = {
    'xl/worksheets/sheet2.xml': heavy,
    'xl/charts/chart1.xml': '<c:chartSpace xmlns:c="urn:c"/>',
    'xl/pivotTables/pivotTable1.xml': '<pivotTableDefinition/>',
    'xl/threadedComments/threadedComment1.xml': '<ThreadedComments/>',
    'xl/media/image1.png': Buffer.from('89504e470d0a1a0a00ff', 'hex'),
    'customXml/item1.xml': '<anything>\r\n</anything>',
  };
  const source = await zipOf({ ...parts, ...foreign });
  const after = await partsOf(await annotateWorkbook({ source, findings: (await checkWorkbook(source)).errors }));
  const before = await partsOf(source);
  const changed = Object.keys(after).filter((name) => !before[name]?.equals(after[name] ?? Buffer.alloc(0)));
  expect(Object.keys(before).filter((name) => !(name in after))).toEqual([]);
  expect(changed.sort()).toEqual([
    '[Content_Types].xml',
    'xl/_rels/workbook.xml.rels',
    'xl/styles.xml',
    'xl/workbook.xml',
    'xl/worksheets/sheet1.xml',
    'xl/worksheets/sheet3.xml',
  ]);
});

test('every part is declared and reached once, also after a second run', async () => {
  const once = await checkAndAnnotate(await userBook());
  for (const file of [once, await checkAndAnnotate(once)]) {
    const parts = await partsOf(file);
    const types = String(parts['[Content_Types].xml']);
    const declared = [...types.matchAll(/PartName="\/([^"]*)"/g)].map(([, name]) => name ?? '');
    expect(new Set(declared).size).toBe(declared.length);
    expect(declared.filter((name) => !(name in parts))).toEqual([]);
  }
});

test('styles do not grow with every run', async () => {
  const once = await checkAndAnnotate(await userBook());
  const twice = await checkAndAnnotate(once);
  const third = await checkAndAnnotate(twice);
  expect(await partText(third, 'xl/styles.xml')).toBe(await partText(twice, 'xl/styles.xml'));
});

test("the user's notes stay byte for byte, and fills of their own stay where a cell does not fail", async () => {
  const source = await book([cells({ irmDt: 'soon' }), cells({ serialNo: 2, irmNumber: 'OTHER' })], (sheet) => {
    sheet.getCell('G2').note = { texts: [{ font: { bold: true }, text: 'Meera: ' }, { text: 'late & <odd>' }] };
    // The fill of Excel's own style "Bad".
    sheet.getCell('H3').fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FFFFC7CE' } };
  });
  const marked = await checkAndAnnotate(source);
  const cleared = await annotateWorkbook({ source: marked, findings: [] });
  for (const file of [marked, cleared])
    expect(await partText(file, 'xl/comments1.xml')).toBe(await partText(source, 'xl/comments1.xml'));
  expect(fillOf((await first(marked)).getCell('G2'))).toBe('FFFFC7CD');
  const sheet = await first(cleared);
  expect([fillOf(sheet.getCell('G2')), fillOf(sheet.getCell('H3'))]).toEqual([undefined, 'FFFFC7CE']);
});

test('a file of another program: prefixes, no addresses, no style list, columns hidden to the edge', async () => {
  const parts = rawParts(
    '<x:cols><x:col min="1" max="1" width="20"/><x:col min="2" max="16384" width="9" hidden="1"/></x:cols><x:sheetData><x:row spans="1:1"><x:c t="inlineStr"><x:is><x:t>Serial No</x:t></x:is></x:c></x:row><x:row><x:c s="1"><x:v>1</x:v></x:c></x:row></x:sheetData>',
    { prefix: 'x' },
  );
  const annotated = await annotateWorkbook({
    source: await zipOf(parts),
    findings: [{ severity: 'error', code: 'example', row: 2, field: 'serialNo', message: 'a < b & "c" \u0000' }],
  });
  const sheet = await first(annotated);
  expect([1, 2].map((row) => sheet.getCell(row, 2).value)).toEqual(['Status', 'Error']);
  expect(sheet.getCell('C2').value).toBe('a < b & "c" ');
  expect(fillOf(sheet.getCell('A2'))).toBe('FFFFC7CD');
  expect([sheet.getColumn(2).hidden, sheet.getColumn(3).hidden, sheet.getColumn(4).hidden]).toEqual([
    false,
    false,
    true,
  ]);
  expect([...(await readWorkbook(annotated)).statuses]).toEqual([[2, 'Error']]);
});

test('a checked workbook that LibreOffice saved again: its marks are found and removed, the user’s texts stay', async () => {
  // Made by `soffice --headless --convert-to xlsx` from an annotated workbook.
  const source = await readFile(join(__dirname, 'saved-by-libreoffice.xlsx'));
  const checked = await checkWorkbook(source);
  expect(brief(checked.errors)).toEqual(['3 irmDt invalid_date', '3 isVostro invalid_yes_no']);
  expect([...checked.reading.statuses]).toEqual([
    [2, 'OK'],
    [3, 'Error'],
  ]);
  const cleared = await load(await annotateWorkbook({ source, findings: [] }));
  const sheet = cleared.worksheets[0] as Worksheet;
  expect([fillOf(sheet.getCell('G3')), fillOf(sheet.getCell('R3'))]).toEqual([undefined, undefined]);
  expect(JSON.stringify(sheet.getCell('G3').note)).toContain('ask Meera');
  expect(cleared.worksheets.map(({ name }) => name)).toEqual(['Upload', 'eBRC Summary']);
});

test('a formula in our own columns goes with the list that names it', async () => {
  const parts = await partsOf(await checkAndAnnotate(await book([cells()])));
  const letter = columnLetter(STATUS);
  const sheet = String(parts['xl/worksheets/sheet1.xml']).replace(
    new RegExp(`<c r="${letter}2"[^>]*>.*?</c>`),
    `<c r="${letter}2" t="str"><f>UPPER("ok")</f><v>OK</v></c>`,
  );
  const types = String(parts['[Content_Types].xml']).replace(
    '</Types>',
    '<Override PartName="/xl/calcChain.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.calcChain+xml"/></Types>',
  );
  const relations = String(parts['xl/_rels/workbook.xml.rels']).replace(
    '</Relationships>',
    '<Relationship Id="rId77" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/calcChain" Target="calcChain.xml"/></Relationships>',
  );
  const after = await partsOf(
    await checkAndAnnotate(
      await zipOf({
        ...parts,
        'xl/worksheets/sheet1.xml': sheet,
        '[Content_Types].xml': types,
        'xl/_rels/workbook.xml.rels': relations,
        'xl/calcChain.xml': `<calcChain><c r="${letter}2" i="1"/></calcChain>`,
      }),
    ),
  );
  expect(after['xl/calcChain.xml']).toBeUndefined();
  expect(String(after['[Content_Types].xml']) + String(after['xl/_rels/workbook.xml.rels'])).not.toContain('calcChain');
  expect(String(after['xl/worksheets/sheet1.xml'])).not.toContain('<f>UPPER');
});

test('a sheet that is filled to its edge has no room for columns; cells and summary still show it', async () => {
  const source = await book([cells({ irmDt: 'soon' })], (sheet) => {
    sheet.getCell('XFD2').value = 'far out';
  });
  const workbook = await load(await checkAndAnnotate(source));
  expect(fillOf((workbook.worksheets[0] as Worksheet).getCell('G2'))).toBe('FFFFC7CD');
  expect(workbook.worksheets[0]?.getCell('XFD2').value).toBe('far out');
  expect(workbook.getWorksheet('eBRC Summary')?.getCell('A3').value).toBe('Error');
});

test('a bracket in an attribute ends no tag', async () => {
  const sheet = `<cols><col min="1" max="1" x:note="a > b" xmlns:x="urn:x"/></cols><sheetData><row r="1" x:note='c > d' xmlns:x="urn:x"><c r="A1" t="inlineStr" x:note="e>"><is><t>Serial No</t></is></c></row><row r="2"><c r="A2" x:note=">"><v>7</v></c></row></sheetData>`;
  const findings: Finding[] = [{ severity: 'error', code: 'x', row: 2, field: 'serialNo', message: 'wrong' }];
  const annotated = await annotateWorkbook({ source: await zipOf(rawParts(sheet)), findings });
  const result = await first(annotated);
  expect([result.getCell('A1').value, result.getCell('A2').value]).toEqual(['Serial No', 7]);
  expect(result.getCell('C2').value).toBe('wrong');
  expect(await partText(annotated, 'xl/worksheets/sheet1.xml')).toContain('x:note="e&gt;"');
});
