import type { CellValue } from 'exceljs';
import { checkWorkbook } from '../../src/workbook/check';
import { readWorkbook } from '../../src/workbook/read';
import { columnLetter } from '../../src/workbook/sheet/addresses';
import { mapping } from '../../dev/sample-mapping';
import type { CellValues } from './fixtures';
import { HEADERS, book, brief, cells, columnIndex, rawParts, zipOf } from './fixtures';

const readOne = async (changes: CellValues) => {
  const reading = await readWorkbook(await book([cells(changes)]));
  return {
    mapping: reading.unchecked[0]?.mapping,
    extra: reading.unchecked[0]?.extra,
    findings: brief(reading.findings),
    messages: reading.findings.map(({ message }) => message),
  };
};

describe('worksheets', () => {
  const twoSheets = (state: 'visible' | 'hidden', second: string[][]) =>
    book([cells()], (sheet, workbook) => {
      sheet.state = state;
      workbook.addWorksheet('August').addRows(second);
    });

  test('a hidden first worksheet is an error: people see another one than is filed', async () => {
    const checked = await checkWorkbook(await twoSheets('hidden', [['Notes']]));
    expect(brief(checked.errors)).toEqual(['null null hidden_sheet']);
  });

  test('rows of a further worksheet that are not filed are named', async () => {
    const { ok, rowCount, warnings } = await checkWorkbook(await twoSheets('visible', [HEADERS, ['2']]));
    expect([ok, rowCount, brief(warnings)]).toEqual([true, 1, ['null null further_sheets']]);
    for (const second of [[HEADERS], [['Bill No'], ['2']], []]) {
      expect((await checkWorkbook(await twoSheets('visible', second))).warnings).toEqual([]);
    }
  });

  test('a further worksheet that is damaged does not matter', async () => {
    const bytes = Buffer.from(await twoSheets('visible', [HEADERS, ['2']]));
    const name = 'xl/worksheets/sheet2.xml';
    const data = bytes.indexOf(name) + name.length;
    bytes.fill(0xff, data, data + 40);
    expect(await checkWorkbook(bytes)).toMatchObject({ ok: true, warnings: [] });
  });
});

describe('headers', () => {
  test('case, punctuation and order do not matter; unknown columns are named and left out', async () => {
    const reading = await readWorkbook(
      await book([cells()], (sheet) => {
        sheet.getCell(1, columnIndex('irmNumber')).value = ' irm_NUMBER. ';
        sheet.getCell(1, columnIndex('sacCode2')).value = 'Remarks';
        sheet.getCell(2, columnIndex('sacCode2')).value = 'paid late';
        sheet.spliceColumns(1, 0, []);
      }),
    );
    expect(reading.rows).toEqual([{ row: 2, mapping: mapping() }]);
    expect(reading.ownColumns).toEqual([{ index: 37, letter: 'AK', header: 'Remarks' }]);
    expect(reading.columns.get('serialNo')?.letter).toBe('B');
    expect(brief(reading.findings)).toEqual(['null null template_unknown', '1 null unknown_column']);
  });

  test('a missing mandatory column is reported once, not once per row', async () => {
    const checked = await checkWorkbook(
      await book(
        [cells(), cells({ serialNo: 2 })],
        (sheet) => (sheet.getCell(1, columnIndex('portCode')).value = null),
      ),
    );
    expect(brief(checked.errors)).toEqual([
      '1 portCode missing_column',
      '3 null duplicate_mapping',
      '3 mappedIRMAmountFCC over_remittance',
    ]);
  });

  test('a column of the user’s own without a value needs no template', async () => {
    const { findings } = await readWorkbook(
      await book([cells()], (sheet) => (sheet.getCell(1, columnIndex('sacCode2')).value = 'Remarks')),
    );
    expect(brief(findings)).toEqual(['1 null unknown_column']);
  });

  test('two columns of one name are refused', async () => {
    const reading = await readWorkbook(
      await book([cells()], (sheet) => (sheet.getCell(1, columnIndex('sacCode1')).value = 'BILL NO')),
    );
    expect(reading.findings).toEqual([
      expect.objectContaining({
        row: 1,
        field: 'billNo',
        code: 'duplicate_header',
        message: expect.stringContaining('Columns N and AI are both "Bill No"'),
      }),
    ]);
  });

  test('headers in another row, an empty sheet, and headers alone give advice', async () => {
    const lower = await readWorkbook(
      await book([cells()], (sheet) => sheet.spliceRows(1, 0, ['Our filing for January'])),
    );
    expect(brief(lower.findings)).toEqual(['1 null no_header']);
    expect(brief((await readWorkbook(await book([]))).findings)).toEqual(['null null no_rows']);
  });
});

