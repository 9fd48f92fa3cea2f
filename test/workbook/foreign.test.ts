/** .xls and .csv, through `ebrc check`: what they show is what is read, and .xlsx comes back. */
import { CFB, type CellObject, type WorkSheet, utils, write } from '@e965/xlsx';
import { checkFile } from '../../src/starter/filings/check';
import type { Finding } from '../../src/domain/rules/finding';
import { readWorkbook } from '../../src/workbook/read';
import { mapping } from '../../dev/sample-mapping';
import { HEADERS, brief, cells, columnIndex, type CellValues } from './fixtures';

const EXPORTER = 'accounts@asha.example';
const check = async (name: string, bytes: Buffer) => {
  const checked = await checkFile({}, { source: { name, bytes }, exporter: EXPORTER, annotate: true });
  const isOurs = ({ code }: Finding) => code === 'no_balances';
  return { ...checked, warnings: checked.warnings.filter((finding) => !isOurs(finding)) };
};

/** The mapping of a row of what came back. */
const back = async (annotated: Buffer | null, row = 2) =>
  (await readWorkbook(annotated ?? Buffer.alloc(0))).unchecked.find((each) => each.row === row)?.mapping;

const grid = (rows: CellValues[]): unknown[][] => [
  [...HEADERS],
  ...rows.map((row) =>
    HEADERS.map((_, at) => Object.entries(row).find(([field]) => columnIndex(field) === at + 1)?.[1] ?? null),
  ),
];

