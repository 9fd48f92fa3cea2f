/** Endpoints that are told of events. */
import { z } from 'zod';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { WEBHOOK_TEMPLATES } from '../../domain/webhooks';
import {
  addWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  removeWebhook,
  replayWebhook,
  rotateWebhook,
  testWebhook,
} from '../../starter/webhooks';
import type { Principal } from '../../domain/principal';
import { visibleExporter } from '../access/scope';
import { exporterName, listOf, pageOf, paging, readCursor, visible } from '../http/fields';
import { addRoute, type HttpApi, type Registrar } from '../http/route';

const time = z.string().nullable();

const webhookSchema = named(
  'Webhook',
  z.object({
    webhookId: z.string(),
    address: z.string().describe('without its query, and of a channel without its path'),
    template: z.enum(WEBHOOK_TEMPLATES),
    exporters: z.array(z.string()).nullable().describe('ids; null: all that its principal may see'),
    principal: z.string().nullable().describe('who added it, whose exporters limit what is told'),
    state: z.enum(['active', 'failing', 'paused']),
    pausedWhy: z.string().nullable(),
    since: time.describe('since when it fails, or is paused'),
    takenAt: time.describe('when it last took a request'),
    waiting: z.number().int().describe('deliveries that wait for a try'),
    givenUp: z.number().int().describe('events that were given up; replay tells them again'),
    previousSecretEndsAt: time.describe('until when requests are signed with the secret before too'),
    createdAt: z.string(),
  }),
);

const withSecret = named(
  'WebhookWithSecret',
  webhookSchema.extend({ secret: z.string().describe('whsec_…; it is shown this once') }),
);

const deliverySchema = named(
  'WebhookDelivery',
  z.object({
    id: z.string(),
    kind: z.enum(['event', 'digest', 'test']),
    messageId: z.string().describe('`webhook-id` of its requests; of an event its own id'),
    type: z.string().nullable(),
    subject: z.string().nullable(),
    state: z.enum(['waiting', 'delivered', 'given_up']),
    tries: z.number().int(),
    status: z.number().int().nullable().describe('of the last answer'),
    problem: z.string().nullable(),
    lastAt: time,
    nextAt: time.describe('when it is tried; null while it waits behind another one of its filing'),
  }),
);

const WEBHOOK = z.object({ webhook: visible(100).describe('the id of a webhook') });

const ADMIN = ['admin'] as const;

