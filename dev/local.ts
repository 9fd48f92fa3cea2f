import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../src/config/config';
import type { EncryptionKey } from '../src/encryption/keys';
import { claimFolder } from './claim-folder';
import { databaseOfEnvironment, environmentFor } from './environment';
import { freePort } from './free-port';
import { COMMAND_LINE, runCommand } from './run-command';
import { keepStarting, startProgram, type ProgramOptions } from './program';
import { startStack, type Stack, type StackPorts } from './stack';

/** The built package: the same programs as in a deployment. */
const DIST = join(__dirname, '..', 'dist');
const WORKER = join(DIST, 'worker.js');

const SANDBOX_EXTRACTION_KEY = 'extract_sandbox_key';
const SANDBOX_KEY = 'dev_sandbox_key';

/** The file with what later starts need to use the folder's data. */
const KEPT = 'kept.json';

export interface LocalOptions {
  /** Folder of the servers' data, and of the sandbox's. */
  folder: string;
  /** Go on with the data of the last start, if there are any; otherwise the folder is emptied first. */
  keep: boolean;
  /** Options of the sandbox: durations as its command line takes them. */
  sandbox: { activationDelay: string; ackDelay: string };
  /** Variables of the worker and the command line, such as other settings of filings. */
  settings?: Record<string, string>;
  /** Further variables of the worker. */
  workerEnv?: Record<string, string | undefined>;
  log: (message: string) => void;
}

/** Everything on this machine: Temporal, PostgreSQL, the sandbox, a worker and the HTTP API. */
export interface Local {
  stack: Stack;
  sandboxUrl: string;
  /** The HTTP API, and the token of a principal with every role but that of a checker. */
  httpApi: { url: string; token: string };
  /** Environment for the command line and further workers. */
  env: Record<string, string>;
  /** Complete environment of a program that we start. */
  childEnv: Record<string, string | undefined>;
  logs: string;
  /** Rejects if one of the programs has ended by itself several times in a row. Never resolves. */
  failed: Promise<never>;
  /** Stops everything that was started, the worker first. Can be called again. */
  stop(): Promise<void>;
}

/**
 * Starts all of it on free ports, those of the last start where they are free. All programs end with this process, in
 * every case.
 * @throws Error if another run uses the folder, or with the end of the log of the part that did not start; the others
 * are stopped then
 */
