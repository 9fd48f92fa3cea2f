import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDuration } from '../../../../domain/dates';
import { FILING_STATES } from '../../../../domain/filing/states';
import { filingName } from '../../../../domain/names';
import { filingsPage, filingPage, nothingListed } from '../../filing-text';
import type { FilingSummary } from '../../../../domain/filing/view';
import type { Bind } from '../../context';
import { printList, withListOptions, type ListPart } from '../options';
import type { FilingEventView, ListFilter } from '../../../reader';
import { apart, localTime, table, type Part } from '../../page';

/** Filings of a list by default: --jsonl prints all. */
const LISTED = 1_000;

const HELP = `
Examples:
  $ ebrc list --attention
  $ ebrc list --state processing --state overdue --since 7d
  $ ebrc list --search INV-2026-117
  $ ebrc list --jsonl > filings.jsonl`;

export function addListCommand(program: Command, bind: Bind): void {
  const states = new Option('--state <state>', 'only those in this state; may be given several times');
  const list = program
    .command('list')
    .summary('list filings')
    .description(`List filings, newest first; ${LISTED} without --limit or --jsonl.`)
    .addOption(states.choices(FILING_STATES).argParser(collectState))
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .option('--attention', 'only those that need attention')
    .option('--since <when>', 'only those made since then: a day (YYYY-MM-DD), or how long ago (7d)', sinceArgument)
    .option(
      '--search <text>',
      'part of a reference, document or its Bill No, IRM number or eBRC number; or a request id',
    )
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, _args, options: Omit<ListFilter, 'states'> & ListPart & { state?: string[] }) => {
        const { state: states, jsonl, limit = jsonl ? Infinity : LISTED, ...filter } = options;
        const reader = await cli.reader();
        const { mode } = await cli.config('mode');
        const remarks: string[] = [];
        const page = (filings: readonly FilingSummary[]) => {
          for (const each of filings) if (each.needsAttention) remarks.push(`${filingName(each)}: ${each.attention}`);
          return filings.length === 0 ? nothingListed('filings', mode, { ...filter, states }) : filingsPage(filings);
        };
        const pages = reader.filingPages({ ...filter, states, limit });
        await printList(cli, pages, { page, limit, jsonl, nameOf: ({ filingId }) => filingId ?? '' });
        for (const remark of remarks) cli.terminal.note(remark);
      }),
    );
  withListOptions(list, 'filing');
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
    events.map(({ at, state, who, kind, text }) => [localTime(at), state, who, happened(kind, text)]),
  );
}

/** What a person did whose text is their note: it says how they know, and not what they said. */
const SAID: Readonly<Record<string, string>> = {
  resolved: 'answered',
  permitted: 'permits',
  permit_stands: 'would permit',
  permit_refused: 'may not permit',
  withdrawn: 'withdraws',
};

const happened = (kind: string, text: string): string => {
  if (text === '') return kind;
  return SAID[kind] === undefined ? text : `${SAID[kind]}: ${text}`;
};
