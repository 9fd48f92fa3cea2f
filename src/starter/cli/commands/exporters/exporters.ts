import { Option, type Command } from 'commander';
import type { ExporterView } from '../../../exporters/views';
import type { Cli } from '../../context';
import type { Bind } from '../../bind';
import { EXIT } from '../../../errors';
import { byOption } from '../options';
import { describeProblems } from '../../problem-text';
import { apart, fields, localTime, optional, table, type Page } from '../../page';
import { stateCell } from '../../state-cell';

interface ChangeOptions {
  by: string;
  name?: string;
  company?: string;
  address?: string;
  approval?: 'required' | 'off';
}

/** `exporters` and `exporter`. */
export function addExporterCommands(program: Command, bind: Bind): void {
  program
    .command('exporters')
    .summary('list the exporters and their readiness')
    .description('List the exporters and their readiness.')
    .addHelpText('after', '\nExample:\n  $ ebrc exporters')
    .action(
      bind(async (cli) => {
        const exporters = await (await cli.reader()).exporters();
        cli.terminal.result(exporters, () => exportersTable(exporters));
      }),
    );
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
      bind(async (cli, [exporter = ''], { name, company, address, approval, by }: ChangeOptions) => {
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

/** @returns what it still takes; null: nothing */
async function setApproval(
  cli: Cli,
  exporter: string,
  asked: { required: boolean; by: string },
): Promise<string | null> {
  const { requireApproval } = await import('../../../exporters/approval.js');
  const { mode } = await cli.config('mode');
  const deps = { pool: await cli.pool(), mode, principal: await cli.principal() };
  return (await requireApproval(deps, exporter, asked)).waits;
}

function exportersTable(exporters: readonly ExporterView[]): Page {
  if (exporters.length === 0) return 'No exporters. `ebrc onboard` adds one.';
  const listed = table(
    ['Name', 'E-mail', 'IEC', 'Readiness', 'Access opens at', optional('Shared login'), optional('Exporter')],
    exporters.map((each) => [
      each.name,
      each.email,
      each.iec,
      stateCell(shownState(each)),
      each.readiness === 'activation_pending' ? localTime(each.activatesAt) : '',
      each.sharedCredentialsLikely ? 'likely' : '',
      each.exporterId,
    ]),
  );
  const warned = exporters.filter(({ warnings }) => warnings.length > 0);
  return apart([listed, ...warned.map(({ name, warnings }) => `${name}:\n${describeProblems(warnings)}`)]);
}

/** An exporter is not ready while its portal password is known to be wrong. */
const shownState = ({ readiness, credentialsProblem }: ExporterView): string =>
  credentialsProblem === null ? readiness : 'needs_credentials';

function exporterText(exporter: ExporterView): Page {
  const shown = fields([
    ['Exporter', exporter.exporterId],
    ['Name', exporter.name],
    ['E-mail', exporter.email],
    ['Company', exporter.companyName],
    ['IEC', exporter.iec],
    ['Address', exporter.address],
    ['Readiness', stateCell(shownState(exporter))],
    [
      'Credentials',
      exporter.credentialsProblem && `${exporter.credentialsProblem}: submit new ones with \`ebrc credentials\``,
    ],
    ['Access opens at', localTime(exporter.activatesAt)],
    ['Approval needed', exporter.requiresApproval ? 'yes' : 'no'],
    ['Shared login', exporter.sharedCredentialsLikely ? 'likely' : null],
    ['As of', localTime(exporter.readAt)],
  ]);
  return apart([shown, describeProblems(exporter.warnings)]);
}
