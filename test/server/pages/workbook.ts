import { Workbook } from 'exceljs';
import { KAVERI, type HttpStage } from '../http-stage';
import { formOf, type Browser } from './browser';

/** The exporter's template with its first row filled in. */
export async function filledTemplate(
  stage: HttpStage,
  { bill, amount = 10, email = KAVERI.email }: { bill: string; amount?: number | string; email?: string },
): Promise<{ name: string; bytes: Buffer; currency: string }> {
  const { bytes } = await stage.ask('GET', `/v1/exporters/${email}/template`);
  const book = new Workbook();
  await book.xlsx.load(bytes as unknown as ArrayBuffer);
  const [sheet] = book.worksheets;
  const headers = Array.from(sheet!.getRow(1).values as (string | undefined)[]);
  const cell = (title: string) => sheet!.getRow(2).getCell(headers.indexOf(title));
  const currency = cell('IRM FCC').text;
  const cells = {
    ...{ 'Upload Type': 103, 'Branch Sl No': 0, 'Port Code': 'INNSA1', 'SB Cum Invoice FCC': currency },
    ...{ 'SB Cum Invoice Date': new Date('2026-05-02'), 'SB Cum Invoice Value In FCC': 500 },
    ...{ 'SB Cum Invoice Number': bill, 'Bill No': bill, 'Mapped IRM Amount FCC': amount },
  };
  for (const [title, value] of Object.entries(cells)) cell(title).value = value;
  return { name: `${bill}.xlsx`, bytes: Buffer.from(await book.xlsx.writeBuffer()), currency };
}

/** Hands a workbook in, and files it. @returns the reference's page */
export async function fileThrough(
  stage: HttpStage,
  browser: Browser,
  { exporter, reference, ...fields }: { exporter: string; reference: string } & Record<string, string>,
): Promise<string> {
  const file = await filledTemplate(stage, { bill: `B-${reference}` });
  const checked = await browser.submit('/file', '/file', { exporter, reference }, file);
  expect(checked).toMatchObject({ status: 303, to: expect.stringMatching(/^\/file\/[0-9a-f]{64}\?/u) as string });
  const [action = ''] = checked.to!.split('?');
  const once = formOf((await browser.open(checked.to!)).text, action);
  const filed = await browser.submit(checked.to!, action, { declaration: 'Y', ...fields });
  expect([filed.status, filed.to]).toEqual([303, `/filings/${reference}`]);
  // Sent again, or come back to, it is the same one.
  const again = await browser.send(action, { ...once, declaration: 'Y', ...fields });
  const back = await browser.open(checked.to!);
  expect([again.to, back.to]).toEqual([filed.to, filed.to]);
  return filed.to!;
}
