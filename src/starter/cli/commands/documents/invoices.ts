import type { Command } from 'commander';
import { EXIT } from '../../../errors';
import type { Bind } from '../../context';
import { byOption } from '../options';

const EXAMPLES = `
Examples:
  $ ebrc invoices import books.csv --exporter accounts@asha.example
  $ ebrc report ageing -o ageing.xlsx`;

const HELP = `
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
    .addHelpText('after', `${HELP}\n${EXAMPLES}`)
    .action(
      bind(async (cli, [path = ''], { exporter, by }: { exporter?: string; by: string }) => {
        const { importInvoices } = await import('../../../../assistant/proposals/import-invoices.js');
        const { mode } = await cli.config('mode', 'database');
        const outcome = await importInvoices({ pool: await cli.pool(), mode }, { path, exporter, by });
        cli.terminal.result(outcome, () =>
          [
            ...outcome.errors.map(({ row, field, message }) => `Row ${row}${field ? `, ${field}` : ''}: ${message}`),
            outcome.ignoredColumns.length > 0 && `Ignored columns: ${outcome.ignoredColumns.join(', ')}.`,
            `Imported ${outcome.imported}, updated ${outcome.updated}, unchanged ${outcome.unchanged}, left out ${outcome.errors.length}.`,
          ]
            .filter(Boolean)
            .join('\n'),
        );
        return outcome.errors.length > 0 ? EXIT.refused : EXIT.done;
      }),
    );
}
