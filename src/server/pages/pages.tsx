/** Pages for people, at the address of the HTTP API. They call what the routes call, and hold no rule of the field. */
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { z } from 'zod';
import { cutText } from '../../domain/text';
import { createAddressLimit } from '../access/address-limit';
import type { Gate } from '../access/gate';
import { problemOf } from '../http/failures';
import { refuseWhileSaturated, type createAllowance, type LoadBounds } from '../http/load';
import { tooManyRequests } from '../http/problem';
import type { Door } from '../http/route';
import { addAssets } from './assets';
import { addCertificatePages } from './certificates';
import { addDecisions } from './decide';
import { addExporterPages } from './exporters';
import { addFilePages } from './file';
import { addFilingPages } from './filing';
import { ErrorPage } from './layout';
import { createLiveParts, WAIT_MS, type LiveWait } from '../views/live';
import { addNeedsYou } from './needs-you';
import { addSignIn, addViewerPages } from './sign-in';
import { shown } from '../views/words';
import { secretOf } from '../access/session';
import { sendPage, viewerOf, type PageServer } from './page';

interface PagesOptions {
  door: Door;
  gate: Gate;
  allowance: ReturnType<typeof createAllowance>;
  bounds: LoadBounds & { requestsPerSecond: number; wrongTokens: number };
  logger: Logger;
}

const POLICY = [
  ...["default-src 'none'", "style-src 'self'", "script-src 'self'", "connect-src 'self'", 'img-src data:'],
  ...["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
].join('; ');

export async function addPages(app: FastifyInstance, options: PagesOptions): Promise<void> {
  const { door, gate, allowance, bounds } = options;
  await app.register(async (pages) => {
    await refuseWhileSaturated(pages, bounds);
    await pages.register(cookie);
    await pages.register(rateLimit, {
      max: bounds.requestsPerSecond,
      timeWindow: 1_000,
      hook: 'preHandler',
      keyGenerator: ({ principal, ip }) => principal?.principalId ?? ip,
      errorResponseBuilder: (_request, { ttl }) => tooManyRequests('Too many requests. Try again later.', ttl),
    });
    pages.decorateRequest('fresh', null);
    pages.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, fieldsOf(new URLSearchParams(String(body)))),
    );
    pages.addHook('onSend', (_request, reply, _payload, done) => {
      void reply.header('content-security-policy', POLICY);
      done();
    });
    addErrorPages(pages, options);
    addAssets(pages);
    const live = createLiveParts(door.deps);
    pages.addHook('preClose', (done) => {
      live.watch.close();
      done();
    });
    const addresses = createAddressLimit(pages, bounds.wrongTokens);
    const server = { app: pages, door, gate, addresses, allowance, live };
    addSignIn(server);
    addViewerPages(server);
    addNeedsYou(server);
    addFilePages(server);
    addFilingPages(server);
    addDecisions(server);
    addExporterPages(server);
    addCertificatePages(server);
    addLiveRoute(server);
  });
}

/** The fields of a form; one that is there several times is a list. */
function fieldsOf(form: URLSearchParams): Record<string, string | string[]> {
  const names = [...new Set(form.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = form.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}

/** Refusals and errors, with what to do about them. */
function addErrorPages(app: FastifyInstance, { gate, door, logger }: PagesOptions): void {
  app.setErrorHandler(async (error, request, reply) => {
    const { status, code, detail, more } = problemOf(error);
    if ([401, 403, 404].includes(status)) gate.refused(request, code);
    if (status >= 500)
      logger.error(
        { ...(more.cause !== undefined && { err: more.cause }), requestId: request.id, code, status },
        'request failed',
      );
    const viewer = request.principal ? viewerOf(request, gate, door.deps) : null;
    const page = {
      viewer,
      title: status === 404 ? 'There is no such page' : status < 500 ? 'This was refused' : 'Something went wrong',
      detail: shown(cutText(detail)),
      requestId: request.id,
    };
    void reply.headers(more.headers ?? {});
    return sendPage(reply, { status, html: <ErrorPage {...page} /> });
  });
}

/** Bounded, because one statement looks for all open pages: what it does not take would keep the others waiting. */
const ASKED = z.object({ about: z.string().regex(/^[\w-]{1,100}$/), seen: z.string().max(200) });

/** Answers when something has changed: the page then reads its parts anew, or signs in again. */
function addLiveRoute({ app, live }: PageServer): void {
  app.get('/live', { schema: { hide: true } }, async (request, reply) => {
    const secret = secretOf(request);
    const asked = ASKED.safeParse(request.query);
    if (secret === undefined || !asked.success) return refresh(reply);
    const { about, seen } = asked.data;
    const waiting: LiveWait = { secret, about, seen, over: false };
    const hasCome = await live.watch.until(waiting, WAIT_MS, goneOf(reply));
    if (waiting.over) return refresh(reply);
    return reply
      .code(204)
      .headers(hasCome ? { 'hx-trigger': 'ebrc-changed' } : {})
      .send();
  });
}

const refresh = (reply: FastifyReply): FastifyReply => reply.code(204).header('hx-refresh', 'true').send();

function goneOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => void (reply.raw.writableFinished || gone.abort()));
  return gone.signal;
}
