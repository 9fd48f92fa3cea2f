/** Tells endpoints what happened: one request at a time for each, all of them beside each other. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Mode } from '../../domain/names';
import { cloudEventOf, messageBody, retryDelayMs, verdictOf } from '../../domain/webhooks';
import { EncryptionError } from '../../encryption/keys';
import { PLACED } from '../../ledger/events';
import { withTransaction } from '../../ledger/pool';
import type { Vault } from '../../ledger/vault/vault';
import {
  addDigests,
  dropDelivery,
  dueWebhooks,
  nextDelivery,
  pauseWebhook,
  readDigest,
  recordFailed,
  recordTaken,
  type Delivery,
} from '../../ledger/webhooks/deliveries';
import type { Answer, WebhookSender } from './send';

const LOOK_EVERY_MS = 2_000;

export interface DeliveryDependencies {
  pool: pg.Pool;
  mode: Mode;
  vault: Pick<Vault, 'openForWebhook'>;
  sender: Pick<WebhookSender, 'send'>;
  logger: Logger;
}

/**
 * Delivers until `signal` is aborted. Its own connection holds an advisory lock for each endpoint that it tells.
 * @throws the error of PostgreSQL; what was sent and not recorded is sent again
 */
export async function deliverWebhooks(deps: DeliveryDependencies, signal: AbortSignal): Promise<void> {
  const { pool, mode, logger } = deps;
  const connection = await pool.connect();
  const lost = new AbortController();
  const onLost = () => lost.abort(new Error('the connection that holds the locks of webhooks was lost'));
  connection.on('error', onLost).once('end', onLost);
  const over = AbortSignal.any([signal, lost.signal]);
  const busy = new Map<string, Promise<void>>();
  const locked = async (action: 'pg_try_advisory_lock' | 'pg_advisory_unlock', id: string) => {
    const statement = `SELECT ${action}(hashtextextended('webhook/' || $1, 8)) AS done`;
    return (await connection.query<{ done: boolean }>(statement, [id])).rows[0]?.done ?? false;
  };
  const tell = async (id: string) => {
    // Opened once for all that is due now.
    const opened = new Map<string, string>();
    try {
      while (!over.aborted && (await tellNext(deps, { id, opened }, over)));
    } catch (error) {
      if (!over.aborted) logger.warn({ err: error }, 'a webhook could not be told; it is told again');
    } finally {
      busy.delete(id);
      await locked('pg_advisory_unlock', id).catch(() => undefined);
    }
  };
  try {
    await connection.query(`LISTEN ${PLACED}`);
    while (!signal.aborted) {
      lost.signal.throwIfAborted();
      const looked = new AbortController();
      const waits = { signal: AbortSignal.any([over, looked.signal]), ref: false };
      const notified = once(connection, 'notification', { signal: waits.signal });
      const wake = Promise.race([notified, sleep(LOOK_EVERY_MS, undefined, waits)]).catch(() => undefined);
      await addDigests(pool, mode);
      for (const id of await dueWebhooks(pool, mode)) {
        if (!busy.has(id) && (await locked('pg_try_advisory_lock', id))) busy.set(id, tell(id));
      }
      await wake;
      looked.abort();
    }
  } finally {
    lost.abort();
    await Promise.all(busy.values());
    connection.off('error', onLost).off('end', onLost);
    connection.release(true);
  }
}

interface Endpoint {
  id: string;
  /** Its address and secrets, by their references in the vault. */
  opened: Map<string, string>;
}

/** Tries one delivery. @returns whether another one may be due */
async function tellNext(deps: DeliveryDependencies, endpoint: Endpoint, signal: AbortSignal): Promise<boolean> {
  const { pool, mode } = deps;
  const { id: webhookId } = endpoint;
  // Together with its finding: an endpoint that is paused without one would be told nothing, and nobody would know.
  const pause = (why: string) => withTransaction(pool, (client) => pauseWebhook(client, mode, webhookId, why));
  const delivery = await nextDelivery(pool, webhookId);
  if (!delivery) return false;
  if (delivery.ownerGone && delivery.kind !== 'test') {
    await pause('the principal that added it was removed, or has ended');
    return true;
  }
  const body = await bodyOf(deps, delivery);
  if (body === null) {
    await dropDelivery(pool, delivery);
    return true;
  }
  const answer = await sendTo(deps, endpoint, { delivery, body, signal });
  // It may have arrived; who delivers next sends it again.
  if (signal.aborted) return false;
  const { status, problem } = answer;
  const verdict = verdictOf(status);
  if (verdict === 'taken') {
    await recordTaken(pool, delivery, status);
    return true;
  }
  const again = { againInMs: retryDelayMs(delivery.tries + 1), endpointInMs: retryDelayMs(delivery.failures + 1) };
  const onlyFails = await recordFailed(pool, delivery, { verdict, status, problem, ...again });
  if (delivery.kind === 'test') return true;
  if (verdict === 'gone') await pause('it answered 410 Gone');
  else if (onlyFails) await pause('everything has failed for three days');
  return true;
}

/** Null: there is nothing to tell. */
async function bodyOf({ pool, mode }: DeliveryDependencies, delivery: Delivery): Promise<string | null> {
  const { kind, event, template, messageId: id, scope } = delivery;
  if (kind === 'event') return event && JSON.stringify(cloudEventOf(event));
  const digest = kind === 'digest' ? await readDigest(pool, mode, scope) : null;
  if (digest?.count === 0) return null;
  return JSON.stringify(messageBody(template, { id, at: new Date(), digest }));
}

async function sendTo(
  { pool, mode, vault, sender }: DeliveryDependencies,
  { id: webhookId, opened }: Endpoint,
  { delivery, body, signal }: { delivery: Delivery; body: string; signal: AbortSignal },
): Promise<Answer> {
  const { addressRef, secretRef, previousRef, messageId } = delivery;
  const open = async (ref: string) => {
    const text = opened.get(ref) ?? (await vault.openForWebhook(pool, ref, mode, webhookId));
    opened.set(ref, text);
    return text;
  };
  try {
    const secrets = await Promise.all([secretRef, ...(previousRef === null ? [] : [previousRef])].map(open));
    return await sender.send(await open(addressRef), { messageId, body, secrets }, signal);
  } catch (error) {
    if (!(error instanceof EncryptionError)) throw error;
    return { status: null, problem: `Its address or secret does not open (${error.code}).` };
  }
}
