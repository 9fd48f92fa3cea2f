import type { Command } from 'commander';
import { filingText } from '../../filing-text';
import type { Bind } from '../../bind';

export function addShowCommand(program: Command, bind: Bind): void {
  program
    .command('show')
    .summary('show a filing')
    .description('Show a filing: its state, rows, certificates, errors and the next step.')
    .argument('<filing>', 'filing id or reference (REFERENCE#n for the n-th filing under it)')
    .addHelpText('after', '\nExample:\n  $ ebrc show JULY-2026')
    .action(
      bind(async (cli, [filing = '']) => {
        const view = await (await cli.reader()).show(filing);
        cli.terminal.result(view, () => filingText(view));
      }),
    );
}
