import { type Argument, Command, CommanderError, Help, Option } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCli, WAIT_FOR_LEDGER_MS, type Cli, type CliOptions, type Bind } from './context';
import { addCodecServerCommand, addSandboxCommand, addServeCommand } from './commands/operations/serve';
import { addCheckCommand, addCorrectCommand, addFileCommand, addTemplateCommand } from './commands/filings/file';
import { addCredentialsCommand, addOnboardCommand } from './commands/exporters/onboard';
import { addDeployCommand, addSchedulesCommand } from './commands/operations/deploy';
import { addDoctorCommand, addLedgerCommands } from './commands/operations/ledger';
import { addExporterCommands, addIrmsCommand } from './commands/exporters/exporters';
import { addDraftCommand, addExtractCommand } from './commands/filings/drafts';
import { addCertificateCommands, addEvidenceCommand, addListCommand, addShowCommand } from './commands/filings/list';
import { addOperatorCommands, addResumeCommand } from './commands/filings/operate';
import { addInvoiceCommands, addReconcileCommands, addReportCommand } from './commands/operations/reconcile';
import { addKeysCommand } from './commands/operations/keys';
import { addPrincipalCommands, addVaultCommand } from './commands/operations/principals';
import { addWebhookCommands } from './commands/operations/webhooks';
import { EXIT, UsageError, type ExitCode } from '../errors';
import { createTerminal, type Streams, type Terminal } from './terminal';
import { printableLines } from '../../domain/text';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ABOUT = `Files electronic Bank Realization Certificates: onboard an exporter, file its remittances, collect the certificates.

Exit codes: 0 done; 1 unexpected; 2 usage or configuration; 3 the input was refused; 4 waits for a person.`;

const EXAMPLES = `
Examples:
  $ ebrc onboard --name Asha --email accounts@asha.example --username asha --password-stdin --wait < password.txt
  $ ebrc file remittances.json --exporter accounts@asha.example --declaration Y --wait
  $ ebrc list --attention
  $ ebrc show INV-2026-07 --json`;

const NO_COMMAND = 'Name a command. `ebrc --help` lists them, with examples.';

/** Runs one command line, given without the program's name, and returns its exit code. */
export async function runProgram(
  argv: readonly string[],
  streams: Streams,
  options: CliOptions = {},
): Promise<ExitCode> {
  const broken = [streams.stdout, streams.stderr].map(watchWrites);
  const terminal = createTerminal(streams, argv.includes('--json'));
  const cli = createCli(terminal, options);
  let code: ExitCode = EXIT.done;
  const bind: Bind =
    (handler) =>
    async (...parameters) => {
      // Commander passes the declared arguments, then the options, then the command.
      const command = parameters.pop() as Command;
      parameters.pop();
      const run = () => handler(cli, parameters as string[], command.optsWithGlobals());
      code = (await retryThroughRestart(cli, run, options)) ?? EXIT.done;
    };
  const program = buildProgram(bind, terminal);
  try {
    await program.parseAsync([...argv], { from: 'user' });
  } catch (error) {
    code = await failed(error);
  } finally {
    terminal.end();
    await cli.close();
  }
  return (await firstBroken(streams, broken)) ? EXIT.unexpected : code;

  async function failed(error: unknown): Promise<ExitCode> {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.done;
    // A broken output stream is reported below; a list that waits for the stream throws the same error.
    if (broken.flat().includes(error as Error)) return EXIT.done;
    // No command was named, and commander has printed the help.
    const { reportError } = await import('./report-error.js');
    if (!(error instanceof CommanderError) || error.code !== 'commander.help')
      return reportError(error, terminal, meantCommand(program, argv));
    return terminal.json ? reportError(new UsageError(NO_COMMAND), terminal) : EXIT.usage;
  }
}

/** Repeats a command if PostgreSQL restarts during it, provided that it has only read and printed nothing yet. */
async function retryThroughRestart<T>(
  cli: Cli,
  run: () => Promise<T>,
  { waitForLedgerMs = WAIT_FOR_LEDGER_MS }: CliOptions,
): Promise<T> {
  for (const until = Date.now() + waitForLedgerMs; ;) {
    try {
      return await run();
    } catch (error) {
      // Compared by name, because loading the driver would slow down every command.
      const lost = error instanceof Error && error.name === 'LedgerUnavailableError';
      if (!lost || !cli.onlyRead() || cli.terminal.hasPrinted() || Date.now() >= until) throw error;
      cli.terminal.note(`${error.message} Trying again …`);
      await sleep(1_000);
    }
  }
}

/** @returns the stream's errors, as they occur */
function watchWrites(stream: Streams['stdout']): NodeJS.ErrnoException[] {
  const broken: NodeJS.ErrnoException[] = [];
  stream.on('error', (error: NodeJS.ErrnoException) => broken.push(error));
  return broken;
}

