import type { Command } from 'commander';
import type { UploadType } from '../../../../domain/rules/columns';
import type { DraftOutcome } from '../../../../assistant/drafts/draft';
import type { Bind } from '../../context';
import { checkOutputPath, durationArgument, forceOption, uploadTypeOption, type WriteOptions } from '../options';
import { right, table, type Page } from '../../page';
import { exitCodeOfFiles, mappingOf } from './extract';
import type { ProposeOutcome } from '../../../../assistant/proposals/propose';
import { amountText } from '../../../../domain/money';

const HELP = `
Extracts shipping bills and invoices (PDF; earlier extractions are not paid for again), matches them with each other and with the free
balances of the exporter's remittances, and writes them in upload form. Every cell names its source; gaps and guesses are coloured, and
the sheet Legend explains the colours. Review the workbook, fill in the gaps, and file it. A PDF that was not extracted yet needs a file
or folder name that gives its kind, such as shipping-bills/ and invoices/.

Examples:
  $ ebrc draft --exporter accounts@asha.example july/ -o july.xlsx
  $ ebrc file july.xlsx --exporter accounts@asha.example --declaration Y --wait`;

interface DraftOptions extends WriteOptions {
  exporter: string;
  uploadType?: UploadType;
  within?: number;
}

export function addDraftCommand(program: Command, bind: Bind): void {
  program
    .command('draft')
    .summary('draft a filing from shipping bills and invoices (PDF)')
    .description('Draft a filing from shipping bills and invoices, as a workbook to look through and file.')
    .argument('<files...>', 'PDFs, and folders of them')
    .requiredOption('-e, --exporter <exporter>', 'exporter of the filing (id or e-mail)')
    .requiredOption('-o, --output <DRAFT.xlsx>', 'where it is written')
    .addOption(forceOption())
    .addOption(uploadTypeOption('default: 101 for shipping bills, 103 for invoices alone'))
    .option('--within <duration>', 'wait no longer than this for documents to be read (default: 15m)', durationArgument)
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, args, { exporter, uploadType, within, ...write }: DraftOptions) => {
        const [paths] = args as unknown as [string[]];
        const { output } = write;
        await checkOutputPath(write, '.xlsx');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const mapping = await mappingOf(cli);
        const client = await cli.client();
        const progress = cli.terminal.progress();
        const { workbook, ...outcome } = await client.draft(
          { exporter, paths, mapping, uploadType },
          {
            withinMs: within,
            onProgress: ({ done, of }) => progress.say(`${done} of ${of} documents read`),
            onNotice: (notice) => cli.terminal.note(notice),
          },
        );
        await writeOutputFile(output, workbook);
        for (const note of outcome.notes) cli.terminal.note(note);
        cli.terminal.result({ path: output, ...outcome }, () => draftText(output, outcome));
        // Gaps are what a draft is for; files that could not be read need a person.
        return exitCodeOfFiles(outcome.files);
      }),
    );
}

function draftText(output: string, { rows, gaps, files, ok }: Omit<DraftOutcome, 'workbook'>): Page {
  const out = files.filter(({ error }) => error !== null);
  return [
    `${rows} rows written to ${output}. ${ok ? 'It passes the check unchanged.' : `${gaps.length} cells have to be filled in or corrected.`}`,
    gaps.length > 0 &&
      table(
        [right('Row'), 'Field', 'What is missing'],
        gaps.map(({ row, field, reason }) => [row, field, reason]),
      ),
    out.length > 0 &&
      table(
        ['File', 'State', 'Why it is not in the draft'],
        out.map(({ file, state, error }) => [file, state, error?.message]),
      ),
  ];
}

const PROPOSE_HELP = `
Maps the free balances of the exporter's remittances to documents that are not yet certified (from \`ebrc invoices import\` and from
filed rows), so that the whole assignment is the most likely one: by currency, remitter and buyer, amount within bank charges, the order of dates, document
numbers in the bank's remarks, purpose and upload type. Colours and notes mark what to check. Nothing is filed.

Example:
  $ ebrc propose accounts@asha.example -o july.xlsx
  $ ebrc check july.xlsx --exporter accounts@asha.example`;

export function addProposeCommand(program: Command, bind: Bind): void {
  program
    .command('propose')
    .summary('propose which remittance pays for which document')
    .description('Propose mappings of free balances to open documents, as a workbook to look through and file.')
    .argument('<exporter>', 'id or e-mail')
    .requiredOption('-o, --output <FILE.xlsx>', 'where it is written')
    .addOption(forceOption())
    .addOption(uploadTypeOption('only this type; a filing has one type'))
    .addHelpText('after', PROPOSE_HELP)
    .action(
      bind(async (cli, [exporter = ''], { uploadType, ...write }: WriteOptions & { uploadType?: UploadType }) => {
        const { output } = write;
        await checkOutputPath(write, '.xlsx');
        const { proposeMappings } = await import('../../../../assistant/proposals/propose.js');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const { workbook, ...outcome } = await proposeMappings(await cli.ledger(), { exporter, uploadType });
        await writeOutputFile(output, workbook);
        for (const note of outcome.notes) cli.terminal.note(note);
        cli.terminal.result({ path: output, ...outcome }, () => proposalsText(output, outcome));
      }),
    );
}

function proposalsText(output: string, { proposals, gaps, ok }: Omit<ProposeOutcome, 'workbook'>): Page {
  const rows = proposals.map(({ irmNumber, document, amount, currency, confidence, reasons }) => [
    irmNumber,
    document,
    amountText(amount, currency),
    `${Math.round(confidence * 100)} %`,
    reasons.join('; '),
  ]);
  const left = ok
    ? 'It passes the check unchanged.'
    : `Before it passes the check, ${gaps.length} cells have to be filled in.`;
  return [
    table(['IRM', 'Document', right('Amount'), right('Confidence'), 'Why'], rows),
    `${proposals.length} proposals written to ${output}. ${left}`,
  ];
}
