/** The Fastify application of `ebrc serve`: its routes, and the handling around every request. */
import { Problem, problemBody, tooManyRequests } from './http/problem';
import { randomUUID } from 'node:crypto';
import { METHODS, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import helmet from '@fastify/helmet';
import multipart from '@fastify/multipart';
import rateLimit from '@fastify/rate-limit';
import swagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { ProviderSettings } from '../config/sections';
import { createAddressLimit, type Gate } from './access/gate';
import { MAX_BODY_BYTES, parseJsonBody } from './http/body';
import { createMetrics, observeRequests } from './http/metrics';
import { boundConnections, createAllowance, refuseWhileSaturated, type LoadBounds } from './http/load';
import type { HttpApi } from './http/route';
import { withComponents } from './http/components';
import { addDescription } from './http/openapi';
import { problemOf, unreadProblem } from './http/failures';
import { addCheckRoutes } from './routes/checks';
import { addDocumentRoutes } from './routes/documents';
import { addEventRoutes } from './routes/events';
import { addExporterRoutes } from './routes/exporters';
import { addFilingActionRoutes } from './routes/filing-actions';
import { addFilingRoutes } from './routes/filings';
import { addReconciliationRoutes } from './routes/reconciliation';
import { addWebhookRoutes } from './routes/webhooks';
import { healthAnswer, postgresqlProbe, readinessOf, temporalProbe } from '../telemetry/readiness';

/** Limits of a request and of all connections. What exceeds them is refused, so that other callers are served. */
export interface Bounds extends LoadBounds {
  /** A whole request must arrive within this time, its headers within a third of it. */
  requestWithinMs: number;
  /** Connections without traffic for this long are closed. It must exceed the longest wait of a request. */
  idleMs: number;
  /** Maximum number of connections. An idle one takes 6 KB, one that waits 15 KB. */
  connections: number;
  /** Per principal. */
  requestsPerSecond: number;
  /** Wrong tokens from one address within ten seconds. */
  wrongTokens: number;
}

/** Maximum length of a path segment: an encoded reference of 200 characters. */
const MAX_PARAM_LENGTH = 2_000;

/** Creates the application, which does not listen yet. */
export async function createApp(
  httpApi: HttpApi,
  options: { gate: Gate; logger: Logger; bounds: Bounds; pages?: boolean; provider?: ProviderSettings },
): Promise<FastifyInstance> {
  const { gate, logger, bounds, pages = false } = options;
  const app = bareApp(bounds);
  boundConnections(app, bounds);
  handleErrors(app, gate, logger);
  const metrics = createMetrics();
  observeRequests(app, metrics, logger);
  const refuseOtherMethods = watchRoutes(app);
  const allowance = createAllowance();
  app.addHook('onSend', (request, reply, payload, done) => {
    allowance.holdAnswer(request, reply, payload);
    done();
  });
  await app.register(helmet, HELMET);
  await app.register(multipart);
  await app.register(swagger, {
    ...DESCRIPTION,
    transformObject: (document) =>
      'openapiObject' in document ? withComponents(document.openapiObject) : document.swaggerObject,
  });
  let isSaturated = () => false;
  await app.register(
    async (api) => {
      isSaturated = await refuseWhileSaturated(api, bounds);
      await api.register(rateLimit, {
        max: bounds.requestsPerSecond,
        timeWindow: 1_000,
        hook: 'preHandler',
        keyGenerator: (request) => gate.principalOf(request).principalId,
        errorResponseBuilder: (_request, { ttl }) =>
          tooManyRequests('Too many requests of this principal. Try again later.', ttl),
      });
      const addresses = createAddressLimit(api, bounds.wrongTokens);
      const registrar = { app: api, gate, addresses, allowance };
      addExporterRoutes(registrar, httpApi);
      addCheckRoutes(registrar, httpApi);
      addFilingRoutes(registrar, httpApi);
      addFilingActionRoutes(registrar, httpApi);
      addDocumentRoutes(registrar, httpApi);
      addReconciliationRoutes(registrar, httpApi);
      addEventRoutes(registrar, httpApi);
      addWebhookRoutes(registrar, httpApi);
    },
    { prefix: '/v1' },
  );
  if (pages) {
    const { addPages } = await import('./pages/pages.js');
    await addPages(app, { ...options, httpApi, allowance });
  }
  addHealthRoutes(app, { httpApi, metrics, isSaturated: () => isSaturated() });
  addDescription(app);
  refuseOtherMethods();
  return app;
}

function bareApp({ requestWithinMs, idleMs }: Bounds): FastifyInstance {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: requestWithinMs,
    connectionTimeout: idleMs,
    keepAliveTimeout: idleMs,
    // By default Node checks for late requests only every 30 s.
    http: { headersTimeout: requestWithinMs / 3, connectionsCheckingInterval: requestWithinMs / 6 },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    // A proxy on this machine or in its network tells the address of the caller, by which wrong tokens are limited.
    trustProxy: ['loopback', 'linklocal', 'uniquelocal'],
    genReqId: () => randomUUID(),
    // Fastify would log URLs and headers, which contain references and tokens; `observeRequests` logs chosen fields.
    logger: false,
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => void sendProblem(request, reply, error),
    clientErrorHandler: answerUnreadable,
  });
  app.decorateRequest('principal', null);
  for (const method of METHODS_TAKEN)
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true });
  // The zod schemas validate requests; the JSON Schemas of the routes only describe them.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (body) => JSON.stringify(body));
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  return app;
}