describe('dates', () => {
  test.each<[CellValue, string | undefined]>([
    ['05/01/2026', '05012026'],
    [' 05/01/2026\u00a0', '05012026'],
    [new Date('2026-01-05T00:00:00Z'), '05012026'],
    [new Date('2026-01-05T18:29:59Z'), '05012026'],
    [15012026, '15012026'],
    [5012026, undefined],
    [46027, undefined],
    ['31/02/2026', undefined],
    [true, undefined],
  ])('%p is %s', async (value, expected) => {
    const read = await readOne({ irmDt: value });
    expect(read.mapping?.irmDt).toBe(expected);
    expect(read.findings).toEqual(expected === undefined ? ['2 irmDt invalid_date'] : []);
  });

  test.each([
    [20052026, false, '20/05/2026'],
    [5052026, true, '05/05/2026'],
  ])('%p typed into a date cell is no date of the calendar (1904: %p): %s is offered', async (typed, date1904, day) => {
    const file = await book([cells()], (sheet, workbook) => {
      workbook.properties.date1904 = date1904;
      const cell = sheet.getCell(2, columnIndex('irmDt'));
      cell.value = typed;
      cell.numFmt = 'dd/mm/yyyy';
    });
    const { findings } = await readWorkbook(file);
    expect(brief(findings)).toEqual(['2 irmDt invalid_date']);
    expect(findings[0]?.message).toContain(`Invalid date value "${typed}"`);
    expect(findings[0]?.message).toContain(`Write ${day}, if that is meant.`);
  });

  test.each(['12.05.2026', '12-May-2026', '12 May 2026', '20260512', 20260512])(
    '%p names one day, in a form that the service does not read: the one to write is said',
    async (value) => {
      const { findings, messages } = await readOne({ irmDt: value });
      expect(findings).toEqual(['2 irmDt invalid_date']);
      expect(messages[0]).toContain('Write 12/05/2026.');
    },
  );

  test.each(['2026-05-12', '2026-05-12T14:30:00', '2026-05-12T00:00:00.000'])(
    'a date cell in words, %s',
    async (words) => {
      const cell = `<c r="B2" t="d"><v>${words}</v></c>`;
      const sheet = `<sheetData><row r="1"><c r="A1" t="str"><v>Serial No</v></c><c r="B1" t="str"><v>IRM Date</v></c></row><row r="2"><c r="A2"><v>1</v></c>${cell}</row></sheetData>`;
      expect((await readWorkbook(await zipOf(rawParts(sheet)))).unchecked[0]?.mapping.irmDt).toBe('12052026');
    },
  );

  test('the sentence is the one of the service, with a hint', async () => {
    expect((await readOne({ irmDt: 46027 })).messages).toEqual([
      'Invalid date value "46027" in IRM Date. Expected a date as DD/MM/YYYY, DD-MM-YYYY, DDMMYYYY, YYYY-MM-DD, or a real Excel date cell. The number looks like a date that lost its format. Format the cell as a date.',
    ]);
  });
});

