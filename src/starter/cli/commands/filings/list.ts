import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../../../../domain/dates';
import { FILING_STATES } from '../../../../domain/filing/states';
import { filingName } from '../../../../domain/names';
import { filingsPage, filingPage } from '../../filing-text';
import type { Bind } from '../../context';
import type { FilingEventView } from '../../../reader';
import { apart, localTime, table, type Part } from '../../page';

interface ListOptions {
  state?: string[];
  exporter?: string;
  attention?: boolean;
  since?: Date;
  search?: string;
  after?: string;
  limit: number;
}

const MOST = 10_000;

const HELP = `
Examples:
  $ ebrc list --attention
  $ ebrc list --state processing --state overdue --since 7d
  $ ebrc list --search INV-2026-117`;

export function addListCommand(program: Command, bind: Bind): void {
  const states = new Option('--state <state>', 'only those in this state; may be given several times');
  program
    .command('list')
    .summary('list filings')
    .description('List filings, newest first.')
    .addOption(states.choices(FILING_STATES).argParser(collectState))
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--attention', 'only those that need attention')
    .option('--since <when>', 'only those made since then: a day (YYYY-MM-DD), or how long ago (7d)', sinceArgument)
    .option('--search <text>', 'part of a reference, document, IRM number or eBRC number; or a request id')
    .option('--limit <n>', `no more than these, ${MOST} at most`, limitArgument, 1_000)
    .option('--after <filing>', 'only those behind this one: the last one of the list before')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, _args, { state: states, ...filter }: ListOptions) => {
        const filings = await (await cli.reader()).list({ ...filter, states });
        const { mode } = await cli.config('mode');
        cli.terminal.result(filings, () => filingsPage(filings, mode));
        if (!cli.terminal.json)
          for (const each of filings)
            if (each.needsAttention) cli.terminal.note(`${filingName(each)}: ${each.attention}`);
        const [last] = filings.slice(-1);
        if (last && filings.length === filter.limit)
          cli.terminal.note(`The newest ${filings.length}; more with --after ${last.filingId}, or --limit.`);
      }),
    );
}

function collectState(state: string, before: string[] = []): string[] {
  if ((FILING_STATES as readonly string[]).includes(state)) return [...before, state];
  throw new InvalidArgumentError(`Allowed choices are ${FILING_STATES.join(', ')}.`);
}

function sinceArgument(text: string): Date {
  const ago = parseDuration(text);
  if (ago !== null) return new Date(Date.now() - ago);
  const day = new Date(`${text}T00:00:00`);
  if (/^\d{4}-\d{2}-\d{2}$/u.test(text) && !Number.isNaN(day.getTime())) return day;
  throw new InvalidArgumentError('Give a day such as 2026-07-01, or how long ago, such as 7d.');
}

function limitArgument(text: string): number {
  const limit = Number(text);
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST) return limit;
  throw new InvalidArgumentError(`Give a number from 1 to ${MOST}.`);
}

const SHOW_HELP = `
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
    .addHelpText('after', SHOW_HELP)
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