describe('.xls', () => {
  const address = (field: keyof CellValues, row = 2) => utils.encode_cell({ r: row - 1, c: columnIndex(field) - 1 });
  const xls = (
    rows: CellValues[],
    finish: (sheet: WorkSheet) => void = () => undefined,
    { date1904 = false, others = [] as [string, WorkSheet, hidden?: boolean][], firstHidden = false } = {},
  ): Buffer => {
    const sheet = utils.aoa_to_sheet(grid(rows));
    finish(sheet);
    const book = utils.book_new();
    utils.book_append_sheet(book, sheet, 'Upload');
    for (const [name, other] of others) utils.book_append_sheet(book, other, name);
    const hidden = [firstHidden, ...others.map(([, , isHidden]) => isHidden === true)];
    book.Workbook = { Sheets: hidden.map((each) => ({ Hidden: each ? 1 : 0 })), WBProps: { date1904 } };
    return write(book, { type: 'buffer', bookType: 'biff8' }) as Buffer;
  };
  type XlsRecord = readonly [type: number, data: Buffer];
  /** The file with other records; the sheets are found where they now begin. */
  const withRecords = (file: Buffer, change: (records: XlsRecord[]) => XlsRecord[]): Buffer => {
    const container = CFB.read(file, { type: 'buffer' });
    const entry = CFB.find(container, '/Workbook');
    const stream = Buffer.from(entry?.content as Uint8Array);
    const records: XlsRecord[] = [];
    for (let at = 0; at + 4 <= stream.length;) {
      const end = at + 4 + stream.readUInt16LE(at + 2);
      records.push([stream.readUInt16LE(at), Buffer.from(stream.subarray(at + 4, end))]);
      at = end;
    }
    const begins = (list: readonly XlsRecord[]) => {
      let at = 0;
      return list.flatMap(([type, data]) => {
        const begin = at;
        at += 4 + data.length;
        return type === 0x0809 ? [begin] : [];
      });
    };
    const [before, changed] = [begins(records), change(records)];
    const after = begins(changed);
    for (const [type, data] of changed) {
      if (type === 0x85) data.writeUInt32LE(after[before.indexOf(data.readUInt32LE(0))] ?? 0, 0);
    }
    const written = changed.map(([type, data]) => {
      const head = Buffer.alloc(4);
      head.writeUInt16LE(type, 0);
      head.writeUInt16LE(data.length, 2);
      return Buffer.concat([head, data]);
    });
    const content = Buffer.concat(written);
    if (entry) Object.assign(entry, { content, size: content.length });
    return CFB.write(container, { type: 'buffer' }) as Buffer;
  };
  const words = (...values: number[]) => Buffer.from(Uint16Array.from(values).buffer);
  /** Puts records behind the one that begins a sheet (the second of its type). */
  const inSheet =
    (...added: XlsRecord[]) =>
    (records: XlsRecord[]) => {
      const at = records.findIndex(([type], index) => type === 0x0809 && index > 0) + 1;
      return [...records.slice(0, at), ...added, ...records.slice(at)];
    };
  const put = (sheet: WorkSheet, at: string, cell: CellObject) => void (sheet[at] = cell);

  test('is read with its formats, by the rules of an .xlsx, and comes back as .xlsx', async () => {
    const file = xls(
      [cells({ irmNumber: ' _x0041_ & <IRM>', irmRemitAmtFCC: 1234.56, mappedIRMAmountFCC: 1234.56 })],
      (sheet) => {
        put(sheet, address('irmAdCode'), { t: 'n', v: 510001, z: '0000000' });
        put(sheet, address('irmDt'), { t: 'n', v: 46027, z: 'dd/mm/yyyy' });
        put(sheet, address('sbCumInvoiceDate'), { t: 'n', v: 46025, z: 'm/d/yy' });
      },
    );
    const checked = await check('july.xls', file);
    expect([checked.ok, checked.rows, brief(checked.errors)]).toEqual([true, 1, []]);
    const expected = mapping({ irmNumber: '_x0041_ & <IRM>', irmRemitAmtFCC: 1234.56, mappedIRMAmountFCC: 1234.56 });
    expect(await back(checked.annotated)).toEqual(expected);
  });

  test.each<[string, CellObject, string]>([
    ['a percentage', { t: 'n', v: 0.5, z: '0%' }, 'invalid_number'],
    ['crores', { t: 'n', v: 8, z: '0.00" Cr"' }, 'invalid_number'],
    ['an error', { t: 'e', v: 42 }, 'invalid_number'],
    ['a logical value', { t: 'b', v: true }, 'invalid_number'],
  ])('%s as an amount is refused', async (_what, cell, code) => {
    const { errors, annotated } = await check(
      'july.xls',
      xls([cells()], (sheet) => put(sheet, address('mappedIRMAmountFCC'), cell)),
    );
    expect(brief(errors)).toEqual([`2 mappedIRMAmountFCC ${code}`]);
    expect((await readWorkbook(annotated ?? Buffer.alloc(0))).statuses.get(2)).toBe('Error');
  });

  test('has blank rows between its rows', async () => {
    const filled = [cells(), {}, {}, cells({ serialNo: 2, irmNumber: 'OTHER' })];
    // Its range announces ten rows more, as programs do for formats.
    const file = xls(filled, (sheet) => void (sheet['!ref'] = `A1:AK${filled.length + 11}`));
    const { ok, rows, annotated } = await check('july.xls', file);
    expect([ok, rows, (await back(annotated, 5))?.irmNumber]).toEqual([true, 2, 'OTHER']);
  });

  test('counts days from 1904 where the file does', async () => {
    const file = xls([cells()], (sheet) => put(sheet, address('irmDt'), { t: 'n', v: 44565, z: 'dd/mm/yyyy' }), {
      date1904: true,
    });
    expect(await back((await check('mac.xls', file)).annotated)).toMatchObject({ irmDt: '05012026' });
  });

  test('hidden rows and columns, merged cells, a hidden first sheet and rows on a second one are seen', async () => {
    const second = utils.aoa_to_sheet(grid([cells({ serialNo: 9 })]));
    const merge = (sheet: WorkSheet) => {
      sheet['!merges'] = [utils.decode_range(`${address('irmNumber')}:${address('irmNumber', 3)}`)];
    };
    const rows = [cells(), cells({ serialNo: 2, irmNumber: null, sbCumInvoiceNumber: '7' })];
    const hide = inSheet([0x208, words(1, 0, 37, 255, 0, 0, 0x20, 0)], [0x7d, words(2, 2, 2560, 0, 1, 0)]);
    const file = withRecords(xls(rows, merge, { others: [['More', second]] }), hide);
    const { errors, warnings } = await check('a.xls', file);
    expect(brief(errors)).toEqual(['3 irmNumber merged_cell']);
    expect(brief(warnings)).toEqual(['null null further_sheets', 'null null hidden_columns', '2 null hidden_rows']);
    const hidden = await check('b.xls', xls([cells()], undefined, { others: [['More', second]], firstHidden: true }));
    expect(brief(hidden.errors)).toEqual(['null null hidden_sheet']);
  });

  test('the first tab is read, wherever its rows stand in the file', async () => {
    const file = xls([cells()], undefined, { others: [['Notes', utils.aoa_to_sheet([['Notes']])]] });
    const swapped = withRecords(file, (records) => {
      const [first, second] = records.filter(([type]) => type === 0x85) as [XlsRecord, XlsRecord];
      return records.map((record) => (record === first ? second : record === second ? first : record));
    });
    const { errors } = await check('moved.xls', swapped);
    expect(brief(errors)).toEqual(['1 null no_header']);
    expect(errors[0]?.message).toContain('(Notes)');
  });

  /** A row's first amount as the formula 1+1, whose result nobody calculated. */
  const uncalculated = (records: XlsRecord[]) =>
    inSheet([0x5e, words(0)])(
      records.map((record): XlsRecord => {
        if (record[0] !== 0x203 && record[0] !== 0x27e) return record;
        const formula = Buffer.concat([words(0, 0, 0, 7), Buffer.from([0x1e, 1, 0, 0x1e, 1, 0, 0x03])]);
        return [0x06, Buffer.concat([record[1].subarray(0, 6), Buffer.alloc(8), formula])];
      }),
    );

  test.each<[string, () => Buffer, string]>([
    [
      'a password',
      () => withRecords(xls([cells()]), ([begin, ...rest]) => [begin as XlsRecord, [0x2f, words(0, 1, 2)], ...rest]),
      'encrypted',
    ],
    ['formulas that nobody calculated', () => withRecords(xls([cells()]), uncalculated), 'uncalculated'],
    [
      'a sheet without its end',
      () =>
        withRecords(xls([cells()]), (records) =>
          records.filter(([type], at) => type !== 0x0a || at < records.length - 10),
        ),
      'damaged',
    ],
    [
      'another kind of document',
      () => {
        const container = CFB.utils.cfb_new();
        CFB.utils.cfb_add(container, '/WordDocument', Buffer.from('letter'));
        return CFB.write(container, { type: 'buffer' }) as Buffer;
      },
      'not_a_workbook',
    ],
    ['rubbish', () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2000)]), 'damaged'],
    [
      'a cut file',
      () => xls(Array.from({ length: 300 }, (_, at) => cells({ serialNo: at + 1 }))).subarray(0, 20_000),
      'damaged',
    ],
    ['a page of HTML', () => Buffer.from('<table><tr><td>Serial No</td></tr></table>'), 'not_a_workbook'],
  ])('with %s is refused as a whole, with what to do', async (_what, make, code) => {
    const { errors, annotated } = await check('old.xls', make());
    expect([brief(errors), annotated]).toEqual([[`null null ${code}`], null]);
  });

  test('under the name of an .xlsx is an .xls all the same', async () => {
    expect(await check('july.xlsx', xls([cells()]))).toMatchObject({ ok: true, rows: 1 });
  });
});

