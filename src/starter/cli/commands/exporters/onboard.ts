import { counted } from '../../../../domain/text';
import type { Command } from 'commander';
import { EXIT, UsageError, type ExitCode } from '../../../errors';
import type { OnboardedRow } from '../../../exporters/onboard-list';
import type { Cli, Bind } from '../../context';
import { readSecret } from '../../terminal';
import { optional, right, table, apart, fields, localTime } from '../../page';
import { stateCell, describeProblems } from '../../texts';
import { byOption } from '../options';
import type { ExporterProgress } from '../../../../domain/contracts';
import type { ExporterOutcome, ExporterWait } from '../../../exporters/operations';

interface OnboardOptions {
  name?: string;
  email?: string;
  iec?: string;
  company?: string;
  address?: string;
  username?: string;
  passwordStdin?: boolean;
  file?: string;
  result?: string;
  by: string;
  wait?: boolean;
}

const HELP = `
The password is read from standard input (--password-stdin) or asked for; it is never an argument. You can repeat the
command: it finds the exporter, and new credentials are passed to an onboarding that waits for them.

A list (--file) is CSV with the columns name, email, iec, companyName, address, username, password. The result of each row is
written to a result file, and the same list can be given again.

Examples:
  $ ebrc onboard --name Asha --email accounts@asha.example --iec ABCDE1234F --username asha --password-stdin < password.txt
  $ ebrc onboard --file exporters.csv --wait`;

export function addOnboardCommand(program: Command, bind: Bind): void {
  program
    .command('onboard')
    .summary('onboard an exporter, or a list of them')
    .description(
      'Onboard an exporter: create or adopt it, check its portal credentials, wait for access, read its IRMs.',
    )
    .option('--name <name>', 'contact or trade name')
    .option('--email <email>', 'unique for each exporter')
    .option('--iec <iec>', 'Importer Exporter Code: 10 letters and digits')
    .option('--company <name>', 'registered legal name')
    .option('--address <text>', 'postal address')
    .option('--username <user>', "user name at the authority's portal")
    .option('--password-stdin', 'read the portal password from standard input')
    .option('--file <list>', 'onboard all exporters of a .csv list')
    .option('--result <file>', 'with --file: where the outcomes go, .csv or .json (default: LIST.result.csv)')
    .addOption(byOption())
    .option('--wait', 'wait until ready (activation takes the authority a day)')
    .addHelpText('after', HELP)
    .action(
      bind((cli, _args, options: OnboardOptions) =>
        options.file ? onboardMany(cli, options.file, options) : onboardOne(cli, options),
      ),
    );
}

async function onboardOne(cli: Cli, options: OnboardOptions): Promise<ExitCode> {
  const { name, email, iec, company, address, username, passwordStdin = false, by, wait } = options;
  if (!name || !email) throw new UsageError('Give --name and --email, or a list with --file.');
  if (passwordStdin && !username) throw new UsageError('--password-stdin goes with --username.');
  const client = await cli.client();
  const question = `Portal password of ${username ?? ''}: `;
  const credentials = username && {
    username,
    password: await readSecret(cli.terminal, { fromStdin: passwordStdin, question }),
  };
  const request = { name, email, iec, companyName: company, address, credentials: credentials || undefined, by };
  const outcome = await client.onboard(request, exporterWaiting(cli, wait));
  printExporter(cli, outcome);
  return exitCodeOfExporter(outcome);
}

async function onboardMany(cli: Cli, list: string, { by, wait, result }: OnboardOptions): Promise<ExitCode> {
  const { onboardList } = await import('../../../exporters/onboard-list.js');
  const progress = cli.terminal.progress();
  const { outcomes, resultFile } = await onboardList(() => cli.client(), list, {
    by,
    wait,
    result,
    onProgress: (all) => progress.say(countsText(all)),
  });
  cli.terminal.result({ exporters: outcomes, counts: countsOf(outcomes), resultFile }, () => [
    table(
      [right('Row'), 'E-mail', 'State', optional('Exporter'), right('IRMs'), 'Message'],
      outcomes.map((outcome) => [
        outcome.row,
        outcome.email,
        stateCell(outcome.state),
        outcome.exporterId,
        outcome.irmCount,
        outcome.message,
      ]),
    ),
    `${countsText(outcomes)}. Written to ${resultFile}`,
  ]);
  if (outcomes.some(({ state }) => state === 'failed')) return EXIT.unexpected;
  if (outcomes.some(({ state }) => state === 'refused')) return EXIT.refused;
  return outcomes.some(({ state }) => state === 'needs_credentials') ? EXIT.waiting : EXIT.done;
}

