import { Argument, type Command } from 'commander';
import { counted } from '../../../../domain/text';
import { EXIT, UsageError, type ExitCode } from '../../../errors';
import type { Bind, Cli } from '../../context';
import { apart, localTime, table, optional, type Page } from '../../page';
import type { Client } from '@temporalio/client';
import { isGrpcStatus } from '../../../../temporal/grpc-status';
import type { Mode } from '../../../../domain/names';
import type { ScheduleView } from '../../../schedules';

const HELP = `
  check    replay the histories of all open workflows on this build, before it becomes current;
           exit 1 names those that it cannot go on with. Run it with the build's program, also to go
           back
  current  send new workflows, and the next tasks of old ones, to the version of EBRC_BUILD_ID
           (or --build-id)
  unset    send them to workers without a version again
  status   show the versions: which is current, which still drain

Workers with EBRC_DEPLOYMENT and EBRC_BUILD_ID take no work until their version is current; no
worker makes itself current.

Examples:
  $ ebrc deploy check
  $ EBRC_DEPLOYMENT=ebrc ebrc deploy current --build-id 2026-11-22.1
  $ EBRC_DEPLOYMENT=ebrc ebrc deploy status`;

export function addDeployCommand(program: Command, bind: Bind): void {
  program
    .command('deploy')
    .summary('check a build, set or show the current worker version')
    .description(
      'Check that a build can go on with all open workflows; set or show which version of the workers takes the work.',
    )
    .addArgument(new Argument('<action>').choices(['check', 'current', 'unset', 'status']))
    .option('--build-id <id>', 'the version, instead of EBRC_BUILD_ID')
    .addHelpText('after', HELP)
    .action(
      bind(async (cli, [action], { buildId }: { buildId?: string }) => {
        if (action === 'check') return check(cli);
        const { deployment: configured } = await cli.config('deployment');
        const { name, buildId: own } = configured ?? {};
        if (name === undefined) throw new UsageError('Set EBRC_DEPLOYMENT to the name that the workers use.');
        const temporal = await cli.temporal();
        if (action === 'current') {
          const version = buildId ?? own;
          if (version === undefined) throw new UsageError('Set EBRC_BUILD_ID, or give --build-id.');
          await makeCurrent(temporal, { deployment: name, buildId: version });
        }
        // The empty version stands for workers without one.
        if (action === 'unset') await makeCurrent(temporal, { deployment: name, buildId: '' });
        const versions = await readDeployment(temporal, name);
        cli.terminal.result(versions, () =>
          table(
            ['Version', 'State', 'Since'],
            versions.map((build) => [build.buildId, build.state, localTime(build.createdAt)]),
          ),
        );
        return EXIT.done;
      }),
    );
}

const SAY_EVERY = 50;

async function check(cli: Cli): Promise<ExitCode> {
  const { replayOpenRuns, silenceRuntime } = await import('../../../../worker/replay.js');
  const { taskQueue, payloadKeys, payloads } = await cli.config('temporal');
  silenceRuntime();
  const temporal = await cli.temporal();
  const progress = cli.terminal.progress();
  let replayed = 0;
  const runs = await replayOpenRuns({ temporal, taskQueue, payloadKeys, payloads }, () => {
    replayed += 1;
    if (replayed % SAY_EVERY === 0) progress.say(`${replayed} open workflows replayed`);
  });
  const failed = runs.filter(({ error }) => error !== null);
  cli.terminal.result({ replayed: runs.length, failed }, () =>
    failed.length === 0
      ? `This build can go on with all ${counted(runs.length, 'open workflow')}.`
      : apart([
          table(
            ['Workflow', 'Type', 'Under this build', 'Why'],
            failed.map(({ workflowId, workflowType, replaced, error }) => [
              ...[workflowId, workflowType, replaced ? 'replaced from the ledger' : 'stands'],
              error,
            ]),
          ),
          `This build cannot go on with ${failed.length} of ${counted(runs.length, 'open workflow')}: "rolling upgrade and rollback" in docs/operations.md says what to do.`,
        ]),
  );
  return failed.length === 0 ? EXIT.done : EXIT.unexpected;
}

/** `temporal.api.enums.v1.WorkerDeploymentVersionStatus`. */
const STATES = ['unknown', 'inactive', 'current', 'ramping', 'draining', 'drained'];

/** @throws UsageError if no worker of the deployment has ever polled */
async function readDeployment(client: Client, deployment: string) {
  const { namespace } = client.options;
  const { workerDeploymentInfo } = await client.workflowService
    .describeWorkerDeployment({ namespace, deploymentName: deployment })
    .catch((error: unknown) => {
      throw notFound(
        error,
        `No worker of the deployment ${deployment} has polled yet. Start one with EBRC_DEPLOYMENT set.`,
      );
    });
  const currentId = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
  return (workerDeploymentInfo?.versionSummaries ?? [])
    .map(({ deploymentVersion, status, createTime }) => {
      const buildId = deploymentVersion?.buildId ?? '';
      const seconds = Number(createTime?.seconds ?? 0);
      return {
        deployment,
        buildId,
        /** Whether new workflows, and the next tasks of running ones, go to this version. */
        current: buildId === currentId,
        /** Temporal's name of the status. */
        state: STATES[status ?? 0] ?? 'unknown',
        createdAt: seconds > 0 ? new Date(seconds * 1_000).toISOString() : null,
      };
    })
    .sort((one, other) => (one.createdAt ?? '').localeCompare(other.createdAt ?? ''));
}

/** Temporal refuses a version that does not poll every queue of the current one. @throws UsageError: none has polled */
async function makeCurrent(client: Client, { deployment, buildId }: { deployment: string; buildId: string }) {
  const { namespace, identity } = client.options;
  const request = { namespace, deploymentName: deployment, buildId, identity };
  await client.workflowService.setWorkerDeploymentCurrentVersion(request).catch((error: unknown) => {
    throw notFound(error, `No worker of ${deployment} with build id ${buildId} has polled yet. Start one first.`);
  });
}

function notFound(error: unknown, message: string): unknown {
  if (!isGrpcStatus(error, 'NOT_FOUND', 'FAILED_PRECONDITION')) return error;
  const { details } = error as { details?: string };
  return new UsageError(details ? `${message} (${details})` : message);
}

const SCHEDULES_HELP = `
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
      'Create, show or remove the schedules on Temporal: IRM refresh, reconciliation, overdue filings, PDF healing, the daily report.',
    )
    .addArgument(new Argument('<action>').choices(['apply', 'list', 'delete']))
    .addHelpText('after', SCHEDULES_HELP)
    .action(
      bind(async (cli, [action = 'list']) => {
        const schedules = await run(cli, action);
        const { mode } = await cli.config('mode');
        cli.terminal.result(schedules, () => schedulesTable(schedules, mode));
      }),
    );
}

async function run(cli: Cli, action: string): Promise<ScheduleView[]> {
  const { applySchedules, deleteSchedules, listSchedules, readScheduleFile } = await import('../../../schedules.js');
  const { mode, taskQueue, schedules } = await cli.config('mode', 'temporal', 'schedules');
  // Read first, so that a mistake in it is reported before anything is changed.
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
