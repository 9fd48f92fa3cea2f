/** People at the pages: each with a browser context of their own. */
import AxeBuilder from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openBrowser } from '../../../dev/browser';
import type { Role } from '../../../src/domain/principal';
import type { HttpStage } from '../http-stage';

export interface Person {
  name: string;
  token: string;
  page: Page;
  context: BrowserContext;
  /** Opens a path of the pages. */
  open: (path: string) => Promise<void>;
}

interface Options {
  javaScript?: boolean;
  dark?: boolean;
  /** Already signed in. */
  signedIn?: boolean;
}

export type Office = Awaited<ReturnType<typeof openOffice>>;

/** An HTTP API with pages, and a browser. */
export async function openOffice(stage: HttpStage) {
  const httpApi = await stage.another({}, { pages: true });
  const browser: Browser = await openBrowser();
  const contexts: BrowserContext[] = [];
  const problems: string[] = [];

  async function person(name: string, roles: Role[], options: Options & { token?: string } = {}): Promise<Person> {
    const { javaScript = true, dark = false, signedIn = true } = options;
    const token = options.token ?? (await stage.principal(roles, { name }));
    const context = await browser.newContext({
      javaScriptEnabled: javaScript,
      colorScheme: dark ? 'dark' : 'light',
      viewport: { width: 1_280, height: 900 },
    });
    contexts.push(context);
    const page = await context.newPage();
    page.on('pageerror', (error) => problems.push(`${name}: ${error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error' && /policy|refused to/i.test(message.text())) problems.push(message.text());
    });
    page.on('dialog', (dialog) => {
      problems.push(`${name}: a dialog was opened`);
      void dialog.dismiss();
    });
    const open = async (path: string) => void (await page.goto(`${httpApi.url}${path}`));
    if (signedIn) {
      await open('/sign-in');
      await page.getByLabel('Your token').fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Needs you' }).waitFor();
    }
    return { name, token, page, context, open };
  }

  return {
    url: httpApi.url,
    browser,
    person,
    /** Errors of scripts, refusals by the policy, and dialogs, of all pages. */
    problems,
    async close() {
      for (const context of contexts) await context.close();
      await browser.close();
      await httpApi.close();
    },
  };
}

/** What axe finds on the page that is open. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // Through the protocol, because the page's policy lets no script in.
  await page.evaluate(AxeBuilder.source);
  const found = await page.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof AxeBuilder }).axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
  });
  return found;
}
