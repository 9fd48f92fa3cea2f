import { Argument, type Command } from 'commander';
import type { ExtractRequest } from '../../extract';
import type { Bind } from '../program';

const HELP = `
The PDF (under 5 MB) goes to the extraction service, which has an address and a key of its own: EBRC_EXTRACTION_URL and
EBRC_EXTRACTION_KEY. What comes back is printed as the service gave it; nothing is filed.

Examples:
  $ ebrc extract shipping-bill 4512345.pdf
  $ ebrc extract shipping-bill 4512345.pdf --full --json > bill.json
  $ ebrc extract invoice INV-117.pdf`;

export function addExtractCommand(program: Command, bind: Bind): void {
  program
    .command('extract')
    .summary('read a shipping bill or an invoice (PDF)')
    .description('Have the extraction service read a shipping bill or an invoice.')
    .addArgument(new Argument('<kind>', 'what the PDF is').choices(['shipping-bill', 'invoice']))
    .argument('<file.pdf>', 'the document')
    .option('--full', 'everything in a shipping bill, not only what a filing needs')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [kind, file = ''], { full }: { full?: boolean }) => {
        const { extractDocument } = await import('../../extract.js');
        const request = { kind: kind as ExtractRequest['kind'], path: file, full };
        const extracted = await extractDocument(await cli.extraction(), request);
        cli.terminal.result(extracted, () => JSON.stringify(extracted.data, null, 2));
      }),
    );
}
