/** A workbook's way at the pages: sign-in, check, declaration, filing, approval by somebody else. */
import { Workbook } from 'exceljs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { writeFile } from 'node:fs/promises';
import { eventually } from '../../support/processes';
import { testFolder } from '../../support/folder';
import { inBrowser } from '../../support/chromium';
import { KAVERI, onboard, useDoorStage } from '../door-stage';
import { openOffice, type Office } from './people';

const folder = testFolder();

inBrowser('a workbook', () => {
  let office: Office;
  // Before what it uses.
  afterAll(() => office?.close());
  const stage = useDoorStage(async (opened) => {
    await onboard(opened);
    office = await openOffice(opened);
  });

  /** The exporter's template with its first row filled in. */
  async function workbook(name: string, bill: string, amount: number | string) {
    const { bytes } = await stage.ask('GET', `/v1/exporters/${KAVERI.email}/template`);
    const book = new Workbook();
    await book.xlsx.load(bytes as unknown as ArrayBuffer);
    const [sheet] = book.worksheets;
    const headers = Array.from(sheet!.getRow(1).values as (string | undefined)[]);
    const currency = sheet!.getRow(2).getCell(headers.indexOf('IRM FCC')).value;
    const cells = {
      ...{ 'Upload Type': 103, 'Branch Sl No': 0, 'Port Code': 'INNSA1', 'SB Cum Invoice FCC': currency },
      ...{ 'SB Cum Invoice Date': new Date('2026-05-02'), 'SB Cum Invoice Value In FCC': 500 },
      ...{ 'SB Cum Invoice Number': bill, 'Bill No': bill, 'Mapped IRM Amount FCC': amount },
    };
    for (const [title, value] of Object.entries(cells)) sheet!.getRow(2).getCell(headers.indexOf(title)).value = value;
    const path = join(folder, name);
    await writeFile(path, Buffer.from(await book.xlsx.writeBuffer()));
    return { path, currency: String(currency) };
  }

  async function handIn(page: Page, path: string, reference: string): Promise<void> {
    await page.getByLabel('Workbook').setInputFiles(path);
    await page.getByLabel('Reference').fill(reference);
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByRole('heading', { name: `Check of ${reference}` }).waitFor();
  }

  it.each([true, false])('goes from the check to the certificate (JavaScript: %s)', async (javaScript) => {
    const nth = javaScript ? 1 : 2;
    const maker = await office.person(`asha-${nth}`, ['maker'], { javaScript });
    const { page } = maker;
    await maker.open('/file');
    await handIn(page, (await workbook('wrong.xlsx', `W-${nth}`, 'lots')).path, `WB-${nth}`);
    const cell = page.locator('#errors tbody tr').first();
    expect(await cell.innerText()).toMatch(/^[A-Z]+2\tMapped IRM Amount FCC\tlots\t.*Expected digits/u);
    expect(await page.getByRole('button', { name: /^File/u }).count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download it with the cells marked' }).click();
    expect((await download).suggestedFilename()).toBe(`WB-${nth}-checked.xlsx`);

    await page.getByRole('link', { name: 'Hand in another workbook' }).click();
    const { path, currency } = await workbook('right.xlsx', `W-${nth}`, 10);
    await handIn(page, path, `WB-${nth}`);
    // The check has an address: it may be read anew, and come back to.
    await page.reload();
    await maker.open('/exporters');
    await page.goBack();
    const declaration = page.locator('#declare');
    expect(await declaration.innerText()).toContain('the rows are true and complete');
    await page.getByRole('button', { name: /^File 1 row/u }).click();
    // Without a declaration the browser does not send it.
    expect(await page.getByRole('heading', { name: `WB-${nth}` }).count()).toBe(1);
    await page.getByLabel('Y: it declares this').check();
    await page.getByRole('button', { name: /^File 1 row/u }).dblclick();
    await page.getByRole('heading', { name: `WB-${nth}`, exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/filings/WB-${nth}`);
    const state = page.locator('#status .lead');
    if (javaScript) await state.getByText('Its row is certified').waitFor({ timeout: 60_000 });
    else
      await eventually(async () => {
        await page.reload();
        return (await state.innerText()).includes('Its row is certified');
      }, 60_000);
    const row = await page.locator('#rows tbody tr').innerText();
    expect(row).toMatch(new RegExp(`W-${nth}\t10.00 ${currency}\t✓ certified`, 'u'));
    const link = page.getByRole('link', { name: 'PDF', exact: true });
    const pdf = await page.context().request.get(`${office.url}${await link.getAttribute('href')}`);
    expect([pdf.status(), pdf.headers()['content-type']]).toEqual([200, 'application/pdf']);
    expect(stage.sandbox.doubleFilings()).toEqual([]);
  });

  it('is approved by somebody else than its maker', async () => {
    const maker = await office.person('meera', ['maker', 'checker']);
    const checker = await office.person('ravi', ['checker'], { javaScript: false });
    await maker.open('/file');
    await handIn(maker.page, (await workbook('approve.xlsx', 'W-A', 10)).path, 'WB-APPROVE');
    await maker.page.getByLabel('Y: it declares this').check();
    await maker.page.getByLabel('Wait for the approval of somebody else').check();
    await maker.page.getByRole('button', { name: /^File 1 row/u }).click();
    await maker.page.getByText('You made this filing: somebody else has to approve it.').waitFor();
    // Also where the maker sends the form by itself.
    const form = await maker.page.locator('input[name=form]').first().inputValue();
    const path = `${office.url}/filings/WB-APPROVE/approve`;
    const { filingId, contentHash } = (
      await stage.ask<{ filingId: string; contentHash: string }>('GET', '/v1/filings/WB-APPROVE')
    ).body;
    const own = await maker.context.request.post(path, { form: { form, contentHash } });
    expect([own.status(), await own.text()]).toEqual([403, expect.stringContaining('meera made this filing')]);
    // A form without the token of the sign-in does nothing.
    const foreign = await checker.context.request.post(path, { form: { form, contentHash } });
    expect([foreign.status(), await foreign.text()]).toEqual([403, expect.stringContaining('another sign-in')]);

    await checker.open('/');
    const item = checker.page.locator('li', { hasText: 'WB-APPROVE' });
    await item.getByRole('link', { name: 'Look and approve' }).click();
    expect(new URL(checker.page.url()).pathname).toBe(`/filings/${filingId}`);
    // The sign-in was a while ago.
    await stage.ledger.pool.query("UPDATE sessions SET signed_in_at = signed_in_at - interval '16 minutes'");
    await checker.page.getByLabel('Note').first().fill('looked at every row');
    await checker.page.getByRole('button', { name: 'Approve' }).click();
    await checker.page.getByText('Your token is asked for again').waitFor();
    await checker.page.goBack();
    await checker.page.reload();
    await checker.page.getByLabel('Your token').first().fill(checker.token);
    await checker.page.getByRole('button', { name: 'Approve' }).click();
    await checker.page.getByRole('heading', { name: 'Decisions' }).waitFor();
    expect(await checker.page.locator('#decide').innerText()).toMatch(/It may be sent\travi/u);
    await maker.page.locator('#status .lead').getByText('Its row is certified').waitFor({ timeout: 60_000 });
  });

  it('opens no dialog, and breaks no policy', () => expect(office.problems).toEqual([]));
});
