/** Endpoints are told everything that happened, at least once and in the order of each filing, whatever they answer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { orphanedSecrets, removeOrphanedSecrets } from '../../../src/ledger/retention';
import { listFindings } from '../../../src/ledger/findings';
import {
  getWebhook,
  listDeliveries,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  testWebhook,
} from '../../../src/starter/webhooks';
import { recordFilingByHand } from '../../support/recorded-filing';
import { principalOf } from '../../support/principals';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';
import { eventually } from '../../support/processes';
import { programArguments } from '../../support/command-line';
import { TEST_TLS } from '../../api/support/tls';
import { endpoint, happen, sequences, startDelivering, startReceiver } from './receiver';

let ledger: TestDatabase;
let open: (() => Promise<unknown>)[] = [];
const caller = () => ({ pool: ledger.pool, mode: 'test' as const });
const HOUR = 3_600_000;

beforeEach(async () => {
  ledger = await createTestDatabase();
  open = [() => ledger.drop()];
});
afterEach(async () => {
  for (const close of open.reverse()) await close();
});

async function receiver(...args: Parameters<typeof startReceiver>) {
  const started = await startReceiver(...args);
  open.push(started.close);
  return started;
}

function delivering(options?: Parameters<typeof startDelivering>[1]) {
  const stop = startDelivering(ledger, options);
  open.push(stop);
  return stop;
}

const deliveries = (webhookId: string) => listDeliveries(caller(), webhookId, { limit: 100 });
const pausedFindings = () => listFindings(ledger.pool, { mode: 'test', kind: 'webhook_paused' });

it('tells an https endpoint what happens from now on, signed, in the order of each filing', async () => {
  const { key, cert } = TEST_TLS;
  const hook = await receiver(undefined, { key, cert });
  await happen(ledger, ['BEFORE', 1]);
  const { webhookId, secret } = await endpoint(ledger, hook.url);
  delivering({ ca: cert });
  await happen(ledger, ['A', 1], ['B', 1], ['A', 2], ['A', 3], ['B', 2]);
  await eventually(() => hook.received.length === 5);
  expect(sequences(hook.received)).toEqual({ A: [1, 2, 3], B: [1, 2] });
  for (const { text, headers, id } of hook.received) {
    expect(new Webhook(secret).verify(text, headers)).toMatchObject({ id, specversion: '1.0' });
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow();
  }
  await eventually(async () => (await deliveries(webhookId)).every(({ state }) => state === 'delivered'));
  expect((await deliveries(webhookId))[0]).toMatchObject({ kind: 'event', status: 204, tries: 1, problem: null });
  expect(JSON.stringify(await ledger.select('SELECT * FROM vault_secrets'))).not.toContain(secret);
});

it('tells every event again that a killed worker may not have told, and none out of order', async () => {
  let answers = 0;
  let release = () => undefined as void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const hook = await receiver(async () => {
    if (++answers === 3) await held;
    return 200;
  });
  await endpoint(ledger, hook.url);
  const filings = ['A', 'B', 'C'];
  await happen(ledger, ...[1, 2, 3].flatMap((n) => filings.map((filing): [string, number] => [filing, n])));
  const program = programArguments('test/worker/webhooks/webhook-process.ts');
  const victim = spawn(process.execPath, [...program, ledger.url], { stdio: 'inherit' });
  await eventually(() => hook.received.length === 3);
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  release();
  delivering();
  await eventually(() => hook.received.length >= 10);
  const told = sequences(hook.received);
  for (const filing of filings) expect([...new Set(told[filing])]).toEqual([1, 2, 3]);
  // The one that was under way came twice, with the same id.
  expect(hook.received.length).toBe(10);
  expect(new Set(hook.received.map(({ id }) => id)).size).toBe(9);
});

it('sets the events of a filing aside that is refused, and goes on with the others', async () => {
  const hook = await receiver(({ body }) => (body.subject === 'BAD' ? 422 : 200));
  const { webhookId } = await endpoint(ledger, hook.url);
  delivering();
  await happen(ledger, ['BAD', 1], ['GOOD', 1], ['BAD', 2], ['GOOD', 2]);
  await eventually(() => hook.received.length === 3);
  expect(sequences(hook.received)).toEqual({ BAD: [1], GOOD: [1, 2] });
  expect(await getWebhook(caller(), webhookId)).toMatchObject({ waiting: 2 });
  const [first] = (await deliveries(webhookId)).filter(({ subject, tries }) => subject === 'BAD' && tries > 0);
  expect(first).toMatchObject({ state: 'waiting', status: 422, problem: 'It answered 422.' });
  hook.answer = () => 200;
  ledger.setClock(HOUR);
  await eventually(() => hook.received.length === 5);
  expect(sequences(hook.received)).toMatchObject({ BAD: [1, 1, 2] });
});

it('waits for an endpoint that takes nothing, tells it later, and pauses it after three days', async () => {
  const hook = await receiver(() => 503);
  const { webhookId } = await endpoint(ledger, hook.url);
  delivering();
  await happen(ledger, ['A', 1], ['B', 1]);
  await eventually(async () => (await getWebhook(caller(), webhookId)).state === 'failing');
  expect(hook.received).toHaveLength(1);
  ledger.setClock(73 * HOUR);
  await eventually(async () => (await getWebhook(caller(), webhookId)).state === 'paused');
  const [finding] = await pausedFindings();
  expect(finding?.reason).toContain(`ebrc webhooks replay ${webhookId}`);
  hook.answer = () => 200;
  expect(await replayWebhook(caller(), { webhookId, by: 'a test' })).toMatchObject({ state: 'active' });
  await eventually(() => new Set(hook.received.map(({ body }) => body.subject)).size === 2);
  await eventually(async () => (await getWebhook(caller(), webhookId)).waiting === 0);
  expect(await pausedFindings()).toEqual([]);
});

it('pauses an endpoint that is gone at once, and tells it from any position again', async () => {
  const hook = await receiver(() => 410);
  const { webhookId } = await endpoint(ledger, hook.url);
  delivering();
  await happen(ledger, ['A', 1], ['A', 2]);
  await eventually(async () => (await getWebhook(caller(), webhookId)).state === 'paused');
  expect(hook.received).toHaveLength(1);
  hook.answer = () => 200;
  await replayWebhook(caller(), { webhookId, by: 'a test' });
  const told = () => sequences(hook.received)['A'];
  await eventually(() => told()?.length === 3);
  await happen(ledger, ['A', 3]);
  await eventually(() => told()?.length === 4);
  const [, second] = await ledger.select(
    'SELECT event_id AS id FROM events WHERE filing_id = $1 ORDER BY ordinal',
    'A',
  );
  const from = { webhookId, event: String(second?.['id']), by: 'a test' };
  expect((await replayWebhook(caller(), from)).again).toBeGreaterThanOrEqual(2);
  await eventually(() => told()?.length === 6);
  expect(told()).toEqual([1, 1, 2, 3, 2, 3]);
  await removeWebhook(caller(), { webhookId, by: 'a test' });
  const unused = (await orphanedSecrets(ledger.pool, 'test', 0)).map(({ secretRef }) => secretRef);
  expect(await removeOrphanedSecrets(ledger.pool, unused)).toBe(2);
});

it('lets an endpoint that hangs, one that cuts and one that redirects delay nobody', async () => {
  const hanging = await receiver(() => null);
  const cutting = await receiver((_, response) => {
    response.destroy();
    return null;
  });
  const other = await receiver();
  const redirecting = await receiver((_, response) => {
    response.writeHead(302, { location: other.url }).end();
    return null;
  });
  const sound = await receiver();
  const slow = await Promise.all([hanging, cutting, redirecting].map(({ url }) => endpoint(ledger, url)));
  await endpoint(ledger, sound.url);
  delivering({ withinMs: 3_000 });
  await happen(ledger, ...Array.from({ length: 20 }, (_, n): [string, number] => [`F-${n}`, 1]));
  await eventually(() => sound.received.length === 20);
  expect(hanging.received).toHaveLength(1);
  const states = async () =>
    Promise.all(slow.map(async ({ webhookId }) => (await getWebhook(caller(), webhookId)).state));
  await eventually(async () => (await states()).every((state) => state === 'failing'));
  expect(other.received).toEqual([]);
  const problems = await Promise.all(slow.map(async ({ webhookId }) => (await deliveries(webhookId)).at(-1)?.problem));
  expect(problems[0]).toBe('It did not answer within 3 s.');
  expect(problems[2]).toBe('It answered 302.');
});

it('signs with both secrets after a rotation, for a day', async () => {
  const hook = await receiver();
  const { webhookId, secret: old } = await endpoint(ledger, hook.url);
  const { secret } = await rotateWebhook(caller(), { webhookId, by: 'a test' });
  delivering();
  const last = async (n: number) => {
    await happen(ledger, ['A', n]);
    await eventually(() => hook.received.length === n);
    return hook.received.at(-1)!;
  };
  const first = await last(1);
  for (const valid of [old, secret]) expect(() => new Webhook(valid).verify(first.text, first.headers)).not.toThrow();
  ledger.setClock(25 * HOUR);
  const later = await last(2);
  expect(() => new Webhook(old).verify(later.text, later.headers)).toThrow();
  expect(() => new Webhook(secret).verify(later.text, later.headers)).not.toThrow();
});

it('tells what the principal that added it may see, and nothing once it was removed', async () => {
  const hook = await receiver();
  const limited = await principalOf(ledger.pool, 'limited', ['admin'], ['e-2']);
  const { webhookId } = await endpoint(ledger, hook.url);
  await ledger.pool.query('UPDATE webhooks SET principal_id = $1', [limited.principalId]);
  const tell = (exporter: string) =>
    ledger.pool.query(
      `INSERT INTO events (mode, type, exporter_id, subject) VALUES ('test', 'ebrc.exporter.ready', $1, $1)`,
      [exporter],
    );
  delivering();
  for (const exporter of ['E-1', 'E-2', 'E-3', 'E-2']) await tell(exporter);
  await happen(ledger);
  await eventually(() => hook.received.length === 2);
  expect(hook.received.map(({ body }) => body.subject)).toEqual(['E-2', 'E-2']);
  await ledger.pool.query('UPDATE principals SET removed_at = now()');
  await tell('E-2');
  await happen(ledger);
  await eventually(async () => (await getWebhook(caller(), webhookId)).state === 'paused');
  expect(hook.received).toHaveLength(2);
});

it('tells once a day what needs somebody, and a channel in its own form', async () => {
  const hooks = { events: await receiver(), slack: await receiver(), teams: await receiver() };
  for (const [template, { url }] of Object.entries(hooks)) await endpoint(ledger, url, { template });
  const { filingId } = await recordFilingByHand(ledger.pool, { reference: 'JULY <1>', state: 'outcome_unknown' });
  await ledger.pool.query(`UPDATE filings SET attention = 'look'`);
  await ledger.pool.query(`UPDATE webhooks SET position = (SELECT max(ordinal) + 100 FROM events)`);
  delivering();
  ledger.setClock(24 * HOUR);
  const all = Object.values(hooks);
  await eventually(() => all.every(({ received }) => received.length === 1));
  expect(hooks.events.received[0]?.body).toMatchObject({
    type: 'ebrc.digest',
    data: { count: 1, items: [{ subject: 'JULY <1>', what: 'outcome_unknown', filingId }] },
  });
  expect(hooks.slack.received[0]?.text).toContain('JULY &lt;1&gt;: outcome unknown');
  expect(hooks.teams.received[0]?.text).toMatch(/AdaptiveCard.*JULY \\\\<1\\\\>: outcome unknown/u);
  const { template, address } = (
    await ledger.select(`SELECT template, address FROM webhooks WHERE template = 'slack'`)
  )[0]!;
  expect([template, String(address)]).toEqual(['slack', expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/…$/u)]);
  // Nothing needs somebody any more.
  await ledger.pool.query('UPDATE filings SET attention = NULL, due_at = NULL');
  ledger.setClock(48 * HOUR);
  await eventually(
    async () =>
      (await ledger.select(`SELECT FROM webhooks WHERE digest_on < (now() + interval '9 h')::date`)).length === 0,
  );
  expect(all.map(({ received }) => received.length)).toEqual([1, 1, 1]);
});

it('sends a test, paused or not, once', async () => {
  const hook = await receiver(() => 410);
  const { webhookId } = await endpoint(ledger, hook.url);
  delivering();
  expect(await testWebhook(caller(), { webhookId })).toMatchObject({ state: 'given_up', status: 410, kind: 'test' });
  expect(await getWebhook(caller(), webhookId)).toMatchObject({ state: 'active' });
  await happen(ledger, ['A', 1]);
  await eventually(async () => (await getWebhook(caller(), webhookId)).state === 'paused');
  hook.answer = () => 200;
  expect(await testWebhook(caller(), { webhookId })).toMatchObject({ state: 'delivered', status: 200 });
  expect(hook.received.map(({ body }) => body.type)).toEqual([
    'ebrc.webhook.test',
    'ebrc.filing.checking',
    'ebrc.webhook.test',
  ]);
});
