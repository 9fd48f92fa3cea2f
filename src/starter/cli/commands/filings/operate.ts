import { Option, type Command } from 'commander';
import { EXIT, UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { filingName } from '../../../../domain/names';
import { byOption, printOutcome, waiting } from '../options';
import type { ResolvedAll } from '../../../filings/decide';
import type { ResumedRun } from '../../../filings/resume';
import { table, type Page } from '../../page';

interface OperatorOptions {
  by: string;
  note?: string;
  wait?: boolean;
}

interface ResolveOptions extends OperatorOptions {
  as: 'filed' | 'not-filed';
  requestId?: string;
  certificate?: { row: number; eBRCNumber: string }[];
  end?: boolean;
  all?: boolean;
}

/** `17=EBRC123`, appended to the certificates given before. @throws UsageError */
function certificateOf(text: string, before: { row: number; eBRCNumber: string }[] = []) {
  const [, row, eBRCNumber] = /^(\d+)=(\S+)$/u.exec(text) ?? [];
  if (!row || !eBRCNumber) throw new UsageError(`--certificate ${text}: give ROW=NUMBER, such as 17=EBRC0042.`);
  return [...before, { row: Number(row), eBRCNumber }];
}

/** Refuses options that belong to the other answer. @throws UsageError */
function refuseOtherOptions({ as, certificate, requestId, end, all }: Omit<ResolveOptions, 'by'>): void {
  const other = as === 'filed' ? { end, all } : { certificate, 'request-id': requestId };
  const [option] = Object.entries(other).find(([, value]) => value !== undefined) ?? [];
  if (option === undefined) return;
  const why = as === 'filed' ? 'not-filed.' : 'filed: what was not filed has none.';
  throw new UsageError(`--${option} goes with --as ${why}`);
}

/** The operator commands `approve`, `resolve` and `abandon`. */
export function addOperatorCommands(program: Command, bind: Bind): void {
  program
    .command('approve')
    .summary('approve a filing that waits for approval')
    .description('Approve a filing that waits for approval. Its maker cannot approve it.')
    .argument('<filing>', 'filing id or reference')
    .option('--note <text>', 'for the record')
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText('after', '\nExample:\n  $ EBRC_TOKEN=ebrc_test_… ebrc approve JULY-2026')
    .action(
      bind(async (cli, [filing = ''], { by, note, wait }: OperatorOptions) => {
        const client = await cli.client();
        return printOutcome(cli, await client.approve(filing, { by, note }, waiting(cli, wait)));
      }),
    );
  program
    .command('resolve')
    .summary('answer whether a submission of unknown outcome was filed')
    .description('Answer whether a submission of unknown outcome was filed, after checking the portal.')
    .argument('[filing]', 'filing id or reference')
    .addOption(
      new Option('--as <outcome>', 'filed: the service has it; not-filed: it does not, send it again')
        .choices(['filed', 'not-filed'])
        .makeOptionMandatory(),
    )
    .option('--request-id <id>', 'with --as filed: the request that it was filed under')
    .option(
      '--certificate <row=number>',
      'with --as filed: the certificate of a row; two persons have to name the same',
      certificateOf,
    )
    .option('--end', 'with --as not-filed: end the filing, instead of sending it again')
    .option('--all', 'with --as not-filed: every filing that asks and has no evidence against it')
    .requiredOption('--note <text>', 'how you know, for the record')
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText(
      'after',
      '\nThe answer is about the attempt that `ebrc show` shows, and the evidence that it shows. not-filed is accepted once the' +
        '\nsettle time (EBRC_SETTLE_AFTER) is over, by two persons where anything that was found speaks against it.' +
        '\n\nExamples:\n  $ ebrc resolve JULY-2026 --as filed --request-id REQ123 --note "seen on the portal"' +
        '\n  $ ebrc resolve JULY-2026 --as not-filed --note "not on the portal, asked the service"' +
        '\n  $ ebrc resolve --all --as not-filed --note "the outage of this morning"',
    )
    .action(
      bind(async (cli, [filing], { note = '', wait, by, ...options }: ResolveOptions) => {
        const { as, certificate: certificates, requestId, end: ends, all = false } = options;
        if ((filing === undefined) !== all) throw new UsageError('Name a filing, or give --all.');
        refuseOtherOptions(options);
        const client = await cli.client();
        if (filing !== undefined) {
          const args = { as, by, note, requestId, ends, certificates };
          return printOutcome(cli, await client.resolve(filing, args, waiting(cli, wait)));
        }
        const done = await client.resolveAll({ by, note });
        cli.terminal.result(done, () => resolvedTable(done));
        return EXIT.done;
      }),
    );
  program
    .command('abandon')
    .summary('give up a filing')
    .description(
      'Give up a filing that was not sent. One that may have been sent is answered with `ebrc resolve` instead.',
    )
    .argument('<filing>', 'filing id or reference')
    .requiredOption('--note <text>', 'why, for the record')
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc abandon JULY-2026 --note "wrong invoice"')
    .action(
      bind(async (cli, [filing = ''], { note = '', by }: OperatorOptions) => {
        const client = await cli.client();
        const outcome = await client.abandon(filing, { note, by });
        printOutcome(cli, outcome);
        // Ended without certificates, as requested, so the exit code is 0.
      }),
    );
}

function resolvedTable({ answered, left }: ResolvedAll): Page {
  if (answered.length + left.length === 0) return 'No filing asks whether it was filed.';
  return table(
    ['Filing', 'Answered'],
    [
      ...answered.map((filing) => [filingName(filing), filing.waits ?? 'yes']),
      ...left.map((filing) => [filingName(filing), `no: ${filing.why}`]),
    ],
  );
}

/** `resume`: continues filings whose workflow has ended. */
export function addResumeCommand(program: Command, bind: Bind): void {
  program
    .command('resume')
    .summary('continue filings whose workflow was ended or fails')
    .description(
      'Continue a filing whose workflow was ended, is missing, or fails at every try: a new run continues it from the ledger, and nothing ' +
        'is sent twice by that. A filing that was sent is resumed automatically; one that was not waits for this command, because ' +
        'somebody may have stopped it on purpose.',
    )
    .argument('[filing]', 'filing id or reference')
    .option('--all', 'every filing that has not ended and whose workflow does not run, or fails')
    .addHelpText('after', '\nExample:\n  $ ebrc resume JULY-2026')
    .action(
      bind(async (cli, [filing], { all = false }: { all?: boolean }) => {
        if ((filing === undefined) !== all) throw new UsageError('Name a filing, or give --all.');
        const client = await cli.client();
        const runs = filing === undefined ? await client.resumeAll() : [await client.resume(filing)];
        cli.terminal.result(runs, () => runsTable(runs));
      }),
    );
}

function runsTable(runs: readonly ResumedRun[]): Page {
  if (runs.length === 0) return 'Every open filing has a workflow that runs.';
  return table(
    ['Filing', 'Reference', 'State', 'Resumed'],
    runs.map(({ filingId, reference, state, resumed, message }) => [
      filingId,
      reference,
      state,
      resumed ? `yes${message ? `: ${message}` : ''}` : message,
    ]),
  );
}
