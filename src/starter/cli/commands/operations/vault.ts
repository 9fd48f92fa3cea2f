import type { Command } from 'commander';
import type { RotationResult } from '../../../../ledger/vault/vault';
import { EXIT } from '../../../errors';
import type { Bind } from '../../bind';
import { table, type Page } from '../../page';

const HELP = `
To change the key: put the new one first in EBRC_ENCRYPTION_KEY (new:BASE64,old:BASE64) for the workers and for this command,
restart the workers, run this command, then remove the old key.

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
    .description('Encrypt every stored password under the first key of EBRC_ENCRYPTION_KEY.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { encryptionKeys } = await cli.config('encryption', 'database');
        const result = await (await cli.vault()).rotate(await cli.pool());
        const keyId = encryptionKeys[0].id;
        cli.terminal.result({ keyId, ...result }, () => rotationText(keyId, result));
        return result.unreadable.length > 0 ? EXIT.unexpected : EXIT.done;
      }),
    );
}

function rotationText(keyId: string, { rotated, kept, unreadable }: RotationResult): Page {
  const counts = `${rotated} encrypted anew under key ${keyId}, ${kept} were already; all of them open.`;
  if (unreadable.length === 0) return counts;
  const rows = unreadable.map((each) => [each.secretRef, each.mode, each.exporterId, each.keyId, each.problem]);
  return [
    `${counts} ${unreadable.length} do not open and are left as they are:`,
    table(['Secret', 'Mode', 'Exporter', 'Key', 'Problem'], rows),
    'Keep their keys in EBRC_ENCRYPTION_KEY, or submit the credentials again with `ebrc credentials`.',
  ];
}
