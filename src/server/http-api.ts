/** The HTTP API: a stateless process in front of the functions that the command line uses. */
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { hostForUrl, type ListenAddress } from '../config/listen-address';
import type { ProviderSettings } from '../config/sections';
import type { EbrcClientDependencies } from '../starter/dependencies';
import { createAuditTrail } from './access/audit';
import { createGate, createTemporalWatch, type Gate } from './access/gate';
import { createApp, type Bounds } from './app';
import { LOAD_BOUNDS } from './http/load';
import type { HttpApi } from './http/route';
import { createFilingReader } from './views/filing';
import { createFeedWatch, createFilingWatch } from './views/watch';
import pino from 'pino';

const BOUNDS: Bounds = {
  requestWithinMs: 30_000,
  idleMs: 75_000,
  connections: 12_000,
  requestsPerSecond: 2_000,
  wrongTokens: 100,
  ...LOAD_BOUNDS,
};

/** How long closing waits for requests that are being handled. */
const CLOSE_WITHIN_MS = 15_000;

/** @throws Error if it cannot listen on the address */
export async function startHttpApi(options: {
  deps: EbrcClientDependencies;
  logger: Logger;
  address: ListenAddress;
  bounds?: Partial<Bounds>;
  /** Whether pages for people are served too. */
  pages?: boolean;
  /** Where people sign in to the pages, besides with tokens. */
  provider?: ProviderSettings;
}) {
  const { deps, logger, address, pages, provider } = options;
  const bounds = { ...BOUNDS, ...options.bounds };
  const { pool, mode } = deps;
  let stopping = false;
  const audit = createAuditTrail({ pool, mode, logger });
  const gate = createGate({ pool, mode, audit }, createTemporalWatch(deps.temporal));
  const watch = createFilingWatch({ pool });
  const feed = createFeedWatch({ pool });
  const httpApi: HttpApi = { deps, filings: createFilingReader(deps), watch, feed, isStopping: () => stopping };
  const app = await createApp(httpApi, { gate, logger, bounds, pages, provider });
  await app.listen({ host: address.host, port: address.port });
  app.server.maxConnections = bounds.connections;
  const { port } = app.server.address() as AddressInfo;
  return {
    /** Without a trailing slash. */
    url: `http://${hostForUrl(address.host)}:${port}`,
    /** Takes no new requests, finishes those that are being handled, and ends. */
    async close(): Promise<void> {
      stopping = true;
      watch.close();
      feed.close();
      gate.close();
      const late = setTimeout(() => app.server.closeAllConnections(), CLOSE_WITHIN_MS);
      await app.close();
      clearTimeout(late);
      await audit.close();
    },
  };
}

/** The OpenAPI 3.1 description of the HTTP API, for schemas/openapi.json. No server is needed. */
export async function describeApi(): Promise<string> {
  // Stubs, because they are not used before a request arrives.
  const [httpApi, gate] = [{ deps: {} } as HttpApi, {} as Gate];
  const app = await createApp(httpApi, { gate, logger: pino({ level: 'silent' }), bounds: BOUNDS });
  await app.ready();
  const description = app.swagger();
  await app.close();
  return `${JSON.stringify(description, null, 2)}\n`;
}
