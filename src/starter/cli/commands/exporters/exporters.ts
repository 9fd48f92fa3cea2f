import { Option, type Command } from 'commander';
import type { Mode } from '../../../../domain/names';
import { irmCursor } from '../../../../domain/identity';
import type { ExporterView, IrmView } from '../../../exporters/views';
import type { Cli, Bind } from '../../context';
import { EXIT } from '../../../errors';
import { byOption, printList, withListOptions, type ListPart } from '../options';
import { amountText } from '../../../../domain/money';
import { describeProblems, stateCell } from '../../texts';
import { apart, fields, localTime, optional, table, type Page, right } from '../../page';
import type { RefreshIrmsResult } from '../../../../domain/contracts';
import { dateText } from '../../../../domain/dates';

/** `exporters` and `exporter`. */
export function addExporterCommands(program: Command, bind: Bind): void {
  const list = program
    .command('exporters')
    .summary('list the exporters and their readiness')
    .description('List the exporters and their readiness, by name.')
    .addHelpText('after', '\nExample:\n  $ ebrc exporters')
    .action(
      bind(async (cli, _args, { limit, after, jsonl }: ListPart) => {
        const { mode } = await cli.config('mode');
        const page = (exporters: readonly ExporterView[]) => exportersTable(exporters, mode);
        const pages = (await cli.reader()).exporterPages({ limit, after });
        await printList(cli, pages, { page, limit, jsonl, nameOf: ({ exporterId }) => exporterId });
      }),
    );
  withListOptions(list, 'exporter');
  program
    .command('exporter')
    .summary('show an exporter, or change its name, company, address or approval')
    .description(
      'Show an exporter; with options, change its name, company or address at the service, or whether its filings wait for approval.',
    )
    .argument('<exporter>', 'id or e-mail')
    .option('--name <name>', 'new contact or trade name')
    .option('--company <name>', 'new registered legal name')
    .option('--address <text>', 'new address')
    .addOption(
      new Option('--approval <policy>', 'whether every filing made from now on waits for a second person').choices([
        'required',
        'off',
      ]),
    )
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc exporter accounts@asha.example --company "Asha Exports Pvt Ltd"')
    .action(
      bind<{
        name?: string;
        company?: string;
        address?: string;
        approval?: 'required' | 'off';
        by: string;
      }>(async (cli, [exporter = ''], { name, company, address, approval, by }) => {
        const changes = name !== undefined || company !== undefined || address !== undefined;
        if (changes) await (await cli.client()).changeExporter(exporter, { name, companyName: company, address });
        const waits = approval ? await setApproval(cli, exporter, { required: approval === 'required', by }) : null;
        const view = await (await cli.reader()).exporter(exporter);
        cli.terminal.result(view, () => exporterText(view));
        if (waits === null) return EXIT.done;
        cli.terminal.note(waits);
        return EXIT.waiting;
      }),
    );
}

/** @returns what is still needed; null if nothing */
async function setApproval(cli: Cli, exporter: string, asked: { required: boolean; by: string }) {
  const { requireApproval } = await import('../../../exporters/change.js');
  const deps = { ...(await cli.ledger({ writes: true })), principal: await cli.principal() };
  return (await requireApproval(deps, exporter, asked)).waits;
}

function exportersTable(exporters: readonly ExporterView[], mode: Mode): Page {
  if (exporters.length === 0) return `No exporters in ${mode} mode. \`ebrc onboard\` adds one.`;
  const listed = table(
    ['Name', 'E-mail', 'IEC', 'Readiness', 'Access opens at', optional('Shared login'), optional('Exporter')],
    exporters.map((view) => [
      view.name,
      view.email,
      view.iec,
      stateCell(view.state),
      view.readiness === 'activation_pending' ? localTime(view.activatesAt) : '',
      view.sharedCredentialsLikely ? 'likely' : '',
      view.exporterId,
    ]),
  );
  const remarks = exporters.flatMap((view) => {
    const remark = [credentialsNeeded(view), describeProblems(view.warnings)].filter(Boolean).join('\n');
    return remark === '' ? [] : [`${view.name}:\n${remark}`];
  });
  return apart([listed, ...remarks]);
}

