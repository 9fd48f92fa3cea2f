import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { annotateWorkbook } from '../../src/workbook/annotate';
import { checkWorkbook } from '../../src/workbook/check';
import { readWorkbook } from '../../src/workbook/read';
import { columnLetter } from '../../src/workbook/sheet/addresses';
import { readZip, writeZip } from '../../src/workbook/ooxml/zip';
import { BULK_COLUMNS } from '../../src/domain/rules/columns';
import { HEADERS, book, cells, columnIndex, deflated, rawParts, stored, withStrings, zipOf } from './fixtures';
import { testFolder } from '../support/folder';

const EMPTY_SHEET = '<sheetData/>';

/** A sheet of headers and rows as XML, its cells inline strings or numbers. */
const sheetXml = (rows: (string | number)[][]) =>
  `<sheetData>${rows
    .map((values, at) => {
      const number = at + 1;
      const filled = values.map((value, index) => {
        const address = `${columnLetter(index + 1)}${number}`;
        return typeof value === 'number'
          ? `<c r="${address}"><v>${value}</v></c>`
          : `<c r="${address}" t="inlineStr"><is><t>${value}</t></is></c>`;
      });
      return `<row r="${number}">${filled.join('')}</row>`;
    })
    .join('')}</sheetData>`;

const headed = (...rows: (string | number)[][]) => sheetXml([HEADERS, ...rows]);

const refusal = async (file: Buffer | string) => {
  const { findings, rows } = await readWorkbook(file);
  expect(rows).toEqual([]);
  expect(findings).toHaveLength(1);
  const [finding] = findings;
  expect(finding).toMatchObject({ severity: 'error', row: null, field: null });
  return finding;
};

const withPart = (name: string, content = 'x') => zipOf({ ...rawParts(EMPTY_SHEET), [name]: content });

test.each<[string, () => Promise<Buffer> | Buffer, string, string]>([
  [
    'an .xls file',
    () => Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(2000)]),
    'xls_format',
    'save it as an Excel workbook (.xlsx)',
  ],
  [
    'a workbook with a password',
    () =>
      Buffer.concat([
        Buffer.from('d0cf11e0a1b11ae1', 'hex'),
        Buffer.from('EncryptedPackage', 'utf16le'),
        Buffer.alloc(500),
      ]),
    'encrypted',
    'Remove the password',
  ],
  ['a CSV file', () => Buffer.from('Serial No,Upload Type\n1,101\n'), 'not_a_workbook', 'save it as'],
  ['an empty file', () => Buffer.alloc(0), 'not_a_workbook', 'save it as'],
  ['some other zip', () => zipOf({ 'readme.txt': 'hello' }), 'not_a_workbook', 'no .xlsx workbook'],
  ['a binary workbook', () => withPart('xl/workbook.bin'), 'xlsb_format', '.xlsb'],
  ['macros', () => withPart('xl/vbaProject.bin'), 'macros', 'without macros'],
  ['macro sheets', () => withPart('xl/macrosheets/sheet1.xml'), 'macros', 'without macros'],
  ['ActiveX controls', () => withPart('xl/activeX/activeX1.xml'), 'macros', 'without macros'],
  ['links to other workbooks', () => withPart('xl/externalLinks/externalLink1.xml'), 'external_links', 'Break them'],
  ['connections', () => withPart('xl/connections.xml'), 'external_data', 'Remove them'],
  ['a cut file', async () => (await book([cells()])).subarray(0, 3000), 'damaged', 'save it anew'],
  [
    'more bytes than the service takes',
    () => Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(5 * 1024 * 1024)]),
    'too_large',
    'at most 5.0 MB',
  ],
  [
    'a part of zeros that unpacks a thousandfold',
    () => withPart('xl/media/image1.png', '0'.repeat(20_000_000)),
    'zip_bomb',
    'Copy the filled rows',
  ],
  [
    'too many parts',
    () => zipOf(Object.fromEntries(Array.from({ length: 1001 }, (_, index) => [`xl/p${index}`, '']))),
    'zip_bomb',
    '1001 parts',
  ],
  [
    'no worksheet',
    () => zipOf({ ...rawParts(EMPTY_SHEET), 'xl/_rels/workbook.xml.rels': '<Relationships/>' }),
    'no_worksheet',
    'first worksheet',
  ],
  [
    'a cell far outside',
    () => zipOf(rawParts('<sheetData><row r="4000000000"><c r="A4000000000"><v>1</v></c></row></sheetData>')),
    'damaged',
    'cannot be read',
  ],
  [
    'broken XML',
    () => zipOf(rawParts('<sheetData><row r="1"><c r="A1"><v>1</c></row></sheetData>')),
    'damaged',
    'save it anew',
  ],
])('%s: refused with what to do', async (_, make, code, say) => {
  const finding = await refusal(await make());
  expect(finding?.code).toBe(code);
  expect(finding?.message).toContain(say);
});

