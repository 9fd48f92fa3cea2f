import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, type Command } from 'commander';
import { isLoopbackHost, parseListenAddress, type ListenAddress } from '../../../../config/listen-address';
import { CLIENT_SECTIONS, type Bind, type Cli } from '../../context';
import { durationArgument, portArgument, several, stayUp } from '../options';
import { readFile } from 'node:fs/promises';
import { UsageError, firstLine } from '../../../errors';
import type { Sandbox } from '#sandbox';
import { fields, type Page } from '../../page';

const SERVE_HELP = `
The API is at /v1, its description at /v1/openapi.json and /docs; /healthz, /readyz and /metrics
need no token. \`ebrc principals\` makes tokens. With EBRC_PAGES=yes there are pages for people at /.
It has no TLS of its own: beyond this machine, put a proxy with TLS before it. Several may run at
once.

Examples:
  $ ebrc serve
  $ ebrc serve --listen 0.0.0.0:8080
  $ curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/filings`;

/** Connections of one `ebrc serve` process. A read takes one for milliseconds. */
const MAX_CONNECTIONS = 10;

/** Short, because many HTTP callers wait less than half a minute to learn that no worker runs. */
const LOOK_FOR_WORKER_EVERY_MS = 3_000;

export function addServeCommand(program: Command, bind: Bind): void {
  program
    .command('serve')
    .summary('serve the HTTP API')
    .description('Serve the HTTP API for back offices, until Ctrl-C.')
    .option('--listen <address>', 'address to listen on (default: EBRC_HTTP, 127.0.0.1:8080)', addressArgument)
    .addHelpText('after', SERVE_HELP)
    .action(bind((cli, _args, flags: { listen?: ListenAddress }) => serve(cli, flags)));
}

function addressArgument(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address) return address;
  throw new InvalidArgumentError('Give host:port, such as 127.0.0.1:8080.');
}

/** Limits heap growth: otherwise a busy process holds four times as much garbage. A small young space costs CPU. */
const GARBAGE_PERCENT = 30;

async function serve(cli: Cli, { listen }: { listen?: ListenAddress }): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
  const config = await cli.config(...CLIENT_SECTIONS, 'http', 'provider', 'log', 'reports');
  const { mode, logLevel, temporalUi } = config;
  const [{ startHttpApi }, { createLogger }] = await Promise.all([
    import('../../../../server/http-api.js'),
    import('../../../../telemetry/logger.js'),
  ]);
  const logger = createLogger({ level: logLevel, name: 'ebrc-http-api', stderr: true });
  await cli.pool({ applicationName: 'ebrc-http-api', max: MAX_CONNECTIONS });
  const links =
    temporalUi === undefined ? {} : { temporalUi: { address: temporalUi, namespace: config.temporal.namespace } };
  const deps = { ...(await cli.dependencies()), ...links, lookForWorkerEveryMs: LOOK_FOR_WORKER_EVERY_MS };
  const { http, pages: hasPages, provider } = config;
  const httpApi = await startHttpApi({ deps, logger, address: listen ?? http, pages: hasPages, provider });
  const shown = { url: httpApi.url, openapi: `${httpApi.url}/v1/openapi.json`, mode };
  const pages = hasPages ? ` Pages for people are at ${httpApi.url}/.` : '';
  const text = `The HTTP API is at ${httpApi.url}/v1 (${mode} mode), its description at ${httpApi.url}/docs.${pages} Ctrl-C stops it.`;
  await stayUp(cli, shown, () => text);
  await httpApi.close();
}

interface CodecFlags {
  port?: number;
  host: string;
  tlsCert?: string;
  tlsKey?: string;
  behindProxy?: boolean;
}

/** Minimum length where others on the network can guess tokens; 256 random bits have 43 characters. */
const MIN_TOKEN_LENGTH = 32;

