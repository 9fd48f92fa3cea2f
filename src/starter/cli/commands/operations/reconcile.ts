import { Option, type Command } from 'commander';
import { FINDING_KINDS, type FindingView } from '../../../../domain/reconciliation/findings';
import type { FindingsRequest, ReconcileOutcome, ReconcileRequest } from '../../../reconcile';
import { UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { amountText } from '../../../../domain/money';
import { apart, fields, optional, right, table, type Page, type Part } from '../../page';
import { byOption, printList, withListOptions, type ListPart } from '../options';

const RECONCILE_HELP = `
Compares the ledger's filings with the certificates that the authority shows, the balances of the IRMs and the stored PDFs.
Missing or damaged PDFs are fetched again. The findings stay open until they are gone: \`ebrc findings\`.

Examples:
  $ ebrc reconcile --exporter accounts@asha.example --wait
  $ ebrc reconcile --from 2026-04-01 --to 2026-06-30 --wait --json`;

const FINDINGS_HELP = `
Examples:
  $ ebrc findings
  $ ebrc findings --kind theirs_not_ours --exporter accounts@asha.example
  $ ebrc findings acknowledge 17 --note "filed by the bank before we came"`;

/** `reconcile` and `findings`. */
export function addReconcileCommands(program: Command, bind: Bind): void {
  program
    .command('reconcile')
    .summary('compare the ledger with the authority')
    .description('Compare the ledger with the authority, the balances and the stored PDFs.')
    .option('-e, --exporter <exporter>', 'only this exporter (id or e-mail); left out: all')
    .option('--from <date>', 'first day of issue, YYYY-MM-DD (default: 89 days with --to)')
    .option('--to <date>', 'last day of issue, YYYY-MM-DD (default: today)')
    .option('--wait', 'wait until the run has ended')
    .addHelpText('after', RECONCILE_HELP)
    .action(
      bind(async (cli, _args, { exporter, from, to, wait }: ReconcileRequest & { wait?: boolean }) => {
        const client = await cli.client();
        const progress = cli.terminal.progress();
        if (wait)
          cli.onInterrupt(
            () => 'The reconciliation continues; only this command ended. `ebrc findings` shows what it finds.',
          );
        const outcome = await client.reconcile(
          { exporter, from, to },
          {
            wait,
            onProgress: ({ parties, opened, closed }, waits) =>
              progress.say(waits ?? `parties compared ${parties}, findings opened ${opened}, closed ${closed}`),
            onNotice: (notice) => cli.terminal.note(notice),
          },
        );
        cli.terminal.result(outcome, () => outcomePage(outcome));
      }),
    );

  const findings = program
    .command('findings')
    .summary('list what a reconciliation found, or acknowledge it')
    .description('List the open findings of the reconciliations, oldest first.')
    .option('-e, --exporter <exporter>', 'only those of this exporter (id or e-mail)')
    .addOption(new Option('--kind <kind>', 'only those of this kind').choices(FINDING_KINDS))
    .option('--all', 'also closed and acknowledged findings')
    .addHelpText('after', FINDINGS_HELP)
    .action(
      bind(async (cli, _args, { limit, after, jsonl, ...filter }: FindingsRequest & ListPart) => {
        const { mode } = await cli.config('mode');
        const page = (list: readonly FindingView[]) =>
          list.length === 0 ? `No open findings in ${mode} mode.` : apart(findingsParts(list));
        const pages = (await cli.reader()).findingPages({ ...filter, limit, after });
        await printList(cli, pages, { page, limit, jsonl, nameOf: ({ id }) => id });
      }),
    );
  withListOptions(findings, 'id');
  findings
    .command('acknowledge')
    .summary('acknowledge a known finding')
    .description('Acknowledge a known finding; it stays open until it is gone.')
    .argument('<id>', 'as `ebrc findings` shows it')
    .requiredOption('--note <text>', 'why it is no cause for concern')
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc findings acknowledge 17 --note "filed by the bank before we came"')
    .action(
      bind(async (cli, [id = ''], { note, by }: { note: string; by: string }) => {
        if (!/^\d+$/.test(id)) throw new UsageError(`${id} is not the id of a finding, which is a number.`);
        const { acknowledgeFinding } = await import('../../../reconcile.js');
        const finding = await acknowledgeFinding(await cli.ledger(), { id, note, by });
        cli.terminal.result(finding, () => `Finding ${finding.id} (${finding.kind}) is acknowledged.`);
      }),
    );
}

/** Whether of any party everything could be asked; a run that goes on has not said it yet. */
const askedAny = ({ state, parties, skipped }: ReconcileOutcome): boolean =>
  state !== 'done' || skipped.length === 0 || skipped.length < parties;

const NONE_ASKED =
  'Nothing was reconciled completely: no party could be asked about in full. What stands below is what the ledger knew.';

function outcomePage(outcome: ReconcileOutcome): Page {
  const { state, from, to, parties, opened, closed, healed, skipped, findings } = outcome;
  const head = fields([
    ['Run', outcome.runId],
    ['Workflow', outcome.workflowId],
    ['State', state],
    ['Days', from && `${from} to ${to}`],
    ['Parties', parties],
    ['Findings', `opened ${opened}, closed ${closed}, healed ${healed}`],
  ]);
  const notes = skipped.map(({ name, reason }) => `Not asked: ${name}: ${reason}`);
  return apart([askedAny(outcome) ? null : NONE_ASKED, head, ...notes, ...findingsParts(findings)]);
}

function findingsParts(findings: readonly FindingView[]): Part[] {
  if (findings.length === 0) return ['No open findings.'];
  const advised = new Map(findings.map(({ kind, advice }) => [advice, kind]));
  return [
    table(
      [
        right('Id'),
        'Kind',
        'Exporter',
        'eBRC number',
        'Age',
        // What the advice is about comes before what explains it: a narrow terminal keeps it.
        optional('Filing'),
        optional(right('Amount')),
        optional('Why'),
        optional(right('Row')),
        optional('IRM'),
      ],
      findings.map((each) => [
        each.id,
        each.kind,
        each.exporterName ?? each.exporterId,
        each.eBRCNumber,
        `${each.ageDays} d${each.closedAt ? ', closed' : each.acknowledgedAt ? ', acknowledged' : ''}`,
        each.filingId,
        amountText(each.amount, each.currency),
        each.healed ?? each.reason,
        each.row,
        each.irmNumber,
      ]),
    ),
    'What to do:',
    fields([...advised].map(([advice, kind]) => [kind, advice])),
  ];
}
