import { Argument, Option, type Command } from 'commander';
import type { ReportKind, ReportOutcome } from '../../../report';
import type { Bind } from '../../context';
import { byOption, checkOutputPath, forceOption, type WriteOptions } from '../options';
import { right, table, type Page } from '../../page';
import { EXIT } from '../../../errors';

const HELP = `
  daily    ten groups of figures: unknown outcomes, funnel, latency, rejections, remittances,
           ageing, reconciliation, credentials, limits of the service, archive; each with its
           definition, a trend of 30 days and the rows behind it
  ageing   export amounts that are not certified, by the days until they have to be realised, by
           currency and exporter

Both are made from the ledger alone and need only DATABASE_URL and EBRC_MODE. EBRC_TEMPORAL_UI makes filings links.

Examples:
  $ ebrc report daily -o daily.html
  $ ebrc report daily -o daily.xlsx --on 2026-07-31 --grouping indian
  $ ebrc report ageing -o ageing.xlsx --json`;

interface ReportCommand extends WriteOptions {
  on?: string;
  grouping?: 'western' | 'indian';
}

export function addReportCommand(program: Command, bind: Bind): void {
  program
    .command('report')
    .summary('write the daily or the ageing report')
    .description('Write the daily or the ageing report as a workbook (.xlsx) or as one page (.html).')
    .addArgument(new Argument('<report>', 'which one').choices(['daily', 'ageing']))
    .requiredOption('-o, --output <FILE>', 'ends in .xlsx or .html')
    .addOption(forceOption())
    .option('--on <date>', 'the day that it is about, YYYY-MM-DD (default: today)')
    .addOption(
      new Option('--grouping <how>', '1,234,567 or 12,34,567').choices(['western', 'indian']).default('western'),
    )
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [report = ''], { on, grouping, ...write }: ReportCommand) => {
        await checkOutputPath(write, '.xlsx', '.html');
        const { makeReport } = await import('../../../report.js');
        const { mode, temporalUi } = await cli.config('mode', 'database', 'reports');
        const namespace = temporalUi ? (await cli.optional('temporal')).temporal?.namespace : undefined;
        const ui = temporalUi ? { address: temporalUi, namespace: namespace ?? 'default' } : undefined;
        const request = { report: report as ReportKind, path: write.output, on, grouping };
        const outcome = await makeReport({ pool: await cli.pool(), mode, temporalUi: ui }, request);
        cli.terminal.result(outcome, () => outcomeText(outcome));
      }),
    );
}

function outcomeText({ path, on, groups }: ReportOutcome): Page {
  const alarms = groups.flatMap(({ title, figures }) =>
    figures.filter(({ alarm }) => alarm).map(({ label, value }) => [title, label, String(value ?? '')]),
  );
  const head =
    alarms.length === 0
      ? 'No figure is outside its expected range.'
      : table(['Group', 'Figure', right('Value')], alarms);
  return [head, `Written to ${path} (of ${on}).`];
}

const EXAMPLES = `
Examples:
  $ ebrc invoices import books.csv --exporter accounts@asha.example
  $ ebrc report ageing -o ageing.xlsx`;

const IMPORT_HELP = `
FILE is a .csv or the first sheet of an .xlsx. Its first line names the columns: exporter (id, e-mail or IEC; or --exporter for all),
document, date, value, currency, and if known type (101 to 104), buyer and dueDate (agreed, or extended by the bank). Other columns are
ignored. A document is identified by exporter, number and date: importing the same list again changes nothing, a changed row updates its
document. Rows with errors are listed and left out.`;

export function addInvoiceCommands(program: Command, bind: Bind): void {
  program
    .command('invoices')
    .summary('import invoices for the ageing report')
    .description('Invoices and shipping bills from the exporters’ own books.')
    .addHelpText('after', EXAMPLES)
    .command('import')
    .summary('import invoices; nothing is filed')
    .description('Import invoices into the ledger, for `ebrc report ageing`; nothing is filed.')
    .argument('<file>', '.csv or .xlsx')
    .option('-e, --exporter <exporter>', 'id, e-mail or IEC, for rows that name none')
    .addOption(byOption())
    .addHelpText('after', `${IMPORT_HELP}\n${EXAMPLES}`)
    .action(
      bind(async (cli, [path = ''], { exporter, by }: { exporter?: string; by: string }) => {
        const { importInvoices } = await import('../../../../assistant/proposals/import-invoices.js');
        const outcome = await importInvoices(await cli.ledger(), { path, exporter, by });
        cli.terminal.result(outcome, () => [
          ...outcome.errors.map(({ row, field, message }) => `Row ${row}${field ? `, ${field}` : ''}: ${message}`),
          outcome.ignoredColumns.length > 0 && `Ignored columns: ${outcome.ignoredColumns.join(', ')}.`,
          `Imported ${outcome.imported}, updated ${outcome.updated}, unchanged ${outcome.unchanged}, left out ${outcome.errors.length}.`,
        ]);
        return outcome.errors.length > 0 ? EXIT.refused : EXIT.done;
      }),
    );
}
