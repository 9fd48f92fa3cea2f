import type { Command } from 'commander';
import type { PermittedDuplicate } from '../../../../domain/rules/duplicates';
import { doubtsOf } from '../../confirm';
import type { Bind } from '../../bind';
import { allowDuplicateOption, byOption, channelOption, printOutcome, strictOption, waiting } from '../options';

interface CorrectOptions {
  channel: 'auto' | 'push' | 'bulk';
  approval?: boolean;
  allowDuplicate?: PermittedDuplicate[];
  by: string;
  strict?: boolean;
  wait?: boolean;
}

const HELP = `
FILE is the workbook that came back with the errors, corrected, or a push message with the corrected rows. Rows are matched
by serialNo; certified rows are left out, whether they are in the file or not.

Example:
  $ ebrc correct F0123456789ABCDE checked.xlsx --wait`;

export function addCorrectCommand(program: Command, bind: Bind): void {
  program
    .command('correct')
    .summary('file the errored rows of a filing again')
    .description('File the errored rows of a filing again, corrected, as a new filing that names the first.')
    .argument('<filing>', 'filing id or reference')
    .argument('<file>', 'corrected workbook (.xlsx) or push message (.json)')
    .addOption(channelOption())
    .option('--approval', 'wait until somebody else approves')
    .addOption(allowDuplicateOption())
    .addOption(strictOption())
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText('after', HELP)
    .action(
      bind(
        async (
          cli,
          [filing = '', file = ''],
          { channel, approval, allowDuplicate, strict = false, by, wait }: CorrectOptions,
        ) => {
          const client = await cli.client();
          const onDoubtful = doubtsOf(cli.terminal, strict);
          const request = { filing, source: { path: file }, madeBy: by, channel, approval, allowDuplicate };
          return printOutcome(cli, await client.correct(request, { ...waiting(cli, wait), onDoubtful }));
        },
      ),
    );
}