const CODEC_HELP = `
Payloads are encrypted in Temporal whenever EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY is set; the codec server needs the latter alone. The Temporal UI decodes them once it knows
where the codec server is (Settings, or TEMPORAL_CODEC_ENDPOINT of the UI server), and the CLI with --codec-endpoint.
EBRC_CODEC_ORIGINS names the UI's address; with EBRC_CODEC_TOKEN every call needs it as a bearer token, and POST /encode
is served too. It decodes only payloads: portal passwords are encrypted under another key.
Beyond this machine it needs a token of at least 32 characters, and TLS: its own, or that of a proxy in front of it.

Examples:
  $ EBRC_CODEC_ORIGINS=http://127.0.0.1:8233 ebrc codec-server --port 8081
  $ temporal workflow show -w file/live/JULY-2026 --codec-endpoint http://127.0.0.1:8081
  $ ebrc codec-server --host 10.0.0.7 --port 8081 --tls-cert codec.pem --tls-key codec.key`;

export function addCodecServerCommand(program: Command, bind: Bind): void {
  program
    .command('codec-server')
    .summary('decode payloads for the Temporal UI and CLI')
    .description('Decode encrypted payloads for the Temporal UI and CLI, until Ctrl-C.')
    .option('--port <port>', 'if it is in use, a free one is taken', portArgument)
    .option('--host <host>', 'address to listen on; beyond this machine a token and TLS are needed', '127.0.0.1')
    .option('--tls-cert <file>', 'certificate, PEM, to serve https')
    .option('--tls-key <file>', 'its key, PEM')
    .option('--behind-proxy', 'a proxy with TLS is in front of it, and nobody else reaches it')
    .addHelpText('after', CODEC_HELP)
    .action(bind((cli, _args, flags: CodecFlags) => serveCodec(cli, flags)));
}

async function serveCodec(cli: Cli, flags: CodecFlags): Promise<void> {
  const { port = 0, host } = flags;
  const { payloadKeys, codecServer } = await cli.config('payloads', 'codecServer');
  if (payloadKeys.length === 0) {
    throw new UsageError('EBRC_PAYLOAD_KEY is not set: payloads are not encrypted, and there is nothing to decode.');
  }
  const tls = await tlsOf(flags);
  if (!isLoopbackHost(host)) refuseOpen(flags, codecServer.token, tls !== undefined);
  const { createPayloadCodec } = await import('../../../../encryption/payload-codec.js');
  const { startCodecServer } = await import('../../../../encryption/codec-server.js');
  const server = await startCodecServer({
    codec: createPayloadCodec({ keys: payloadKeys }),
    host,
    port,
    tls,
    ...codecServer,
  });
  try {
    const shown = { url: server.url, origins: codecServer.origins, token: codecServer.token !== undefined };
    await stayUp(cli, shown, () => `The codec server is at ${server.url}. Ctrl-C stops it.`);
  } finally {
    await server.close();
  }
}

/** @throws UsageError if others could read payloads, or intercept decoded ones */
function refuseOpen({ host, behindProxy = false }: CodecFlags, token: string | undefined, encrypted: boolean): void {
  if (token === undefined || token.length < MIN_TOKEN_LENGTH) {
    throw new UsageError(
      `Listening on ${host} needs an EBRC_CODEC_TOKEN of at least ${MIN_TOKEN_LENGTH} characters: anybody who reaches it could read every payload (\`openssl rand -base64 32\` makes one).`,
    );
  }
  if (encrypted || behindProxy) return;
  throw new UsageError(
    `Listening on ${host} needs TLS: give --tls-cert and --tls-key, or --behind-proxy where a proxy with TLS is in front of it.`,
  );
}

async function tlsOf({ tlsCert, tlsKey }: CodecFlags): Promise<{ cert: string; key: string } | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new UsageError('Give both --tls-cert and --tls-key.');
  const read = (path: string) =>
    readFile(path, 'utf8').catch(() => {
      throw new UsageError(`${path} cannot be read.`, 'no_file');
    });
  return { cert: await read(tlsCert), key: await read(tlsKey) };
}

interface SandboxFlags {
  port?: number;
  host?: string;
  activationDelay?: number;
  ackDelay?: number;
  seed?: string;
  state?: string;
  fault: string[];
  rateLimits: boolean;
  rateWindow?: number;
}

