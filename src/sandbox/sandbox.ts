import type { AddressInfo } from 'node:net';
import { buildServer } from './http/server';
import { createCallLog, type CallRecord } from './http/calls';
import { DEFAULT_WORLD } from './authority/default-world';
import type { FaultInput } from './faults/fault-schema';
import { createFaultRegistry, type ArmedFault } from './faults/faults';
import { doubleFilings, type DoubleFiling } from './endpoints/filings';
import { settingsOf, type SandboxOptions, type Settings } from './options';
import { createProcessing } from './authority/processing';
import { seededRandom } from './authority/random';
import { createRateLimiter } from './http/rate-limit';
import type { Context } from './http/route';
import { keySchema, loadSeed, seedSchema, type ParsedSeed } from './authority/seed';
import { createWorld, type World } from './authority/world';

/** A running sandbox of the filing service. */
export interface Sandbox {
  /** API root on 127.0.0.1; ends in `/api/v1`. */
  readonly url: string;
  /** Root of the extraction service; its paths start with `/platform`. */
  readonly extractionUrl: string;
  /** Root of the control endpoints. */
  readonly controlUrl: string;
  readonly port: number;
  /** The world as it stands, for tests in the same process. Processing that is due by now is done first. */
  state(): Promise<World>;
  /** Arms a fault and gives its id. @throws ZodError when it is not a fault. */
  addFault(fault: FaultInput): string;
  clearFaults(): void;
  faults(): readonly ArmedFault[];
  /** Calls in the order in which they came. */
  calls(filter?: { operation?: string; since?: number }): CallRecord[];
  /** Mappings that were filed again while they were live. The answer to "was anything filed twice?". */
  doubleFilings(): DoubleFiling[];
  /** Calls refused by a rate limit, by class. */
  refusedByRate(): Record<string, number>;
  /** Closes the port (new connections are refused, open ones are cut) or opens the same one again. */
  refuseConnections(refuse: boolean): Promise<void>;
  /** Cuts all connections and frees the port. */
  close(): Promise<void>;
}

/**
 * Starts the sandbox: a real HTTP server of the whole interface specification with faults on demand.
 * @throws Error for a seed that is not one, or a taken port where falling back to a free one was not wanted.
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const settings = settingsOf(options);
  const seed = completeSeed(options);
  const world = createWorld(seed);
  const stop = new AbortController();
  const context: Context = {
    world,
    settings,
    faults: createFaultRegistry(seed.faults),
    calls: createCallLog(),
    limiter: createRateLimiter({ enabled: settings.rateLimits, windowMs: settings.rateWindowMs }),
    processing: createProcessing(world, settings),
    random: seededRandom(1),
    stop: stop.signal,
  };
  const listening = {
    refuse: async (refuse: boolean): Promise<void> => {
      if (refuse === !app.server.listening) return;
      if (refuse) {
        const closed = new Promise<void>((resolve) => app.server.close(() => resolve()));
        app.server.closeAllConnections();
        await closed;
      } else {
        await new Promise<void>((resolve) => app.server.listen({ port, host: settings.host }, resolve));
      }
    },
  };
  const app = await buildServer(context, (refuse) => listening.refuse(refuse));
  await listen(app, settings);
  const { port } = app.server.address() as AddressInfo;
  const origin = `http://${settings.host}:${port}`;
  settings.log.info({ url: `${origin}/api/v1` }, 'sandbox listening');

  return {
    url: `${origin}/api/v1`,
    extractionUrl: origin,
    controlUrl: `${origin}/__sandbox`,
    port,
    async state() {
      context.processing.advance(await settings.clock());
      return world;
    },
    addFault: (fault) => context.faults.add(fault).id,
    clearFaults: () => context.faults.clear(),
    faults: () => context.faults.list(),
    calls: (filter) => context.calls.list(filter),
    doubleFilings: () => doubleFilings(world),
    refusedByRate: () => context.limiter.refused(),
    refuseConnections: (refuse) => listening.refuse(refuse),
    async close() {
      stop.abort();
      await app.close();
    },
  };
}

async function listen(app: Awaited<ReturnType<typeof buildServer>>, { host, port, fallBackToFreePort, log }: Settings) {
  try {
    await app.listen({ host, port });
  } catch (error) {
    if (!fallBackToFreePort || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    log.warn({ port }, 'sandbox port is taken, using a free one');
    await app.listen({ host, port: 0 });
  }
}

/** The seed with what it leaves out taken from the default world, and the keys of the options added. */
function completeSeed(options: SandboxOptions): ParsedSeed {
  const seed = options.seed === undefined ? seedSchema.parse({}) : loadSeed(options.seed);
  const base = seedSchema.parse(DEFAULT_WORLD);
  return {
    ...seed,
    accounts: seed.accounts ?? base.accounts,
    keys: [...(seed.keys ?? base.keys ?? []), ...(options.keys ?? []).map((key) => keySchema.parse(key))],
    extractionKeys: options.extractionKey ? [options.extractionKey] : (seed.extractionKeys ?? base.extractionKeys),
  };
}
