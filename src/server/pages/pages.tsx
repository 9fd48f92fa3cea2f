/** Pages for people, at the address of the HTTP API. They call what the routes call, and hold no rule of the field. */
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { cutText } from '../../domain/text';
import { createAddressLimit, type Gate } from '../access/gate';
import { fieldsOfForm } from '../http/body';
import { problemOf } from '../http/failures';
import { refuseWhileSaturated, type createAllowance, type LoadBounds } from '../http/load';
import { tooManyRequests } from '../http/problem';
import type { HttpApi } from '../http/route';
import { addAssets } from './assets';
import { addCertificatePages } from './certificates';
import { addDecisions } from './decisions';
import { addExporterPages } from './exporters';
import { addFilePages } from './file';
import { addFilingPages } from './filing';
import { ErrorPage } from './layout';
import { addLiveRoute, createLiveParts } from '../views/live';
import { addNeedsYou } from './needs-you';
import { addSignIn, addViewerPages } from './sign-in';
import { shown } from '../views/words';
import type { ProviderSettings } from '../../config/sections';
import { createProvider } from '../access/provider';
import { addProviderSignIn } from '../access/provider-sign-in';
import { sendPage, viewerOf } from './page';

interface PagesOptions {
  httpApi: HttpApi;
  gate: Gate;
  allowance: ReturnType<typeof createAllowance>;
  bounds: LoadBounds & { requestsPerSecond: number; wrongTokens: number };
  logger: Logger;
  provider?: ProviderSettings;
}

const POLICY = [
  ...["default-src 'none'", "style-src 'self'", "script-src 'self'", "connect-src 'self'", 'img-src data:'],
  ...["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
].join('; ');

export async function addPages(app: FastifyInstance, options: PagesOptions): Promise<void> {
  const { httpApi, gate, allowance, bounds } = options;
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
    pages.decorateRequest('session', null);
    pages.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, fieldsOfForm(new URLSearchParams(String(body)))),
    );
    pages.addHook('onSend', (_request, reply, _payload, done) => {
      void reply.header('content-security-policy', POLICY);
      done();
    });
    addErrorPages(pages, options);
    addAssets(pages);
    const live = createLiveParts(httpApi.deps);
    pages.addHook('preClose', (done) => {
      live.watch.close();
      done();
    });
    const addresses = createAddressLimit(pages, bounds.wrongTokens);
    const provider = options.provider ? createProvider(options.provider, options.logger) : null;
    const server = { app: pages, httpApi, gate, addresses, allowance, live, provider };
    if (provider) addProviderSignIn({ ...server, provider, logger: options.logger });
    addSignIn(server);
    addViewerPages(server);
    addNeedsYou(server);
    addFilePages(server);
    addFilingPages(server);
    addDecisions(server);
    addExporterPages(server);
    addCertificatePages(server);
    addLiveRoute(pages, live);
  });
}

/** Refusals and errors, with what to do about them. */
function addErrorPages(app: FastifyInstance, { gate, httpApi, logger }: PagesOptions): void {
  app.setErrorHandler(async (error, request, reply) => {
    const { status, code, detail, more } = problemOf(error);
    if ([401, 403, 404].includes(status)) gate.refused(request, code);
    if (status >= 500)
      logger.error(
        { ...(more.cause !== undefined && { err: more.cause }), requestId: request.id, code, status },
        'request failed',
      );
    const viewer = request.principal ? viewerOf(request, gate, httpApi.deps) : null;
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
