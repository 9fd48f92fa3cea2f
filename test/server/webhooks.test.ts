/** Webhooks over HTTP and by command: added with a secret that nobody reads back, seen by their own admins, told. */
import { Webhook } from 'standardwebhooks';
import { placeEvents } from '../../src/ledger/events';
import { deliverWebhooks } from '../../src/worker/webhooks/deliver';
import { createWebhookSender } from '../../src/worker/webhooks/send';
import { closeAfterAll } from '../support/closing';
import { ebrc } from '../support/command-line';
import { eventually } from '../support/processes';
import { startReceiver } from '../worker/webhooks/receiver';
import { useHttpStage, type ProblemBody } from './http-stage';

const OTHER = 'aaaaaaaa-0000-4000-8000-000000000002';
const stage = useHttpStage(({ ledger }) =>
  ledger.pool.query(
    `INSERT INTO exporters (exporter_id, mode, name, email) VALUES ($1, 'test', 'Other', 'o@x.example')`,
    [OTHER],
  ),
);
const stopped = new AbortController();
let telling: Promise<void>;
let hook: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  const { pool, vault, logger } = stage.worker.deps;
  const sender = createWebhookSender({ hosts: ['127.0.0.1'] });
  await vault.publish(pool, 'test');
  hook = await startReceiver();
  telling = deliverWebhooks({ pool, mode: 'test', vault, sender, logger }, stopped.signal);
  closeAfterAll(async () => {
    stopped.abort();
    await telling;
    await sender.close();
    await hook.close();
  });
});

interface Shown {
  webhookId: string;
  secret: string;
  address: string;
  principal: string;
  state: string;
  exporters: string[] | null;
}

const add = (json: unknown, token?: string) =>
  stage.ask<Shown & ProblemBody>('POST', '/v1/webhooks', { json, ...(token !== undefined && { token }) });

it('adds, tests, rotates, plays again and removes an endpoint', async () => {
  const added = await add({ url: `${hook.url}?key=hidden` });
  expect([added.status, added.body.address, added.body.principal]).toEqual([201, hook.url, 'everything']);
  const path = `/v1/webhooks/${added.body.webhookId}`;
  const shown = await stage.ask<{ items: Shown[] }>('GET', '/v1/webhooks');
  expect(shown.bytes.toString()).not.toMatch(/whsec_|hidden/u);
  const tested = await stage.ask('POST', `${path}/test`, { json: {} });
  expect(tested.body).toMatchObject({ kind: 'test', state: 'delivered', status: 204 });
  const rotated = await stage.ask<Shown>('POST', `${path}/rotate`, { json: {} });
  expect(rotated.body).toMatchObject({ previousSecretEndsAt: expect.any(String) });
  await stage.ask('POST', `${path}/test`, { json: {} });
  const { text, headers } = hook.received.at(-1)!;
  for (const { secret } of [added.body, rotated.body])
    expect(() => new Webhook(secret).verify(text, headers)).not.toThrow();
  await placeEvents(stage.ledger.pool);
  const since = { since: '2020-01-01T00:00:00Z' };
  expect((await stage.ask('POST', `${path}/replay`, { json: since })).body).toMatchObject({ state: 'active' });
  await eventually(() => hook.received.some(({ body }) => body.type === 'ebrc.exporter.created'));
  const told = async () => (await stage.ask<{ items: object[] }>('GET', `${path}/deliveries?limit=500`)).body.items;
  await eventually(async () => (await told()).some((one) => 'type' in one && one.type === 'ebrc.exporter.created'));
  expect((await stage.ask('DELETE', path)).body).toMatchObject({ webhookId: added.body.webhookId });
  expect((await stage.ask<ProblemBody>('GET', path)).body).toMatchObject({ status: 404, code: 'unknown_webhook' });
  expect(stage.logs.join('')).not.toMatch(/whsec_|hidden/u);
});

it('refuses what cannot be told, and who is no admin', async () => {
  for (const url of ['http://erp.example/', 'https://a:b@erp.example/', 'ftp://erp.example/', 'no address']) {
    expect((await add({ url })).body).toMatchObject({ status: 400, code: 'bad_address' });
  }
  const maker = await stage.principal(['maker', 'checker', 'viewer']);
  expect((await add({ url: hook.url }, maker)).body).toMatchObject({ status: 403, code: 'role_missing' });
  const { body } = await add({ url: hook.url });
  const path = `/v1/webhooks/${body.webhookId}/replay`;
  const none = { event: 'aaaaaaaa-0000-4000-8000-000000000003' };
  expect((await stage.ask<ProblemBody>('POST', path, { json: none })).body).toMatchObject({ code: 'unknown_event' });
  expect((await stage.ask('POST', path, { json: { ...none, since: '2026-01-01T00:00:00Z' } })).status).toBe(400);
  await stage.ask('DELETE', `/v1/webhooks/${body.webhookId}`);
});

it('shows an admin of some exporters its own endpoints alone, and tells these of its exporters', async () => {
  const limited = await stage.principal(['admin'], { exporters: [OTHER] });
  const [own, others] = [await add({ url: hook.url, exporters: [OTHER] }, limited), await add({ url: hook.url })];
  const listed = await stage.ask<{ items: Shown[] }>('GET', '/v1/webhooks', { token: limited });
  expect(listed.body.items.map(({ webhookId }) => webhookId)).toEqual([own.body.webhookId]);
  for (const [method, at] of Object.entries({ GET: '', DELETE: '', POST: '/rotate' })) {
    const asked = { token: limited, ...(method === 'POST' && { json: {} }) };
    expect((await stage.ask(method, `/v1/webhooks/${others.body.webhookId}${at}`, asked)).status).toBe(404);
  }
  expect((await add({ url: hook.url, exporters: ['x@y.example'] }, limited)).status).toBe(404);
  for (const { body } of [own, others]) await stage.ask('DELETE', `/v1/webhooks/${body.webhookId}`);
});

it('does the same by command', async () => {
  const env = { DATABASE_URL: stage.ledger.url, EBRC_MODE: 'test' };
  const run = async (...args: string[]) => (await ebrc(['webhooks', ...args, '--json'], { env })).json<Shown>();
  const added = await run('add', hook.url, '--exporter', 'o@x.example');
  expect(added).toMatchObject({ address: hook.url, exporters: [OTHER], secret: expect.stringMatching(/^whsec_/u) });
  expect(await run('test', added.webhookId)).toMatchObject({ state: 'delivered' });
  expect(await run('replay', added.webhookId)).toMatchObject({ again: 0 });
  const nope = await ebrc(['webhooks', 'replay', added.webhookId, '--event', 'nope'], { env });
  expect([nope.code, nope.stderr]).toEqual([3, expect.stringContaining('no such event')]);
  expect((await run('rotate', added.webhookId)).secret).not.toBe(added.secret);
  const { stdout } = await ebrc(['webhooks', 'list'], { env });
  expect(stdout).toContain(hook.url);
  expect(await run('list', added.webhookId)).toMatchObject({ deliveries: [{ kind: 'test' }] });
  expect(await run('remove', added.webhookId)).toMatchObject({ webhookId: added.webhookId });
  const refused = await ebrc(['webhooks', 'test', added.webhookId], { env });
  expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining('ebrc webhooks list')]);
});