/** What to do about the exporter's credentials; null if nothing is known to be wrong with them. */
function credentialsNeeded({ email, credentialsProblem, state }: ExporterView): string | null {
  const submit = `\`ebrc credentials ${email} --username USER\``;
  if (credentialsProblem === 'dgft_username_taken')
    return `Another client has its portal user name: ${submit} with its own.`;
  if (credentialsProblem)
    return `The portal did not accept its credentials (${credentialsProblem}): ${submit} with others.`;
  return state === 'created' ? `The service has no portal credentials of it: ${submit} submits them.` : null;
}

function exporterText(exporter: ExporterView): Page {
  const shown = fields([
    ['Exporter', exporter.exporterId],
    ['Name', exporter.name],
    ['E-mail', exporter.email],
    ['Company', exporter.companyName],
    ['IEC', exporter.iec],
    ['Address', exporter.address],
    ['Readiness', stateCell(exporter.state)],
    ['Credentials', credentialsNeeded(exporter)],
    ['Access opens at', localTime(exporter.activatesAt)],
    ['Approval needed', exporter.requiresApproval ? 'yes' : 'no'],
    ['Shared login', exporter.sharedCredentialsLikely ? 'likely' : null],
    ['As of', localTime(exporter.readAt)],
  ]);
  return apart([shown, describeProblems(exporter.warnings)]);
}

export function addIrmsCommand(program: Command, bind: Bind): void {
  const list = program
    .command('irms')
    .summary('list the inward remittances of an exporter')
    .description('List an exporter’s inward remittances (IRMs): balances, and what our own filings hold of them.')
    .argument('<exporter>', 'id or e-mail')
    .option('--refresh', 'read them live from the authority first')
    .addHelpText('after', '\nExample:\n  $ ebrc irms accounts@asha.example --refresh')
    .action(
      bind(async (cli, [exporter = ''], { refresh, limit, after, jsonl }: { refresh?: boolean } & ListPart) => {
        const skipped = refresh ? await refreshed(cli, exporter) : [];
        const pages = (await cli.reader()).irmPages(exporter, { limit, after });
        await printList(cli, pages, { page: irmsTable, limit, jsonl, nameOf: irmCursor });
        for (const { reason } of skipped) cli.terminal.note(`Not refreshed: ${reason}`);
        return skipped.length > 0 ? EXIT.waiting : EXIT.done;
      }),
    );
  withListOptions(list, 'number/ad/ifsc/date');
}

export function irmsTable(irms: readonly IrmView[]): Page {
  if (irms.length === 0) return 'No IRMs. `ebrc irms EXPORTER --refresh` reads them live.';
  return table(
    [
      'IRM',
      'Date',
      right('Amount'),
      right('Available'),
      right('Free'),
      // Narrower terminals drop columns from the right.
      optional('Purpose'),
      optional('Status'),
      optional('Remitter'),
      optional('AD code'),
      optional('IFSC'),
      optional('Held by us'),
      optional('Read'),
    ],
    irms.map((irm) => [
      irm.irmNumber,
      dateText(irm.irmIssueDate),
      amountText(irm.amount, irm.currency),
      amountText(irm.available),
      amountText(irm.free),
      irm.purposeCode,
      irm.status,
      irm.remitterName,
      irm.irmAdCode,
      irm.irmIfscCode,
      irm.heldBy.length > 0 && `${amountText(irm.held)} (${irm.heldBy.map((hold) => hold.reference).join(', ')})`,
      localTime(irm.readAt),
    ]),
  );
}

/** Reads the IRMs live. @returns the exporters that could not be read, with the reason */
async function refreshed(cli: Cli, exporter: string): Promise<RefreshIrmsResult['skipped']> {
  const client = await cli.client();
  const progress = cli.terminal.progress();
  progress.say('reading IRMs live from the authority');
  const { skipped } = await client.refreshIrms(exporter);
  progress.stop();
  return skipped;
}
