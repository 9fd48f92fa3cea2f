/** Workbooks as programs other than Excel write them, and rows as people leave them. */
import type { CellValue } from 'exceljs';
import { Workbook, type Worksheet } from 'exceljs';
import { annotateWorkbook } from '../../src/workbook/annotate';
import { checkWorkbook } from '../../src/workbook/check';
import { readZip, unpack } from '../../src/workbook/ooxml/zip';
import { columnLetter } from '../../src/workbook/sheet/addresses';
import type { CellValues } from './fixtures';
import { HEADERS, book, brief, cells, columnIndex, zipOf } from './fixtures';

const LETTERS = Object.fromEntries(Object.keys(cells()).map((field) => [field, columnLetter(columnIndex(field))]));

/** The parts of a workbook, changed as another program would write them, as a file again. */
async function rewritten(
  file: Buffer,
  change: (name: string, text: string) => string,
  nameOf: (name: string) => string = (name) => name,
): Promise<Buffer> {
  const entries = [...(await readZip(file, 1000)).values()];
  const parts = await Promise.all(
    entries.map(async (entry) => {
      const text = (await unpack(entry)).toString('utf8');
      return [nameOf(entry.name), change(entry.name, text)] as const;
    }),
  );
  return zipOf(Object.fromEntries(parts));
}

const rows = (...changes: CellValues[]) => book(changes.map((change, at) => cells({ serialNo: at + 1, ...change })));
const said = async (file: Buffer) => {
  const { errors, warnings } = await checkWorkbook(file);
  return [...errors, ...warnings].map(({ message }) => message).join('\n');
};

describe('results of formulas', () => {
  const withFormula = () => rows({ mappedIRMAmountFCC: { formula: 'P2/2', result: 500 } });
  const calculation = (attributes: string) => async () =>
    rewritten(await withFormula(), (name, text) =>
      name === 'xl/workbook.xml' ? text.replace(/<calcPr[^>]*\/>/, `<calcPr ${attributes}/>`) : text,
    );

  test.each([
    ['as Excel leaves them', calculation('calcId="191029"'), []],
    [
      'that the file wants calculated again',
      calculation('fullCalcOnLoad="1"'),
      ['2 mappedIRMAmountFCC invalid_number'],
    ],
  ])('%s', async (_what, make, expected) => {
    const file = await make();
    const { errors } = await checkWorkbook(file);
    expect(brief(errors)).toEqual(expected);
    if (expected.length > 0) expect(errors[0]?.message).toContain('no stored result');
  });
});

test('an empty number format, as ClosedXML writes it, is General; of three empty sections nothing is seen', async () => {
  const withFormat = async (code: string) =>
    rewritten(await rows({}), (name, text) =>
      name === 'xl/styles.xml'
        ? text.replace(
            /<numFmts[^]*<\/numFmts>|(?=<fonts)/,
            `<numFmts><numFmt numFmtId="0" formatCode="${code}"/></numFmts>`,
          )
        : text,
    );
  expect(await checkWorkbook(await withFormat(''))).toMatchObject({ ok: true, warnings: [] });
  expect((await checkWorkbook(await withFormat(';;;'))).ok).toBe(false);
});

