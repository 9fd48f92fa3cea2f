import { link, message, startSandbox, type Harness } from './support';
import { upload } from './workbook-support';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const REFUSED = { statusCode: 429, message: 'Too many requests. Please try again later.' };

let harness: Harness;
beforeEach(async () => {
  harness = await startSandbox({ rateWindowMs: 60_000 });
});

describe('calls in a window', () => {
  test.each<[string, number, (harness: Harness) => Promise<{ status: number; body: unknown; headers: Headers }>]>([
    ['check-dgft-credentials', 4, (h) => link(h, UNKNOWN)],
    ['bulk-upload', 5, (h) => upload(h, UNKNOWN, Buffer.from('x'))],
    ['download-pdf', 5, ({ api }) => api.get(`/genebrc/download-pdf/X?platformCustomerId=${UNKNOWN}`)],
    ['refresh-irms', 6, ({ api }) => api.post('/irm/refresh', { platformCustomerId: UNKNOWN })],
    ['push-irm', 10, ({ api }) => api.post('/genebrc/push-irm', message(UNKNOWN))],
    ['fetch-details', 10, ({ api }) => api.post('/genebrc/fetch-details', {})],
    ['bulk-template', 10, ({ api }) => api.get(`/irm/bulk-template?platformCustomerId=${UNKNOWN}`)],
    ['other', 100, ({ api }) => api.post('/genebrc/status', {})],
  ])('%s allows %i, then a bare 429 without rate-limit headers', async (rateClass, limit, call) => {
    for (let n = 0; n < limit; n++) expect((await call(harness)).status).not.toBe(429);
    const refused = await call(harness);
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual(REFUSED);
    expect([...refused.headers.keys()].filter((name) => /rate|retry/.test(name))).toEqual([]);
    expect((await harness.control('GET', '/rate')).body).toEqual({ refused: { [rateClass]: 1 }, total: 1 });
  });

  test('are counted for each key alone', async () => {
    for (let n = 0; n < 5; n++) await link(harness, UNKNOWN);
    expect((await link({ api: harness.prod }, UNKNOWN)).status).toBe(404);
  });

  test('are counted for the address when nobody is known', async () => {
    const nobody = harness.with(null);
    const stranger = harness.with('dev_stranger');
    for (let n = 0; n < 2; n++) await stranger.post('/genebrc/push-irm', {});
    for (let n = 0; n < 8; n++) expect((await nobody.post('/genebrc/push-irm', {})).status).toBe(401);
    expect((await nobody.post('/genebrc/push-irm', {})).status).toBe(429);
    expect((await harness.api.post('/genebrc/push-irm', {})).status).toBe(400);
  });

  test('the window slides in real time, and refused calls do not fill it', async () => {
    const quick = await startSandbox({ rateWindowMs: 2_000 });
    const call = async () => (await link(quick, UNKNOWN)).status;
    for (let n = 0; n < 4; n++) await call();
    for (let n = 0; n < 4; n++) expect(await call()).toBe(429);
    quick.advance(86_400_000);
    expect(await call()).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 2_050));
    expect(await call()).toBe(404);
  });
});
