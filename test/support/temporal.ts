import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { NativeConnection } from '@temporalio/worker';
import { SEARCH_ATTRIBUTES } from '../../src/domain/names';
import { connect } from '../../src/temporal/connect';
import { closeAfterAll } from './closing';
import { noteOpen } from './jest/left-open';
import type { TestWorkerOptions } from './worker';
import { findServer, type TemporalServers } from '../../dev/servers';
import { startTemporalServer, type TemporalServerOptions } from '../../dev/temporal-server';

declare global {
  var serverPaths: Map<string, Promise<string>> | undefined;
}

/** Where a server is: asked once in a test process, for all its files, as each look starts a program. */
function pathOf(name: keyof TemporalServers): Promise<string> {
  const known = (globalThis.serverPaths ??= new Map());
  const path = known.get(name) ?? findServer(name);
  known.set(name, path);
  path.catch(() => known.delete(name));
  return path;
}

/** `temporal.api.enums.v1.IndexedValueType`. */
const INDEXED_VALUE_TYPES = { Keyword: 2, Bool: 5 } as const;

/**
 * A workflow environment on a time-skipping test server of its own, with the project's search attributes registered (a
 * workflow that sets an unregistered one would never finish a task). Its time is one clock for all its workflows:
 * `env.currentTimeMs()` is what activities and the sandbox take as theirs. Not shared between test files: a call that
 * is cancelled as it is scheduled leaves the time of its server locked, which would hang every later file. Call
 * `teardown` in `afterAll`.
 */
export async function timeSkippingEnvironment(): Promise<TestWorkflowEnvironment> {
  const env = await startTimeSkipping(await pathOf('testServer'));
  const searchAttributes = Object.fromEntries(
    Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]]),
  );
  await env.connection.operatorService.addSearchAttributes({ namespace: env.namespace ?? 'default', searchAttributes });
  const closed = noteOpen('a time-skipping server');
  const teardown = env.teardown.bind(env);
  env.teardown = () => teardown().finally(closed);
  return env;
}

/**
 * The SDK gives a server five seconds to start, which is little for a Java program on a busy machine: it is started
 * again.
 */
const STARTS = 6;

async function startTimeSkipping(server: string): Promise<TestWorkflowEnvironment> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-test-server-'));
  const path = await endingWithUs(server, folder);
  try {
    for (let starts = 1; ; starts += 1) {
      try {
        return await TestWorkflowEnvironment.createTimeSkipping({
          server: { executable: { type: 'existing-path', path } },
        });
      } catch (error) {
        await endStarted(folder);
        if (starts === STARTS) throw error;
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The SDK does not end a server that it gave up waiting for. */
async function endStarted(folder: string): Promise<void> {
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => ''));
  try {
    if (pid > 0) process.kill(pid);
  } catch {
    // It has ended by itself.
  }
}

/**
 * The server behind a script that ends it with this process: the SDK leaves it running when jest kills a test process.
 */
async function endingWithUs(server: string, folder: string): Promise<string> {
  if (process.platform === 'win32') return server;
  const script = join(folder, 'temporal-test-server');
  const watch = `while kill -0 ${process.pid} 2>/dev/null && kill -0 $self 2>/dev/null; do sleep 1; done; kill $self 2>/dev/null`;
  await writeFile(
    script,
    `#!/bin/sh\nself=$$\necho $$ > '${join(folder, 'pid')}'\n( ${watch} ) >/dev/null 2>&1 </dev/null &\nexec "${server}" "$@"\n`,
  );
  await chmod(script, 0o755);
  return script;
}

export type DevServer = Awaited<ReturnType<typeof devServer>>;

/**
 * A development server of its own for a test file: the real server, headless, in memory, with the fairness settings and
 * search attributes that the worker is made for. Call `stop` in `afterAll`, after the workers ended.
 */
export async function devServer(options: TemporalServerOptions = {}) {
  const server = await startTemporalServer({
    headless: true,
    executable: await pathOf('temporal'),
    ...options,
  });
  const { address, namespace } = server;
  const closed = noteOpen('a Temporal server');
  const open: { close(): Promise<void> }[] = [];
  const kept = <T extends { close(): Promise<void> }>(connection: T): T => {
    open.push(connection);
    return connection;
  };
  const connected = async () => kept(await connect({ address }));
  const connectNative = async () => kept(await NativeConnection.connect({ address }));
  const client = async () => new Client({ connection: await connected(), namespace });
  return {
    address,
    namespace,
    /** A client connection; closed by `stop`, as those of the others. */
    connect: connected,
    connectNative,
    /** A client on a connection of its own. */
    client,
    /** What a test worker needs of it. */
    environment: async (): Promise<TestWorkerOptions['env']> => ({
      client: await client(),
      nativeConnection: await connectNative(),
      namespace,
      currentTimeMs: () => Promise.resolve(Date.now()),
    }),
    stop: async () => {
      await Promise.all(open.map((connection) => connection.close()));
      await server.stop();
      closed();
    },
  };
}

/** One development server for a whole test file. */
export function useDevServer(options?: TemporalServerOptions): DevServer {
  const server = {} as DevServer;
  beforeAll(async () => {
    Object.assign(server, await devServer(options));
  });
  closeAfterAll(() => server.stop?.());
  return server;
}
