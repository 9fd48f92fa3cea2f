import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../src/domain/names';
import { freePort } from './free-port';
import { ProgramEndedError, type KeptProcess } from './kept-process';
import { keepStarting, startProgram } from './program';
import { findServer } from './servers';

const NAME = 'The Temporal development server';
const NAMESPACE = 'default';
const START_ATTEMPTS = 3;

/**
 * Temporal decides the order among exporters; the order applies to a whole queue only if the queue has one partition.
 */
const FAIRNESS = {
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
};

export interface TemporalServer {
  /** `127.0.0.1:port`. */
  address: string;
  namespace: string;
  /** Address of the web UI; null for a headless server. */
  uiUrl: string | null;
  /** Address of its own HTTP API; null for a headless server. */
  httpUrl: string | null;
  ports: TemporalPorts;
  logFile: string;
  pid: number;
  /** Rejects if it ends by itself; with `log`, if it has ended several times in a row. Never resolves. */
  failed: Promise<never>;
  stop(): Promise<void>;
}

/** Of its gRPC address, its web UI and its HTTP API; null: headless. */
export interface TemporalPorts {
  port: number;
  uiPort: number | null;
  httpPort: number | null;
}

export interface TemporalServerOptions {
  /** Folder of its database and log; without it everything is in memory or is deleted at the end. */
  folder?: string;
  /** Its address, for a server that is started again; otherwise a free port. */
  port?: number;
  /** Those of its last start, which are used again where they are free. */
  lastPorts?: TemporalPorts;
  /** No web UI. */
  headless?: boolean;
  /** Address of the codec server through which the UI reads encrypted payloads. */
  codecEndpoint?: string;
  /** Path of Temporal's command line; found as the bootstrap finds it by default. */
  executable?: string;
  /** Told that the server has ended and is started again; without it, it is not. */
  log?: (message: string) => void;
  /** Time limit for the first answer; default 60 s. */
  startWithinMs?: number;
  /** Further `key=value` dynamic configuration. */
  dynamicConfig?: Record<string, string | number | boolean>;
}

/**
 * Starts Temporal's development server on free ports of 127.0.0.1 with the worker's search attributes and fairness
 * settings, and waits until it is ready. It ends with this process, in every case. Throws, with the end of the server's
 * log, if it ends by itself or does not answer in time.
 */
export async function startTemporalServer(options: TemporalServerOptions = {}): Promise<TemporalServer> {
  const { folder, headless = false, startWithinMs = 60_000 } = options;
  const executable = options.executable ?? (await findServer('temporal'));
  const home = folder ?? (await mkdtemp(join(tmpdir(), 'ebrc-temporal-')));
  await mkdir(home, { recursive: true });
  const logFile = join(home, 'temporal.log');
  const forget = () => (folder === undefined ? rm(home, { recursive: true, force: true }) : Promise.resolve());

  for (let attempt = 1; ; attempt += 1) {
    const last = attempt === 1 ? options.lastPorts : undefined;
    const port = options.port ?? (await freePort(last?.port));
    const uiPort = headless ? null : await freePort(last?.uiPort ?? undefined);
    const httpPort = headless ? null : await freePort(last?.httpPort ?? undefined);
    const ports = { port, uiPort, httpPort };
    const program = {
      name: NAME,
      command: executable,
      args: serverArguments(ports, options),
      log: logFile,
      // Stopping takes three seconds; a server that stores nothing can be killed instead.
      ...(folder === undefined && { stopWithinMs: 0 }),
    };
    const kept = await startProgram(program);
    const address = `127.0.0.1:${port}`;
    try {
      await waitUntilServing(address, kept, startWithinMs);
    } catch (error) {
      await kept.stop();
      // A port can be taken between the probe and the start, also one of those that the server picks for itself, and it
      // reports that in several ways; another attempt with new ports shows whether that was the cause.
      if (attempt < START_ATTEMPTS && error instanceof ProgramEndedError) continue;
      await forget();
      throw error;
    }
    const { failed, stop } = options.log
      ? keepStarting(kept, { name: NAME, start: () => startProgram(program) }, { log: options.log })
      : kept;
    return {
      address,
      namespace: NAMESPACE,
      uiUrl: uiPort === null ? null : `http://127.0.0.1:${uiPort}`,
      httpUrl: httpPort === null ? null : `http://127.0.0.1:${httpPort}`,
      ports,
      logFile,
      pid: Number(kept.firstLine),
      failed,
      stop: async () => {
        await stop();
        await forget();
      },
    };
  }
}

function serverArguments(
  { port, uiPort, httpPort }: TemporalPorts,
  { folder, codecEndpoint, dynamicConfig }: TemporalServerOptions,
): string[] {
  const settings = Object.entries({ ...FAIRNESS, ...dynamicConfig }).map(
    ([key, value]) => `${key}=${JSON.stringify(value)}`,
  );
  return [
    ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port)],
    ...['--namespace', NAMESPACE, '--log-level', 'warn'],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    ...(httpPort === null ? [] : ['--http-port', String(httpPort)]),
    ...(codecEndpoint === undefined ? [] : ['--ui-codec-endpoint', codecEndpoint]),
    ...(folder === undefined ? [] : ['--db-filename', join(folder, 'temporal.db')]),
    ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
    ...settings.flatMap((setting) => ['--dynamic-config-value', setting]),
  ];
}

async function waitUntilServing(address: string, kept: KeptProcess, withinMs: number): Promise<void> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const missing = await Promise.race([whatIsMissing(address), kept.failed]);
    if (missing === null) return;
    if (Date.now() > deadline)
      throw new Error(`${NAME} at ${address} did not answer within ${withinMs / 1000} s: ${missing}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Why the server cannot be used yet, or null. The search attributes are registered a moment after it starts to answer.
 */
async function whatIsMissing(address: string): Promise<string | null> {
  // After a refused connection a gRPC channel waits a second before it tries again; a plain socket does not.
  if (!(await accepts(address))) return 'nothing listens there';
  // Lazy, because a failed `connect` leaves a channel that retries for ever.
  const connection = Connection.lazy({ address, connectTimeout: '2s' });
  try {
    await connection.ensureConnected();
    await connection.workflowService.describeNamespace({ namespace: NAMESPACE });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace: NAMESPACE });
    const unregistered = Object.keys(SEARCH_ATTRIBUTES).filter((name) => !(name in customAttributes));
    return unregistered.length === 0 ? null : `search attributes ${unregistered.join(', ')} are not registered`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await connection.close();
  }
}

function accepts(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port) }, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
