import type { Command } from 'commander';
import type { Cli, Bind } from '../../context';
import { UsageError } from '../../../errors';
import { portArgument, stopSignal } from '../options';

interface Flags {
  port?: number;
  host: string;
}

const HELP = `
Payloads are encrypted in Temporal whenever EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY is set; the codec server needs the latter alone. The Temporal UI decodes them once it knows
where the codec server is (Settings, or TEMPORAL_CODEC_ENDPOINT of the UI server), and the CLI with --codec-endpoint.
EBRC_CODEC_ORIGINS names the UI's address; with EBRC_CODEC_TOKEN every call needs it as a bearer token. It decodes only
payloads: portal passwords are encrypted under another key.

Examples:
  $ EBRC_CODEC_ORIGINS=http://127.0.0.1:8233 ebrc codec-server --port 8081
  $ temporal workflow show -w file/live/JULY-2026 --codec-endpoint http://127.0.0.1:8081`;

export function addCodecServerCommand(program: Command, bind: Bind): void {
  program
    .command('codec-server')
    .summary('decode payloads for the Temporal UI and CLI')
    .description('Decode encrypted payloads for the Temporal UI and CLI, until Ctrl-C.')
    .option('--port <port>', 'if it is in use, a free one is taken', portArgument)
    .option('--host <host>', 'address to listen on; beyond this machine EBRC_CODEC_TOKEN is needed', '127.0.0.1')
    .addHelpText('after', HELP)
    .action(bind((cli, _args, flags: Flags) => serve(cli, flags)));
}

async function serve(cli: Cli, { port = 0, host }: Flags): Promise<void> {
  const { payloadKeys, codecServer } = await cli.config('payloads', 'codecServer');
  if (payloadKeys.length === 0) {
    throw new UsageError('EBRC_PAYLOAD_KEY is not set: payloads are not encrypted, and there is nothing to decode.');
  }
  if (!isLoopback(host) && codecServer.token === undefined) {
    throw new UsageError(
      `Listening on ${host} needs EBRC_CODEC_TOKEN: anybody who reaches it could read every payload.`,
    );
  }
  const { createPayloadCodec } = await import('../../../../encryption/payload-codec.js');
  const { startCodecServer } = await import('../../../../encryption/codec-server.js');
  const server = await startCodecServer({
    codec: createPayloadCodec({ keys: payloadKeys }),
    host,
    port,
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

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
