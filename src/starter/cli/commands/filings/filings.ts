import { Option, type Command } from 'commander';
import { FILING_STATES } from '../../../../domain/filing/states';
import { filingsTable, filingText } from '../../filing-text';
import type { Bind } from '../../bind';

interface ListOptions {
  state?: string;
  exporter?: string;
  attention?: boolean;
}

/** `show` and `list`. */
export function addFilingCommands(program: Command, bind: Bind): void {
  program
    .command('show')
    .description('Show a filing: its state, rows, certificates, errors and what to do next.')
    .argument('<filing>', 'filing id or reference (REFERENCE/n for its n-th correction)')
    .addHelpText('after', '\nExample:\n  $ ebrc show JULY-2026')
    .action(
      bind(async (cli, [filing = '']) => {
        const view = await (await cli.reader()).show(filing);
        cli.terminal.result(view, () => filingText(view));
      }),
    );
  program
    .command('list')
    .description('List filings, newest first.')
    .addOption(new Option('--state <state>', 'only those in this state').choices(FILING_STATES))
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--attention', 'only those that somebody should look at')
    .addHelpText('after', '\nExample:\n  $ ebrc list --attention')
    .action(
      bind(async (cli, _args, { state, exporter, attention }: ListOptions) => {
        const filings = await (await cli.reader()).list({ state, exporter, attention });
        cli.terminal.result(filings, () => filingsTable(filings));
      }),
    );
}
