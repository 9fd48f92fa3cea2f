import { join } from 'node:path';
import type { Browser } from 'playwright-core';

const SCREENS = {
  desktop: { viewport: { width: 1_280, height: 800 }, colorScheme: 'light' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
} as const;

/**
 * Takes a picture of each page, on a desktop in light and on a phone in dark colours.
 * @param paths of the pages, by the names of their pictures
 */
export async function takePagePictures(
  browser: Browser,
  {
    url,
    token,
    folder,
    paths,
  }: { url: string; token: string; folder: string; paths: Readonly<Record<string, string>> },
): Promise<void> {
  for (const [screen, options] of Object.entries(SCREENS)) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    await page.goto(`${url}/sign-in`);
    await page.getByLabel('Your token').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Needs you' }).waitFor();
    for (const [name, path] of Object.entries(paths)) {
      await page.goto(`${url}${path}`);
      await page.screenshot({ path: join(folder, `pages-${name}-${screen}.png`) });
    }
    await context.close();
  }
}
