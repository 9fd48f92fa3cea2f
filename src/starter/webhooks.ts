/** Webhooks as people add, try, play again and remove them, on the command line and over HTTP. */
import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../domain/principal';
import { shownAddress, urlProblem, WEBHOOK_TEMPLATES, type WebhookTemplate } from '../domain/webhooks';
import { recordAudit } from '../ledger/principals/principals';
import { withTransaction } from '../ledger/pool';
import { closePaused } from '../ledger/webhooks/deliveries';
import * as ledger from '../ledger/webhooks/webhooks';
import type { LedgerDependencies } from './dependencies';
import { refusal, UsageError } from './errors';
import { exporterIdOf, UUID } from './lookup';

export type { DeliveryView, WebhookView } from '../ledger/webhooks/webhooks';

/** `principal`: who asks; without one whoever holds the ledger does. */
type Caller = LedgerDependencies & { principal?: Principal };

/** A webhook with its new secret, which is shown this once. */
export type WebhookWithSecret = ledger.WebhookView & { secret: string };

/** Each is told by a loop of its own. */
const MOST = 100;

/** Of 256 random bits, as Standard Webhooks have them. */
const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

/** Who is limited to some exporters meets its own webhooks only. */
const ownerOf = ({ principal }: Caller): string | null => (principal?.exporters ? principal.principalId : null);

const filterOf = (caller: Caller, webhookId: string) => {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(webhookId)) throw unknownWebhook(webhookId);
  return { mode: caller.mode, owner: ownerOf(caller), webhookId };
};

const unknownWebhook = (webhookId: string) =>
  refusal('unknown_webhook', `There is no webhook ${webhookId}. \`ebrc webhooks list\` lists them.`);

export const listWebhooks = (caller: Caller): Promise<ledger.WebhookView[]> =>
  ledger.listWebhooks(caller.pool, { mode: caller.mode, owner: ownerOf(caller) });

/** @throws RefusedError `unknown_webhook` */
export async function getWebhook(caller: Caller, webhookId: string): Promise<ledger.WebhookView> {
  const [found] = await ledger.listWebhooks(caller.pool, filterOf(caller, webhookId));
  if (!found) throw unknownWebhook(webhookId);
  return found;
}

/** Deliveries, newest first. @throws RefusedError `unknown_webhook` */
export async function listDeliveries(caller: Caller, webhookId: string, page: { before?: string; limit: number }) {
  const { webhookId: id } = await getWebhook(caller, webhookId);
  return ledger.listDeliveries(caller.pool, { webhookId: id, ...page });
}

/** Adds an endpoint. @throws UsageError for a wrong address; RefusedError for an unknown exporter, or one too many */
export async function addWebhook(
  caller: Caller,
  request: { url: string; template?: string; exporters?: readonly string[]; by: string },
): Promise<WebhookWithSecret> {
  const { pool, mode, principal } = caller;
  const { url, template = 'events', exporters = [], by } = request;
  const problem = urlProblem(url);
  if (problem !== null) throw new UsageError(problem, 'bad_address');
  if (!isTemplate(template))
    throw new UsageError(`${template} is no template; allowed: ${WEBHOOK_TEMPLATES.join(', ')}.`);
  const ids = await Promise.all(exporters.map((exporter) => exporterIdOf(pool, mode, exporter)));
  const [webhookId, secret] = [randomUUID(), newSecret()];
  await withTransaction(pool, async (client) => {
    await client.query('LOCK TABLE webhooks IN SHARE ROW EXCLUSIVE MODE');
    const all = await ledger.listWebhooks(client, { mode, owner: null });
    if (all.length >= MOST) {
      throw refusal(
        'too_many_webhooks',
        `There are ${MOST} webhooks already. Remove one with \`ebrc webhooks remove\`.`,
      );
    }
    const scope = ids.length > 0 ? ids : null;
    const shown = { address: shownAddress(url, template), template };
    const owner = principal?.principalId ?? null;
    await ledger.addWebhook(client, { webhookId, mode, url, ...shown, secret, principalId: owner, exporters: scope });
    await recordUse(client, caller, { action: 'webhooks add', by, subject: webhookId });
  });
  return { ...(await getWebhook(caller, webhookId)), secret };
}

