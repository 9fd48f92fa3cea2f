import { Argument, type Command } from 'commander';
import type { UploadType } from '../../../../domain/rules/columns';
import type { DraftOutcome } from '../../../../assistant/drafts/draft';
import type { Bind, Cli } from '../../context';
import { checkOutputPath, durationArgument, forceOption, uploadTypeOption, type WriteOptions } from '../options';
import { right, table, type Page, type Part } from '../../page';
import type { ExtractionKind } from '../../../../assistant/extraction/contracts';
import type { Explained, ExtractionMapping } from '../../../../assistant/extraction/mapping';
import { EXIT, refusal, RefusedError, type ExitCode } from '../../../errors';
import type { ExtractedFile } from '../../../../assistant/extraction/extract';

const DRAFT_HELP = `
Extracts shipping bills and invoices (PDF; earlier extractions are not paid for again), matches them with each other and with the free
balances of the exporter's remittances, and writes them in upload form. Every cell names its source; gaps and guesses are coloured, and
the sheet Legend explains the colours. Review the workbook, fill in the gaps, and file it. A PDF that was not extracted yet needs a file
or folder name that gives its kind, such as shipping-bills/ and invoices/.

Examples:
  $ ebrc draft --exporter accounts@asha.example july/ -o july.xlsx
  $ ebrc file july.xlsx --exporter accounts@asha.example --declaration Y --wait`;

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
    .addHelpText('after', DRAFT_HELP)
    .action(
      bind(async (cli, args, flags: WriteOptions & { exporter: string; uploadType?: UploadType; within?: number }) => {
        const { exporter, uploadType, within, ...write } = flags;
        const [paths] = args as unknown as [string[]];
        const { output } = write;
        await checkOutputPath(write, '.xlsx');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const mapping = await mappingOf(cli);
        const client = await cli.client();
        const { workbook, ...outcome } = await client.draft(
          { exporter, paths, mapping, uploadType },
          readingOptions(cli, within, 'documents read'),
        );
        await writeOutputFile(output, workbook);
        for (const note of outcome.notes) cli.terminal.note(note);
        cli.terminal.result({ path: output, ...outcome }, () => draftText(output, outcome));
        // A draft is expected to have gaps; files that could not be read need a person.
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

const EXTRACT_HELP = `
Each PDF (under 5 MB, readable without a password) is sent to the extraction service, whose address and key are set for the worker: EBRC_EXTRACTION_URL
and EBRC_EXTRACTION_KEY. For a folder, every .pdf in it and below is sent. Answers are stored: the same document is never paid for twice.
An interrupted command can be repeated; waiting documents continue in the background. Nothing is filed.

Examples:
  $ ebrc extract shipping-bill 4512345.pdf
  $ ebrc extract shipping-bill bills/ -o bills.json
  $ ebrc extract invoice INV-117.pdf INV-118.pdf --json
  $ ebrc extract invoice INV-117.pdf --explain`;

interface ExtractOptions extends Partial<WriteOptions> {
  full?: boolean;
  again?: boolean;
  explain?: boolean;
  within?: number;
}

export function addExtractCommand(program: Command, bind: Bind): void {
  program
    .command('extract')
    .summary('read shipping bills or invoices (PDF)')
    .description('Extract data from shipping bills or invoices with the extraction service.')
    .addArgument(new Argument('<kind>', 'the kind of the PDFs').choices(['shipping-bill', 'invoice']))
    .argument('<files...>', 'PDFs, and folders of them')
    .option('--full', 'everything in a shipping bill, not only the fields that a filing needs')
    .option('--explain', 'show for each of our fields where its value comes from')
    .option('--again', 'ask again for documents that were refused or failed')
    .option('-o, --output <FILE.json>', 'write the results to a file too')
    .addOption(forceOption())
    .option('--within <duration>', 'wait no longer than this for answers, such as 30m (default: 15m)', durationArgument)
    .addHelpText('after', EXTRACT_HELP)
    .action(
      bind(async (cli, args, options: ExtractOptions) => {
        const [kind, paths] = args as unknown as [ExtractionKind, string[]];
        const { output } = options;
        await checkOutputPath(options, '.json');
        // Before any call is made, because an invalid mapping has to be corrected first.
        const explain = options.explain ? await explainer(cli, kind) : null;
        const extracted = await extract(cli, kind, paths, options);
        const files = explain ? extracted.map(explain) : extracted;
        if (output !== undefined) {
          const { writeOutputFile } = await import('../../../../documents/output-file.js');
          await writeOutputFile(output, Buffer.from(`${JSON.stringify(files, null, 2)}\n`));
        }
        const [only] = files;
        if (files.length === 1 && only) return printOne(cli, only);
        cli.terminal.result(files, () => summary(files));
        return exitCodeOfFiles(files);
      }),
    );
}

async function extract(
  cli: Cli,
  kind: ExtractionKind,
  paths: readonly string[],
  { full, again, within }: ExtractOptions,
): Promise<ExtractedFile[]> {
  const client = await cli.client().catch(withExtraction(cli));
  return client.extract({ kind, paths, full, again }, readingOptions(cli, within, 'documents'));
}

function readingOptions({ terminal }: Cli, withinMs: number | undefined, what: string) {
  const progress = terminal.progress();
  return {
    withinMs,
    onProgress: ({ done, of }: { done: number; of: number }) => progress.say(`${done} of ${of} ${what}`),
    onNotice: (notice: string) => terminal.note(notice),
  };
}

/** Adds the worker's two variables to an error about missing variables. */
function withExtraction(cli: Cli): (error: unknown) => Promise<never> {
  return async (error) => {
    const { ConfigError } = await import('../../../../config/config.js');
    if (!(error instanceof ConfigError)) throw error;
    const { extraction } = await cli.optional('extraction');
    const unset = {
      variable: 'EBRC_EXTRACTION_URL',
      problem: 'and EBRC_EXTRACTION_KEY are not set; the worker needs both',
    };
    throw extraction ? error : new ConfigError([...error.problems, unset]);
  };
}

type ExplainedFile = ExtractedFile & { fields?: Explained[] };

async function explainer(cli: Cli, kind: ExtractionKind): Promise<(file: ExtractedFile) => ExplainedFile> {
  const { mapDocument } = await import('../../../../assistant/extraction/mapping.js');
  const mapping = await mappingOf(cli);
  return (file) => (file.data ? { ...file, fields: mapDocument(kind, file.data, mapping).explained } : file);
}

function explained(fields: readonly Explained[]): Part {
  return table(
    ['Field', 'Value', 'From'],
    fields.map(({ field, value, from }) => [field, Array.isArray(value) ? value.join(', ') : value, from]),
  );
}

function printOne(cli: Cli, file: ExplainedFile): ExitCode {
  const { state, error } = file;
  if (state === 'extracted' || state === 'waiting') {
    const document = { status: state === 'extracted' ? 'success' : state, ...file };
    cli.terminal.result(document, () => {
      if (!file.data) return error?.message ?? state;
      return [JSON.stringify(file.data, null, 2), file.fields && explained(file.fields)];
    });
    return exitCodeOfFiles([file]);
  }
  const { code = state, message = state } = error ?? {};
  throw new RefusedError(refusal(code, `${file.file}: ${message}`).errors, { ...file });
}

/** The exit code of a command that reads documents. */
function exitCodeOfFiles(files: readonly Pick<ExtractedFile, 'state'>[]): ExitCode {
  if (files.some(({ state }) => state === 'refused' || state === 'failed')) return EXIT.refused;
  return files.some(({ state }) => state === 'waiting') ? EXIT.waiting : EXIT.done;
}

function summary(files: readonly ExplainedFile[]): Page {
  const count = (state: ExtractedFile['state']) => files.filter((read) => read.state === state).length;
  const others = files.filter(({ state }) => state !== 'extracted');
  const head = `${files.length} documents: ${count('extracted')} extracted, ${count('refused')} refused, ${count('failed')} failed, ${count('waiting')} waiting.`;
  const rows = others.map(({ file, state, error }) => [file, state, error?.message]);
  const fields = files.flatMap((file) => (file.fields ? ['', file.file, explained(file.fields)] : []));
  return [head, rows.length > 0 && table(['File', 'State', 'Why'], rows), ...fields];
}

/** The mapping of EBRC_EXTRACTION_MAPPING; without it only the built-in names are used. */
async function mappingOf(cli: Cli): Promise<ExtractionMapping> {
  const { extractionMapping } = await cli.config('extraction');
  if (extractionMapping === undefined) return {};
  const { readMappingFile } = await import('../../../../assistant/extraction/mapping.js');
  return readMappingFile(extractionMapping);
}
