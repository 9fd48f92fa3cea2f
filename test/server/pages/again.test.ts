/** What people do when a page is slow: click twice, go back, read anew, lose the connection. Nothing is done twice. */
import type { Page } from 'playwright-core';
import { inBrowser } from '../../support/chromium';
import { eventually } from '../../support/processes';
import { KAVERI, messageOf, onboard, useHttpStage } from '../http-stage';
import { openOffice, type Office, type Person } from './people';
import { filledTemplate } from './workbook';

inBrowser('a page that is slow', () => {
  let office: Office;
  // Before what it uses.
  afterAll(() => office?.close());
  const stage = useHttpStage(
    async (opened) => {
      await onboard(opened);
      office = await openOffice(opened);
    },
    { settleAfterMs: 3_000 },
  );

  const filings = async (reference: string): Promise<number> =>
    (await stage.ledger.pool.query('SELECT FROM filings WHERE reference = $1', [reference])).rows.length;

  /** What persons decided about the filings of a reference, and what came of it. */
  const decisions = async (reference: string): Promise<string[]> => {
    const { rows } = await stage.ledger.pool.query<{ said: string }>(
      `SELECT name || ': ' || kind || ', ' || coalesce(outcome, 'waits') AS said
         FROM decisions JOIN filings USING (filing_id) WHERE reference = $1 ORDER BY decision_id`,
      [reference],
    );
    return rows.map(({ said }) => said);
  };

  /** Loses the connection at the next form: before it arrives, or before its answer comes back. */
  const lose = (page: Page, what: 'the form' | 'the answer') =>
    page.route(
      /\/(file|filings)\//u,
      async (route) => {
        if (what === 'the answer') await route.fetch({ maxRedirects: 0 });
        await route.abort('connectionreset');
      },
      { times: 1 },
    );

  async function handIn({ page, open }: Person, reference: string): Promise<void> {
    const { name, bytes: buffer } = await filledTemplate(stage, { bill: `B-${reference}` });
    await open('/file');
    await page.getByLabel('Workbook').setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    await page.getByLabel('Reference').fill(reference);
    await page.getByRole('button', { name: 'Check it' }).dblclick();
    await page.getByRole('heading', { name: `Check of ${reference}` }).waitFor();
  }

  const declare = (page: Page) => page.getByLabel('Y: it declares this').check();
  const file = (page: Page) => page.getByRole('button', { name: /^File 1 row/u });
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  /** What the person said is shown, and nothing was refused. */
  const stands = async (page: Page, text: string): Promise<void> => {
    await page.getByRole('status').getByText(text).waitFor();
    expect(await page.getByRole('alert').allInnerTexts()).toEqual([]);
  };
  const alert = (page: Page, text: RegExp) => page.getByRole('alert').getByText(text).waitFor();

  it.each([true, false])('files a workbook once (JavaScript: %s)', async (javaScript) => {
    const reference = javaScript ? 'ONCE-1' : 'ONCE-2';
    const maker = await office.person(`maker-of-${reference}`, ['maker'], { javaScript });
    const { page } = maker;
    await handIn(maker, reference);
    // Back to the form, and to the check again.
    await page.goBack();
    await page.getByRole('heading', { name: 'File a workbook' }).waitFor();
    await page.goForward();
    await page.getByText('Nothing is wrong.').waitFor();
    const check = page.url();

    await declare(page);
    await lose(page, 'the form');
    await file(page).click();
    await page.waitForURL('chrome-error://chromewebdata/');
    expect(await filings(reference)).toBe(0);
    await page.goBack();
    await page.getByText('Nothing is wrong.').waitFor();

    const elsewhere = await page.context().newPage();
    await elsewhere.goto(check);
    await declare(elsewhere);
    await declare(page);
    await lose(page, 'the answer');
    await file(page).click();
    await page.waitForURL('chrome-error://chromewebdata/');
    expect(await filings(reference)).toBe(1);
    // It was filed: the way back to the check leads to what became of it.
    await page.goBack();
    await heading(page, reference);
    expect(await page.locator('#status .lead').innerText()).toMatch(/[a-z]{4}/u);

    // A form that was opened before, sent twice, leads to the one filing.
    await file(elsewhere).dblclick();
    await heading(elsewhere, reference);
    await elsewhere.reload();
    await heading(elsewhere, reference);
    expect(new URL(elsewhere.url()).pathname).toBe(`/filings/${reference}`);
    await elsewhere.goBack();
    await heading(elsewhere, reference);
    expect(await filings(reference)).toBe(1);
    expect(stage.sandbox.doubleFilings()).toEqual([]);
  });

  it('is approved once, and whoever comes later sees what stands', async () => {
    const maker = await office.person('anita', ['maker'], { javaScript: false });
    const checker = await office.person('babu', ['checker']);
    const late = await office.person('chitra', ['checker'], { javaScript: false });
    await handIn(maker, 'APPROVED');
    await declare(maker.page);
    await maker.page.getByLabel('Wait for the approval of somebody else').check();
    await file(maker.page).dblclick();
    await heading(maker.page, 'APPROVED');
    const approve = (page: Page) => page.getByRole('button', { name: 'Approve' });
    const second = { ...checker, page: await checker.context.newPage() };
    for (const { page } of [checker, second, late])
      await eventually(async () => {
        await page.goto(`${office.url}/filings/APPROVED`);
        return (await approve(page).count()) === 1;
      });

    await lose(checker.page, 'the form');
    await approve(checker.page).click();
    await checker.page.waitForURL('chrome-error://chromewebdata/');
    expect(await decisions('APPROVED')).toEqual([]);
    await checker.page.goBack();
    await approve(checker.page).dblclick();
    await stands(checker.page, 'You said “It may be sent” at');
    // The same from another window: no second decision, and no error.
    await approve(second.page).click();
    await stands(second.page, 'It was carried out.');
    await second.page.reload();
    await stands(second.page, 'It was carried out.');
    // Somebody else comes too late, and is told so beside the state.
    await approve(late.page).click();
    await alert(late.page, /it does not wait for an approval|has ended as certified/u);
    await heading(late.page, 'APPROVED');
    expect(await late.page.locator('#status .lead').count()).toBe(1);
    await late.page.goBack();
    await late.page.getByRole('heading', { name: 'Decisions' }).waitFor();
    expect(await decisions('APPROVED')).toEqual(['babu: approve, carried_out']);
    expect(await filings('APPROVED')).toBe(1);
  });

  it('is resolved once, about the attempt that was looked at', async () => {
    stage.sandbox.addFault({ operation: 'push-irm', kind: 'drop-before-accept' });
    const json = { exporter: KAVERI.email, reference: 'LOST', message: await messageOf(stage, 'LOST') };
    expect((await stage.ask('POST', '/v1/filings', { json })).status).toBe(201);
    const { page, context } = await office.person('devi', ['checker']);
    const summary = page.locator('summary', { hasText: 'It was not filed' });
    await eventually(async () => {
      await page.goto(`${office.url}/filings/LOST`);
      return (await summary.count()) === 1;
    }, 120_000);
    const answer = async () => {
      await summary.click();
      await page.getByLabel('it ends; its rows are free').check();
      await page.locator('#not-filed-note').fill('the portal has nothing');
    };

    // Of another attempt than the one in question nothing is decided, nor of none.
    const path = (await page.locator('form[action$="/resolve"]').first().getAttribute('action')) ?? '';
    const form = await page.locator('input[name=form]').first().inputValue();
    const said = { form, as: 'not-filed-end', note: 'the portal has nothing' };
    for (const [attempt, text] of [
      ['2', 'attempt 1 is in question, not attempt 2'],
      ['', 'attempt 1 is in question, not attempt 0'],
      [undefined, 'attempt'],
    ] as const) {
      const sent = await context.request.post(`${office.url}${path}`, {
        form: { ...said, ...(attempt !== undefined && { attempt }) },
      });
      const body = await sent.text();
      expect([attempt, sent.status() >= 400, body.includes(text)]).toEqual([attempt, true, true]);
    }
    expect(await decisions('LOST')).toEqual([]);

    await answer();
    await lose(page, 'the answer');
    await page.getByRole('button', { name: 'Say “not filed”' }).click();
    await page.waitForURL('chrome-error://chromewebdata/');
    expect(await decisions('LOST')).toHaveLength(1);
    await page.goBack();
    await stands(page, 'You said “It was not filed, and ends” at');
    // While it waits for a reading, the form is there: the same again is no second decision.
    if ((await summary.count()) === 1) {
      await answer();
      await page.getByRole('button', { name: 'Say “not filed”' }).dblclick();
      await stands(page, 'You said “It was not filed, and ends” at');
    }
    await page.locator('#status .lead').getByText('Nothing of it was filed').waitFor({ timeout: 120_000 });
    expect(await decisions('LOST')).toEqual(['devi: not_filed, carried_out']);
    expect(stage.sandbox.calls({ operation: 'push-irm' }).length).toBe(4);
  });

  it('opens no dialog, and breaks no policy', () => expect(office.problems).toEqual([]));
});