export function addWebhookRoutes(server: Registrar, { deps }: HttpApi): void {
  const registrar = { ...server, tag: 'Webhooks' };
  const by = (principal: Principal) => ({ ...deps, principal });

  addRoute(registrar, {
    id: 'addWebhook',
    codes: ['bad_address', 'too_many_webhooks', 'unknown_exporter', 'not_published'],
    route: 'POST /webhooks',
    summary: 'Add an endpoint, which is told of what happens from now on',
    roles: ADMIN,
    body: named(
      'AddWebhookRequest',
      z.strictObject({
        url: z
          .string()
          .max(2_000)
          .describe('https; what it resolves to has to be a public address, or a host that the workers name'),
        template: z
          .enum(WEBHOOK_TEMPLATES)
          .optional()
          .describe('events: every event and a daily digest; slack, teams: the digest alone'),
        exporters: z
          .array(exporterName)
          .min(1)
          .max(100)
          .optional()
          .describe('told of these alone; left out: of all that you see'),
      }),
      EXAMPLES.webhook,
    ),
    answers: { 201: { description: 'Added, with its secret', schema: withSecret } },
    async handle({ principal, body: { url, template, exporters } }) {
      const ids = exporters && (await Promise.all(exporters.map((name) => visibleExporter(deps, principal, name))));
      const added = await addWebhook(by(principal), { url, template, exporters: ids, by: principal.name });
      return { status: 201, headers: { location: `/v1/webhooks/${added.webhookId}` }, body: added };
    },
  });

  addRoute(registrar, {
    id: 'listWebhooks',
    route: 'GET /webhooks',
    summary: 'The endpoints that are told of events',
    roles: ADMIN,
    answers: { 200: { description: 'Endpoints; there are 100 at most', schema: listOf(webhookSchema) } },
    handle: async ({ principal }) => ({ body: { items: await listWebhooks(by(principal)), next: null } }),
  });

  addRoute(registrar, {
    id: 'getWebhook',
    route: 'GET /webhooks/:webhook',
    summary: 'An endpoint',
    roles: ADMIN,
    params: WEBHOOK,
    answers: { 200: { description: 'The endpoint', schema: webhookSchema } },
    handle: async ({ principal, params }) => ({ body: await getWebhook(by(principal), params.webhook) }),
  });

  addRoute(registrar, {
    id: 'listDeliveries',
    route: 'GET /webhooks/:webhook/deliveries',
    summary: 'What an endpoint was told, newest first, and what came of it',
    roles: ADMIN,
    params: WEBHOOK,
    query: z.strictObject(paging),
    answers: { 200: { description: 'Deliveries of the last 30 days', schema: listOf(deliverySchema) } },
    async handle({ principal, params, query: { cursor, limit } }) {
      const before = readCursor(cursor, z.string().regex(/^\d{1,18}$/));
      const read = await listDeliveries(by(principal), params.webhook, { before, limit: limit + 1 });
      return { body: pageOf(read, limit, ({ id }) => id) };
    },
  });

  addRoute(registrar, {
    id: 'removeWebhook',
    route: 'DELETE /webhooks/:webhook',
    summary: 'Remove an endpoint; it is told nothing more',
    roles: ADMIN,
    params: WEBHOOK,
    answers: { 200: { description: 'The endpoint that was removed', schema: webhookSchema } },
    handle: async ({ principal, params }) => ({
      body: await removeWebhook(by(principal), { webhookId: params.webhook, by: principal.name }),
    }),
  });

  addRoute(registrar, {
    id: 'testWebhook',
    route: 'POST /webhooks/:webhook/test',
    summary: 'Send an endpoint a test, and see what it answers',
    roles: ADMIN,
    params: WEBHOOK,
    answers: {
      200: { description: 'What came of it; waiting: no worker has sent it within 20 s', schema: deliverySchema },
    },
    handle: async ({ principal, params }) => ({
      body: await testWebhook(by(principal), { webhookId: params.webhook }),
    }),
  });

  addRoute(registrar, {
    id: 'replayWebhook',
    codes: ['unknown_event', 'usage'],
    route: 'POST /webhooks/:webhook/replay',
    summary: 'Let an endpoint go on, and tell it events again',
    roles: ADMIN,
    params: WEBHOOK,
    body: named(
      'ReplayWebhookRequest',
      z.strictObject({
        event: z.uuid().optional().describe('this event and everything after it'),
        since: z.iso
          .datetime({ offset: true })
          .optional()
          .describe('everything from this time on; without both: what was given up'),
      }),
      EXAMPLES.replay,
    ),
    answers: {
      200: {
        description: 'The endpoint; `again`: how many events are told, before its exporters limit them',
        schema: webhookSchema.extend({ again: z.number().int() }),
      },
    },
    async handle({ principal, params, body: { event, since } }) {
      const from = { event, ...(since !== undefined && { since: new Date(since) }) };
      const request = { webhookId: params.webhook, ...from, by: principal.name };
      return { body: await replayWebhook(by(principal), request) };
    },
  });

  addRoute(registrar, {
    id: 'rotateWebhook',
    codes: ['not_published'],
    route: 'POST /webhooks/:webhook/rotate',
    summary: 'Make a new secret; requests are signed with the old one too for a day',
    roles: ADMIN,
    params: WEBHOOK,
    answers: { 200: { description: 'The endpoint with its new secret', schema: withSecret } },
    handle: async ({ principal, params }) => ({
      body: await rotateWebhook(by(principal), { webhookId: params.webhook, by: principal.name }),
    }),
  });
}
