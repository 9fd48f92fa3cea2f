import type { Command } from 'commander';
import { UsageError } from '../../../errors';
import type { Bind } from '../../bind';

const HELP = `
Callers, approvers' command lines and the codec server need this key as EBRC_PAYLOAD_KEY, and not EBRC_ENCRYPTION_KEY: no
password opens with it. Keep it secret all the same, because it opens what Temporal holds of filings.

Example:
  $ ebrc keys payload`;

/** `keys payload`. */
export function addKeysCommand(program: Command, bind: Bind): void {
  program
    .command('keys')
    .summary('print the key of Temporal’s payloads')
    .description('The keys that are derived from EBRC_ENCRYPTION_KEY.')
    .addHelpText('after', HELP)
    .command('payload')
    .description('Print the key of Temporal’s payloads, for EBRC_PAYLOAD_KEY of those who open no passwords.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { payloadKeys } = await cli.config('payloads');
        if (payloadKeys.length === 0) {
          throw new UsageError('Payloads are not encrypted: set EBRC_ENCRYPTION_KEY or EBRC_PAYLOAD_KEY.');
        }
        const payloadKey = payloadKeys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(',');
        cli.terminal.result({ payloadKey }, () => payloadKey);
      }),
    );
}