describe('numbers, flags and text', () => {
  test.each<[CellValue, number | undefined, string?]>([
    [8000.5, 8000.5],
    ['8000.50', 8000.5],
    [' 8000 ', 8000],
    [{ formula: 'A2*8000', result: 1234.5600000000001 }, 1234.56],
    ['1,00,000', undefined, 'Write 100000.'],
    ['1,00,000.50', undefined, 'Write 100000.50.'],
    ['$ 8,000', undefined, 'Write 8000.'],
    ['USD 8000', undefined, 'Write 8000.'],
    // Other separators than of thousands: which amount is meant is a guess.
    ['10,50', undefined, 'currency signs.\n'],
    ['1.000,50', undefined, 'currency signs.\n'],
    ['1,0000', undefined, 'currency signs.\n'],
    ['12 34', undefined, 'currency signs.\n'],
    ["1'234.50", undefined, 'Write 1234.50.'],
    ['-5', undefined],
    ['8e3', undefined],
    ['eight', undefined],
    [true, undefined],
    [new Date('2026-01-05T00:00:00Z'), undefined, 'formatted as a date'],
    ['12345678901234567.89', undefined, 'more digits'],
  ])('amount %p is %s', async (value, expected, hint = '') => {
    const read = await readOne({ mappedIRMAmountFCC: value });
    expect(read.mapping?.mappedIRMAmountFCC).toBe(expected);
    expect(read.findings).toEqual(expected === undefined ? ['2 mappedIRMAmountFCC invalid_number'] : []);
    expect(`${read.messages.join()}\n`).toContain(hint);
  });

  test.each<[CellValue, string | undefined]>([
    ['Y', 'Y'],
    ['n', 'N'],
    [' y ', 'Y'],
    ['Yes', undefined],
    ['TRUE', undefined],
    [true, undefined],
    [1, undefined],
  ])('flag %p is %s', async (value, expected) => {
    const read = await readOne({ isVostro: value });
    expect(read.mapping?.isVostro).toBe(expected);
    expect(read.findings).toEqual(expected === undefined ? ['2 isVostro invalid_yes_no'] : []);
  });

  test.each<[CellValue, string | undefined]>([
    ['0510001', '0510001'],
    [510001, '510001'],
    ['\u00a0 0510001\u200b', '0510001'],
    ['\u202a05\u00ad10001\u200e', '0510001'],
    [{ richText: [{ text: '0510' }, { font: { bold: true }, text: '001' }] }, '0510001'],
    [{ text: '0510001', hyperlink: 'mailto:a@b.example' }, '0510001'],
    [{ formula: '"0510"&"001"', result: '0510001' }, '0510001'],
    [1234567890123456, undefined],
    [new Date('2026-01-05T00:00:00Z'), undefined],
    [{ error: '#N/A' }, undefined],
    [{ formula: 'A1' }, undefined],
  ])('text %p is %s', async (value, expected) => {
    const read = await readOne({ irmAdCode: value });
    expect(read.mapping?.irmAdCode).toBe(expected);
    expect(read.findings).toEqual(expected === undefined ? ['2 irmAdCode invalid_text'] : []);
  });

  const formatted = async (field: keyof CellValues, value: number, numFmt: string) => {
    const file = await book([cells({ [field]: value })], (sheet) => {
      sheet.getCell(2, columnIndex(field)).numFmt = numFmt;
    });
    const { unchecked, findings } = await readWorkbook(file);
    return (unchecked[0]?.mapping as Record<string, unknown>)[field] ?? brief(findings).join();
  };

  const BAD_ID = '2 billNo invalid_text';
  test.each<[number, string, string]>([
    [510001, '0000000', '0510001'],
    [510001, '0000000;-0000000', '0510001'],
    [510001, '0000000_);@', '0510001'],
    [510001, '#,##0.00', '510001'],
    [510001, '0.00E+00', '510001'],
    [510001, '[>=10000000]##\\,##\\,##\\,##0;[>=100000]##\\,##\\,##0;##,##0', '510001'],
    [510001, '[$-4009]General', '510001'],
    [12.1, 'General', '12.1'],
    [12.1, '0.00', BAD_ID],
    [1234.6, '0', BAD_ID],
    [12, '"EXP/"0000', BAD_ID],
    [1234567, '000-0000', BAD_ID],
    [262712, '00\\/00\\/00', BAD_ID],
    [12, '[$INV-409]0', BAD_ID],
    [0.12, '0%', BAD_ID],
    [0.5, 'h:mm', BAD_ID],
  ])('the identifier of a cell with %p as %s is %s', async (value, format, expected) => {
    expect(await formatted('billNo', value, format)).toBe(expected);
  });

  const BAD_AMOUNT = '2 mappedIRMAmountFCC invalid_number';
  test.each<[number, string, number | string]>([
    [1234.5, '[$USD] #,##0.00', 1234.5],
    [1234.5, '"Rs. "#,##0.00_);[Red]\\("Rs. "#,##0.00\\)', 1234.5],
    [1234.5, '_-* #,##0.00\\ _€_-;-* #,##0.00\\ _€_-;_-* "-"??\\ _€_-;_-@_-', 1234.5],
    [123456.5, '[>=10000000]##\\,##\\,##\\,##0.00;[>=100000]##\\,##\\,##0.00;##,##0.00', 123456.5],
    // 50% typed into the cell, 12:30 in the place of 12.30, hours, thousands, and what is hidden.
    [0.5, '0%', BAD_AMOUNT],
    [0.520833333333333, 'h:mm', BAD_AMOUNT],
    [52.5, '[h]:mm:ss', BAD_AMOUNT],
    [52.5, '[hh]', BAD_AMOUNT],
    [12_345, '0.00,"K"', BAD_AMOUNT],
    // 5 thousand and 2.5 lakh, typed without their noughts.
    [5, '#,##0",000"', BAD_AMOUNT],
    [5, '0\\0\\0', BAD_AMOUNT],
    [2.5, '0.0" lakh"', BAD_AMOUNT],
    [2.5, '"USD "0.0"M"', BAD_AMOUNT],
    [777, ';;;', BAD_AMOUNT],
    [777, '"paid"', BAD_AMOUNT],
  ])('the amount of a cell with %p as %s is %p', async (value, format, expected) => {
    expect(await formatted('mappedIRMAmountFCC', value, format)).toBe(expected);
  });

  test.each<[number, string, string[]]>([
    [7999.5, '0', ['2 mappedIRMAmountFCC shown_rounded']],
    [7999.5, '#,##0', ['2 mappedIRMAmountFCC shown_rounded']],
    [7999.5, '"USD" #,##0_);[Red](#,##0)', ['2 mappedIRMAmountFCC shown_rounded']],
    [10.25, '0.0', ['2 mappedIRMAmountFCC shown_rounded']],
    [10.25, '0.0#', []],
    [10.25, '#,##0.00', []],
    [10.25, '0.00E+00', []],
    [8000, '0', []],
  ])('an amount that the cell shows rounded warns: %p as %s', async (value, format, expected) => {
    const file = await book([cells({ mappedIRMAmountFCC: value })], (sheet) => {
      sheet.getCell(2, columnIndex('mappedIRMAmountFCC')).numFmt = format;
    });
    const { unchecked, findings } = await readWorkbook(file);
    expect([unchecked[0]?.mapping.mappedIRMAmountFCC, brief(findings)]).toEqual([value, expected]);
  });

  test('a formula that gives an empty text is an empty cell', async () => {
    const formula = { formula: 'IF(A2="","",A2)', result: '' };
    const read = await readOne({ gstinInvoiceNumber: formula });
    expect(read.findings).toEqual([]);
    const blank = Object.fromEntries(Object.keys(cells()).map((field) => [field, formula]));
    expect((await readWorkbook(await book([cells(), blank]))).unchecked).toHaveLength(1);
  });

  test('a filled optional column is kept for the bulk channel; the preset N is not one', async () => {
    expect((await readOne({ isThirdPartyExport: 'N' })).extra).toBeUndefined();
    expect((await readOne({ isThirdPartyExport: 'y', commissionValDeduct: '10.50', sacCode1: 998311 })).extra).toEqual({
      'Is Third Party Export': 'Y',
      'Commission Val Deduct': '10.50',
      'SAC Code 1': 998311,
    });
    expect((await readOne({ isThirdPartyExport: 'no' })).findings).toEqual(['2 isThirdPartyExport invalid_yes_no']);
  });
});

