import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openBrowser } from './browser';

/** Takes the pictures of both reports as the documentation shows them. */
export async function takePictures(paths: { daily: string; ageing: string; folder: string }): Promise<void> {
  const browser = await openBrowser();
  try {
    for (const name of ['daily', 'ageing'] as const) {
      // The first screens: the whole daily report is too tall for a picture.
      const page = await browser.newPage({ viewport: { width: 1_400, height: 2_200 } });
      await page.goto(pathToFileURL(paths[name]).href);
      await page.screenshot({ path: join(paths.folder, `report-${name}.png`) });
      await page.close();
    }
    const phone = await browser.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await phone.goto(pathToFileURL(paths.daily).href);
    await phone.locator('#rejections').scrollIntoViewIfNeeded();
    await phone.screenshot({ path: join(paths.folder, 'report-daily-phone.png') });
  } finally {
    await browser.close();
  }
}
