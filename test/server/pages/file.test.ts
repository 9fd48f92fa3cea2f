/** A workbook's way at the pages: sign-in, check, declaration, filing, approval by somebody else. */
import type { Page } from 'playwright-core';
import { eventually } from '../../support/processes';
import { inBrowser } from '../../support/chromium';
import { onboard, useHttpStage } from '../http-stage';
import { openOffice, type Office } from './people';
import { filledTemplate } from './workbook';

inBrowser('a workbook', () => {
  let office: Office;
  // Before what it uses.
  afterAll(() => office?.close());
  const stage = useHttpStage(async (opened) => {
    await onboard(opened);
    office = await openOffice(opened);
  });

  type Filled = Awaited<ReturnType<typeof filledTemplate>>;
  async function handIn(page: Page, { name, bytes: buffer }: Filled, reference: string): Promise<void> {
    await page.getByLabel('Workbook').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await page.getByLabel('Reference').fill(reference);
    await page.getByRole('button', { name: 'Check it' }).click();
    await page.getByRole('heading', { name: `Check of ${reference}` }).waitFor();
  }

  it.each([true, false])('goes from the check to the certificate (JavaScript: %s)', async (javaScript) => {
    const nth = javaScript ? 1 : 2;
    const maker = await office.person(`asha-${nth}`, ['maker'], { javaScript });
    const { page } = maker;
    await maker.open('/file');
    await handIn(page, await filledTemplate(stage, { bill: `W-${nth}`, amount: 'lots' }), `WB-${nth}`);
    const cell = page.locator('#errors tbody tr').first();
    expect(await cell.innerText()).toMatch(/^[A-Z]+2\tMapped IRM Amount FCC\tlots\t.*Expected digits/u);
    expect(await page.getByRole('button', { name: /^File/u }).count()).toBe(0);
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download it with the cells marked' }).click();
    expect((await download).suggestedFilename()).toBe(`WB-${nth}-checked.xlsx`);

    await page.getByRole('link', { name: 'Hand in another workbook' }).click();
    // What was said of the first one need not be said again.
    expect(await page.getByLabel('Reference').inputValue()).toBe(`WB-${nth}`);
    const right = await filledTemplate(stage, { bill: `W-${nth}` });
    await handIn(page, right, `WB-${nth}`);
    // The check has an address: it may be read anew, and come back to.
    await page.reload();
    await maker.open('/exporters');
    await page.goBack();
    expect(await page.locator('.lead').innerText()).toContain(`Mapped in all: 10.00 ${right.currency}.`);
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
    expect(row).toMatch(new RegExp(`W-${nth}\t10.00 ${right.currency}\t✓ certified`, 'u'));
    const link = page.getByRole('link', { name: 'PDF', exact: true });
    const pdf = await page.context().request.get(`${office.url}${await link.getAttribute('href')}`);
    expect([pdf.status(), pdf.headers()['content-type']]).toEqual([200, 'application/pdf']);
    expect(stage.sandbox.doubleFilings()).toEqual([]);
  });

  it('is approved by somebody else than its maker', async () => {
    const maker = await office.person('meera', ['maker', 'checker']);
    const checker = await office.person('ravi', ['checker'], { javaScript: false });
    await maker.open('/file');
    await handIn(maker.page, await filledTemplate(stage, { bill: 'W-A' }), 'WB-APPROVE');
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
    // The refused form is there again, with what was written.
    expect(await checker.page.getByLabel('Note').first().inputValue()).toBe('looked at every row');
    await checker.page.getByLabel('Your token').first().fill(checker.token);
    await checker.page.getByRole('button', { name: 'Approve' }).click();
    await checker.page.getByRole('heading', { name: 'Decisions' }).waitFor();
    expect(await checker.page.locator('#decide').innerText()).toMatch(/It may be sent\travi/u);
    await maker.page.locator('#status .lead').getByText('Its row is certified').waitFor({ timeout: 60_000 });
  });

  it('opens no dialog, and breaks no policy', () => expect(office.problems).toEqual([]));
});
