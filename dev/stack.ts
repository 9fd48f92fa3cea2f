import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startEmbeddedPostgres, type EmbeddedServerOptions } from './postgres';
import { startTemporalServer, type TemporalPorts, type TemporalServer } from './temporal-server';

export interface StackPorts {
  /** Null where another PostgreSQL is used. */
  postgres: number | null;
  temporal: TemporalPorts;
}

export interface StackOptions {
  /** Folder of the servers' data. */
  folder: string;
  /** Those of the last start, which are used again where they are free. */
  lastPorts?: StackPorts;
  /** An existing PostgreSQL to use instead of an embedded one. */
  databaseUrl?: string;
  /** Address of the codec server through which the Temporal UI reads encrypted payloads. */
  codecEndpoint?: string;
  /** Called with a sentence about what is being started, and when it is ready. */
  log?: (message: string) => void;
}

export interface Stack {
  databaseUrl: string;
  temporal: TemporalServer;
  ports: StackPorts;
  /** Environment with which the worker, the command line and our other programs find these servers. */
  env: Record<string, string>;
  /** Rejects if a server has ended several times in a row. Never resolves. */
  failed: Promise<never>;
  /** Stops what was started here, Temporal first. Can be called again. */
  stop(): Promise<void>;
}

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts a real Temporal server with its UI and a real PostgreSQL, at the same time and on free ports. Both end with
 * this process, in every case; their data stays in the folder and is used by the next start. If one does not start, the
 * other is stopped and the error says why.
 */
export async function startStack({
  folder,
  databaseUrl,
  codecEndpoint,
  lastPorts,
  log = () => undefined,
}: StackOptions): Promise<Stack> {
  await mkdir(folder, { recursive: true });
  log(
    databaseUrl === undefined
      ? 'starting PostgreSQL and Temporal …'
      : 'starting Temporal; DATABASE_URL names the PostgreSQL …',
  );
  const [temporal, postgres] = await Promise.allSettled([
    startTemporalServer({ folder: join(folder, 'temporal'), codecEndpoint, lastPorts: lastPorts?.temporal, log }),
    databaseUrl === undefined
      ? startDatabase({ folder: join(folder, 'postgres'), lastPort: lastPorts?.postgres ?? undefined, log })
      : Promise.resolve({ url: databaseUrl, port: null, failed: null, stop: () => Promise.resolve() }),
  ]);
  if (temporal.status === 'rejected' || postgres.status === 'rejected') {
    for (const each of [temporal, postgres]) if (each.status === 'fulfilled') await each.value.stop();
    throw failureOf(temporal, postgres);
  }
  log(`PostgreSQL is ready; Temporal is at ${temporal.value.address}, its UI at ${temporal.value.uiUrl}`);

  let stopped: Promise<void> | undefined;
  return {
    databaseUrl: postgres.value.url,
    temporal: temporal.value,
    ports: { postgres: postgres.value.port, temporal: temporal.value.ports },
    env: {
      DATABASE_URL: postgres.value.url,
      TEMPORAL_ADDRESS: temporal.value.address,
      TEMPORAL_NAMESPACE: temporal.value.namespace,
    },
    failed: postgres.value.failed
      ? Promise.race([temporal.value.failed, postgres.value.failed])
      : temporal.value.failed,
    stop: () => (stopped ??= stopInOrder([temporal.value, postgres.value])),
  };
}

async function startDatabase(options: EmbeddedServerOptions) {
  const server = await startEmbeddedPostgres(options);
  const url = await server.createDatabase('ebrc').catch(stopAndRethrow(server));
  return { ...server, url };
}

function stopAndRethrow(server: Stoppable) {
  return async (error: unknown): Promise<never> => {
    await server.stop();
    throw error;
  };
}

async function stopInOrder(servers: Stoppable[]): Promise<void> {
  for (const server of servers) await server.stop();
}

function failureOf(...results: PromiseSettledResult<unknown>[]): Error {
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const [first] = reasons;
  if (reasons.length === 1 && first instanceof Error) return first;
  return new AggregateError(
    reasons,
    reasons.map((reason) => (reason instanceof Error ? reason.message : String(reason))).join('\n'),
  );
}
