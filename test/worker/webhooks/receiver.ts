/** An endpoint of webhooks, and workers that tell it. */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import pino from 'pino';
import { placeEvents } from '../../../src/ledger/events';
import { createVault } from '../../../src/ledger/vault/vault';
import { addWebhook } from '../../../src/starter/webhooks';
import { deliverWebhooks } from '../../../src/worker/webhooks/deliver';
import { createWebhookSender } from '../../../src/worker/webhooks/send';
import type { TestDatabase } from '../../support/postgres';

const KEY = { id: 'k', key: Buffer.alloc(32, 7) };

export interface Received {
  id: string;
  headers: Record<string, string>;
  text: string;
  body: { type: string; subject: string; data: Record<string, unknown> };
}

type Answer = (received: Received, response: ServerResponse) => number | null | Promise<number | null>;

/** Keeps what it is sent. `answer` gives a status; null: none yet, as it answers itself or not at all. */
export async function startReceiver(answer: Answer = () => 204, tls?: { key: string; cert: string }) {
  const received: Received[] = [];
  const receiver = { answer, received, url: '', close: () => Promise.resolve() };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const headers = request.headers as Record<string, string>;
    const parsed = JSON.parse(body) as Received['body'];
    const one = { id: headers['webhook-id'] ?? '', headers, text: body, body: parsed };
    received.push(one);
    const status = await receiver.answer(one, response);
    if (status !== null) response.writeHead(status).end();
  };
  const listener = (request: IncomingMessage, response: ServerResponse) =>
    void handle(request, response).catch(() => response.destroy());
  const server = tls ? createHttpsServer(tls, listener) : createHttpServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  receiver.close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return receiver;
}

/** A worker's job that tells endpoints on this machine, until it is stopped. */
export function startDelivering(
  ledger: TestDatabase,
  options: { ca?: string; withinMs?: number; hosts?: string[] } = {},
) {
  const sender = createWebhookSender({ hosts: ['127.0.0.1', 'localhost'], ...options });
  const stopped = new AbortController();
  const { pool } = ledger;
  const deps = { pool, mode: 'test' as const, vault: createVault({ keys: [KEY] }), sender };
  const running = deliverWebhooks({ ...deps, logger: pino({ level: 'silent' }) }, stopped.signal);
  return async () => {
    stopped.abort();
    await running;
    await sender.close();
  };
}

/** Adds an endpoint of the command line. */
export async function endpoint(ledger: TestDatabase, url: string, more: { template?: string } = {}) {
  await createVault({ keys: [KEY] }).publish(ledger.pool, 'test');
  return addWebhook({ pool: ledger.pool, mode: 'test' }, { url, by: 'a test', ...more });
}

/** Events of a filing, by its reference, with their positions. */
export async function happen({ pool }: Pick<TestDatabase, 'pool'>, ...events: [filing: string, sequence: number][]) {
  for (const [filing, sequence] of events) {
    await pool.query(
      `INSERT INTO events (mode, type, exporter_id, filing_id, subject, data) VALUES ('test', 'ebrc.filing.checking', 'E-1', $1, $1, $2)`,
      [filing, { filingId: filing, sequence }],
    );
  }
  while ((await placeEvents(pool)) !== 0);
}

/** What was received of each filing, in its order. */
export function sequences(received: readonly Received[]): Record<string, unknown[]> {
  const of: Record<string, unknown[]> = {};
  for (const { body } of received) (of[body.subject] ??= []).push(body.data['sequence']);
  return of;
}
