import type { Command } from 'commander';
import { EXIT } from '../../../errors';
import type { Bind } from '../../context';
import { table, toned } from '../../page';

const HELP = `
Checks the configuration, PostgreSQL (reachable, schema, rights, clock, keys of the stored passwords), Temporal (reachable, search
attributes, workers, schedules), the document store (usable, every send known) and the filing service (reachable, key, clock).
Run it with the environment of a worker. Exits with 1 if something is wrong.

Example:
  $ ebrc doctor`;

export function addDoctorCommand(program: Command, bind: Bind): void {
  program
    .command('doctor')
    .summary('check this installation')
    .description('Check configuration, links, rights, clocks and workers, and say what to do.')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli) => {
        const { examine } = await import('../../../doctor/doctor.js');
        const results = await examine(cli.env, () => cli.api(), cli.connectWithinMs);
        cli.terminal.result(results, () =>
          table(
            ['Check', '', 'Found', 'What to do'],
            results.map(({ check, ok, message, advice }) => [
              check,
              ok ? toned('ok', 'good') : toned('WRONG', 'bad'),
              message,
              advice,
            ]),
          ),
        );
        return results.every(({ ok }) => ok) ? EXIT.done : EXIT.unexpected;
      }),
    );
}
