import { DECLARATION } from '../../../../domain/filing/mapping';
import type { Command } from 'commander';
import type { StatedOptions, SheetColumn, SheetColumns } from '../../../filings/read-file';
import { doubtsOf } from '../../terminal';
import type { Bind, Cli } from '../../context';
import {
  allowDuplicateOption,
  byOption,
  channelOption,
  declarationOption,
  printOutcome,
  strictOption,
  uploadTypeOption,
  waiting,
  checkOutputPath,
  forceOption,
  type WriteOptions,
} from '../options';
import { EXIT } from '../../../errors';
import { localTime } from '../../page';
import { counted } from '../../../../domain/text';
import { isDoubtful } from '../../../../domain/rules/finding';
import { describeProblems } from '../../texts';

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
}

const FILE_HELP = `
FILE is a push message as JSON (its platformCustomerId may be left out) or a bulk workbook (.xlsx, .xls or .csv). It is checked
completely before anything is sent; on a terminal it asks before it sends rows that are usually rejected, or would be certified twice.
The reference is the key: filing the same file again finds the first filing, whatever became of it, and nothing is sent. What
was refused or rejected is filed again with ebrc correct.

${DECLARATION.join('\n')}

Examples:
  $ ebrc file july.json --exporter accounts@asha.example --wait
  $ ebrc file july.xlsx --exporter accounts@asha.example --declaration Y --reference JULY-2026`;