describe('rows', () => {
  test('blank rows are skipped, whatever kind of nothing fills them', async () => {
    const reading = await readWorkbook(
      await book(
        [cells(), { billNo: ' ', portCode: '\u00a0' }, {}, cells({ serialNo: 2, mappedIRMAmountFCC: 1 })],
        (sheet) => {
          sheet.getCell(4, 3).fill = { type: 'pattern', pattern: 'solid', fgColor: { argb: 'FFFF0000' } };
        },
      ),
    );
    expect(reading.unchecked.map(({ row }) => row)).toEqual([2, 5]);
    expect(reading.findings).toEqual([]);
  });

  test('hidden rows are filed and reported', async () => {
    const reading = await readWorkbook(
      await book([cells(), cells({ serialNo: 2 }), cells({ serialNo: 3 })], (sheet) => {
        sheet.getRow(2).hidden = true;
        sheet.getRow(4).hidden = true;
      }),
    );
    expect(reading.unchecked).toHaveLength(3);
    expect(reading.findings).toEqual([
      expect.objectContaining({
        severity: 'warning',
        row: 2,
        code: 'hidden_rows',
        message: expect.stringContaining('Rows 2 and 4 are hidden'),
      }),
    ]);
  });

  const rawSheet = (row: string, before = '', after = '') => {
    const texts = (number: number, values: readonly string[]) =>
      values.map((text, at) => `<c r="${columnLetter(at + 1)}${number}" t="inlineStr"><is><t>${text}</t></is></c>`);
    const header = `<row r="1">${texts(1, HEADERS).join('')}</row>`;
    const data = `<row r="2" ${row}>${texts(
      2,
      HEADERS.map((header) => (header === 'SB Cum Invoice Number' ? '1234567' : '')),
    ).join('')}</row>`;
    return zipOf(rawParts(`${before}<sheetData>${header}${data}</sheetData>${after}`));
  };

  test('a row without height and a column without width are hidden too', async () => {
    const file = await rawSheet(
      'ht="0" customHeight="1"',
      '<cols><col min="3" max="3" width="0" customWidth="1"/></cols>',
    );
    const codes = brief((await readWorkbook(file)).findings);
    expect(codes).toEqual(expect.arrayContaining(['null null hidden_columns', '2 null hidden_rows']));
    const shown = await readWorkbook(await rawSheet('ht="10"', '<cols><col min="3" max="3" width="9"/></cols>'));
    expect(brief(shown.findings).filter((finding) => finding.includes('hidden'))).toEqual([]);
  });

  test('headers under a merged cell are an error: nobody sees which column is which', async () => {
    const { findings } = await readWorkbook(
      await rawSheet('', '', '<mergeCells><mergeCell ref="B1:C1"/></mergeCells>'),
    );
    expect(brief(findings)).toContain('1 branchSlNo merged_cell');
  });

  test('one hidden row is spoken of as one', async () => {
    const reading = await readWorkbook(await book([cells()], (sheet) => void (sheet.getRow(2).hidden = true)));
    expect(reading.findings.map(({ message }) => message)).toEqual([
      'Row 2 is hidden but is filed like the others. Show it to check it, or delete it.',
    ]);
  });

  test('hidden columns are filed and reported', async () => {
    const hide = async (letters: string[]) => {
      const bytes = await book([cells()], (sheet) =>
        letters.forEach((letter) => (sheet.getColumn(letter).hidden = true)),
      );
      return (await readWorkbook(bytes)).findings.map(({ code, message }) => [code, message]);
    };
    expect(await hide(['C'])).toEqual([
      ['hidden_columns', 'Column C is hidden but is filed like the others. Show it to check it.'],
    ]);
    expect((await hide(['C', 'E']))[0]?.[1]).toContain('Columns C and E are hidden');
    expect(await hide(['ZZ'])).toEqual([]);
  });

  test('a cell covered by a merged one is missing, with the reason', async () => {
    const checked = await checkWorkbook(
      await book([cells(), cells({ serialNo: 2, irmNumber: null, mappedIRMAmountFCC: 1 })], (sheet) =>
        sheet.mergeCells(2, columnIndex('irmNumber'), 3, columnIndex('irmNumber')),
      ),
    );
    expect(checked.errors).toEqual([
      {
        severity: 'error',
        code: 'merged_cell',
        row: 3,
        field: 'irmNumber',
        column: 'F',
        message:
          'Required field IRM Number is missing: the cell is merged into F2; unmerge the cells and write the value in every row.',
      },
    ]);
  });

  test('more rows than one filing has are refused with the row to cut at, more than the limit before any row is read', async () => {
    const many = Array.from({ length: 1000 }, (_, index) => cells({ serialNo: index + 1, irmDt: 'never' }));
    const file = await book(many);
    expect(brief((await checkWorkbook(file)).errors)).toContain('1001 null too_many_rows');
    expect(brief((await readWorkbook(file, { limits: { rows: 999 } })).findings)).toEqual(['null null too_many_rows']);
  });

  test('every error of a row at once, each cell once, with its column letter', async () => {
    const checked = await checkWorkbook(
      await book([
        cells({
          irmDt: 'soon',
          isGstAvail: 'Yes',
          mappedIRMAmountFCC: '1,000',
          sbCumInvoiceNumber: 'EXP-1',
          portCode: null,
          gstinInvoiceNumber: 'G1',
        }),
      ]),
    );
    expect(checked.errors.map(({ column, code }) => `${column} ${code}`)).toEqual([
      'G invalid_date',
      'Q invalid_number',
      'S invalid_yes_no',
      'M missing',
      'K not_a_shipping_bill_number',
    ]);
  });
});