const isTemplate = (text: string): text is WebhookTemplate => (WEBHOOK_TEMPLATES as readonly string[]).includes(text);

/** Makes a new secret; requests are signed with the old one too for a day. @throws RefusedError `unknown_webhook` */
export async function rotateWebhook(
  caller: Caller,
  { webhookId, by }: { webhookId: string; by: string },
): Promise<WebhookWithSecret> {
  const secret = newSecret();
  await withTransaction(caller.pool, async (client) => {
    const endsAt = await ledger.rotateSecret(client, filterOf(caller, webhookId), secret);
    if (!endsAt) throw unknownWebhook(webhookId);
    await recordUse(client, caller, { action: 'webhooks rotate', by, subject: webhookId });
  });
  return { ...(await getWebhook(caller, webhookId)), secret };
}

/** @throws RefusedError `unknown_webhook` */
export async function removeWebhook(
  caller: Caller,
  { webhookId, by }: { webhookId: string; by: string },
): Promise<ledger.WebhookView> {
  const webhook = await getWebhook(caller, webhookId);
  await withTransaction(caller.pool, async (client) => {
    if (!(await ledger.removeWebhook(client, filterOf(caller, webhookId)))) throw unknownWebhook(webhookId);
    await closePaused(client, caller.mode, webhook.webhookId);
    await recordUse(client, caller, { action: 'webhooks remove', by, subject: webhookId });
  });
  return webhook;
}

/**
 * Lets a webhook go on, and tells it again what was given up; from an event or a time on also everything since then.
 * @throws RefusedError `unknown_webhook`, `unknown_event`
 */
export async function replayWebhook(
  caller: Caller,
  request: { webhookId: string; event?: string; since?: Date; by: string },
): Promise<ledger.WebhookView & { again: number }> {
  const { pool, mode } = caller;
  const { webhookId, event, since, by } = request;
  if (event !== undefined && since !== undefined) throw new UsageError('Name either an event or a time, not both.');
  await getWebhook(caller, webhookId);
  const from = event !== undefined ? { event } : since !== undefined ? { since } : null;
  const readable = event === undefined || UUID.test(event);
  const position = from && readable ? await ledger.positionBefore(pool, mode, from) : null;
  if (from && position === null) {
    throw refusal(
      'unknown_event',
      'There is no such event, or none from then on. It is the `id` of an event, or a time.',
    );
  }
  const again = await withTransaction(pool, async (client) => {
    const told = await ledger.replayWebhook(client, filterOf(caller, webhookId), position);
    if (told === null) throw unknownWebhook(webhookId);
    await closePaused(client, mode, webhookId);
    await recordUse(client, caller, { action: 'webhooks replay', by, subject: webhookId });
    return told;
  });
  return { ...(await getWebhook(caller, webhookId)), again };
}

const TEST_WITHIN_MS = 20_000;
const LOOK_EVERY_MS = 250;

/** Has a worker send a test and waits for what came of it. `waiting`: no worker has sent it in time. */
export async function testWebhook(
  caller: Caller,
  { webhookId, withinMs = TEST_WITHIN_MS }: { webhookId: string; withinMs?: number },
): Promise<ledger.DeliveryView> {
  const { pool } = caller;
  const filter = filterOf(caller, webhookId);
  const id = await ledger.addTest(pool, filter);
  if (id === null) throw unknownWebhook(webhookId);
  for (const until = performance.now() + withinMs; ;) {
    const [delivery] = await ledger.listDeliveries(pool, { webhookId: filter.webhookId, id, limit: 1 });
    if (!delivery) throw unknownWebhook(webhookId);
    if (delivery.state !== 'waiting' || performance.now() > until) return delivery;
    await sleep(LOOK_EVERY_MS);
  }
}

function recordUse(
  db: Parameters<typeof recordAudit>[0],
  { mode, principal }: Caller,
  { action, by, subject }: { action: string; by: string; subject: string },
): Promise<void> {
  // Without a principal the name is a claim.
  const shown = principal ? action : `${action} (command line, by ${by})`;
  const who = principal ? { principalId: principal.principalId, name: principal.name } : null;
  return recordAudit(db, [{ mode, at: new Date(), principal: who, action: shown, outcome: 'used', subject }]);
}
