/**
 * What a supervisor sees of the built worker: a lost PostgreSQL and a stopping worker each show, and SIGTERM ends it,
 * while it starts too, and while PostgreSQL swallows what it is told.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../../dev/free-port';
import { builtPackage } from '../support/built-package';
import { cleanEnvironment } from '../support/command-line';
import { closeAfterAll } from '../support/closing';
import { testFolder } from '../support/folder';
import { useTestDatabase } from '../support/postgres';
import { useSandbox } from '../support/sandbox';
import { eventually } from '../support/processes';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { useDevServer } from '../support/temporal';

const folder = testFolder();
const temporal = useDevServer();
const database = useTestDatabase();
const sandbox = useSandbox();
let program: string;
let proxy: TcpProxy;

beforeAll(async () => {
  program = (await builtPackage()).worker;
  proxy = await startTcpProxy(database.url);
}, 300_000);

closeAfterAll(() => proxy?.close());

interface Running {
  child: ChildProcess;
  said: () => string;
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

function start(env: Record<string, string>): Running {
  const child = spawn(process.execPath, [program], {
    env: cleanEnvironment({
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporal.address,
      EBRC_API_URL: sandbox.url,
      EBRC_API_KEY: 'dev_sandbox_key',
      EBRC_DOCUMENTS: join(folder, 'documents'),
      EBRC_HTTP_TIMEOUT: '1s',
      ...env,
    }),
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => (said += text.toString()));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  );
  return { child, said: () => said, ended };
}

/** Whether a process has a handler for SIGTERM, as Linux shows it. */
async function hearsSigterm({ pid }: ChildProcess): Promise<boolean> {
  const status = await readFile(`/proc/${pid ?? 0}/status`, 'utf8');
  const caught = BigInt(`0x${/^SigCgt:\s*(\w+)/m.exec(status)?.[1] ?? '0'}`);
  return (caught & (1n << 14n)) !== 0n;
}

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

it('is ready once it polls, and not while PostgreSQL is silent or while it stops', async () => {
  const port = await freePort();
  const { child, ended } = start({
    DATABASE_URL: proxy.inFrontOf(database.url),
    EBRC_HEALTH: `127.0.0.1:${port}`,
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
  child.kill('SIGTERM');
  // Asked without a pause: an idle worker may have stopped before a pause is over.
  const told = new Set<string>();
  while (child.exitCode === null) {
    for (const name of (await ask(port, '/readyz')).failing) told.add(name);
  }
  expect([...told]).toContain('stopping');
  expect((await ended).code).toBe(0);
  proxy.swallow(false);
});

it('handles SIGTERM before anything is loaded, and while it waits for a server', async () => {
  const { child, said, ended } = start({ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/ebrc' });
  await eventually(() => hearsSigterm(child));
  expect(said()).toBe('');
  await eventually(() => /waiting for a server.*PostgreSQL|PostgreSQL.*waiting for a server/u.test(said()));
  child.kill('SIGTERM');
  expect(await ended).toEqual({ code: 0, signal: null });
});
