import { Option, Argument, type Command } from 'commander';
import { FINDING_KINDS, type FindingView } from '../../../../domain/reconciliation/findings';
import type { FindingsRequest, ReconcileOutcome, ReconcileRequest } from '../../../reconcile';
import { EXIT } from '../../../errors';
import type { Bind } from '../../context';
import { amountText } from '../../../../domain/money';
import { apart, fields, optional, right, table, type Page, type Part } from '../../page';
import {
  byOption,
  printList,
  withListOptions,
  checkOutputPath,
  forceOption,
  type ListPart,
  type WriteOptions,
} from '../options';
import type { ReportRequest, ReportOutcome } from '../../../report';

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
  $ ebrc findings acknowledge 5C3A91E07B2D4F68 --note "filed by the bank before we came"`;

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
            onProgress: ({ companies, opened, closed }, waits) =>
              progress.say(waits ?? `companies compared ${companies}, findings opened ${opened}, closed ${closed}`),
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
    .addHelpText(
      'after',
      '\nExample:\n  $ ebrc findings acknowledge 5C3A91E07B2D4F68 --note "filed by the bank before we came"',
    )
    .action(
      bind(async (cli, [id = ''], { note, by }: { note: string; by: string }) => {
        const { acknowledgeFinding } = await import('../../../reconcile.js');
        const finding = await acknowledgeFinding(await cli.ledger(), { id, note, by });
        cli.terminal.result(finding, () => `Finding ${finding.id} (${finding.kind}) is acknowledged.`);
      }),
    );
}

/** Whether some company could be read completely. A run that goes on has not decided that yet. */
const askedAny = ({ state, companies, skipped }: ReconcileOutcome): boolean =>
  state !== 'done' || skipped.length === 0 || skipped.length < companies;

const NONE_ASKED =
  'No company was reconciled completely, because none could be read in full. What follows is what the ledger knew.';

function outcomePage(outcome: ReconcileOutcome): Page {
  const { state, from, to, companies, opened, closed, healed, skipped, findings } = outcome;
  const head = fields([
    ['Run', outcome.runId],
    ['Workflow', outcome.workflowId],
    ['State', state],
    ['Days', from && `${from} to ${to}`],
    ['Parties', companies],
    ['Findings', `opened ${opened}, closed ${closed}, healed ${healed}`],
  ]);
  const notes = skipped.map(({ name, reason }) => `Not reconciled completely: ${name}: ${reason}`).join('\n');
  return apart([askedAny(outcome) ? null : NONE_ASKED, head, notes, ...findingsParts(findings)]);
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
        // On a narrow terminal later columns are dropped first, so the columns that the advice is about stand first.
        optional('Filing'),
        optional(right('Amount')),
        optional('Document'),
        optional('Why'),
        optional(right('Row')),
        optional('IRM'),
      ],
      findings.map((finding) => [
        finding.id,
        finding.kind,
        finding.exporterName ?? finding.exporterId,
        finding.eBRCNumber,
        `${finding.ageDays} d${finding.closedAt ? ', closed' : finding.acknowledgedAt ? ', acknowledged' : ''}`,
        finding.filingId,
        amountText(finding.amount, finding.currency),
        finding.ours?.document ?? finding.theirs?.document,
        finding.healed ?? finding.reason,
        finding.row,
        finding.irmNumber,
      ]),
    ),
    'What to do:',
    fields([...advised].map(([advice, kind]) => [kind, advice])),
  ];
}

const REPORT_HELP = `
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
    .addHelpText('after', REPORT_HELP)
    .action(
      bind(async (cli, [report = ''], options: WriteOptions & { on?: string; grouping?: 'western' | 'indian' }) => {
        const { on, grouping, ...write } = options;
        await checkOutputPath(write, '.xlsx', '.html');
        const { makeReport } = await import('../../../report.js');
        const { mode, temporalUi, quota } = await cli.config('mode', 'database', 'reports', 'quota');
        const namespace = temporalUi ? (await cli.optional('temporal')).temporal?.namespace : undefined;
        const ui = temporalUi ? { address: temporalUi, namespace: namespace ?? 'default' } : undefined;
        const request = { report: report as ReportRequest['report'], path: write.output, on, grouping };
        const outcome = await makeReport({ pool: await cli.pool(), mode, temporalUi: ui, quota }, request);
        cli.terminal.result(outcome, () => reportText(outcome));
      }),
    );
}

function reportText({ path, on, groups, toDo }: ReportOutcome): Page {
  const alarms = groups.flatMap(({ title, figures }) =>
    figures.filter(({ alarm }) => alarm).map(({ label, value }) => [title, label, String(value ?? '')]),
  );
  const head =
    alarms.length === 0
      ? 'No figure is outside its expected range.'
      : table(['Group', 'Figure', right('Value')], alarms);
  const waiting = table(
    ['Reference', 'Exporter', 'What to do'],
    toDo.map(({ reference, exporter, what }) => [reference, exporter, what]),
  );
  return [head, ...(toDo.length > 0 ? ['Filings that need somebody:', waiting] : []), `Written to ${path} (of ${on}).`];
}

const INVOICE_EXAMPLES = `
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
    .addHelpText('after', INVOICE_EXAMPLES)
    .command('import')
    .summary('import invoices; nothing is filed')
    .description('Import invoices into the ledger, for `ebrc report ageing`; nothing is filed.')
    .argument('<file>', '.csv or .xlsx')
    .option('-e, --exporter <exporter>', 'id, e-mail or IEC, for rows that name none')
    .addOption(byOption())
    .addHelpText('after', `${IMPORT_HELP}\n${INVOICE_EXAMPLES}`)
    .action(
      bind(async (cli, [path = ''], { exporter, by }: { exporter?: string; by: string }) => {
        const { importInvoices } = await import('../../../exporters/import-invoices.js');
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
