/** The Temporal UI as a person sees it: what is encrypted shows with the codec server, and not without. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { Browser } from 'playwright-core';
import { freePort } from '../../dev/free-port';
import { startTemporalServer, type TemporalServer } from '../../dev/temporal-server';
import { startCodecServer } from '../../src/encryption/codec-server';
import { dataConverterOf, createPayloadCodec } from '../../src/encryption/payload-codec';
import { openBrowser } from '../../dev/browser';
import { inBrowser } from '../support/chromium';

const keys = [{ id: 'test', key: randomBytes(32) }];
/** Set to keep what was seen in docs/pictures. */
const PICTURES = process.env['UPDATE_PICTURES'] === '1' ? join(__dirname, '..', '..', 'docs', 'pictures') : null;

inBrowser('an onboarding in the Temporal UI', () => {
  let temporal: TemporalServer;
  let codecServer: Awaited<ReturnType<typeof startCodecServer>>;
  let browser: Browser;
  let page: string;

  beforeAll(async () => {
    const port = await freePort();
    temporal = await startTemporalServer({ codecEndpoint: `http://127.0.0.1:${port}` });
    const codec = createPayloadCodec({ keys });
    codecServer = await startCodecServer({ codec, host: '127.0.0.1', port, origins: [temporal.uiUrl ?? ''] });
    const connection = await Connection.connect({ address: temporal.address });
    const client = new Client({ connection, dataConverter: dataConverterOf(keys) });
    const exporter = { name: 'Kaveri Softworks', email: 'accounts@kaveri.example', iec: 'AAKCK7719P' };
    const { workflowId, firstExecutionRunId } = await client.workflow.start('onboardExporter', {
      workflowId: 'onboard/test/seen-in-the-ui',
      taskQueue: 'ebrc',
      args: [exporter],
    });
    await connection.close();
    const path = [workflowId, firstExecutionRunId].map(encodeURIComponent).join('/');
    page = `${temporal.uiUrl}/namespaces/default/workflows/${path}/history`;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await codecServer?.close();
    await temporal?.stop();
  });

  /** What the page says once `until` is there. */
  async function seen(until: string, options: { withCodec: boolean }): Promise<string> {
    const tab = await browser.newPage({ viewport: { width: 1_400, height: 900 } });
    if (!options.withCodec) await tab.route(`${codecServer.url}/**`, (route) => route.abort());
    await tab.goto(page);
    const input = tab.getByText(until).first();
    await input.waitFor({ timeout: 60_000 });
    if (PICTURES)
      await tab.screenshot({ path: join(PICTURES, `temporal-ui-${options.withCodec ? 'with' : 'without'}-codec.png`) });
    const text = (await tab.textContent('body')) ?? '';
    await tab.close();
    return text;
  }

  it('shows the exporter with the codec server', async () => {
    const text = await seen('Kaveri Softworks', { withCodec: true });
    expect(text).toContain('accounts@kaveri.example');
    expect(text).toContain('AAKCK7719P');
  });

  it('shows nothing of the exporter without it', async () => {
    // "binary/encrypted", as the encoding of the payload.
    const text = await seen(Buffer.from('binary/encrypted').toString('base64').slice(0, 16), { withCodec: false });
    expect(text).not.toMatch(/Kaveri|AAKCK7719P/);
  });
});
