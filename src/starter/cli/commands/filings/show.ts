import type { Command } from 'commander';
import type { FilingEventView } from '../../../reader';
import { filingPage } from '../../filing-text';
import type { Bind } from '../../bind';
import { apart, localTime, table, type Part } from '../../page';

const HELP = `
Examples:
  $ ebrc show JULY-2026
  $ ebrc show JULY-2026 --history`;

export function addShowCommand(program: Command, bind: Bind): void {
  program
    .command('show')
    .summary('show a filing')
    .description('Show a filing: its state, rows, certificates, errors and the next step.')
    .argument('<filing>', 'filing id or reference (REFERENCE#n for the n-th filing under it)')
    .option('--history', 'also what happened to it: its moves, who approved and answered, what was found')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [filing = ''], { history }: { history?: boolean }) => {
        const reader = await cli.reader();
        const view = await reader.show(filing);
        const events = history ? await reader.history(view.filingId ?? filing) : null;
        const document = events ? { ...view, history: events } : view;
        cli.terminal.result(document, () => apart([...filingPage(view), events && historyTable(events)]));
      }),
    );
}

function historyTable(events: readonly FilingEventView[]): Part {
  return table(
    ['At', 'State', 'By', 'What happened'],
    events.map(({ at, state, who, kind, text }) => [localTime(at), state, who, text === '' ? kind : text]),
  );
}
