/** Sends one webhook: signed, without redirects and proxies, within 15 s. */
import { Webhook } from 'standardwebhooks';
import { Agent, request, buildConnector } from 'undici';
import { urlProblem } from '../../domain/webhooks';
import { lookup, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

const ANSWER_WITHIN_MS = 15_000;
/** Of an answer nothing is used but its status. */
const ANSWER_BYTES = 4_096;

export interface Answer {
  /** Null: there was no answer, for the reason in `problem`. */
  status: number | null;
  problem: string | null;
}

export type WebhookSender = ReturnType<typeof createWebhookSender>;

/** @param hosts names that may be private, EBRC_WEBHOOK_HOSTS. @param withinMs for tests */
export function createWebhookSender({
  hosts,
  ca,
  withinMs = ANSWER_WITHIN_MS,
}: {
  hosts: readonly string[];
  ca?: string;
  withinMs?: number;
}) {
  const agent = new Agent({ connect: webhookConnector({ hosts, ca }), pipelining: 1, maxHeaderSize: 8_192 });
  return {
    /** Never throws: what went wrong is in the answer. @param secrets one signature each */
    async send(
      url: string,
      { messageId, body, secrets }: { messageId: string; body: string; secrets: readonly string[] },
      stopped: AbortSignal,
    ): Promise<Answer> {
      const problem = urlProblem(url);
      if (problem !== null) return { status: null, problem };
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(withinMs)]);
      const at = new Date();
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'ebrc-webhooks/1',
        'webhook-id': messageId,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
        'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(messageId, at, body)).join(' '),
      };
      try {
        const answer = await request(url, { method: 'POST', headers, body, dispatcher: agent, signal });
        await answer.body.dump({ limit: ANSWER_BYTES, signal }).catch(() => undefined);
        const { statusCode: status } = answer;
        return { status, problem: status >= 200 && status < 300 ? null : `It answered ${status}.` };
      } catch (error) {
        return { status: null, problem: problemOf(error, withinMs) };
      }
    },
    close: (): Promise<void> => agent.destroy(),
  };
}

/** In our own words and codes: the message of an error may quote the address. */
function problemOf(error: unknown, withinMs: number): string {
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (code === 'address_refused') return `${message}.`;
  if (name === 'TimeoutError') return `It did not answer within ${withinMs / 1_000} s.`;
  if (name === 'AbortError') return 'The worker stopped.';
  return `There was no answer (${/^\w{1,60}$/.test(code ?? '') ? code : 'connection failed'}).`;
}

/** Public by its number, but the metadata and agent service of one cloud's own machines. */
const METADATA = '168.63.129.16';

/** What an address is, if nothing may be sent to it; null: it is a public one. */
export function refusedAddress(address: string): string | null {
  if (!ipaddr.isValid(address)) return 'no address';
  const parsed = ipaddr.parse(address);
  if (parsed.toString() === METADATA) return 'metadata';
  const range = parsed.range();
  if (range !== 'unicast') return range;
  // Of IPv6 only 2000::/3 is in public use.
  return parsed.kind() === 'ipv6' && ((parsed.toByteArray()[0] ?? 0) & 0xe0) !== 0x20 ? 'not in public use' : null;
}

/** Code of the error for an address that is refused. */
const REFUSED = 'address_refused';

function refusal(host: string, address: string, what: string): Error & { code: string } {
  const text = `${host} is ${address}, which is no public address (${what}). Where it is right, EBRC_WEBHOOK_HOSTS of the workers names the host`;
  return Object.assign(new Error(text), { code: REFUSED });
}

/** Resolves like Node, and refuses a name if one of its addresses is refused. */
const publicLookup: LookupFunction = (host, options, callback) => {
  lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
    if (error) return callback(error, '', 0);
    for (const { address } of found) {
      const what = refusedAddress(address);
      if (what !== null) return callback(refusal(host, address, what), '', 0);
    }
    const [first] = found;
    if (options.all) callback(null, found);
    else callback(null, first?.address ?? '', first?.family);
  });
};

/** @param hosts names and addresses that may be private. @param ca the only trusted authority, PEM */
function webhookConnector({ hosts, ca }: { hosts: readonly string[]; ca?: string }): buildConnector.connector {
  const more = { timeout: 10_000, allowH2: false, ...(ca === undefined ? {} : { ca }) };
  const named = buildConnector(more);
  const others = buildConnector({ ...more, lookup: publicLookup });
  return (options, callback) => {
    const host = options.hostname.toLowerCase().replace(/^\[|\]$/g, '');
    if (hosts.includes(host)) return named(options, callback);
    // Node looks no address up.
    const what = isIP(host) ? refusedAddress(host) : null;
    if (what !== null) return callback(refusal(host, host, what), null);
    others(options, callback);
  };
}
