/** Declares pages: who may open them, the cookie of their sign-in, their forms, and how they are answered. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Principal, Role } from '../../domain/principal';
import { readSession } from '../../ledger/principals/sessions';
import type { AddressLimit, Gate } from '../access/gate';
import type { Provider } from '../access/provider';
import { assertOwnForm, formToken, groupingOf, openFromHere, secretOf } from '../access/session';
import type { Grouping } from '../views/words';
import { bodyOf, MAX_BODY_BYTES, type Upload } from '../http/body';
import type { createAllowance } from '../http/load';
import { unavailable } from '../http/problem';
import { checked, type Answer, type HttpApi } from '../http/route';
import { within } from '../../telemetry/readiness';
import type { LiveParts } from '../views/live';

/** Who looks at a page, and how. */
export interface Viewer {
  principal: Principal;
  /** The token of this viewer's forms. */
  form: string;
  /** Whether the sign-in is recent enough for a decision. */
  fresh: boolean;
  /** Signed in at the identity provider, and not with a token. */
  atProvider: boolean;
  grouping: Grouping;
  mode: string;
  /** One person answers for the whole installation. */
  singlePerson: boolean;
  /** The path of the page, for the mark in the navigation. */
  path: string;
}

export interface PageCall<P = unknown, Q = unknown, F = unknown> extends Viewer {
  params: P;
  query: Q;
  fields: F;
  upload: Upload | null;
  request: FastifyRequest;
  reply: FastifyReply;
}

/** A page as text, or another answer, such as a file. */
export type PageAnswer = { html: JSX.Element; status?: number } | { to: string } | Answer;

interface Page<P extends z.ZodType, Q extends z.ZodType, F extends z.ZodType> {
  route: `${'GET' | 'POST'} /${string}`;
  roles?: readonly Role[];
  params?: P;
  query?: Q;
  fields?: F;
  takesFile?: boolean;
  /** Whether it changes something of a filing or exporter; default: for POST. */
  changes?: boolean;
  handle: (call: PageCall<z.output<P>, z.output<Q>, z.output<F>>) => Promise<PageAnswer> | PageAnswer;
}

export interface PageServer {
  app: FastifyInstance;
  httpApi: HttpApi;
  gate: Gate;
  addresses: AddressLimit;
  allowance: ReturnType<typeof createAllowance>;
  live: LiveParts;
  /** Where people sign in besides; null: with tokens alone. */
  provider: Provider | null;
}

const ANSWER_WITHIN_MS = 100_000;
const FORM_BYTES = 256 * 1024;
const ANY = z.object({});

/** Adds a page for people who are signed in. */
export function addPage<
  P extends z.ZodType = typeof ANY,
  Q extends z.ZodType = typeof ANY,
  F extends z.ZodType = typeof ANY,
>({ app, httpApi, gate, allowance }: PageServer, page: Page<P, Q, F>): void {
  const [method = '', url = ''] = page.route.split(' ');
  const { roles = [], takesFile = false } = page;
  const { pool, mode } = httpApi.deps;
  app.route({
    method,
    url,
    schema: { hide: true },
    bodyLimit: takesFile ? MAX_BODY_BYTES : FORM_BYTES,
    config: { name: `page ${page.route}`, roles, changes: page.changes ?? method !== 'GET' },
    async onRequest(request, reply) {
      const secret = secretOf(request);
      const session = secret === undefined ? null : await readSession(pool, mode, secret);
      if (!session) return toSignIn(request, reply);
      request.principal = session.principal;
      request.session = session;
      allowance.holdBody(request, reply);
    },
    preHandler: (request) => gate.permit(request),
    handler: async (request, reply) => {
      const { fields, upload } = await bodyOf(request, takesFile);
      if (method !== 'GET') assertOwnForm(request, fields);
      const call = {
        ...viewerOf(request, gate, httpApi.deps),
        params: checked((page.params ?? ANY) as P, request.params, 'path'),
        query: checked((page.query ?? ANY) as Q, request.query, 'query'),
        fields: checked((page.fields ?? ANY) as F, fields, 'body'),
        ...{ upload: upload && upload.bytes.length > 0 ? upload : null, request, reply },
      };
      return sendPage(reply, await within(ANSWER_WITHIN_MS, Promise.resolve(page.handle(call)), timeout));
    },
  });
}

export function viewerOf(request: FastifyRequest, gate: Gate, { mode, settings }: HttpApi['deps']): Viewer {
  const [asked = '/'] = request.url.split('?');
  // A form is sent to an address below its page, which can be opened.
  const path = request.method === 'GET' ? asked : asked.replace(/^(\/[^/]+\/[^/]+)\/[^/]+$/, '$1');
  const form = formToken(secretOf(request) ?? '');
  const [principal, grouping] = [gate.principalOf(request), groupingOf(request)];
  const { singlePerson } = settings;
  const { fresh = false, atProvider = false } = request.session ?? {};
  return { principal, form, fresh, atProvider, grouping, mode, singlePerson, path };
}

export async function sendPage(reply: FastifyReply, answer: PageAnswer): Promise<FastifyReply> {
  if ('to' in answer) return reply.redirect(answer.to, 303);
  if ('html' in answer)
    return reply
      .code(answer.status ?? 200)
      .type('text/html; charset=utf-8')
      .send(`<!doctype html>${await answer.html}`);
  const { status = 200, headers = {}, body } = answer;
  return reply
    .code(status)
    .headers(headers)
    .send(body ?? undefined);
}

/** Nobody is signed in. A link from elsewhere comes without the cookie: the page is opened once more from here. */
function toSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { method, url, headers } = request;
  if (headers['hx-request']) return reply.code(401).header('hx-refresh', 'true').send('');
  if (method === 'GET' && headers['sec-fetch-site'] === 'cross-site') return openFromHere(reply, url);
  // A form's own page, where that can be opened by its address alone.
  const next = method === 'GET' ? url : (/^\/(?:filings|exporters)\/[^/]+/u.exec(url)?.[0] ?? '/');
  return reply.redirect(`/sign-in?${method === 'GET' ? '' : 'ended=yes&'}next=${encodeURIComponent(next)}`, 303);
}

const timeout = () =>
  unavailable('timeout', 'There was no answer in time. Open the page again: nothing is filed twice.', {
    retryAfterS: 15,
  });