test.each(['utf8', 'utf16le'] as const)('XML entities are refused, in %s too', async (encoding) => {
  const laughs = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;">]><worksheet><sheetData><row r="1"><c r="A1" t="str"><v>&lol2;</v></c></row></sheetData></worksheet>`;
  const bytes =
    encoding === 'utf8'
      ? Buffer.from(laughs)
      : Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(laughs, 'utf16le')]);
  expect((await refusal(await zipOf({ ...rawParts(EMPTY_SHEET), 'xl/worksheets/sheet1.xml': bytes })))?.code).toBe(
    'xml_entities',
  );
});

test('a part that unpacks to more than its directory entry is stopped there', async () => {
  const parts = rawParts(EMPTY_SHEET);
  const lying = deflated('xl/worksheets/sheet1.xml', ' '.repeat(10_000_000));
  const honest = Object.entries(parts)
    .filter(([name]) => name !== lying.name)
    .map(([name, text]) => deflated(name, text));
  expect((await refusal(writeZip([...honest, { ...lying, size: 1000 }])))?.code).toBe('zip_bomb');
});

test('two parts of one name are refused: two readers would see two workbooks', async () => {
  const entries = Object.entries(rawParts(EMPTY_SHEET)).map(([name, text]) => deflated(name, text));
  expect((await refusal(writeZip([...entries, ...entries])))?.code).toBe('damaged');
});

test('more filled cells than any filing has', async () => {
  const rows = Array.from({ length: 2600 }, () => Array.from({ length: 100 }, () => 1));
  expect((await refusal(await zipOf(rawParts(headed(...rows)))))?.code).toBe('too_many_cells');
});

test('a million empty formatted cells and unclosed tags cost little and change nothing', async () => {
  const empty = Array.from(
    { length: 100_000 },
    (_, index) => `<row r="${index + 3}"><c r="A${index + 3}" s="1"/></row>`,
  ).join('');
  const reading = await readWorkbook(
    await zipOf(rawParts(`<sheetData><row r="1"><c r="A1" t="str"><v>Serial No</v></c></row>${empty}</sheetData>`)),
  );
  expect(reading.columns.size).toBe(1);
  expect(reading.unchecked).toEqual([]);
  expect((await refusal(await zipOf(rawParts(`<sheetData>${'<c '.repeat(200_000)}</sheetData>`))))?.code).toBe(
    'damaged',
  );
});

const folder = testFolder();
test('a path works like bytes, and a path that does not exist is the file system’s own error', async () => {
  const path = join(folder, 'rows.xlsx');
  await writeFile(path, await book([cells()]));
  expect((await readWorkbook(path)).rows).toHaveLength(1);
  await expect(readWorkbook(join(folder, 'none.xlsx'))).rejects.toMatchObject({ code: 'ENOENT' });
});

describe('what is unlike any spreadsheet program is refused', () => {
  test.each<[string, string, string]>([
    ['elements a thousand deep', `${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}<sheetData/>`, 'damaged'],
    [
      'a tag with ten thousand attributes',
      `<sheetData><row r="1"${Array.from({ length: 10_000 }, (_, at) => ` a${at}=""`).join('')}/></sheetData>`,
      'damaged',
    ],
    [
      'a tag with a megabyte of attributes',
      `<sheetData><row r="1" a="${' '.repeat(1_000_000)}"/></sheetData>`,
      'damaged',
    ],
    ['a cell with a megabyte of text', sheetXml([['x'.repeat(1_000_000)]]), 'too_long'],
    [
      'a cell that names another row than its own',
      '<sheetData><row r="2"><c r="A5"><v>1</v></c></row></sheetData>',
      'damaged',
    ],
    ['text between the rows', '<sheetData><row r="1"/>lost<row r="2"/></sheetData>', 'damaged'],
    ['an entity that nobody declared', sheetXml([['&lol;']]), 'damaged'],
  ])('%s', async (_, xml, code) => {
    expect((await refusal(await zipOf({ ...rawParts(xml) })))?.code).toBe(code);
  });

  test('a part whose bytes are not those of its checksum', async () => {
    const parts = rawParts(sheetXml([['x']]));
    const entries = Object.entries(parts).map(([name, text]) => stored(name, text));
    const changed = entries.map((entry) =>
      entry.name === 'xl/worksheets/sheet1.xml'
        ? { ...entry, packed: Buffer.from(entry.packed.toString().replace('<t>x', '<t>y')) }
        : entry,
    );
    expect((await refusal(writeZip(changed)))?.code).toBe('damaged');
  });

  test('more shared strings than are read', async () => {
    const source = await zipOf(withStrings(rawParts(headed()), '<si/>'.repeat(1_001)));
    const { findings } = await readWorkbook(source, { limits: { sharedStrings: 1_000 } });
    expect(findings.map(({ code }) => code)).toEqual(['too_many_cells']);
  });

  test.each<[string, string, string]>([
    ['styles that are cut off', 'xl/styles.xml', '<styleSheet><cellXfs><xf>'],
    ['a declaration of parts that is cut off', '[Content_Types].xml', '<Types><Default'],
  ])('%s, which annotating would meet later', async (_, name, content) => {
    await refusal(await zipOf({ ...rawParts(headed()), [name]: content }));
  });
});

