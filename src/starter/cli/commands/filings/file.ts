import type { Command } from 'commander';
import type { StatedOptions } from '../../../filings/read-file';
import { doubtsOf } from '../../terminal';
import type { Bind } from '../../context';
import {
  allowDuplicateOption,
  byOption,
  channelOption,
  declarationOption,
  numberArgument,
  printOutcome,
  strictOption,
  uploadTypeOption,
  waiting,
} from '../options';

interface CorrectOptions {
  channel: 'auto' | 'push' | 'bulk';
  approval?: boolean;
  allowDuplicate?: StatedOptions['allowDuplicate'];
  by: string;
  strict?: boolean;
  wait?: boolean;
}

interface FileOptions extends CorrectOptions, StatedOptions {
  exporter?: string;
  reference?: string;
  again?: number;
}

const HELP = `
FILE is a push message as JSON (its platformCustomerId may be left out) or a bulk workbook (.xlsx). It is checked completely
before anything is sent; on a terminal it asks before it sends rows that are usually rejected. The reference is the key: filing the same file again finds the first filing, whatever became of
it, and nothing is sent. What was refused or rejected is filed again with ebrc correct, with --again, or under another
--reference.

Examples:
  $ ebrc file july.json --exporter accounts@asha.example --wait
  $ ebrc file july.xlsx --exporter accounts@asha.example --declaration Y --reference JULY-2026`;

export function addFileCommand(program: Command, bind: Bind): void {
  program
    .command('file')
    .summary('file remittances')
    .description('File the mappings of a push message or a workbook, and collect their certificates.')
    .argument('<file>', 'push message (.json) or workbook (.xlsx)')
    .option('-e, --exporter <exporter>', 'id or e-mail of the exporter')
    .addOption(uploadTypeOption())
    .addOption(declarationOption())
    .option('--reference <reference>', 'your own name of the filing (default: made from its content)')
    .option(
      '--again <n>',
      'file a reference once more, none of whose rows is certified or under way; N is printed with its outcome',
      numberArgument,
    )
    .addOption(channelOption())
    .option('--approval', 'wait until somebody else approves')
    .addOption(allowDuplicateOption())
    .addOption(strictOption())
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [file = ''], options: FileOptions) => {
        const { by, wait, uploadType, channel, exporter, declaration, reference, again, approval, allowDuplicate } =
          options;
        const stated = { uploadType, declaration, allowDuplicate };
        const { readFileToFile } = await import('../../../filings/file.js');
        // Before any server is contacted: errors in the file do not depend on them.
        const source = { path: file };
        const store = { documents: await cli.configuredDocuments(), workbooks: await cli.workbooks() };
        const read = await readFileToFile(store, { source, reference, ...stated });
        const client = await cli.client();
        const onDoubtful = doubtsOf(cli.terminal, options.strict ?? false);
        const request = { ...stated, exporter, reference, n: again, channel, approval, madeBy: by };
        const filed = await client.file({ ...request, source: { read } }, { ...waiting(cli, wait), onDoubtful });
        return printOutcome(cli, filed);
      }),
    );
}

const CORRECT_HELP = `
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
    .addHelpText('after', CORRECT_HELP)
    .action(
      bind(async (cli, [filing = '', file = ''], { by, wait, strict = false, ...terms }: CorrectOptions) => {
        const { channel, approval, allowDuplicate } = terms;
        const client = await cli.client();
        const onDoubtful = doubtsOf(cli.terminal, strict);
        const request = { filing, source: { path: file }, madeBy: by, channel, approval, allowDuplicate };
        return printOutcome(cli, await client.correct(request, { ...waiting(cli, wait), onDoubtful }));
      }),
    );
}
