import type { Command } from 'commander';
import type { Bind } from '../program';

const HELP = `
To change the key: put the new one first in EBRC_ENCRYPTION_KEY (new:BASE64,old:BASE64) for the workers and for this command,
restart the workers, run this, then take the old one out.

Example:
  $ ebrc vault rotate`;

export function addVaultCommand(program: Command, bind: Bind): void {
  const vault = program.command('vault').description('The vault of portal passwords.').addHelpText('after', HELP);
  vault
    .command('rotate')
    .description('Encrypt every stored password under the first key of EBRC_ENCRYPTION_KEY.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { encryptionKeys } = await cli.config('encryption', 'database');
        const result = await (await cli.vault()).rotate(await cli.pool());
        const keyId = encryptionKeys[0].id;
        cli.terminal.result(
          { keyId, ...result },
          () => `${result.rotated} encrypted anew under key ${keyId}, ${result.kept} were already.`,
        );
      }),
    );
}
