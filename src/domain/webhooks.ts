/** Webhooks: what endpoints are told, and when they are told again. */
import { DAY_MS, HOUR_MS } from './dates';

/** events: every event and a daily digest, as CloudEvents; the others: the digest alone, as a channel's message. */
export const WEBHOOK_TEMPLATES = ['events', 'slack', 'teams'] as const;
export type WebhookTemplate = (typeof WEBHOOK_TEMPLATES)[number];

export type DeliveryKind = 'event' | 'digest' | 'test';

/** How long one delivery is tried, and how long an endpoint may fail until it is paused. */
export const TRIED_FOR_MS = 3 * DAY_MS;

const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 6 * HOUR_MS;
/** Spreads the retries of many deliveries that failed together. */
const JITTER = 0.25;

/** The delay before the next try after so many failed ones. @param chance from 0 to 1 */
export function retryDelayMs(failed: number, chance = Math.random()): number {
  const delay = Math.min(FIRST_RETRY_MS * 3 ** Math.max(0, failed - 1), LONGEST_RETRY_MS);
  return Math.round(delay * (1 + JITTER * chance));
}

/**
 * What an answer means. `refused`: the endpoint does not take this content, but may take other. `failed`: it takes
 * nothing now. `gone`: it wants to be told no more.
 */
export type Verdict = 'taken' | 'refused' | 'failed' | 'gone';

/** @param status null: there was no answer */
export function verdictOf(status: number | null): Verdict {
  if (status === null) return 'failed';
  if (status >= 200 && status < 300) return 'taken';
  if (status === 410) return 'gone';
  // 408 and 429 ask for another time.
  return status >= 400 && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'failed';
}

/** Why nothing is sent to an address, whatever it resolves to; null: it may be. */
export function urlProblem(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !['https:', 'http:'].includes(url.protocol)) return 'It is no web address; allowed: https://HOST/PATH.';
  if (url.username || url.password || url.hash) return 'It has a user or a fragment; allowed: https://HOST/PATH?QUERY.';
  if (url.protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return null;
  return 'Beyond this machine only https addresses are told.';
}

/** An address as it is shown: without its query, and of a channel without its path, which let their holder in. */
export function shownAddress(url: string, template: WebhookTemplate): string {
  const { origin, pathname } = new URL(url);
  return template === 'events' ? `${origin}${pathname}` : `${origin}/…`;
}

export interface EventToTell {
  id: string;
  type: string;
  at: Date;
  subject: string;
  data: { [id: string]: unknown };
}

/** An event as CloudEvent 1.0, the same in the feed and in webhooks. */
export function cloudEventOf({ id, type, at, subject, data }: EventToTell) {
  return {
    specversion: '1.0' as const,
    id,
    source: '/v1',
    type,
    time: at.toISOString(),
    subject,
    datacontenttype: 'application/json' as const,
    data: { ...data, link: linkOf(data) },
  };
}

/** The route with more about the event. */
function linkOf({ eBRCNumber, filingId, exporterId, runId }: EventToTell['data']): string | null {
  const to = (list: string, id: unknown) => `/v1/${list}/${encodeURIComponent(String(id))}`;
  if (eBRCNumber != null) return to('certificates', eBRCNumber);
  if (filingId != null) return to('filings', filingId);
  if (runId != null) return '/v1/findings';
  return exporterId != null ? to('exporters', exporterId) : null;
}

/** What needs somebody. Like an event it has no name, amount or document number. */
export interface Digest {
  /** How many need somebody; `items` has the oldest of them. */
  count: number;
  items: {
    /** A filing's reference, or the id of a finding. */
    subject: string;
    /** A filing's state, or the kind of a finding. */
    what: string;
    filingId: string | null;
    findingId: string | null;
    since: string;
  }[];
}

/** The body of a digest, or of a test where there is none. */
export function messageBody(
  template: WebhookTemplate,
  { id, at, digest }: { id: string; at: Date; digest: Digest | null },
): unknown {
  if (template === 'events') {
    const type = digest ? 'ebrc.digest' : 'ebrc.webhook.test';
    return { ...cloudEventOf({ id, type, at, subject: 'webhook', data: { ...digest } }) };
  }
  const lines = digest ? digestLines(digest) : ['This is a test: what needs somebody will be told here once a day.'];
  if (template === 'slack') return { text: lines.map(forSlack).join('\n') };
  const body = lines.map((text) => ({ type: 'TextBlock', wrap: true, text: forTeams(text) }));
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
  };
  const contentType = 'application/vnd.microsoft.card.adaptive';
  return { type: 'message', attachments: [{ contentType, content: { ...content, body } }] };
}

function digestLines({ count, items }: Digest): string[] {
  const head = count === 1 ? 'eBRC: 1 matter needs somebody.' : `eBRC: ${count} matters need somebody.`;
  const lines = items.map(
    ({ subject, what, since }) => `• ${subject}: ${what.replaceAll('_', ' ')}, since ${since.slice(0, 10)}`,
  );
  const more = count - items.length;
  return [
    head,
    ...lines,
    ...(more > 0 ? [`… and ${more} more`] : []),
    'See them with: ebrc list --attention, ebrc findings',
  ];
}

/** Slack reads commands and links between angle brackets. */
const forSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A reference must not become a link or another format. */
const forTeams = (text: string) => text.replace(/[\\`*_[\]()#<>~|]/g, '\\$&');
