import type { Command } from 'commander';
import type { Bind } from '../../bind';
import { readSecret } from '../../secret-prompt';
import { exitCodeOfExporter, exporterWaiting, printExporter } from './exporter-output';
import { byOption } from '../options';

interface CredentialsOptions {
  username: string;
  passwordStdin?: boolean;
  by: string;
  wait?: boolean;
}

export function addCredentialsCommand(program: Command, bind: Bind): void {
  program
    .command('credentials')
    .summary('submit new portal credentials')
    .description("Submit an exporter's new portal credentials; filings that wait for them continue by themselves.")
    .argument('<exporter>', 'id or e-mail of the exporter')
    .requiredOption('--username <user>', "user name at the authority's portal")
    .option('--password-stdin', 'read the portal password from standard input; otherwise it is asked for')
    .addOption(byOption())
    .option('--wait', 'wait until they are checked')
    .addHelpText(
      'after',
      '\nExample:\n  $ ebrc credentials accounts@asha.example --username asha --password-stdin --wait < password.txt',
    )
    .action(
      bind(async (cli, [exporter = ''], { username, passwordStdin = false, by, wait }: CredentialsOptions) => {
        const client = await cli.client();
        const question = `New portal password of ${username}: `;
        const password = await readSecret(cli.terminal, { fromStdin: passwordStdin, question });
        const outcome = await client.updateCredentials(
          exporter,
          { username, password },
          { ...exporterWaiting(cli, wait), by },
        );
        printExporter(cli, outcome);
        return exitCodeOfExporter(outcome);
      }),
    );
}
