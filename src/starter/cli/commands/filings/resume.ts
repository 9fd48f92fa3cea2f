import type { Command } from 'commander';
import type { ResumedRun } from '../../../filings/resume';
import { UsageError } from '../../../errors';
import type { Bind } from '../../bind';
import { table } from '../../terminal';

/** `resume`: lets filings go on whose workflow somebody ended. */
export function addResumeCommand(program: Command, bind: Bind): void {
  program
    .command('resume')
    .summary('let filings go on whose workflow was ended')
    .description(
      'Let a filing go on whose workflow was ended, or is gone: a new run takes it up from the ledger. One that was sent is followed by ' +
        'itself; one that was not waits for this command, because somebody may have stopped it on purpose.',
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

function runsTable(runs: readonly ResumedRun[]): string {
  if (runs.length === 0) return 'Every open filing has a workflow that runs.';
  return table(
    ['Filing', 'Reference', 'State', 'Resumed'],
    runs.map(({ filingId, reference, state, message }) => [filingId, reference, state, message ?? 'yes']),
  );
}
