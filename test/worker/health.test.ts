/** What a supervisor asks: a lost PostgreSQL and a stopping worker each show. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox';
import { freePort } from '../../dev/free-port';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment } from '../support/command-line';
import { createTestDatabase, type TestDatabase } from '../support/postgres';
import { eventually } from '../support/processes';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { devServer, type DevServer } from '../support/temporal';

interface Answer {
  status: number;
  checks: string[];
  failing: string[];
}

async function ask(port: number, path: string): Promise<Answer> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    const { checks } = (await response.json()) as { checks: { name: string; ok: boolean }[] };
    const named = checks.map(({ name }) => name);
    return { status: response.status, checks: named, failing: named.filter((_name, nth) => !checks[nth]?.ok) };
  } catch {
    return { status: 0, checks: [], failing: [] };
  }
}

const ready = (port: number) => async () => (await ask(port, '/readyz')).status === 200;

describe('the built worker', () => {
  let program: string;
  let folder: string;
  let database: TestDatabase;
  let proxy: TcpProxy;
  let temporal: DevServer;
  let sandbox: Sandbox;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    program = (await builtPackage()).worker;
    folder = await mkdtemp(join(tmpdir(), 'ebrc-health-'));
    [temporal, database, sandbox] = await Promise.all([devServer(), createTestDatabase(), createSandbox({})]);
    proxy = await startTcpProxy(database.url);
  }, 300_000);

  afterAll(async () => {
    child?.kill('SIGKILL');
    await proxy?.close();
    await temporal?.stop();
    await sandbox?.close();
    await database?.drop();
    if (folder) await rm(folder, { recursive: true, force: true });
  }, 60_000);

  it('is ready once it polls, and not while PostgreSQL is silent or while it stops', async () => {
    const port = await freePort();
    child = spawn(process.execPath, [program], {
      stdio: 'ignore',
      env: cleanEnvironment({
        DATABASE_URL: proxy.inFrontOf(database.url),
        TEMPORAL_ADDRESS: temporal.address,
        EBRC_API_URL: sandbox.url,
        EBRC_API_KEY: 'dev_sandbox_key',
        EBRC_DOCUMENTS: join(folder, 'documents'),
        EBRC_HTTP_TIMEOUT: '1s',
        EBRC_HEALTH: `127.0.0.1:${port}`,
      }),
    });
    const seen = new Set<string>();
    await eventually(async () => (await ask(port, '/startedz')).status === 503);
    await eventually(async () => {
      const { status, failing } = await ask(port, '/readyz');
      for (const name of failing) seen.add(name);
      return status === 200;
    });
    expect((await ask(port, '/readyz')).checks).toEqual(['postgresql', 'temporal', 'pollers', 'documents']);
    // It could be asked before it was ready, and said so.
    expect([...seen]).toContain('started');
    expect((await fetch(`http://127.0.0.1:${port}/metrics`)).status).toBe(404);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`, { method: 'POST' })).status).toBe(405);
    proxy.swallow(true);
    await eventually(async () => (await ask(port, '/readyz')).failing.includes('postgresql'));
    expect((await ask(port, '/startedz')).status).toBe(200);
    // A supervisor that restarts on this would only add to the trouble.
    expect((await ask(port, '/healthz')).status).toBe(200);
    proxy.swallow(false);
    await eventually(ready(port));
    // Silent once more, so that the stop takes long enough to be seen.
    proxy.swallow(true);
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    // Asked without a pause: an idle worker may have stopped before a pause is over.
    const told = new Set<string>();
    while (child.exitCode === null) {
      for (const name of (await ask(port, '/readyz')).failing) told.add(name);
    }
    expect([...told]).toContain('stopping');
    expect((await closed)[0]).toBe(0);
  });
});