function sendProblem(request: FastifyRequest, reply: FastifyReply, error: unknown): Problem {
  const problem = problemOf(error);
  void reply
    .code(problem.status)
    .headers(problem.more.headers ?? {})
    .type('application/problem+json')
    .send(JSON.stringify(problemBody(problem, request.id)));
  return problem;
}

/** Answers what is no HTTP request or comes too slowly. There is no route or reply, but the document is the same. */
function answerUnreadable({ code }: Error & { code?: string }, socket: Socket): void {
  if (socket.writable && code !== 'ECONNRESET') {
    const problem = unreadProblem(code);
    const body = JSON.stringify(problemBody(problem, randomUUID()));
    const type = 'application/problem+json';
    const head = [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'];
    socket.write(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroy();
}

function handleErrors(app: FastifyInstance, gate: Gate, logger: Logger): void {
  app.setErrorHandler((error, request, reply) => {
    const problem = sendProblem(request, reply, error);
    const { status, code } = problem;
    if ([401, 403, 404].includes(status)) gate.refused(request, code);
    const { cause } = problem.more;
    const why = cause === undefined ? {} : { err: cause };
    if (status >= 500) logger.error({ ...why, requestId: request.id, code, status }, 'request failed');
    return reply;
  });
  app.setNotFoundHandler((request, reply) => {
    const detail = 'There is no such address. /docs lists them.';
    sendProblem(request, reply, new Problem(404, 'no_such_route', detail));
    return reply;
  });
}

/** Every method that arrives here. Each route answers 405 to those that it does not have. */
const METHODS_TAKEN = METHODS.filter((method) => method !== 'CONNECT');

/** Collects the routes. The returned function lets their other methods answer 405: a 404 would deny the filing. */
function watchRoutes(app: FastifyInstance): () => void {
  const methodsOf = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set();
    for (const each of [method].flat()) methods.add(each);
    methodsOf.set(url, methods);
  });
  return () => {
    for (const [url, methods] of [...methodsOf]) {
      const allow = [...methods].sort().join(', ');
      const problem = () =>
        new Problem(405, 'method_not_allowed', `This address takes ${allow}.`, { headers: { allow } });
      const refuse = () => Promise.reject(problem());
      const method = METHODS_TAKEN.filter((other) => !methods.has(other));
      // Refused before the body is read, because no route defined its type and size.
      app.route({ method, url, schema: { hide: true }, onRequest: refuse, handler: refuse });
    }
  };
}

const HELMET = {
  // The pages have no scripts and load nothing.
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], styleSrc: ["'self'"], formAction: ["'self'"], frameAncestors: ["'none'"] },
  },
};

const DESCRIPTION = {
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'eBRC filing',
      // The version of the API, which changes when clients have to.
      version: '1',
      description: 'Files electronic Bank Realization Certificates. Clients must expect new fields in answers.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'Exporters', description: 'Companies, their portal credentials and their remittances' },
      { name: 'Filings', description: 'Check, file, and see what became of it' },
      { name: 'Actions on filings', description: 'What persons decide' },
      { name: 'Certificates', description: 'Certificates and their PDFs' },
      { name: 'Reconciliation and reports', description: 'What differs, and figures' },
      { name: 'Events', description: 'What happened, to be read' },
      { name: 'Webhooks', description: 'What happened, told' },
    ],
    components: { securitySchemes: { token: { type: 'http' as const, scheme: 'bearer' } } },
    security: [{ token: [] }],
  },
};

/** Health, readiness and metrics, as workers serve them. They need no token: they tell nothing of an exporter. */
function addHealthRoutes(
  app: FastifyInstance,
  {
    httpApi,
    metrics,
    isSaturated,
  }: { httpApi: HttpApi; metrics: ReturnType<typeof createMetrics>; isSaturated: () => boolean },
): void {
  const { deps, isStopping } = httpApi;
  app.get('/healthz', { schema: { hide: true } }, () => healthAnswer([]).body);

  const look = readinessOf([postgresqlProbe(deps.pool), temporalProbe(deps.temporal)]);
  app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    const hinders = isStopping() ? 'the server is stopping' : isSaturated() ? 'the server is saturated' : null;
    const running = { name: 'running', ok: hinders === null, message: hinders ?? 'takes requests' };
    const { code, body } = healthAnswer([...(await look()), running]);
    return reply.code(code).send(body);
  });

  app.get('/metrics', { schema: { hide: true } }, (_request, reply) =>
    reply.header('content-type', 'text/plain; version=0.0.4; charset=utf-8').send(metrics.text()),
  );
}