/** Whether the output could not be written, which is reported once. A closed pipe (`ebrc list | head`) is no error. */
async function firstBroken(
  { stdout, stderr }: Pick<Streams, 'stdout' | 'stderr'>,
  broken: readonly NodeJS.ErrnoException[][],
): Promise<boolean> {
  await new Promise<void>((resolve) => stdout.write('', () => setImmediate(resolve)));
  const error = broken.flat().find(({ code }) => code !== 'EPIPE');
  if (error) stderr.write(`Error: the output cannot be written: ${error.message}\n`);
  return error !== undefined;
}

function buildProgram(bind: Bind, { stdout, stderr, json }: Terminal): Command {
  const version = packageVersion();
  const program = new Command('ebrc')
    .description(ABOUT)
    .version(json ? JSON.stringify({ version }) : version, '--version', 'print the version')
    .option('--json', 'print one JSON document on standard output, and nothing else there')
    .addHelpText('after', EXAMPLES)
    .configureHelp({ ...helpStyle(helpWidth(stdout)), ...(json && { formatHelp: helpAsJson }) })
    .configureOutput({
      // With --json the document is the only output, so the examples are left out.
      writeOut: (text) =>
        json
          ? text.startsWith('{') && stdout.write(`${text.trimEnd()}\n`)
          : stdout.write(wrappedHelp(text, helpWidth(stdout))),
      writeErr: (text) => stderr.write(wrappedHelp(text, helpWidth(stderr))),
      // Reported like all other errors, as JSON if requested.
      outputError: () => undefined,
    })
    .exitOverride();
  for (const [heading, commands] of Object.entries(COMMAND_GROUPS)) {
    program.commandsGroup(heading);
    for (const add of commands) add(program, bind);
  }
  program.helpCommand('help [command]', 'show the help of a command');
  return program;
}

/** The commands as grouped in the help, in the order in which users need them. */
const COMMAND_GROUPS: Readonly<Record<string, readonly ((program: Command, bind: Bind) => void)[]>> = {
  'Exporters:': [addOnboardCommand, addCredentialsCommand, addExporterCommands, addIrmsCommand],
  'Filings:': [
    addTemplateCommand,
    addCheckCommand,
    addFileCommand,
    addShowCommand,
    addListCommand,
    addOperatorCommands,
    addCorrectCommand,
    addResumeCommand,
    addCertificateCommands,
    addEvidenceCommand,
  ],
  'Drafts from documents:': [addExtractCommand, addDraftCommand],
  'Reconciliation and reports:': [addReconcileCommands, addReportCommand, addInvoiceCommands],
  'Operations:': [
    addDoctorCommand,
    addSchedulesCommand,
    addLedgerCommands,
    addVaultCommand,
    addKeysCommand,
    addServeCommand,
    addPrincipalCommands,
    addWebhookCommands,
    addDeployCommand,
    addCodecServerCommand,
    addSandboxCommand,
  ],
};

/** Longer lines are hard to read on any terminal. */
const MAX_HELP_WIDTH = 100;

/** A narrow terminal would break longer lines inside words. */
const helpWidth = ({ isTTY, columns }: Streams['stderr']): number =>
  Math.min(MAX_HELP_WIDTH, (isTTY && columns) || MAX_HELP_WIDTH);

const helpStyle = (width: number) => ({
  showGlobalOptions: true,
  helpWidth: width,
  optionDescription(option: Option): string {
    const text = Help.prototype.optionDescription.call(this, option);
    return option.mandatory ? `${text} (required)` : text;
  },
});

/** A command's help as one JSON document. */
function helpAsJson(command: Command, help: Help): string {
  const described = (part: Option | Argument) => ({
    description: part.description,
    required: part instanceof Option ? part.mandatory : part.required,
    default: part.defaultValue as unknown,
  });
  return JSON.stringify({
    name: command.name(),
    description: help.commandDescription(command),
    usage: help.commandUsage(command),
    arguments: help.visibleArguments(command).map((argument) => ({ name: argument.name(), ...described(argument) })),
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map((option) => ({
      flags: option.flags,
      ...described(option),
    })),
    commands: help
      .visibleCommands(command)
      .map((subcommand) => ({ name: subcommand.name(), description: help.subcommandDescription(subcommand) })),
  });
}

/** Wraps too wide paragraphs of a help text. Indented lists and examples stay as they are. */
function wrappedHelp(text: string, width: number): string {
  return printableLines(text).replace(/(?:^\S.*(?:\n|$))+/gmu, (paragraph) => {
    const lines = paragraph.trimEnd().split('\n');
    if (lines.every((line) => line.length <= width)) return paragraph;
    return `${new Help().boxWrap(lines.join(' '), width)}${paragraph.endsWith('\n') ? '\n' : ''}`;
  });
}

/** The command that a command line names, such as `ebrc findings acknowledge`. */
function meantCommand(program: Command, argv: readonly string[]): string {
  let command = program;
  const names = [program.name()];
  for (const word of argv) {
    const next = command.commands.find((subcommand) => subcommand.name() === word);
    if (!next) continue;
    command = next;
    names.push(word);
  }
  return names.join(' ');
}

/** The package's version. package.json is three folders up, in the sources and in the build. */
function packageVersion(): string {
  const text = readFileSync(join(__dirname, '..', '..', '..', 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
