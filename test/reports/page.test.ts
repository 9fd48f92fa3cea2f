/** The HTML report as a browser shows it: figures, sorting, width, colours, and no request to anywhere. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Browser, Page } from 'playwright-core';
import { dailyReport } from '../../src/reports/make';
import type { Report } from '../../src/reports/report';
import { writeReportHtml } from '../../src/reports/write-html';
import { HOUR_MS, knowExporter, tell } from '../ledger/filed';
import { openBrowser } from '../../dev/browser';
import { testFolder } from '../support/folder';
import { inBrowser } from '../support/chromium';
import { useTestDatabase } from '../support/postgres';
import { reportOn } from './report-input';

const folder = testFolder();

inBrowser('the page', () => {
  const NOON = new Date('2026-02-20T06:30:00Z');
  const ledger = useTestDatabase(knowExporter);
  let browser: Browser;
  let page: Page;
  let report: Report;
  const requests: string[] = [];

  beforeAll(async () => {
    for (const [n, amount] of [900, 10, 2_000].entries()) {
      const madeAt = new Date(NOON.getTime() - (n + 2) * 24 * HOUR_MS);
      const row = { sbCumInvoiceNumber: String(200 + n), mappedIRMAmountFCC: amount };
      await tell(ledger, { reference: `LOST-${n}-${'LONG'.repeat(n * 6)}`, madeAt, rows: [row] });
    }
    report = await dailyReport(ledger.pool, reportOn('2026-02-20'));
    const path = join(folder, 'daily.html');
    await writeFile(path, writeReportHtml(report, { grouping: 'indian' }));
    browser = await openBrowser();
    page = await browser.newPage();
    page.on('request', (request) => requests.push(request.url()));
    page.on('pageerror', (error) => requests.push(`error: ${error.message}`));
    page.on('console', (message) => requests.push(`console: ${message.text()}`));
    await page.goto(pathToFileURL(path).href);
  });
  afterAll(() => browser?.close());

  it('asks for nothing, and its script runs under its own policy', () => {
    expect(requests).toEqual([expect.stringMatching(/^file:.*daily\.html$/u)]);
  });

  it('shows the figures of the ledger', async () => {
    for (const { id, figures } of report.groups) {
      const shown = await page.$$eval(`#${id} [data-figure]`, (elements) =>
        elements.map((element) => [element.getAttribute('data-figure'), element.getAttribute('data-value')]),
      );
      expect(shown).toEqual(figures.map((figure) => [figure.id, String(figure.value ?? '')]));
    }
    const { rows } = await ledger.pool.query<{ value: string }>(
      `SELECT sum(amount)::text AS value FROM filing_rows WHERE state = 'sent'`,
    );
    const risk = page.locator('#unknown [data-figure=at_risk_usd]');
    expect(await risk.getAttribute('data-value')).toBe(rows[0]?.value);
    expect(await risk.locator('dd').innerText()).toBe('2,910.00 USD');
  });

  it('begins with what is to be done, and makes groups without anything one line', async () => {
    const alarms = report.groups.flatMap(({ figures }) => figures.filter(({ alarm }) => alarm));
    expect(alarms.length).toBeGreaterThan(0);
    const toDo = page.locator('main > section').first();
    expect(await toDo.locator('h2').innerText()).toBe(`To do: ${alarms.length + 3}`);
    expect(await toDo.locator('li').count()).toBe(alarms.length + 3);
    expect(await toDo.innerText()).toContain('Older than 24 h 3');
    // As people in India read a time.
    expect(await toDo.innerText()).toMatch(/: wait until \d{4}-\d{2}-\d{2} \d{2}:\d{2}\n/u);
    const closed = page.locator('section > details:not([open])');
    expect(await closed.count()).toBeGreaterThan(0);
    expect((await closed.first().boundingBox())?.height).toBeLessThan(40);
  });

  it('sorts a table by number, up and down', async () => {
    const amounts = () =>
      page.$$eval('#table-unknown tbody tr td:nth-child(7)', (cells) => cells.map((each) => each.textContent));
    const head = page.locator('#table-unknown th', { hasText: 'Value' });
    await head.locator('button').click();
    expect(await amounts()).toEqual(['10.00', '900.00', '2,000.00']);
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    await head.locator('button').click();
    expect(await amounts()).toEqual(['2,000.00', '900.00', '10.00']);
    expect(await head.getAttribute('aria-sort')).toBe('descending');
  });

  it.each([390, 1_400])('fits %i px: nothing but a table in its frame is wider', async (width) => {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate<string[]>(`
      [...document.querySelectorAll('body *')]
        .filter((each) => !each.closest('.scroll') && each.getBoundingClientRect().right > innerWidth + 0.5)
        .map((each) => each.outerHTML.slice(0, 80))`);
    expect(wide).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(width);
  });

  it('follows the colour scheme of its reader, charts too', async () => {
    const colours = async (colorScheme: 'light' | 'dark') => {
      await page.emulateMedia({ colorScheme });
      return page.evaluate<string[]>(`[
        getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('#unknown svg path[stroke="var(--c1)"]')).stroke,
      ]`);
    };
    expect(await colours('light')).toEqual(['rgb(255, 255, 255)', 'rgb(31, 111, 235)']);
    expect(await colours('dark')).toEqual(['rgb(15, 19, 24)', 'rgb(110, 168, 254)']);
  });

  it('prints every row, on white', async () => {
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const printed = await page.evaluate<{ back: string; overflow: string[] }>(`({
      back: getComputedStyle(document.body).backgroundColor,
      overflow: [...document.querySelectorAll('.scroll')].map((each) => getComputedStyle(each).overflow),
    })`);
    expect(printed.back).toBe('rgb(255, 255, 255)');
    expect(new Set(printed.overflow)).toEqual(new Set(['visible']));
  });
});