export function addFileCommand(program: Command, bind: Bind): void {
  program
    .command('file')
    .summary('file remittances')
    .description('File the mappings of a push message or a workbook, and collect their certificates.')
    .argument('<file>', 'push message (.json) or workbook (.xlsx, .xls, .csv)')
    .option('-e, --exporter <exporter>', 'id or e-mail of the exporter')
    .addOption(uploadTypeOption())
    .addOption(declarationOption())
    .option('--reference <reference>', 'your own name of the filing (default: made from its content)')
    .addOption(channelOption())
    .option('--approval', 'wait until somebody else approves')
    .addOption(allowDuplicateOption())
    .addOption(strictOption())
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText('after', FILE_HELP)
    .action(
      bind(async (cli, [file = ''], options: FileOptions) => {
        const { by, wait, uploadType, channel, exporter, declaration, reference, approval, allowDuplicate } = options;
        const stated = { uploadType, declaration, allowDuplicate };
        const { readFileToFile } = await import('../../../filings/file.js');
        // Before any server is contacted, because errors in the file do not depend on a server.
        const source = { path: file };
        const store = { documents: await cli.configuredDocuments(), workbooks: await cli.workbooks() };
        const read = await readFileToFile(store, { source, reference, ...stated });
        if (read.declaration === undefined) cli.terminal.note(DECLARATION.join(' '));
        const client = await cli.client();
        const onDoubtful = doubtsOf(cli.terminal, options.strict ?? false);
        const request = { ...stated, exporter, reference, channel, approval, madeBy: by };
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
    .argument('<file>', 'corrected workbook (.xlsx, .xls, .csv) or push message (.json)')
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

const CHECK_HELP = `
Nothing is sent and no worker is needed. The balances are those that the ledger holds (DATABASE_URL), less the amounts of
your own filings; without DATABASE_URL only the rules are checked.

Example:
  $ ebrc check july.xlsx --exporter accounts@asha.example -o checked.xlsx`;

export function addCheckCommand(program: Command, bind: Bind): void {
  program
    .command('check')
    .summary('check a file without filing it')
    .description('Check a push message or a workbook by all rules and balances, without filing it.')
    .argument('<file>', 'push message (.json) or workbook (.xlsx, .xls, .csv)')
    .requiredOption('-e, --exporter <exporter>', 'id or e-mail of the exporter')
    .addOption(uploadTypeOption())
    .addOption(declarationOption())
    .addOption(allowDuplicateOption())
    .option('-o, --output <CHECKED.xlsx>', 'write the workbook with the errors in its own cells')
    .addOption(forceOption())
    .addHelpText('after', CHECK_HELP)
    .action(
      bind(async (cli, [path = ''], options: StatedOptions & Partial<WriteOptions> & { exporter: string }) => {
        const { exporter, uploadType, declaration, allowDuplicate, output } = options;
        await checkOutputPath(options, '.xlsx');
        const stated = { uploadType, declaration, allowDuplicate };
        const { checkFile } = await import('../../../filings/check.js');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const { readFilingFile } = await import('../../../filings/read-file.js');
        // Before the database is opened, because errors in the file do not depend on it.
        const read = await readFilingFile({ path }, stated, { workbooks: await cli.workbooks() });
        const request = { source: { read }, exporter, annotate: output !== undefined, ...stated };
        const checked = await checkFile(await ledgerOf(cli), request);
        const { ok, rows, errors, warnings, columns } = checked;
        const annotated = checked.annotated && output !== undefined ? output : null;
        if (checked.annotated && annotated) await writeOutputFile(annotated, checked.annotated);
        cli.terminal.result({ ok, rows, errors, warnings, columns, annotated }, () => {
          const doubtful = new Set(warnings.filter(isDoubtful).map(({ row }) => row)).size;
          const but =
            doubtful > 0 ? `, but rows with such warnings are usually rejected, or certified twice (${doubtful})` : '';
          const verdict = ok ? `can be filed${but}` : 'cannot be filed';
          const counts = `${counted(rows, 'row')}, ${counted(errors.length, 'error')}, ${counted(warnings.length, 'warning')}: it ${verdict}.`;
          const problems = describeProblems([...errors, ...warnings]) || null;
          return [problems, columns && describeColumns(columns), counts, annotated && `Written to ${annotated}`];
        });
        return ok ? EXIT.done : EXIT.refused;
      }),
    );
}

/** Describes which columns of a workbook are sent. */
function describeColumns({ sent, optional, own, templateReadAt }: SheetColumns): string {
  const names = (columns: SheetColumn[]) => columns.map(({ column, header }) => `${column} ${header}`).join(', ');
  const labels = templateReadAt === null ? 'assumed labels' : `the template of ${localTime(templateReadAt)}`;
  const filled = optional.filter((column) => column.filled);
  const empty = optional.length - filled.length;
  return [
    `Sent: ${sent.length} columns${empty > 0 ? `; ${counted(empty, 'optional one')} ${empty === 1 ? 'is' : 'are'} empty` : ''}.`,
    filled.length > 0 && `Sent by bulk upload, as they are filled (${labels}): ${names(filled)}.`,
    own.length > 0 && `Your own, not sent: ${names(own)}.`,
  ]
    .filter(Boolean)
    .join('\n');
}

/** The ledger, if one is configured. */
async function ledgerOf(cli: Cli) {
  const { databaseUrl } = await cli.optional('database');
  const workbooks = await cli.workbooks();
  if (databaseUrl === undefined) return { workbooks };
  return { workbooks, pool: await cli.pool(), mode: (await cli.optional('mode')).mode };
}

const TEMPLATE_HELP = `
The service's own template with the exporter's IRMs filled in, and drop-downs, formats, help, the remitter and the free balance
added. Remittances of which nothing is free are left out. If the service cannot provide the template, it is built from the IRMs
that the ledger holds.

Example:
  $ ebrc template accounts@asha.example -o july.xlsx`;

export function addTemplateCommand(program: Command, bind: Bind): void {
  program
    .command('template')
    .summary('make a workbook to fill in')
    .description('Make a bulk workbook with one row per inward remittance, to be filled in and filed.')
    .argument('<exporter>', 'id or e-mail')
    .requiredOption('-o, --output <FILE.xlsx>', 'where it is written')
    .addOption(forceOption())
    .option('--all', 'also remittances of which nothing is free')
    .addHelpText('after', TEMPLATE_HELP)
    .action(
      bind(async (cli, [exporter = ''], { all, ...write }: WriteOptions & { all?: boolean }) => {
        const { output } = write;
        await checkOutputPath(write, '.xlsx');
        const { makeTemplate } = await import('../../../exporters/template.js');
        const { writeOutputFile } = await import('../../../../documents/output-file.js');
        const { mode } = await cli.config('api', 'database');
        const deps = { pool: await cli.pool(), api: await cli.api(), mode };
        const { bytes, rows, source, notice } = await makeTemplate(deps, exporter, { all });
        if (notice) cli.terminal.note(notice);
        await writeOutputFile(output, bytes);
        cli.terminal.result({ path: output, rows, source }, () => `${rows} IRMs written to ${output}.`);
      }),
    );
}