/**
 * A check and an annotation of these parts end, and cost no more than their length: a quadratic step would take hours.
 */
describe('what costs a careless reader hours costs no more than its length', () => {
  const through = async (parts: Record<string, string>) => {
    // Stored: packed as small as in a real attack, most of these would be refused for their ratio alone.
    const packed = (name: string, content: string) => {
      const entry = deflated(name, content);
      return entry.size < 200 * entry.packed.length ? entry : stored(name, content);
    };
    const source = writeZip(Object.entries(parts).map(([name, content]) => packed(name, content)));
    const { errors, warnings } = await checkWorkbook(source);
    await annotateWorkbook({ source, findings: [...errors, ...warnings] });
    return errors;
  };

  test('reading aids of East Asian text, empty or not, in strings', async () => {
    const aids = '<rPh sb="0" eb="1"><t>x</t></rPh>'.repeat(20_000) + '<rPh sb="0" eb="0"/>'.repeat(60_000);
    const sheet = headed().replace('</sheetData>', '<row r="2"><c r="A2" t="s"><v>0</v></c></row></sheetData>');
    await through(withStrings(rawParts(sheet), `<si><t>1</t>${aids}</si>`));
  });

  test('rows of cells in falling order', async () => {
    const row = (number: number) =>
      `<row r="${number}">${Array.from({ length: 16_384 }, (_, at) => `<c r="${columnLetter(16_384 - at)}${number}"><v>1</v></c>`).join('')}</row>`;
    const rows = Array.from({ length: 5 }, (_, at) => row(at + 2)).join('');
    await through(rawParts(headed().replace('</sheetData>', `${rows}</sheetData>`)));
  });

  test('number formats of opened brackets and quotes', async () => {
    const code = '['.repeat(150_000);
    const format = (id: number) => `<numFmt numFmtId="${id}" formatCode="${code}&quot;"/>`;
    const styles = `<styleSheet><numFmts>${Array.from({ length: 20 }, (_, at) => format(200 + at)).join('')}</numFmts><cellXfs>${'<xf numFmtId="200"/>'.repeat(50_000)}</cellXfs></styleSheet>`;
    await through({ ...rawParts(headed([1])), 'xl/styles.xml': styles });
  });

  test('thousands of Status and Errors columns', async () => {
    const pairs = Array.from({ length: 8_000 }, (_, at) => (at % 2 === 0 ? 'Status' : 'Errors'));
    await through(rawParts(sheetXml([[...HEADERS, ...pairs]])));
  });

  const sharing = (rowCount: number, text: string) => {
    const cellsOf = (number: number) =>
      HEADERS.map((_, at) => `<c r="${columnLetter(at + 1)}${number}" t="s"><v>0</v></c>`).join('');
    const rows = Array.from({ length: rowCount }, (_, at) => `<row r="${at + 2}">${cellsOf(at + 2)}</row>`).join('');
    return withStrings(rawParts(headed().replace('</sheetData>', `${rows}</sheetData>`)), `<si><t>${text}</t></si>`);
  };

  test('a long text that tens of thousands of cells share', async () => {
    expect((await through(sharing(400, 'x  '.repeat(180)))).length).toBeGreaterThan(1000);
  });

  test('a text that the cells share until it is more than a filing may hold: in rows, headers and old statuses', async () => {
    const wide = '\u0939'.repeat(1000);
    const headers = `<row r="1">${Array.from({ length: 5_000 }, (_, at) => `<c r="${columnLetter(at + 1)}1" t="s"><v>0</v></c>`).join('')}</row>`;
    const statuses = sheetXml([[...HEADERS, 'Status', 'Errors']]).replace(
      '</sheetData>',
      `${Array.from({ length: 4_000 }, (_, at) => `<row r="${at + 2}"><c r="A${at + 2}"><v>1</v></c><c r="AL${at + 2}" t="s"><v>0</v></c></row>`).join('')}</sheetData>`,
    );
    const strings = `<si><t>${wide}</t></si>`;
    for (const parts of [
      sharing(5_000, wide),
      withStrings(rawParts(`<sheetData>${headers}</sheetData>`), strings),
      withStrings(rawParts(statuses), strings),
    ]) {
      const source = await zipOf(parts);
      expect(source.length).toBeLessThan(600_000);
      const finding = await refusal(source);
      expect(finding).toMatchObject({ code: 'too_much_text', message: expect.stringContaining('8 MB') as string });
    }
  });

  test('styles of their own for failing cells', async () => {
    const styles = `<styleSheet><fills><fill/></fills><cellXfs>${Array.from({ length: 60_000 }, (_, at) => `<xf numFmtId="0" xfId="${at}"/>`).join('')}</cellXfs></styleSheet>`;
    const styled = (number: number) =>
      `<row r="${number}">${BULK_COLUMNS.slice(0, 19)
        .map(({ field }, at) => {
          const style = (number - 2) * 19 + at;
          return `<c r="${columnLetter(columnIndex(field))}${number}" s="${style}" t="str"><v>?</v></c>`;
        })
        .join('')}</row>`;
    const rows = Array.from({ length: 500 }, (_, at) => styled(at + 2)).join('');
    const parts = rawParts(headed().replace('</sheetData>', `${rows}</sheetData>`));
    await through({ ...parts, 'xl/styles.xml': styles });
  });

  test('a fill of a MB that thousands of styles share, in cells that an earlier check may have marked', async () => {
    const marked = 8_000;
    const fill = `<fill><patternFill>${'<bgColor theme="1"/>'.repeat(50_000)}</patternFill></fill>`;
    const xf = (id: number) => `<xf numFmtId="0" fillId="0" xfId="${id}"/>`;
    const styles = `<styleSheet><fills>${fill}</fills><cellXfs>${Array.from({ length: marked }, (_, at) => xf(at)).join('')}</cellXfs></styleSheet>`;
    const cellAt = (at: number) =>
      `<c r="${columnLetter((at % 30) + 1)}${Math.floor(at / 30) + 2}" s="${at}" t="str"><v>?</v></c>`;
    const rows = Array.from(
      { length: Math.ceil(marked / 30) },
      (_, row) =>
        `<row r="${row + 2}">${Array.from({ length: 30 }, (_each, column) => cellAt(row * 30 + column)).join('')}</row>`,
    ).join('');
    const parts = rawParts(headed().replace('</sheetData>', `${rows}</sheetData>`));
    await through({ ...parts, 'xl/styles.xml': styles });
  });
});