test('a cell without a style has the first style of the workbook', async () => {
  const file = await rewritten(await rows({ irmAdCode: 510001 }), (name, text) => {
    if (name === 'xl/styles.xml')
      return text
        .replace(/<numFmts[^]*<\/numFmts>/, '')
        .replace('<fonts', '<numFmts><numFmt numFmtId="200" formatCode="0000000"/></numFmts><fonts')
        .replace(/(<cellXfs[^>]*><xf numFmtId=")\d+"/, '$1200"');
    return name.startsWith('xl/worksheets/') ? text.replace(/(<c r="E2") s="\d+"/, '$1') : text;
  });
  expect((await checkWorkbook(file)).rows[0]?.mapping.irmAdCode).toBe('0510001');
});

test('part names with backslashes are read, and come back with slashes', async () => {
  const file = await rewritten(
    await rows({ irmDt: 'soon' }),
    (name, text) => (name.endsWith('.rels') ? text.replace('worksheets/', 'worksheets\\') : text),
    (name) => name.replaceAll('/', '\\'),
  );
  const { errors } = await checkWorkbook(file);
  expect(brief(errors)).toEqual(['2 irmDt invalid_date']);
  const annotated = await annotateWorkbook({ source: file, findings: errors });
  expect([...(await readZip(annotated, 1000)).values()].filter(({ name }) => name.includes('\\'))).toEqual([]);
  expect(brief((await checkWorkbook(annotated)).errors)).toEqual(brief(errors));
});

test('a number that only a program reads as one is none', async () => {
  const file = await rewritten(await rows({}), (_, text) =>
    text.replace(/(<c r="Q2"[^>]*>)<v>[^<]*<\/v>/, '$1<v>0x1F40</v>'),
  );
  const { errors } = await checkWorkbook(file);
  expect(brief(errors)).toEqual(['2 mappedIRMAmountFCC invalid_number']);
  expect(errors[0]?.message).toContain('"0x1F40"');
});

describe('number formats', () => {
  const formatted = async (field: keyof CellValues, value: number, numFmt: string) => {
    const file = await book([cells({ [field]: value })], (sheet) => {
      sheet.getCell(`${LETTERS[field]}2`).numFmt = numFmt;
    });
    const { reading } = await checkWorkbook(file);
    const { mapping, failed } = reading.unchecked[0] ?? {};
    return failed?.has(field) ? 'refused' : (mapping as Record<string, unknown>)[field];
  };

  test.each<[number, string, number | 'refused']>([
    // Another section is for another number.
    [0.5, '[<1]0.00;0%', 0.5],
    [2, '[<1]0.00;0%', 'refused'],
    [2, '[>=1]0.00;0%', 2],
    [0, '#,##0.00;-#,##0.00;"-"??', 0],
    [0, '0.00;-0.00;;@', 'refused'],
    [5, '0.00;-0.00;;@', 5],
    // 8,000 that shows as 80.00, as 8 thousand crore, and as less than nothing.
    [8000, '0\\.00', 'refused'],
    [8000, '0\\,00', 'refused'],
    [8000, '0.00" Cr"', 'refused'],
    [8000, '0.00" L"', 'refused'],
    [8000, '(0.00)', 'refused'],
    [8000, '\\(0.00\\);0.00', 'refused'],
    [8000, '-0.00', 'refused'],
    [8000, '# ?/?', 'refused'],
    [8000, '000-0000', 'refused'],
    // What people see and mean is the number.
    [8000, '#,##0"/-"', 8000],
    [8000, '_(* #,##0.00_);_(* \\(#,##0.00\\);_(* "-"??_);_(@_)', 8000],
    [8000, '[$L-480A]#,##0.00', 8000],
    [8000, '"USD "#,##0.00;[Red]("USD "#,##0.00)', 8000],
    [8000, "#\\'##0.00", 8000],
    [8000, '#\\ ##0.00', 8000],
  ])('the amount %p as %s is %p', async (value, format, expected) => {
    expect(await formatted('mappedIRMAmountFCC', value, format)).toBe(expected);
  });

  test.each<[number, string, string]>([
    [510001, '000000#', '0510001'],
    [510001, '#0000000', '0510001'],
    [510001, '[>999999]0;0000000', '0510001'],
    [5100012, '[>999999]0;0000000', '5100012'],
    [510001, '0,000,000', '0510001'],
    [510001, '#,##0', '510001'],
    [510001, 'General;@', '510001'],
    [510001, '"AD "0', 'refused'],
    [510001, 'AD 0', 'refused'],
  ])('the identifier of %p as %s is %s', async (value, format, expected) => {
    expect(await formatted('irmAdCode', value, format)).toBe(expected);
  });
});

describe('what people write', () => {
  const hint = async (field: string, value: CellValue) => {
    const { errors } = await checkWorkbook(await rows({ [field]: value }));
    return errors.map(({ message }) => message).join();
  };

  test.each([
    ['irmDt', '12/5/2026', '12/05/2026, if 12 May 2026 is meant'],
    ['irmDt', '5-1-26', '05/01/2026, if 5 January 2026 is meant'],
    ['irmDt', '5/13/2026', 'Write day and month with two digits'],
    ['uploadType', 'Softex', 'Write 102'],
    ['uploadType', '101 - Direct Export', 'Write 101'],
    ['isVostro', 'Yes', 'write Y or N'],
    ['irmNumber', '1.23457E+14', 'its last digits are lost'],
  ])('%s %s: %s', async (field, value, say) => {
    expect(await hint(field, value)).toContain(say);
  });

  test.each(['2026-01-05 00:00:00', '2026-01-05T00:00:00'])(
    'midnight of a day in words, %s, is the day',
    async (day) => {
      expect((await checkWorkbook(await rows({ irmDt: day }))).rows[0]?.mapping.irmDt).toBe('05012026');
    },
  );

  test.each<[string, string[]]>([
    ['2026-01-04T18:30:00Z', ['4 January 2026', '5 January 2026']],
    ['2026-01-04T18:29:00Z', []],
    ['2026-01-04T09:00:00Z', []],
  ])('a date cell of %s names both days where India may have another', async (at, days) => {
    const { ok, rows: read, warnings } = await checkWorkbook(await rows({ irmDt: new Date(at) }));
    expect([ok, read[0]?.mapping.irmDt]).toEqual([true, '04012026']);
    expect(brief(warnings)).toEqual(days.length > 0 ? ['2 irmDt time_of_day'] : []);
    for (const day of days) expect(warnings[0]?.message).toContain(day);
  });

  test.each<[string, CellValues | 'headers', string]>([
    ['a labelled total', { serialNo: 'Grand Total', mappedIRMAmountFCC: 8000 }, 'total_row'],
    ['sums without a label', { mappedIRMAmountFCC: 8000, sbCumInvoiceValueinFCC: 8000 }, 'total_row'],
    ['the headers again', 'headers', 'repeated_header'],
  ])('%s below the rows is one finding that says to delete it', async (_what, row, code) => {
    const file = await book([cells()], (sheet) => {
      if (row === 'headers') sheet.getRow(3).values = HEADERS;
      else for (const [field, value] of Object.entries(row)) sheet.getCell(3, columnIndex(field)).value = value;
    });
    const { errors, rowCount } = await checkWorkbook(file);
    expect([brief(errors), rowCount]).toEqual([[`3 null ${code}`], 1]);
    expect(errors[0]?.message).toContain('elete');
  });

  test('a bill of the Total company is no total', async () => {
    expect((await checkWorkbook(await rows({ billNo: 'TOTAL/2026/1' }))).ok).toBe(true);
  });

  test('serial numbers down the whole column: the unused rows are to be cleared', async () => {
    const file = await book([cells(), ...Array.from({ length: 5499 }, (_, at) => ({ serialNo: at + 2 }))]);
    expect(await said(file)).toContain('Clear the unused rows');
  });
});

describe('a file that is refused as a whole', () => {
  const annotated = async (finish: (sheet: Worksheet) => void) => {
    const source = await book([cells(), cells({ serialNo: 2, irmNumber: 'OTHER' })], finish);
    const { errors, warnings } = await checkWorkbook(source);
    const back = await annotateWorkbook({ source, findings: [...errors, ...warnings] });
    const workbook = await new Workbook().xlsx.load(Uint8Array.from(back).buffer);
    return { errors, sheet: workbook.worksheets[0] as Worksheet };
  };

  test.each<[string, (sheet: Worksheet) => void]>([
    ['a title above the headers', (sheet) => sheet.spliceRows(1, 0, ['Our filing for January'])],
    ['a missing column', (sheet) => void (sheet.getCell(1, columnIndex('portCode')).value = null)],
    ['a column twice', (sheet) => void (sheet.getCell(1, columnIndex('sacCode1')).value = 'Bill No')],
    ['a hidden sheet', (sheet) => void (sheet.state = 'hidden')],
  ])('%s: says so in every row and on the header', async (_what, finish) => {
    const { errors, sheet } = await annotated(finish);
    const header = sheet.getRow(1);
    const at = (header.values as unknown[]).indexOf('Status');
    const texts: [unknown, unknown][] = [];
    sheet.eachRow((row, number) => {
      if (number > 1) texts.push([row.getCell(at).value, row.getCell(at + 1).value]);
    });
    expect(texts.length).toBeGreaterThan(1);
    for (const [status, text] of texts) {
      expect(status).toBe('Error');
      expect(text).toContain(errors[0]?.message);
    }
  });
});
