import type { Command } from 'commander';
import type { Sandbox } from '../../../../sandbox/sandbox';
import type { Cli, Bind } from '../../context';
import { firstLine, UsageError } from '../../../errors';
import { fields, type Page } from '../../page';
import { durationArgument, portArgument, stayUp } from '../options';

interface Flags {
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

const HELP = `
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
    .option(
      '--fault <fault>',
      'OPERATION:KIND[,NAME=VALUE…]; may be given several times',
      (fault: string, all: string[]) => [...all, fault],
      [],
    )
    .option('--no-rate-limits', 'no rate limits and no credential fuse')
    .option('--rate-window <duration>', 'length of the rate window (default 60s)', durationArgument)
    .addHelpText('after', HELP)
    .action(bind((cli, _args, flags: Flags) => serve(cli, flags)));
}

async function serve(cli: Cli, flags: Flags): Promise<void> {
  const sandbox = await start(flags);
  try {
    for (const fault of flags.fault) await arm(sandbox, fault);
    const { url, extractionUrl, controlUrl, port } = sandbox;
    const shown = { url, extractionUrl, controlUrl, port, apiKeys: ['dev_sandbox_key', 'prod_sandbox_key'] };
    await stayUp(cli, shown, () => addressText(sandbox));
  } finally {
    await sandbox.close();
  }
}

async function start(flags: Flags): Promise<Sandbox> {
  const { port, host, activationDelay: activationDelayMs, ackDelay: ackDelayMs } = flags;
  const { seed, state: stateFile, rateLimits, rateWindow: rateWindowMs } = flags;
  const { createSandbox } = await import('../../../../sandbox/sandbox.js');
  // For all of this process: it parses seeds, faults and the bodies of the control endpoints, which people write.
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

/** Parses `push-irm:accept-then-drop,every=3` for the sandbox; values are JSON if they can be parsed. */
async function arm(sandbox: Sandbox, text: string): Promise<void> {
  const [head = '', ...pairs] = text.split(',');
  const [operation, kind] = head.split(':');
  const settings = pairs.map((pair) => {
    const [name = '', value = ''] = pair.split(/=(.*)/s);
    return [name, jsonOrText(value)];
  });
  try {
    sandbox.addFault({ operation, kind, ...Object.fromEntries(settings) } as Parameters<Sandbox['addFault']>[0]);
  } catch (error) {
    const { default: z } = await import('zod');
    const why = error instanceof z.ZodError ? z.prettifyError(error) : firstLine(error);
    throw new UsageError(`--fault ${text} is not a fault (docs/sandbox.md lists them):\n${why}`, 'bad_fault');
  }
}

function jsonOrText(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
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