test('names of parts differ neither by the case of their letters nor by percent-encoding', async () => {
  const source = await book([cells()]);
  const { rows } = await readWorkbook(source);
  const entries = [...(await readZip(source, 1000)).values()];
  const renamed = (change: (name: string) => string) => {
    const name = (entry: (typeof entries)[number]) =>
      /sharedStrings|styles|sheet1\.xml$|workbook\.xml$/.test(entry.name) ? change(entry.name) : entry.name;
    return writeZip(entries.map((entry) => ({ ...entry, name: name(entry) })));
  };
  for (const file of [
    renamed((name) => name.toUpperCase()),
    renamed((name) => name.replace('e', '%65').replace('s', '%73')),
  ]) {
    expect((await readWorkbook(file)).rows).toEqual(rows);
    const annotated = await annotateWorkbook({ source: file, findings: [] });
    expect((await readWorkbook(annotated)).rows).toEqual(rows);
    // A part is changed in its place: a second one under another spelling would be read by some programs alone.
    expect([...(await readZip(annotated, 1000)).keys()].filter((name) => name.includes('styles'))).toHaveLength(1);
  }
  const twice = writeZip([...entries, ...entries.map((entry) => ({ ...entry, name: entry.name.toUpperCase() }))]);
  expect((await refusal(twice))?.code).toBe('damaged');
});
