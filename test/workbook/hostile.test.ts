import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readWorkbook } from '../../src/workbook/read';
import { writeZip, pack } from '../../src/workbook/ooxml/zip';
import { book, cells, rawParts, zipOf } from './fixtures';

const EMPTY_SHEET = '<sheetData/>';

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

test('a part that unpacks to more than its directory says is stopped there', async () => {
  const parts = rawParts(EMPTY_SHEET);
  const lying = await pack('xl/worksheets/sheet1.xml', ' '.repeat(10_000_000), 'deflate');
  const honest = await Promise.all(
    Object.entries(parts)
      .filter(([name]) => name !== lying.name)
      .map(([name, text]) => pack(name, text, 'deflate')),
  );
  expect((await refusal(writeZip([...honest, { ...lying, size: 1000 }])))?.code).toBe('zip_bomb');
});

test('two parts of one name are refused: two readers would see two workbooks', async () => {
  const entries = await Promise.all(
    Object.entries(rawParts(EMPTY_SHEET)).map(([name, text]) => pack(name, text, 'deflate')),
  );
  expect((await refusal(writeZip([...entries, ...entries])))?.code).toBe('damaged');
});

test('more filled cells than any filing has', async () => {
  const row = (number: number) =>
    `<row r="${number}">${Array.from({ length: 100 }, (_, index) => `<c r="${String.fromCharCode(65 + (index % 26))}${number}"><v>1</v></c>`).join('')}</row>`;
  const rows = Array.from({ length: 2600 }, (_, index) => row(index + 1)).join('');
  expect((await refusal(await zipOf(rawParts(`<sheetData>${rows}</sheetData>`))))?.code).toBe('too_many_cells');
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
  expect(reading.drafts).toEqual([]);
  expect((await refusal(await zipOf(rawParts(`<sheetData>${'<c '.repeat(200_000)}</sheetData>`))))?.code).toBe(
    'damaged',
  );
});

test('a path works like bytes, and a path that does not exist is the file system’s own error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-workbook-'));
  const path = join(folder, 'rows.xlsx');
  await writeFile(path, await book([cells()]));
  expect((await readWorkbook(path)).rows).toHaveLength(1);
  await expect(readWorkbook(join(folder, 'none.xlsx'))).rejects.toMatchObject({ code: 'ENOENT' });
});

test('text that would run as a formula elsewhere is read as it is and warned about by the rules', async () => {
  const reading = await readWorkbook(await book([cells({ billNo: '=HYPERLINK("http://x.example")' })]));
  expect(reading.rows[0]?.mapping.billNo).toBe('=HYPERLINK("http://x.example")');
});
