import { basename } from 'node:path';
import { access } from 'node:fs/promises';
import { Argument, type Command } from 'commander';
import { createExtractionApi, type Extraction, type ExtractionApi } from '../../../api/extraction';
import type { Cli } from '../context';
import { UsageError } from '../../errors';
import type { Bind } from '../program';

type Kind = 'shipping-bill' | 'invoice';

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
        const extracted = await extract(cli, { kind: kind as Kind, file, full: full ?? false });
        cli.terminal.result(extracted, () => JSON.stringify(extracted.data, null, 2));
      }),
    );
}

async function extract(
  cli: Cli,
  { kind, file, full }: { kind: Kind; file: string; full: boolean },
): Promise<Extraction> {
  if (full && kind === 'invoice')
    throw new UsageError('--full is for shipping bills; an invoice is always read whole.');
  await access(file).catch(() => {
    throw new UsageError(`${file}: there is no such file, or it cannot be read.`, 'no_file');
  });
  const { extraction, httpTimeoutMs } = cli.config('extraction', 'tuning');
  const api = createExtractionApi({ ...extraction, httpTimeoutMs });
  try {
    return await callOf(api, kind, full)({ file, fileName: basename(file) });
  } finally {
    await api.close();
  }
}

function callOf(api: ExtractionApi, kind: Kind, full: boolean): ExtractionApi['extractInvoice'] {
  if (kind === 'invoice') return (input) => api.extractInvoice(input);
  return full ? (input) => api.extractShippingBillFull(input) : (input) => api.extractShippingBill(input);
}