function countsOf(outcomes: readonly OnboardedRow[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of outcomes) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

function countsText(outcomes: readonly OnboardedRow[]): string {
  const counts = Object.entries(countsOf(outcomes)).map(([state, count]) => `${count} ${state}`);
  return `${outcomes.length} exporters: ${counts.join(', ')}`;
}

export function addCredentialsCommand(program: Command, bind: Bind): void {
  program
    .command('credentials')
    .summary('submit new portal credentials')
    .description("Submit an exporter's new portal credentials; filings that wait for them continue by themselves.")
    .argument('<exporter>', 'id or e-mail of the exporter')
    .requiredOption('--username <user>', "user name at the authority's portal")
    .option('--password-stdin', 'read the portal password from standard input; otherwise it is asked for')
    .addOption(byOption())
    .option('--wait', 'wait until they are checked')
    .addHelpText(
      'after',
      '\nExample:\n  $ ebrc credentials accounts@asha.example --username asha --password-stdin --wait < password.txt',
    )
    .action(
      bind<{
        username: string;
        passwordStdin?: boolean;
        by: string;
        wait?: boolean;
      }>(async (cli, [exporter = ''], { username, passwordStdin = false, by, wait }) => {
        const client = await cli.client();
        const question = `New portal password of ${username}: `;
        const password = await readSecret(cli.terminal, { fromStdin: passwordStdin, question });
        const outcome = await client.updateCredentials(
          exporter,
          { username, password },
          { ...exporterWaiting(cli, wait), by },
        );
        printExporter(cli, outcome);
        return exitCodeOfExporter(outcome);
      }),
    );
}

function exporterWaiting(cli: Cli, wait: boolean | undefined): ExporterWait {
  const { terminal } = cli;
  if (wait)
    cli.onInterrupt(() => 'The onboarding continues; only this command ended. `ebrc exporters` shows its state.');
  const progress = terminal.progress();
  return {
    wait: wait ?? false,
    onProgress: (state) => progress.say(progressText(state)),
    onNotice: (notice) => terminal.note(notice),
  };
}

function progressText({ state, activatesAt, irmCount, message }: ExporterProgress): string {
  const parts: string[] = [state];
  if (state === 'activation_pending' && activatesAt && !message)
    parts.push(`access opens at ${localTime(activatesAt)}`);
  if (irmCount !== null) parts.push(counted(irmCount, 'IRM'));
  return [parts.join(', '), message].filter(Boolean).join(': ');
}

function printExporter({ terminal }: Cli, { notice, ...progress }: ExporterOutcome): void {
  terminal.result(progress, () => {
    const head = fields([
      ['Exporter', progress.exporterId],
      ['State', stateCell(progress.state)],
      ['Access opens at', localTime(progress.activatesAt)],
      ['IRMs', progress.irmCount],
      ['Message', progress.message],
      ['Workflow', progress.workflowId],
    ]);
    // The message may be one of the errors; it is printed once.
    const problems = describeProblems(progress.errors.filter(({ message }) => message !== progress.message));
    const again = `Next: \`ebrc credentials ${progress.exporterId ?? 'EXPORTER'} --username USER --wait\` with credentials that the portal takes.`;
    return apart([head, problems, progress.state === 'needs_credentials' && again]);
  });
  if (notice) terminal.note(notice);
}

function exitCodeOfExporter({ state }: ExporterProgress): ExitCode {
  if (state === 'refused') return EXIT.refused;
  return state === 'needs_credentials' ? EXIT.waiting : EXIT.done;
}
