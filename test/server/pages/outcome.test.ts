/** A lost answer, settled by two persons at the pages; hostile texts, and whether everybody can use the pages. */
import { filingDateInKolkata } from '../../../src/domain/dates';
import { inBrowser } from '../../support/chromium';
import { KAVERI, messageOf, onboard, useHttpStage } from '../http-stage';
import { accessibilityProblems, openOffice, type Office, type Person } from './people';

/** Without white space, which a reference must not have. */
const HOSTILE = `<img/src=x/onerror=alert(1)>"'&lt;`;

inBrowser('an unknown outcome', () => {
  let office: Office;
  // Before what it uses.
  afterAll(() => office?.close());
  const stage = useHttpStage(
    async (opened) => {
      await onboard(opened);
      office = await openOffice(opened);
    },
    { settleAfterMs: 6_000 },
  );

  const control = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${stage.sandbox.controlUrl}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };

  async function say(person: Person, note: string): Promise<void> {
    const { page } = person;
    await page.locator('summary', { hasText: 'It was not filed' }).click();
    await page.getByLabel('it ends; its rows are free').check();
    await page.locator('#not-filed-note').fill(note);
    await page.getByRole('button', { name: 'Say “not filed”' }).click();
  }

  it('is settled by two, of whom the second sees what the first said and was shown', async () => {
    const message = await messageOf(stage, 'LOST-1');
    const [row] = message.ebrcBulkGenDtos;
    stage.sandbox.addFault({ operation: 'push-irm', kind: 'drop-before-accept' });
    const lost = { exporter: KAVERI.email, reference: 'LOST-1', message };
    expect((await stage.ask('POST', '/v1/filings', { json: lost })).status).toBe(201);
    const today = filingDateInKolkata(Date.now());
    await control('/accounts/kaveri.softworks/certificates', {
      ...{ eBRCNumber: 'ELSEWHERE01', irmNumber: row!.irmNumber, billNo: row!.billNo },
      ...{ sbCumInvoiceNumber: row!.sbCumInvoiceNumber, sbCumInvoiceDate: row!.sbCumInvoiceDate },
      ...{ realisedValueFCC: 7, currencyCode: row!.irmFCC },
      ...{ eBRCDate: today, realizationDt: today },
    });
    const first = await office.person('lata', ['checker']);
    const second = await office.person('mohan', ['checker'], { javaScript: false });
    const item = first.page.locator('li', { hasText: 'LOST-1' });
    // The first page shows it by itself once somebody is asked.
    await item.getByRole('link', { name: 'Say what became of it' }).click({ timeout: 120_000 });
    const asked = first.page.locator('#decide');
    expect(await asked.innerText()).toContain('Certificate ELSEWHERE01');
    expect(await asked.textContent()).toContain('so two persons have to say so');
    // Nobody answered, and amounts have their currency.
    expect(await asked.locator('table').first().innerText()).toMatch(
      /no answer came\t\? unknown\t.*the connection failed/u,
    );
    expect(await asked.locator('table').nth(1).innerText()).toContain(` ${row!.irmFCC}\t`);
    // A form that was refused is open again, with what was written.
    await stage.ledger.pool.query("UPDATE sessions SET signed_in_at = signed_in_at - interval '16 minutes'");
    await say(first, HOSTILE);
    await first.page.getByText('Your token is asked for again').waitFor();
    expect(await first.page.locator('#not-filed-note').inputValue()).toBe(HOSTILE.trim());
    await stage.ledger.pool.query('UPDATE sessions SET signed_in_at = now()');
    await first.open('/filings/LOST-1');
    await say(first, HOSTILE);
    await first.page.getByRole('cell', { name: 'it waits', exact: true }).waitFor();
    await first.page.getByRole('status').getByText('waits for somebody else to say the same').waitFor();
    expect(await accessibilityProblems(first.page)).toEqual([]);

    await second.open('/filings/LOST-1');
    const said = await second.page.locator('#decide').innerText();
    expect(said).toContain(HOSTILE);
    expect(said).toMatch(/It was not filed, and ends\tlata\t.*certificate:ELSEWHERE01/u);
    await say(second, 'the portal has nothing');
    await first.page.locator('#status .lead').getByText('Nothing of it was filed').waitFor({ timeout: 120_000 });
    expect(stage.sandbox.calls({ operation: 'push-irm' })).toHaveLength(1);
  });

  it('lets every page be used by everybody, in both themes, on a phone', async () => {
    const reference = `R${HOSTILE}`;
    const answer = await stage.ask('POST', '/v1/filings', {
      json: { exporter: KAVERI.email, reference, message: await messageOf(stage, 'HOSTILE-1', 3) },
      headers: { prefer: 'wait=60' },
    });
    expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ state: 'certified' })]);
    const paths = ['/', '/file', '/filings', `/filings/${encodeURIComponent(reference)}`, '/filings/LOST-1'];
    paths.push('/certificates', '/exporters', `/exporters/${KAVERI.email}`, '/you', '/filings/NONE');
    for (const dark of [false, true]) {
      const person = await office.person(`everybody-${dark}`, ['viewer', 'maker', 'checker', 'admin'], { dark });
      for (const path of paths) {
        await person.open(path);
        expect([path, dark, await accessibilityProblems(person.page)]).toEqual([path, dark, []]);
        const bytes = Buffer.byteLength(await person.page.content());
        expect([path, bytes < 150_000]).toEqual([path, true]);
        for (const width of [360, 1_920]) {
          await person.page.setViewportSize({ width, height: 800 });
          const wide = await person.page.evaluate<number>('document.documentElement.scrollWidth');
          expect([path, width, wide]).toEqual([path, width, width]);
        }
      }
      expect(await person.page.locator('img').count()).toBe(0);
    }
    const viewer = await office.person('reader', ['viewer']);
    await viewer.open(`/filings/${encodeURIComponent(reference)}`);
    expect(await viewer.page.getByRole('heading', { level: 1 }).innerText()).toBe(reference);
  });

  it('needs no mouse', async () => {
    const { page, token, open } = await office.person('keys', ['viewer'], { signedIn: false });
    await open('/certificates');
    const focused = () => page.evaluate<string>('document.activeElement.id');
    for (let tabs = 0; tabs < 3 && (await focused()) !== 'token'; tabs += 1) await page.keyboard.press('Tab');
    expect(await focused()).toBe('token');
    await page.keyboard.type(token);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Certificates' }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('To the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('HOSTILE-1-2');
    await page.keyboard.press('Enter');
    await page.waitForURL(/document=HOSTILE-1-2/u);
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  it('lets nobody in without a valid token, and out everywhere', async () => {
    const stranger = await office.person('stranger', ['viewer'], { signedIn: false });
    await stranger.open('/filings/LOST-1');
    await stranger.page.getByLabel('Your token').fill(`ebrc_test_${'x'.repeat(43)}`);
    await stranger.page.keyboard.press('Enter');
    await stranger.page.getByRole('alert').getByText('This token is unknown').waitFor();
    await stranger.page.getByLabel('Your token').fill(stranger.token);
    await stranger.page.keyboard.press('Enter');
    await stranger.page.getByRole('heading', { name: 'LOST-1' }).waitFor();
    const elsewhere = await office.person('stranger', ['viewer'], { token: stranger.token });
    const [cookie] = await elsewhere.context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', secure: false });
    // Another process knows the same sign-ins.
    const other = await stage.another({}, { pages: true });
    const there = await elsewhere.context.request.get(`${other.url}/exporters`);
    expect(await there.text()).toContain('Kaveri Softworks');
    await other.close();
    await stranger.open('/you');
    await stranger.page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await stranger.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await elsewhere.open('/');
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(office.problems).toEqual([]);
  });
});
