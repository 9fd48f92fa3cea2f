import { Workbook } from 'exceljs';
import { readTexts } from '../../src/workbook/texts';
import { rawParts, zipOf } from './fixtures';

test('texts are what the cells show; a password keeps its blanks and its digits', async () => {
  const workbook = new Workbook();
  const sheet = workbook.addWorksheet('Exporters');
  sheet.addRow(['Name', 'E-Mail', 'Company Name', 'User Name', 'Password', null]);
  sheet.addRow([
    'Asha',
    { text: 'asha@exports.example', hyperlink: 'mailto:asha@exports.example' },
    null,
    'asha',
    ' a b ',
  ]);
  sheet.addRow([]);
  sheet.addRow(['Meera', 'meera@exports.example', 'Meera & Co', 'meera', 12345678]);
  expect(await readTexts(Buffer.from(await workbook.xlsx.writeBuffer()))).toEqual([
    { row: 1, texts: [, 'Name', 'E-Mail', 'Company Name', 'User Name', 'Password'], problems: [] },
    { row: 2, texts: [, 'Asha', 'asha@exports.example', , 'asha', ' a b '], problems: [] },
    { row: 4, texts: [, 'Meera', 'meera@exports.example', 'Meera & Co', 'meera', '12345678'], problems: [] },
  ]);
});

test('a workbook beyond the limits of what is read is refused with what to do, not loaded', async () => {
  const deep = await zipOf(rawParts(`${'<a>'.repeat(1000)}${'</a>'.repeat(1000)}<sheetData/>`));
  await expect(readTexts(deep)).rejects.toMatchObject({ code: 'damaged' });
  const bomb = await zipOf({ ...rawParts('<sheetData/>'), 'xl/media/image1.png': '0'.repeat(20_000_000) });
  await expect(readTexts(bomb)).rejects.toMatchObject({ code: 'zip_bomb' });
});
