/** Sends one webhook: signed, without redirects and proxies, within 15 s. */
import { Webhook } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { urlProblem } from '../../domain/webhooks';
import { webhookConnector } from './addresses';

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
