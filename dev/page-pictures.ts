import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { openBrowser } from './browser';

interface Scene {
  httpApi: { url: string; token: string };
  exporter: string;
  /** A workbook with a mistake in it. */
  mistaken: string;
  /** A filing of which nobody knows yet what became of it. */
  asked: string;
  folder: string;
}

const LOOKS = [
  { suffix: '', viewport: { width: 1_280, height: 800 }, dark: false },
  { suffix: '-phone', viewport: { width: 390, height: 844 }, dark: false },
] as const;
const DARK = { suffix: '-dark', viewport: LOOKS[0].viewport, dark: true } as const;

/** Takes a picture of each page for people, on a desktop and on a phone, and one in dark colours. */
export async function takePagePictures(scene: Scene): Promise<void> {
  const browser = await openBrowser();
  try {
    for (const look of LOOKS) {
      const page = await signedIn(browser, scene, look);
      const take = async (name: string, path: string) => {
        await page.goto(`${scene.httpApi.url}${path}`);
        await picture(page, scene, `${name}${look.suffix}`);
      };
      await take('needs-you', '/');
      await handIn(page, scene);
      await picture(page, scene, `file${look.suffix}`);
      await take('filing', `/filings/${scene.asked}#decide`);
      await take('exporters', '/exporters');
      await take('certificates', '/certificates');
    }
    await picture(await signedIn(browser, scene, DARK), scene, `needs-you${DARK.suffix}`);
  } finally {
    await browser.close();
  }
}

async function signedIn(
  browser: Browser,
  { httpApi }: Scene,
  look: (typeof LOOKS)[number] | typeof DARK,
): Promise<Page> {
  const { viewport, dark } = look;
  const page = await browser.newPage({ viewport, colorScheme: dark ? 'dark' : 'light' });
  await page.goto(`${httpApi.url}/sign-in`);
  await page.getByLabel('Your token').fill(httpApi.token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Needs you' }).waitFor();
  return page;
}

async function handIn(page: Page, { httpApi, exporter, mistaken }: Scene): Promise<void> {
  await page.goto(`${httpApi.url}/file`);
  const choice = page.getByLabel('Exporter');
  const value = await choice.locator('option', { hasText: exporter }).getAttribute('value');
  await choice.selectOption(value ?? '');
  await page.getByLabel('Workbook').setInputFiles(mistaken);
  await page.getByLabel('Reference').fill('MER-AUGUST');
  await page.getByRole('button', { name: 'Check it' }).click();
  await page.getByRole('heading', { name: 'Check of MER-AUGUST' }).waitFor();
}

const picture = async (page: Page, { folder }: Scene, name: string): Promise<void> =>
  void (await page.screenshot({ path: join(folder, `page-${name}.png`) }));