describe('workbooks of other programs', () => {
  const inline = (address: string, text: string) =>
    `<c r="${address}" t="inlineStr"><is><t xml:space="preserve">${text}</t></is></c>`;
  const header = (cell: (text: string, index: number) => string) =>
    HEADERS.map((text, index) => cell(text, index)).join('');
  const letter = (index: number) =>
    index < 26 ? String.fromCharCode(65 + index) : `A${String.fromCharCode(39 + index)}`;
  const expected = [{ row: 2, mapping: mapping({ irmRemitAmtFCC: 10000.5 }) }];

  /** The row of {@link cells} with dates as numbers of style 1 and an amount in a rupee format of escaped letters. */
  const row = (address: (index: number) => string, serial: number) =>
    header((_, index) => {
      const field = Object.keys(cells())[index];
      const value = field === undefined ? null : cells()[field];
      if (field === 'irmDt') return `<c${address(index)} s="1"><v>${serial}</v></c>`;
      if (field === 'irmRemitAmtFCC') return `<c${address(index)} s="2"><v>10000.5</v></c>`;
      if (value === null || index > 18) return '';
      return typeof value === 'number'
        ? `<c${address(index)}><v>${value}</v></c>`
        : `<c${address(index)} t="inlineStr"><is><t>${value as string}</t></is></c>`;
    });

  test('inline strings, both date systems spelt in words, an absolute part name and another sheet file name', async () => {
    const sheet = (serial: number) =>
      `<sheetData><row r="1">${header((text, index) => inline(`${letter(index)}1`, text))}</row><row r="2">${row((index) => ` r="${letter(index)}2"`, serial)}</row></sheetData>`;
    for (const [date1904, serial] of [
      ['false', 46027],
      ['true', 44565],
      ['1', 44565],
    ] as const) {
      const reading = await readWorkbook(await zipOf(rawParts(sheet(serial), { date1904, sheet: 'Sheet_A' })));
      expect(reading.findings).toEqual([]);
      expect(reading.rows).toEqual(expected);
    }
  });

  test('a value in a cell that a merged one covers is not filed, since nobody sees it', async () => {
    const sheet = `<sheetData><row r="1">${header((text, index) => inline(`${letter(index)}1`, text))}</row><row r="2">${row((index) => ` r="${letter(index)}2"`, 46027)}</row><row r="3">${row((index) => ` r="${letter(index)}3"`, 46027)}</row></sheetData><mergeCells count="2"><mergeCell ref="F2:F3"/><mergeCell ref="A2:A2"/></mergeCells>`;
    const reading = await readWorkbook(await zipOf(rawParts(sheet)));
    expect(reading.rows).toEqual(expected);
    expect(brief(reading.findings)).toEqual(['3 irmNumber merged_cell']);
    expect(reading.findings[0]?.message).toBe(
      'IRM Number has a value that is not shown: the cell is merged into F2; unmerge the cells and write the value in every row.',
    );
  });

  test('rows and cells without addresses', async () => {
    const sheet = `<sheetData><row>${header((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`)}</row><row>${row(() => '', 46027)}</row></sheetData>`;
    expect((await readWorkbook(await zipOf(rawParts(sheet)))).rows).toEqual(expected);
  });

  test('prefixed element names and ISO date cells', async () => {
    const plain = `<sheetData><row r="1">${header((text, index) => inline(`${letter(index)}1`, text))}</row><row r="2">${row((index) => ` r="${letter(index)}2"`, 0)}</row></sheetData>`;
    const prefixed = plain
      .replace(/<c([^<>]*) s="1"><v>0<\/v>/, '<c$1 t="d"><v>2026-01-05T00:00:00</v>')
      .replace(/<(\/?)(?=[a-z])/gi, '<$1x:');
    const reading = await readWorkbook(await zipOf(rawParts(prefixed, { prefix: 'x' })));
    expect(reading.findings).toEqual([]);
    expect(reading.rows).toEqual(expected);
  });

  test('a formula that no program has calculated yet', async () => {
    const sheet = `<sheetData><row r="1">${header((text, index) => inline(`${letter(index)}1`, text))}</row><row r="2">${row((index) => ` r="${letter(index)}2"`, 46027).replace(/<c r="F2".*?<\/c>/, '<c r="F2"><f>A1</f><v></v></c>')}</row></sheetData>`;
    const reading = await readWorkbook(await zipOf(rawParts(sheet)));
    expect(reading.findings).toEqual([
      expect.objectContaining({
        field: 'irmNumber',
        code: 'invalid_text',
        message: expect.stringContaining('no stored result'),
      }),
    ]);
  });
});

describe('XML as other programs write it', () => {
  const cell = (field: string, value: CellValue) =>
    typeof value === 'string' || typeof value === 'number'
      ? `<c r="${columnLetter(columnIndex(field))}@" t="inlineStr"><is><t xml:space="preserve">${value}</t></is></c>`
      : '';
  const row = (number: number, values: CellValues) =>
    `<row r="${number}">${Object.entries(values)
      .sort(([a], [b]) => columnIndex(a) - columnIndex(b))
      .map(([field, value]) => cell(field, value).replace('@', String(number)))
      .join('')}</row>`;
  const headers = Object.fromEntries(
    Object.keys(cells()).map((field) => [field, HEADERS[columnIndex(field) - 1] ?? '']),
  );
  const sheet = `<sheetData>${row(1, headers)}${row(2, cells())}${row(3, cells({ serialNo: 2 }))}</sheetData>`;
  const read = async (xml: string) => readWorkbook(await zipOf(rawParts(xml)));
  const bills = async (xml: string) => {
    const { rows, findings } = await read(xml);
    expect(brief(findings)).toEqual([]);
    return rows.map(({ mapping: { billNo } }) => billNo);
  };
  const usual = ['EXP/2026/001', 'EXP/2026/001'];

  test.each<[string, (xml: string) => string, string[]]>([
    ['nothing unusual', (xml) => xml, usual],
    ['every tag on a line of its own', (xml) => xml.replace(/<(?!\/t>)/g, '\n  <'), usual],
    ['blanks in end tags', (xml) => xml.replace(/<(\/\w+)>/g, '<$1 >'), usual],
    ['CDATA', (xml) => xml.replace('EXP/2026/001', 'A&amp;<![CDATA[<B>&]]>C'), ['A&<B>&C', 'EXP/2026/001']],
    ['a comment within a value', (xml) => xml.replace('EXP/2026/001', 'EXP/<!-- 9 -->2026/001'), usual],
    ['a row in a comment', (xml) => xml.replace(/(<row r="3">.*<\/row>)/, '<!-- $1 -->'), ['EXP/2026/001']],
    ['instructions between rows', (xml) => xml.replace('<row r="3">', '<?page <row?><row r="3">'), usual],
    [
      'a value of blanks',
      (xml) =>
        xml.replace('</sheetData>', '<row r="4"><c r="A4" t="inlineStr"><is><t> </t></is></c></row></sheetData>'),
      usual,
    ],
  ])('%s', async (_what, change, expected) => {
    expect(await bills(change(sheet))).toEqual(expected);
  });

  test.each(['_x0000_', '_xD800_'])('%s, an escape for what nothing can carry, is an error', async (escape) => {
    const { findings } = await read(sheet.replace('EXP/2026/001', `A${escape}`));
    expect(brief(findings)).toEqual(['2 billNo control_character']);
  });

  test('a comment in the shared strings does not move them', async () => {
    const xml = sheet.replace(/<c r="N2" .*?<\/c>/, '<c r="N2" t="s"><v>0</v></c>');
    const parts = rawParts(xml);
    const relations = 'xl/_rels/workbook.xml.rels';
    const strings = '<Relationship Id="rId9" Type="http://x.example/sharedStrings" Target="sharedStrings.xml"/>';
    const file = await zipOf({
      ...parts,
      [relations]: (parts[relations] ?? '').replace('</Relationships>', `${strings}</Relationships>`),
      'xl/sharedStrings.xml': '<sst><!-- <si><t>OLD</t></si> --><si>\n<t>NEW</t >\n</si></sst>',
    });
    expect((await readWorkbook(file)).rows.map(({ mapping: { billNo } }) => billNo)).toEqual(['NEW', 'EXP/2026/001']);
  });

  test.each(['latin1', 'utf16le'] as const)('text in %s is what it says', async (encoding) => {
    const parts = rawParts(sheet.replace('EXP/2026/001', 'Caf\u00e9'));
    const part = 'xl/worksheets/sheet1.xml';
    const declared = (parts[part] ?? '').replace(
      '?>',
      ` encoding="${encoding === 'latin1' ? 'ISO-8859-1' : 'UTF-16'}"?>`,
    );
    const file = await zipOf({ ...parts, [part]: Buffer.from(declared, encoding) });
    expect((await readWorkbook(file)).rows[0]?.mapping.billNo).toBe('Caf\u00e9');
  });

  test.each<[string, (xml: string) => string]>([
    ['a sheet that is cut off after a row', (xml) => xml.slice(0, xml.indexOf('<row r="3">'))],
    ['a comment without an end', (xml) => xml.replace('<row r="3">', '<!-- <row r="3">')],
    ['two rows of one number', (xml) => xml.replace('<row r="3">', '<row r="2">')],
    [
      'two cells of one address',
      (xml) => xml.replace('</row></sheetData>', '<c r="N3"><v>7</v></c></row></sheetData>'),
    ],
  ])('%s is refused, not read in part', async (_what, change) => {
    const { rows, findings } = await read(change(sheet));
    expect(rows).toEqual([]);
    expect(brief(findings)).toEqual(['null null damaged']);
  });

  test('text that is not in the encoding it declares is refused, not changed', async () => {
    const parts = rawParts(sheet.replace('EXP/2026/001', 'Caf\u00e9'));
    const part = 'xl/worksheets/sheet1.xml';
    const { findings } = await readWorkbook(
      await zipOf({ ...parts, [part]: Buffer.from(parts[part] ?? '', 'latin1') }),
    );
    expect(brief(findings)).toEqual(['null null damaged']);
  });
});
