import type { Mode } from '../../../../domain/names';
import { Argument, type Command } from 'commander';
import type { ScheduleView } from '../../../schedules';
import type { Cli, Bind } from '../../context';
import { localTime, optional, table, type Page } from '../../page';

const HELP = `
  apply   create the schedules of the file, and remove those that it no longer names
  list    show them, with their next runs and the result of the last one
  delete  remove them all

The file is schedules.yaml of the package; EBRC_SCHEDULES names another one.

Examples:
  $ ebrc schedules apply
  $ EBRC_SCHEDULES=./our-schedules.yaml ebrc schedules apply
  $ ebrc schedules list --json`;

export function addSchedulesCommand(program: Command, bind: Bind): void {
  program
    .command('schedules')
    .summary('create, show or remove the schedules')
    .description(
      'Create, show or remove the schedules on Temporal: IRM refresh, reconciliation, PDF healing, the daily report, pruning.',
    )
    .addArgument(new Argument('<action>').choices(['apply', 'list', 'delete']))
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [action = 'list']) => {
        const schedules = await run(cli, action);
        const { mode } = await cli.config('mode');
        cli.terminal.result(schedules, () => schedulesTable(schedules, mode));
      }),
    );
}

async function run(cli: Cli, action: string): Promise<ScheduleView[]> {
  const { applySchedules, deleteSchedules, listSchedules } = await import('../../../schedules.js');
  const { readScheduleFile } = await import('../../../schedules.js');
  const { mode, taskQueue, schedules } = await cli.config('mode', 'temporal', 'schedules');
  // The file first: a mistake in it is reported before anything is changed.
  const planned = action === 'apply' ? await readScheduleFile(schedules) : [];
  const temporal = await cli.temporal();
  if (action === 'apply') return applySchedules({ temporal, mode, taskQueue, planned });
  if (action === 'delete') return deleteSchedules({ temporal, mode });
  return listSchedules({ temporal, mode });
}

function schedulesTable(schedules: readonly ScheduleView[], mode: Mode): Page {
  if (schedules.length === 0) return `No schedules in ${mode} mode. \`ebrc schedules apply\` makes them.`;
  return table(
    ['Schedule', optional('Workflow'), 'State', 'Next run', 'Last run', 'Outcome'],
    schedules.map(({ id, workflowType, state, next, lastResult }) => [
      id,
      workflowType,
      state,
      localTime(next[0]),
      localTime(lastResult?.startedAt),
      lastResult && (lastResult.error ? `${lastResult.status}: ${lastResult.error}` : lastResult.status),
    ]),
  );
}
