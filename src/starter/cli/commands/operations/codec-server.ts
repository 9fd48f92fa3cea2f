import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import type { Cli, Bind } from '../../context';
import { UsageError } from '../../../errors';
import { portArgument, stopSignal } from '../options';

interface Flags {
  port?: number;
  host: string;
  tlsCert?: string;
  tlsKey?: string;
  behindProxy?: boolean;
}

/** At least, where a network can try tokens: 256 random bits have 43 characters. */
const TOKEN_LENGTH = 32;

const HELP = `
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
    .addHelpText('after', HELP)
    .action(bind((cli, _args, flags: Flags) => serve(cli, flags)));
}

async function serve(cli: Cli, flags: Flags): Promise<void> {
  const { port = 0, host } = flags;
  const { payloadKeys, codecServer } = await cli.config('payloads', 'codecServer');
  if (payloadKeys.length === 0) {
    throw new UsageError('EBRC_PAYLOAD_KEY is not set: payloads are not encrypted, and there is nothing to decode.');
  }
  const tls = await tlsOf(flags);
  if (!isLoopback(host)) refuseOpen(flags, codecServer.token, tls !== undefined);
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
    // One line, so that a program that started it can continue after the first line.
    if (cli.terminal.json) cli.terminal.stdout.write(`${JSON.stringify(shown)}\n`);
    else cli.terminal.result(shown, () => `The codec server is at ${server.url}. Ctrl-C stops it.`);
    await stopSignal();
  } finally {
    await server.close();
  }
}

/** @throws UsageError where others could read payloads, or what is decoded, on their way */
function refuseOpen({ host, behindProxy = false }: Flags, token: string | undefined, encrypted: boolean): void {
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

async function tlsOf({ tlsCert, tlsKey }: Flags): Promise<{ cert: string; key: string } | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) throw new UsageError('Give both --tls-cert and --tls-key.');
  const read = (path: string) =>
    readFile(path, 'utf8').catch(() => {
      throw new UsageError(`${path} cannot be read.`, 'no_file');
    });
  return { cert: await read(tlsCert), key: await read(tlsKey) };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
