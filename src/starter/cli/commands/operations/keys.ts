import type { Command } from 'commander';
import type { RotationResult } from '../../../../ledger/vault/vault';
import { EXIT, UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { table, type Page } from '../../page';

const HELP = `
To change the key: put the new one behind the old one in EBRC_ENCRYPTION_KEY (old:BASE64,new:BASE64) and restart every worker; put
it first and restart them again; run this command where a worker runs; then remove the old key.

Example:
  $ ebrc vault rotate`;

export function addVaultCommand(program: Command, bind: Bind): void {
  const vault = program
    .command('vault')
    .summary('re-encrypt the stored portal passwords')
    .description('The vault of portal passwords.')
    .addHelpText('after', HELP);
  vault
    .command('rotate')
    .description('Have every password sealed to the first key of EBRC_ENCRYPTION_KEY, those that are stored too.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { encryptionKeys } = await cli.config('encryption', 'database');
        const { createVault } = await import('../../../../ledger/vault/vault.js');
        const result = await createVault({ keys: encryptionKeys }).rotate(await cli.pool());
        const keyId = encryptionKeys[0].id;
        cli.terminal.result({ keyId, ...result }, () => rotationText(keyId, result));
        return result.unreadable.length > 0 ? EXIT.unexpected : EXIT.done;
      }),
    );
}

function rotationText(keyId: string, { rotated, kept, unreadable }: RotationResult): Page {
  const counts = `${rotated} sealed anew to key ${keyId}, ${kept} were already; all of them open.`;
  if (unreadable.length === 0) return counts;
  const rows = unreadable.map((each) => [each.secretRef, each.mode, each.exporterId, each.keyId, each.problem]);
  return [
    `${counts} ${unreadable.length} do not open and are left as they are:`,
    table(['Secret', 'Mode', 'Exporter', 'Key', 'Problem'], rows),
    'Keep their keys in EBRC_ENCRYPTION_KEY, or submit the credentials again with `ebrc credentials`.',
  ];
}

const KEYS_HELP = `
Callers, every command line, \`ebrc serve\` and the codec server need this key as EBRC_PAYLOAD_KEY, and not EBRC_ENCRYPTION_KEY: no
password opens with it. Keep it secret all the same, because it opens what Temporal holds of filings.

Example:
  $ ebrc keys payload`;

/** `keys payload`. */
export function addKeysCommand(program: Command, bind: Bind): void {
  program
    .command('keys')
    .summary('print the key of Temporal’s payloads')
    .description('The keys that are derived from EBRC_ENCRYPTION_KEY.')
    .addHelpText('after', KEYS_HELP)
    .command('payload')
    .description('Print the key of Temporal’s payloads, for EBRC_PAYLOAD_KEY of those who open no passwords.')
    .addHelpText('after', KEYS_HELP)
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
