import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { isIPv6, type AddressInfo } from 'node:net';
import { type FastifyInstance, fastify, type FastifyError } from 'fastify';
import { DEFAULT_SEED } from './authority/default-seed';
import type { FaultInput } from './faults/fault-schema';
export { parseFault } from './faults/fault-schema';
import { FaultRegistry, type ArmedFault } from './faults/faults';
import { doubleFilings } from './endpoints/filings';
import { settingsOf, type SandboxOptions, type Settings } from './options';
import { processDue } from './authority/processing';
import { createRateLimiter } from './http/admission';
import { Problem, reportDefect } from './http/problem';
import { addRoute, CallLog, type CallRecord, type Context } from './http/route';
import { loadSeed } from './authority/seed';
import { createWorld, type World } from './authority/world';
import multipart from '@fastify/multipart';
import { BULK_ROUTE } from './bulk/bulk';
import { CERTIFICATE_ROUTES } from './endpoints/certificates';
import { addControlRoutes } from './faults/control';
import { CUSTOMER_ROUTES } from './endpoints/customers';
import { extractionRoutes } from './endpoints/extraction';
import { IRM_ROUTES } from './endpoints/irms';
import { PUSH_ROUTE } from './endpoints/push';
import { STATUS_ROUTE } from './endpoints/status';

const SERVICE_ROUTES = [...CUSTOMER_ROUTES, ...IRM_ROUTES, PUSH_ROUTE, BULK_ROUTE, STATUS_ROUTE, ...CERTIFICATE_ROUTES];

/** A push message of 999 rows has about half a megabyte. */
const BODY_LIMIT = 10 * 1024 * 1024;

/** Registers all endpoints. `refuse` closes the port, or opens it again. */
async function buildServer(context: Context, refuse: (refuse: boolean) => Promise<void>) {
  const app = fastify({
    // Answers that hang on purpose must not delay a close.
    forceCloseConnections: true,
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: 500 },
  });
  // A file beyond its limit is cut here and refused by the endpoint, with the service's message.
  await app.register(multipart, { throwFileSizeLimit: false });
  app.setErrorHandler((error: FastifyError | Problem, _request, reply) => {
    if (error instanceof Problem) return reply.code(error.status).send(error.body);
    const status = error.statusCode ?? 500;
    const message = status === 500 ? 'Internal server error' : error.message;
    if (status === 500) reportDefect(error);
    return reply.code(status).send({ statusCode: status, message });
  });
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ statusCode: 404, message: `Cannot ${request.method} ${request.url.split('?')[0]}` }),
  );
  for (const route of SERVICE_ROUTES) addRoute(app, context, '/api/v1', route);
  for (const route of extractionRoutes()) addRoute(app, context, '/platform', route);
  await app.register(
    (control, _options, done) => {
      addControlRoutes(control, context, refuse);
      done();
    },
    { prefix: '/__sandbox' },
  );
  return app;
}

export interface Sandbox {
  /** API root on 127.0.0.1; ends in `/api/v1`. */
  readonly url: string;
  /** Root of the extraction service; its paths start with `/platform`. */
  readonly extractionUrl: string;
  /** Root of the control endpoints. */
  readonly controlUrl: string;
  readonly port: number;
  /** The current state, for tests in the same process. Processing that is due is done first. */
  state(): Promise<World>;
  /** Arms a fault. @returns its id. @throws ZodError when it is invalid. */
  addFault(fault: FaultInput): string;
  clearFaults(): void;
  faults(): readonly ArmedFault[];
  /** Calls in the order of their arrival. */
  calls(filter?: { operation?: string; since?: number }): CallRecord[];
  /** Mappings that were filed again while they were live. The answer to "was anything filed twice?". */
  doubleFilings(): ReturnType<typeof doubleFilings>;
  /** Calls refused by a rate limit, by class. */
  refusedByRate(): Record<string, number>;
  /** Closes the port (new connections are refused, open ones are cut) or opens the same one again. */
  refuseConnections(refuse: boolean): Promise<void>;
  /** Cuts all connections and frees the port. */
  close(): Promise<void>;
}

/** A server of the whole specification, with faults on demand. @throws Error for an invalid seed, or a port in use */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsOf(options);
  const [seed, base] = [loadSeed(options.seed ?? {}), loadSeed(DEFAULT_SEED)];
  const { accounts = base.accounts, keys = base.keys, extractionKeys = base.extractionKeys } = seed;
  const world = createWorld({ ...seed, accounts, keys, extractionKeys });
  if (options.stateFile && existsSync(options.stateFile))
    Object.assign(world, deserialize(readFileSync(options.stateFile)));
  const stop = new AbortController();
  const context: Context = {
    world,
    settings,
    faults: new FaultRegistry(seed.faults),
    calls: new CallLog(),
    limiter: createRateLimiter({ enabled: settings.rateLimits, windowMs: settings.rateWindowMs }),
    stop: stop.signal,
    keep: () => void (options.stateFile && saveWorld(world, options.stateFile)),
  };
  // The control endpoints of the server call this, once it listens.
  const refuseConnections = async (refuse: boolean): Promise<void> => {
    if (refuse === !app.server.listening) return;
    if (refuse) {
      const closed = new Promise<void>((resolve) => app.server.close(() => resolve()));
      app.server.closeAllConnections();
      await closed;
    } else {
      await new Promise<void>((resolve) => app.server.listen({ port, host: settings.host }, resolve));
    }
  };
  const app: FastifyInstance = await buildServer(context, refuseConnections);
  await listen(app, settings);
  const { port } = app.server.address() as AddressInfo;
  // Listening on every address is for containers; whoever reads this reaches it on this machine.
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[settings.host] ?? settings.host;
  const origin = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;

  return {
    url: `${origin}/api/v1`,
    extractionUrl: origin,
    controlUrl: `${origin}/__sandbox`,
    port,
    async state() {
      processDue(context, await settings.clock());
      return world;
    },
    addFault: (fault) => context.faults.add(fault).id,
    clearFaults: () => context.faults.clear(),
    faults: () => context.faults.list(),
    calls: (filter) => context.calls.list(filter),
    doubleFilings: () => doubleFilings(world),
    refusedByRate: () => context.limiter.refused(),
    refuseConnections,
    async close() {
      stop.abort();
      await app.close();
      context.keep();
    },
  };
}

async function listen(app: FastifyInstance, { host, port }: Settings) {
  try {
    await app.listen({ host, port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    await app.listen({ host, port: 0 });
  }
}

/** Keeps the state in a file. Synchronously: the last state before the process ends is the one that counts. */
function saveWorld(world: World, file: string): void {
  writeFileSync(`${file}.new`, serialize(world), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
