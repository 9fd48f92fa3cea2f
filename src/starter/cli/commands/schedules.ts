import { Argument, type Command } from 'commander';
import type { ScheduleView } from '../../schedules';
import type { Cli } from '../context';
import type { Bind } from '../program';
import { table } from '../terminal';

const HELP = `
  apply   make the schedules, or bring them up to date
  list    show them
  delete  remove them

Refreshing the IRMs of every exporter runs once a day.

Example:
  $ ebrc schedules apply`;

export function addSchedulesCommand(program: Command, bind: Bind): void {
  program
    .command('schedules')
    .summary('make, show or remove the daily runs')
    .description('Make, show or remove the schedules of the daily runs on Temporal.')
    .addArgument(new Argument('<action>').choices(['apply', 'list', 'delete']))
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [action = 'list']) => {
        const schedules = await run(cli, action);
        cli.terminal.result(schedules, () =>
          schedules.length === 0
            ? 'No schedules.'
            : table(
                ['Schedule', 'Workflow', 'When', 'Next run', 'State'],
                schedules.map(({ scheduleId, workflow, when, nextRunAt, state }) => [
                  scheduleId,
                  workflow,
                  when,
                  nextRunAt,
                  state,
                ]),
              ),
        );
      }),
    );
}

async function run(cli: Cli, action: string): Promise<ScheduleView[]> {
  const { applySchedules, deleteSchedules, listSchedules } = await import('../../schedules.js');
  const { mode, taskQueue } = await cli.config('mode', 'temporal');
  const temporal = await cli.temporal();
  if (action === 'apply') return applySchedules({ temporal, mode, taskQueue });
  if (action === 'delete') return deleteSchedules({ temporal, mode });
  return listSchedules({ temporal, mode });
}
