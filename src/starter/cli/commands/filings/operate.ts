import { Option, type Command } from 'commander';
import { EXIT, UsageError } from '../../../errors';
import type { Bind } from '../../context';
import { byOption, printOutcome, several, waiting } from '../options';
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
  rows?: number[];
  certificate?: { row: number; eBRCNumber: string }[];
  notOurs?: string[];
  unseen?: boolean;
}

/** `17,20` as numbers. @throws UsageError */
function rowNumbers(text: string): number[] {
  const rows = text.split(',').map((row) => row.trim());
  if (!rows.every((row) => /^[1-9]\d{0,6}$/u.test(row)))
    throw new UsageError(`Rows ${text}: give row numbers such as 17,20.`);
  return rows.map(Number);
}

/** `17=EBRC123`, appended to the certificates given before. @throws UsageError */
function certificateOf(text: string, before: { row: number; eBRCNumber: string }[] = []) {
  const [, row, eBRCNumber] = /^(\d+)=(\S+)$/u.exec(text) ?? [];
  if (!row || !eBRCNumber) throw new UsageError(`--certificate ${text}: give ROW=NUMBER, such as 17=EBRC0042.`);
  return [...before, { row: Number(row), eBRCNumber }];
}

/** Refuses options that belong to the other answer. @throws UsageError */
function refuseOtherOptions(given: Omit<ResolveOptions, 'by'>): void {
  const { as, certificate, unseen, notOurs, rows } = given;
  const other = as === 'filed' ? { unseen, 'not-ours': notOurs, rows } : { certificate };
  const [option] = Object.entries(other).find(([, value]) => value !== undefined) ?? [];
  if (option === undefined) return;
  const why = as === 'filed' ? 'not-filed.' : 'filed: what was not filed has none.';
  throw new UsageError(`--${option} goes with --as ${why}`);
}

/** The operator commands `approve`, `resolve`, `permit`, `withdraw` and `abandon`. */
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
    .argument('<filing>', 'filing id or reference')
    .addOption(
      new Option('--as <outcome>', 'filed: the service has it; not-filed: it does not, send it again')
        .choices(['filed', 'not-filed'])
        .makeOptionMandatory(),
    )
    .option('--request-id <id>', 'the request that it was filed under, or none of whose rows was filed')
    .option(
      '--certificate <row=number>',
      'with --as filed: the certificate of a row; two persons have to name the same',
      certificateOf,
    )
    .option('--rows <rows>', 'with --as not-filed of a request: these rows alone', rowNumbers)
    .option(
      '--not-ours <number>',
      'with --as not-filed: this certificate, or named request, is another filing’s; two persons have to name it',
      several,
    )
    .option('--unseen', 'with --as not-filed: answer although the certificates cannot be read; takes two persons')
    .requiredOption('--note <text>', 'how you know, for the record')
    .addOption(byOption())
    .option('--wait', 'wait for the certificates')
    .addHelpText(
      'after',
      '\nThe answer applies to the attempt that `ebrc show` shows. not-filed is accepted after the settle window (EBRC_SETTLE_AFTER),' +
        '\nby two persons where an IRM was used since the send and no certificate accounts for it.' +
        '\n\nExamples:\n  $ ebrc resolve JULY-2026 --as filed --request-id REQ123 --note "seen on the portal"' +
        '\n  $ ebrc resolve JULY-2026 --as not-filed --note "not on the portal, asked the service"',
    )
    .action(
      bind(async (cli, [filing = ''], { note = '', wait, by, as, certificate, ...options }: ResolveOptions) => {
        const { requestId, rows, notOurs, unseen } = options;
        refuseOtherOptions({ as, certificate, ...options });
        const client = await cli.client();
        const args = { as, by, note, requestId, rows, notOurs, unseen, certificates: certificate };
        return printOutcome(cli, await client.resolve(filing, args, waiting(cli, wait)));
      }),
    );
  program
    .command('permit')
    .summary('permit a duplicate beside rows of unknown outcome')
    .description(
      'Permit that rows are filed once more beside these ones, whose outcome is not known or which were abandoned after the ' +
        'send. Two persons have to permit the same rows; a filing then names them with --allow-duplicate.',
    )
    .argument('<filing>', 'filing id or reference of the rows in doubt')
    .argument('<rows>', 'rows of its file, such as 17,20')
    .requiredOption('--note <text>', 'how you know, for the record')
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc permit JULY-2026 17 --note "cancelled at the authority"')
    .action(
      bind(async (cli, [filing = '', rows = ''], { note = '', by }: OperatorOptions) => {
        const args = { rows: rowNumbers(rows), note, by };
        const { permit } = await import('../../../filings/permit.js');
        const outcome = await permit(await cli.filings(), filing, args);
        printOutcome(cli, outcome);
        return outcome.waitsForPerson ? EXIT.waiting : EXIT.done;
      }),
    );
  program
    .command('withdraw')
    .summary('take back your last statement about a filing')
    .description(
      'Take back your last answer or permission that was not carried out, such as one that waits for a second person.',
    )
    .argument('<filing>', 'filing id or reference')
    .requiredOption('--note <text>', 'why, for the record')
    .addOption(byOption())
    .addHelpText('after', '\nExample:\n  $ ebrc withdraw JULY-2026 --note "looked at another account"')
    .action(
      bind(async (cli, [filing = ''], { note = '', by }: OperatorOptions) => {
        const { withdraw } = await import('../../../filings/permit.js');
        printOutcome(cli, await withdraw(await cli.filings(), filing, { note, by }));
        return EXIT.done;
      }),
    );
  program
    .command('abandon')
    .summary('give up a filing')
    .description(
      'Give up a filing. If it was not sent, nothing remains of it; otherwise its rows cannot be filed again.',
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

/** `resume`: continues filings whose workflow has ended. */
export function addResumeCommand(program: Command, bind: Bind): void {
  program
    .command('resume')
    .summary('continue filings whose workflow was ended')
    .description(
      'Continue a filing whose workflow was ended, or is missing: a new run continues it from the ledger. A filing that was sent is resumed ' +
        'automatically; one that was not waits for this command, because somebody may have stopped it on purpose.',
    )
    .argument('[filing]', 'filing id or reference')
    .option('--all', 'every filing that has not ended and whose workflow does not run')
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
    runs.map(({ filingId, reference, state, message }) => [filingId, reference, state, message ?? 'yes']),
  );
}
