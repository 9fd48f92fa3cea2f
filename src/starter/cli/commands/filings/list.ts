import { Option, type Command } from 'commander';
import { FILING_STATES } from '../../../../domain/filing/states';
import { filingsTable } from '../../filing-text';
import type { Bind } from '../../bind';

interface ListOptions {
  state?: string;
  exporter?: string;
  attention?: boolean;
}

export function addListCommand(program: Command, bind: Bind): void {
  program
    .command('list')
    .summary('list filings')
    .description('List filings, newest first.')
    .addOption(new Option('--state <state>', 'only those in this state').choices(FILING_STATES))
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--attention', 'only those that need attention')
    .addHelpText('after', '\nExample:\n  $ ebrc list --attention')
    .action(
      bind(async (cli, _args, { state, exporter, attention }: ListOptions) => {
        const filings = await (await cli.reader()).list({ state, exporter, attention });
        cli.terminal.result(filings, () => filingsTable(filings));
      }),
    );
}