export async function startLocal(options: LocalOptions): Promise<Local> {
  const { folder, keep: keepsData, sandbox, settings = {}, workerEnv, log } = options;
  const started: { stop(): Promise<void> }[] = [];
  const keep = <T extends { stop(): Promise<void> }>(part: T): T => {
    started.push(part);
    return part;
  };
  const stop = async () => {
    // In reverse order: later ones depend on earlier ones.
    for (let part = started.pop(); part; part = started.pop()) await part.stop();
  };
  const failures: Promise<never>[] = [];
  /** @returns the first line that it printed */
  const keepRunning = async (program: ProgramOptions) => {
    const running = await startProgram(program);
    const start = () => startProgram(program);
    failures.push(keep(keepStarting(running, { name: program.name, start }, { log })).failed);
    return running.firstLine;
  };
  /** A command of ours that stays up, and is ready when it has printed where. */
  const command = (name: string, args: string[]) => ({
    command: process.execPath,
    args: [COMMAND_LINE, name, '--json', ...args],
    log: join(folder, `${name}.log`),
    readyWhen: 'first-line' as const,
  });
  keep(await claimFolder(folder));
  try {
    const kept = await readKept(folder, keepsData);
    const encryptionKey = kept?.encryptionKey ?? `local:${randomBytes(32).toString('base64')}`;
    const last = kept?.ports;
    const codecPort = await freePort(last?.codec);
    const codecEndpoint = `http://127.0.0.1:${codecPort}`;
    const stack = keep(
      await startStack({ folder, databaseUrl: databaseOfEnvironment(), codecEndpoint, lastPorts: last, log }),
    );
    log(
      `starting the sandbox of the filing service (access ${sandbox.activationDelay} after validation, acknowledgement after ${sandbox.ackDelay}) …`,
    );
    const sandboxPort = await freePort(last?.sandbox);
    const delays = ['--activation-delay', sandbox.activationDelay, '--ack-delay', sandbox.ackDelay];
    const service = await keepRunning({
      ...command('sandbox', ['--port', String(sandboxPort), ...delays, '--state', join(folder, 'sandbox.state')]),
      name: 'The sandbox',
      env: environmentFor({}),
    });
    const { url: sandboxUrl, extractionUrl } = JSON.parse(service) as { url: string; extractionUrl: string };
    log(`the sandbox is at ${sandboxUrl}`);
    const env = {
      ...stack.env,
      EBRC_API_URL: sandboxUrl,
      EBRC_API_KEY: SANDBOX_KEY,
      EBRC_EXTRACTION_URL: extractionUrl,
      EBRC_EXTRACTION_KEY: SANDBOX_EXTRACTION_KEY,
      EBRC_ENCRYPTION_KEY: encryptionKey,
      // For answers within seconds, which a real service does not give.
      EBRC_POLL_FIRST: '2s',
      EBRC_POLL_MIN: '1s',
      EBRC_POLL_MAX: '10s',
      // For the question of an unknown outcome within minutes.
      EBRC_SETTLE_AFTER: '2m',
      // So that the programs of examples/ are told.
      EBRC_WEBHOOK_HOSTS: '127.0.0.1,localhost',
      ...settings,
      // The same folder for every program, wherever it is started.
      EBRC_DOCUMENTS: join(folder, 'documents'),
      ...(stack.temporal.uiUrl === null ? {} : { EBRC_TEMPORAL_UI: stack.temporal.uiUrl }),
    };
    const childEnv = environmentFor(env);
    const withoutPasswords = environmentFor(payloadKeyOnly(env));
    const { uiUrl } = stack.temporal;
    // Lets the Temporal UI read the encrypted payloads, under any name of this machine.
    const origins = uiUrl === null ? '' : `${uiUrl},${uiUrl.replace('127.0.0.1', 'localhost')}`;
    await keepRunning({
      ...command('codec-server', ['--port', String(codecPort)]),
      name: 'The codec server',
      env: { ...withoutPasswords, EBRC_CODEC_ORIGINS: origins },
    });
    log(`the codec server is at ${codecEndpoint}: the UI shows what is encrypted`);
    // A ledger of another version ends the start here, instead of every start of the worker.
    await runCommand(['ledger', 'migrate'], { env: childEnv, capture: true });
    log('starting the worker …');
    await keepRunning({
      name: 'The worker',
      command: process.execPath,
      args: [WORKER],
      log: join(folder, 'worker.log'),
      env: { ...childEnv, ...workerEnv },
      stopWithinMs: 150_000,
    });
    const httpApiPort = await freePort(last?.httpApi);
    const api = await keepRunning({
      ...command('serve', ['--listen', `127.0.0.1:${httpApiPort}`]),
      name: 'The HTTP API',
      env: { ...withoutPasswords, EBRC_PAGES: 'yes' },
      stopWithinMs: 30_000,
    });
    const { url } = JSON.parse(api) as { url: string };
    const token = kept?.token ?? (await addPrincipal(childEnv));
    const ports = { ...stack.ports, codec: codecPort, sandbox: sandboxPort, httpApi: httpApiPort };
    await writeKept(folder, { encryptionKey, token, ports });
    if (last) log(samePorts(last, ports));
    const httpApi = { url, token };
    log(`the HTTP API is at ${url}/v1, its description at ${url}/docs`);
    const failed = Promise.race([stack.failed, ...failures]);
    failed.catch(() => undefined);
    return { stack, sandboxUrl, httpApi, env, childEnv, logs: folder, failed, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** For programs that open no password. */
function payloadKeyOnly({ EBRC_ENCRYPTION_KEY, ...env }: Record<string, string>): Record<string, string> {
  const [{ id, key }] = loadConfig({ EBRC_ENCRYPTION_KEY }, { need: ['payloads'] }).payloadKeys as [EncryptionKey];
  return { ...env, EBRC_PAYLOAD_KEY: `${id}:${key.toString('base64')}` };
}

interface Ports extends StackPorts {
  codec: number;
  sandbox: number;
  httpApi: number;
}

/** What stays as it is for other terminals and for bookmarks. */
function samePorts(last: Ports, now: Ports): string {
  return JSON.stringify(last) === JSON.stringify(now)
    ? 'all ports are those of the last start: its variables and bookmarks hold'
    : 'some ports of the last start are taken: read the variables again, in every terminal';
}

interface Kept {
  encryptionKey: string;
  token: string;
  ports: Ports;
}

/** What the last start left behind; null, and nothing in the folder, where there is none or it is not wanted. */
export async function readKept(folder: string, wanted: boolean): Promise<Kept | null> {
  const text = wanted ? await readFile(join(folder, KEPT), 'utf8').catch(() => null) : null;
  if (text === null) await rm(folder, { recursive: true, force: true });
  return text === null ? null : (JSON.parse(text) as Kept);
}

/** Notes what the next start goes on with. */
export const writeKept = (folder: string, kept: Kept): Promise<void> =>
  writeFile(join(folder, KEPT), JSON.stringify(kept), { mode: 0o600 });

/** @returns its token */
async function addPrincipal(env: Record<string, string | undefined>): Promise<string> {
  const args = ['principals', 'add', 'local', '--role', 'viewer', '--role', 'maker', '--role', 'admin', '--json'];
  return (JSON.parse(await runCommand(args, { env, capture: true })) as { token: string }).token;
}