describe('.csv', () => {
  const TEXTS = cells({
    irmAdCode: '0510001',
    irmRemitAmtFCC: '10000.50',
    billNo: 'Café, 1',
    mappedIRMAmountFCC: '8000.50',
  });
  const csv = (rows: CellValues[], separator = ',', end = '\r\n') =>
    grid(rows)
      .map((row) =>
        row
          .map((value) => {
            const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
            return text.includes(separator) ? `"${text}"` : text;
          })
          .join(separator),
      )
      .join(end);
  const windows = (text: string) => Buffer.from(text, 'latin1');

  test.each<[string, () => Buffer]>([
    ['commas', () => Buffer.from(csv([TEXTS]))],
    ['semicolons', () => Buffer.from(csv([TEXTS], ';', '\n'))],
    ['a byte order mark', () => Buffer.from(`\ufeff${csv([TEXTS])}`)],
    ['the code page of Windows', () => windows(csv([TEXTS]))],
    ['UTF-16', () => Buffer.from(`\ufeff${csv([TEXTS])}`, 'utf16le')],
    ['tabs', () => Buffer.from(csv([TEXTS], '\t'))],
    ['a line that names the separator', () => Buffer.from(`sep=;\r\n${csv([TEXTS], ';')}`)],
  ])('with %s: texts stay texts, and .xlsx comes back', async (_what, make) => {
    const checked = await check('july.csv', make());
    expect([checked.ok, checked.rows]).toEqual([true, 1]);
    const expected = mapping({
      irmAdCode: '0510001',
      irmRemitAmtFCC: 10000.5,
      billNo: 'Café, 1',
      mappedIRMAmountFCC: 8000.5,
    });
    expect(await back(checked.annotated)).toEqual(expected);
  });

  test('rows are counted as a spreadsheet shows them, blank and broken ones included', async () => {
    const text = csv([cells({ billNo: 'on\ntwo lines' })]).replace('on\ntwo lines', '"on\ntwo lines"');
    const more = csv([cells({ serialNo: 2, irmDt: '1/5/2026' })]).split('\r\n')[1];
    const { errors } = await check('july.csv', Buffer.from(`${text}\r\n\r\n${more}\r\n`));
    expect(brief(errors.filter(({ field }) => field === 'irmDt'))).toEqual(['4 irmDt invalid_date']);
  });

  test.each<[string, string, string, string]>([
    [
      'an amount with a comma of its own',
      csv([cells({ billNo: 'A' })]).replace(',8000,', ',8,000,'),
      'csv_columns',
      'Row 2 has more values',
    ],
    ['an open quotation mark', csv([cells({ billNo: '"A' })]), 'not_csv', 'quotation mark'],
    ['no text', `${csv([cells()])}\u0000`, 'not_csv', 'no text'],
    ['more text than a cell of Excel has', csv([cells({ billNo: 'x'.repeat(40_000) })]), 'too_long', 'of row 2'],
    ['a million cells', `${'a,'.repeat(16_000)}\n`.repeat(20), 'too_many_cells', 'filled cells'],
  ])('with %s is refused as a whole', async (_what, text, code, say) => {
    const { errors, annotated } = await check('july.csv', Buffer.from(text));
    expect([brief(errors), annotated]).toEqual([[`null null ${code}`], null]);
    expect(errors[0]?.message).toContain(say);
  });

  test('a dash and a quote in the code page of Windows are those', async () => {
    const text = csv([cells({ irmNumber: 'A-1', billNo: 'B-1' })])
      .replace('A-1', 'A\x961')
      .replace('B-1', 'B\x921');
    const { annotated } = await check('july.csv', windows(text));
    expect(await back(annotated)).toMatchObject({ irmNumber: 'A–1', billNo: 'B’1' });
  });

  test('letters in two encodings are refused: one of them would change', async () => {
    const file = Buffer.concat([Buffer.from(csv([TEXTS])), windows('\r\n"Café"')]);
    expect(brief((await check('july.csv', file)).errors)).toEqual(['null null not_csv']);
  });

  test('a point that may stand between thousands is asked about', async () => {
    const { errors } = await check('july.csv', Buffer.from(csv([cells({ mappedIRMAmountFCC: '8.000' })], ';')));
    expect(brief(errors)).toEqual(['2 mappedIRMAmountFCC invalid_number']);
    expect(errors[0]?.message).toContain('Write 8.00 or 8000');
  });

  test.each(['#N/A', '#REF!', '#######'])('%s is what a spreadsheet shows instead of a value', async (shown) => {
    const { errors } = await check('july.csv', Buffer.from(csv([cells({ billNo: shown })])));
    expect(brief(errors)).toEqual(['2 billNo error_value']);
  });

  test.each(["'00123", '12345.0'])('%s has what a program adds to a number', async (number) => {
    const { warnings } = await check('july.csv', Buffer.from(csv([cells({ billNo: number })])));
    expect(brief(warnings)).toEqual(['2 billNo added_characters']);
  });

  test('a title above the headers is what is wrong, not the length of the rows below it', async () => {
    const { errors } = await check('july.csv', Buffer.from(`Our filing\n${csv([cells()])}`));
    expect(brief(errors)).toEqual(['1 null no_header']);
  });

  test('a shortened number and a formula are texts, of which one is no identifier', async () => {
    const { errors, warnings } = await check(
      'july.csv',
      Buffer.from(csv([cells({ irmNumber: '1.23457E+14', billNo: '=1+1' })])),
    );
    expect(brief(errors)).toEqual(['2 irmNumber lost_digits']);
    expect(brief(warnings)).toEqual(['2 billNo formula_text']);
  });
});