const SANDBOX_HELP = `
Delays and limits are those of the specification unless options change them: 24 h until activation, 2 h until an acknowledgement,
windows of 60 s. docs/sandbox.md describes its exporters, their portal accounts, seeds and faults.

Examples:
  $ ebrc sandbox --port 8080 --activation-delay 5s --ack-delay 10s
  $ ebrc sandbox --fault push-irm:accept-then-drop,every=3`;

export function addSandboxCommand(program: Command, bind: Bind): void {
  program
    .command('sandbox')
    .summary('run a local sandbox of the filing service')
    .description('Run a local sandbox of the filing service on 127.0.0.1, until Ctrl-C.')
    .option('--port <port>', 'if it is in use, a free one is taken', portArgument)
    .option('--host <host>', 'address to listen on (default 127.0.0.1; a container needs 0.0.0.0)')
    .option('--activation-delay <duration>', 'from validation to access (default 24h)', durationArgument)
    .option('--ack-delay <duration>', 'from submission to acknowledgement (default 2h)', durationArgument)
    .option('--seed <file>', 'portal accounts, IRMs, faults and keys as JSON')
    .option('--state <file>', 'keep its state in this file, for the next start')
    .option('--fault <fault>', 'OPERATION:KIND[,NAME=VALUE…]; may be given several times', several, [])
    .option('--no-rate-limits', 'no rate limits and no credential fuse')
    .option('--rate-window <duration>', 'length of the rate window (default 60s)', durationArgument)
    .addHelpText('after', SANDBOX_HELP)
    .action(bind((cli, _args, flags: SandboxFlags) => serveSandbox(cli, flags)));
}

async function serveSandbox(cli: Cli, flags: SandboxFlags): Promise<void> {
  const sandbox = await startSandbox(flags);
  try {
    for (const fault of flags.fault) await arm(sandbox, fault);
    const { url, extractionUrl, controlUrl, port } = sandbox;
    const shown = { url, extractionUrl, controlUrl, port, apiKeys: ['dev_sandbox_key', 'prod_sandbox_key'] };
    await stayUp(cli, shown, () => addressText(sandbox));
  } finally {
    await sandbox.close();
  }
}

async function startSandbox(flags: SandboxFlags): Promise<Sandbox> {
  const { port, host, activationDelay: activationDelayMs, ackDelay: ackDelayMs } = flags;
  const { seed, state: stateFile, rateLimits, rateWindow: rateWindowMs } = flags;
  const { createSandbox } = await import('#sandbox');
  // Set for the whole process, which parses what people write: seeds, faults and bodies of the control endpoints.
  const [{ config }, { IN_PLAIN_WORDS }] = await Promise.all([import('zod'), import('../../../../domain/issues.js')]);
  config({ customError: IN_PLAIN_WORDS.error });
  try {
    const delays = { activationDelayMs, ackDelayMs, rateWindowMs };
    return await createSandbox({ port, host, seed, stateFile, rateLimits, ...delays });
  } catch (error) {
    if (seed === undefined) throw error;
    throw new UsageError(error instanceof Error ? error.message : String(error), 'bad_seed');
  }
}

async function arm(sandbox: Sandbox, text: string): Promise<void> {
  const { parseFault } = await import('#sandbox');
  try {
    sandbox.addFault(parseFault(text));
  } catch (error) {
    const { default: z } = await import('zod');
    const why = error instanceof z.ZodError ? z.prettifyError(error) : firstLine(error);
    throw new UsageError(`--fault ${text} is not a fault (docs/sandbox.md lists them):\n${why}`, 'bad_fault');
  }
}

function addressText({ url, extractionUrl, controlUrl }: Sandbox): Page {
  const head = fields([
    ['EBRC_API_URL', url],
    ['EBRC_API_KEY', 'dev_sandbox_key'],
    ['Extraction', extractionUrl],
    ['Control', controlUrl],
  ]);
  return ['The sandbox is up; Ctrl-C stops it.', head];
}
