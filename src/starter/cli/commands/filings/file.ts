import { Option, type Command } from 'commander';
import { UPLOAD_TYPES } from '../../../../domain/rules/upload-type';
import type { PermittedDuplicate } from '../../../../domain/rules/duplicates';
import type { Bind } from '../../bind';
import { allowDuplicateOption, byOption, channelOption, printOutcome, waiting } from '../options';

interface FileOptions {
  exporter?: string;
  uploadType?: string;
  declaration?: 'Y' | 'N';
  reference?: string;
  channel: 'auto' | 'push' | 'bulk';
  approval?: boolean;
  allowDuplicate?: PermittedDuplicate[];
  by: string;
  wait?: boolean;
}

const HELP = `
FILE is a push message as JSON (its platformCustomerId may be left out) or a bulk workbook (.xlsx). It is checked completely
before anything is sent. Filing the same file again finds the first filing: nothing is filed twice.

Examples:
  $ ebrc file july.json --exporter accounts@asha.example --wait
  $ ebrc file july.xlsx --exporter accounts@asha.example --declaration Y --reference JULY-2026`;

export function addFileCommand(program: Command, bind: Bind): void {
  const types = Object.entries(UPLOAD_TYPES).map(([code, name]) => `${code} ${name}`);
  program
    .command('file')
    .summary('file remittances')
    .description('File the mappings of a push message or a workbook, and collect their certificates.')
    .argument('<file>', 'push message (.json) or workbook (.xlsx)')
    .option('-e, --exporter <exporter>', 'id or e-mail of the exporter')
    .addOption(
      new Option('--upload-type <code>', `if the file does not have it: ${types.join(', ')}`).choices(
        Object.keys(UPLOAD_TYPES),
      ),
    )
    .addOption(
      new Option('--declaration <flag>', 'the legal declaration, if the file does not have it; no default').choices([
        'Y',
        'N',
      ]),
    )
    .option('--reference <reference>', 'your own name of the filing (default: made from its content)')
    .addOption(channelOption())
    .option('--approval', 'wait until somebody else approves')
    .addOption(allowDuplicateOption())
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [file = ''], options: FileOptions) => {
        const { by, wait, uploadType, channel, exporter, declaration, reference, approval, allowDuplicate } = options;
        const stated = {
          declaration,
          allowDuplicate,
          ...(uploadType !== undefined && { uploadType: Number(uploadType) }),
        };
        const { readFileToFile } = await import('../../../filings/file.js');
        // Before any server is contacted: errors in the file do not depend on them.
        const source = { path: file };
        const read = await readFileToFile(await cli.documents(), { source, reference, ...stated });
        const client = await cli.client();
        const request = { ...stated, exporter, reference, channel, approval, madeBy: by };
        return printOutcome(cli, await client.file({ ...request, source: { read } }, waiting(cli, wait)));
      }),
    );
}
