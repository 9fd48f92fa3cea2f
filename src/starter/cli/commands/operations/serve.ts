import { setFlagsFromString } from 'node:v8';
import { InvalidArgumentError, type Command } from 'commander';
import { isLoopbackHost, parseListenAddress, type ListenAddress } from '../../../../config/listen-address';
import { CLIENT_SECTIONS, type Bind, type Cli } from '../../context';
import { stayUp, portArgument } from '../options';
import { readFile } from 'node:fs/promises';
import { UsageError } from '../../../errors';

const HELP = `
The API is at /v1, its description at /v1/openapi.json and /docs; /healthz, /readyz and /metrics need no token. \`ebrc principals\`
makes tokens. It has no TLS of its own: beyond this machine, put a proxy with TLS before it. As many of them as you like may run.

Examples:
  $ ebrc serve
  $ ebrc serve --listen 0.0.0.0:8080
  $ curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/v1/filings`;

/** Connections of one door: reads take one each, for milliseconds. */
const POOL = 10;

export function addServeCommand(program: Command, bind: Bind): void {
  program
    .command('serve')
    .summary('serve the HTTP API')
    .description('Serve the HTTP API for back offices, until Ctrl-C.')
    .option('--listen <address>', 'address to listen on (default: EBRC_HTTP, 127.0.0.1:8080)', addressArgument)
    .addHelpText('after', HELP)
    .action(bind((cli, _args, flags: { listen?: ListenAddress }) => serve(cli, flags)));
}

function addressArgument(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address) return address;
  throw new InvalidArgumentError('Give host:port, such as 127.0.0.1:8080.');
}

/** Without it a busy door holds four times as much in garbage. A small young generation would cost CPU. */
const GARBAGE_PERCENT = 30;

async function serve(cli: Cli, { listen }: { listen?: ListenAddress }): Promise<void> {
  setFlagsFromString(`--heap-growing-percent=${GARBAGE_PERCENT}`);
  const config = await cli.config(...CLIENT_SECTIONS, 'http', 'log', 'reports');
  const { mode, logLevel, temporalUi } = config;
  const [{ startDoor }, { createLogger }] = await Promise.all([
    import('../../../../server/door.js'),
    import('../../../../telemetry/logger.js'),
  ]);
  const logger = createLogger({ level: logLevel, name: 'ebrc-door', stderr: true });
  await cli.pool({ applicationName: 'ebrc-door', max: POOL });
  const links =
    temporalUi === undefined ? {} : { temporalUi: { address: temporalUi, namespace: config.temporal.namespace } };
  const deps = { ...(await cli.dependencies()), ...links };
  const door = await startDoor({ deps, logger, address: listen ?? config.http });
  const shown = { url: door.url, openapi: `${door.url}/v1/openapi.json`, mode };
  const text = `The HTTP API is at ${door.url}/v1 (${mode} mode), its description at ${door.url}/docs. Ctrl-C stops it.`;
  await stayUp(cli, shown, () => text);
  await door.close();
}

interface CodecFlags {
  port?: number;
  host: string;
  tlsCert?: string;
  tlsKey?: string;
  behindProxy?: boolean;
}

/** At least, where a network can try tokens: 256 random bits have 43 characters. */
const TOKEN_LENGTH = 32;

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

/** @throws UsageError where others could read payloads, or what is decoded, on their way */
function refuseOpen({ host, behindProxy = false }: CodecFlags, token: string | undefined, encrypted: boolean): void {
  if (token === undefined || token.length < TOKEN_LENGTH) {
    throw new UsageError(
      `Listening on ${host} needs an EBRC_CODEC_TOKEN of at least ${TOKEN_LENGTH} characters: anybody who reaches it could read every payload (\`openssl rand -base64 32\` makes one).`,
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
