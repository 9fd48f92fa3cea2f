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
      : { url: databaseUrl, port: null, failed: null, stop: () => Promise.resolve() },
  ]);
  if (temporal.status === 'rejected' || postgres.status === 'rejected') {
    for (const each of [temporal, postgres]) if (each.status === 'fulfilled') await each.value.stop();
    throw temporal.status === 'rejected' ? temporal.reason : (postgres as PromiseRejectedResult).reason;
  }
  const { address, namespace, uiUrl, ports, failed } = temporal.value;
  const { url, port } = postgres.value;
  log(`PostgreSQL is ready; Temporal is at ${address}, its UI at ${uiUrl}`);

  let stopped: Promise<void> | undefined;
  return {
    databaseUrl: url,
    temporal: temporal.value,
    ports: { postgres: port, temporal: ports },
    env: { DATABASE_URL: url, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
    failed: postgres.value.failed ? Promise.race([failed, postgres.value.failed]) : failed,
    stop: () => (stopped ??= temporal.value.stop().then(() => postgres.value.stop())),
  };
}

async function startDatabase(options: EmbeddedServerOptions) {
  const server = await startEmbeddedPostgres(options);
  try {
    return { ...server, url: await server.createDatabase('ebrc') };
  } catch (error) {
    await server.stop();
    throw error;
  }
}
