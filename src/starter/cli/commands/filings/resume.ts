import type { Command } from 'commander';
import type { ResumedRun } from '../../../filings/resume';
import { UsageError } from '../../../errors';
import type { Bind } from '../../bind';
import { table, type Page } from '../../page';

/** `resume`: continues filings whose workflow was ended. */
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
