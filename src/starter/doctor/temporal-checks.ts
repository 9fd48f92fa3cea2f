import type { Client } from '@temporalio/client';
import { EXTRACTION, queueOfClass, RATE_CLASSES, type Mode, SEARCH_ATTRIBUTES } from '../../domain/names';
import type { Config } from '../../config/config';
import { firstLine, UnreachableError } from '../errors';
import { listSchedules, readScheduleFile } from '../schedules';
import { connectTemporal } from '../connect';
import { pollersOf, versionsOf } from '../../temporal/workers-present';
import { checked, fine, wrong, type CheckResult } from './finding';

const APPLY = 'Create them: ebrc schedules apply (EBRC_SCHEDULES names a file of your own).';
const REACH = 'Start Temporal, or set TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and its TLS or API key to where it runs.';

/** Checks Temporal: reachable, namespace, search attributes, and workers on every queue. */
export async function temporalChecks(
  config: Pick<Config, 'temporal' | 'payloadKeys' | 'payloads' | 'taskQueue' | 'extraction'>,
  planned?: { mode: Mode; schedules: string },
  connectWithinMs?: number,
): Promise<CheckResult[]> {
  let client: Client;
  try {
    client = await connectTemporal(config, { withinMs: connectWithinMs });
  } catch (error) {
    return [wrong('temporal', error instanceof UnreachableError ? error.found : firstLine(error), REACH)];
  }
  const { namespace } = config.temporal;
  try {
    const link = await checked('temporal', `Create it, or set TEMPORAL_NAMESPACE. ${REACH}`, async () => {
      await client.workflowService.describeNamespace({ namespace });
      return fine('temporal', `reached, namespace ${namespace}`);
    });
    if (!link.ok) return [link];
    return [
      link,
      await checked('search attributes', REACH, () => checkSearchAttributes(client, namespace)),
      ...(await versionChecks(client, config.taskQueue)),
      await checked('workers', REACH, () => checkWorkers(client, config)),
      ...(planned ? [await checked('schedules', APPLY, () => checkSchedules(client, planned))] : []),
    ];
  } finally {
    await client.connection.close();
  }
}

async function checkSearchAttributes(client: Client, namespace: string): Promise<CheckResult> {
  const { customAttributes } = await client.connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in (customAttributes ?? {})));
  if (missing.length === 0) return fine('search attributes', 'all are registered');
  const create = missing.map(([name, type]) => `--name ${name} --type ${type}`).join(' ');
  const cloud = missing.map(([name, type]) => `--sa "${name}=${type}"`).join(' ');
  const advice =
    'A worker registers them if it has the right to; otherwise: ' +
    `temporal operator search-attribute create --namespace ${namespace} ${create}; in Temporal Cloud: ` +
    `tcld namespace search-attributes add --namespace ${namespace} ${cloud}`;
  return wrong('search attributes', `missing: ${missing.map(([name]) => name).join(', ')}`, advice);
}

async function checkSchedules(client: Client, { mode, schedules }: { mode: Mode; schedules: string }) {
  const wanted = (await readScheduleFile(schedules)).map(({ id }) => id);
  const there = await listSchedules({ temporal: client, mode }, wanted);
  const missing = wanted.filter((id) => !there.some((schedule) => schedule.id === `ebrc-${mode}-${id}`));
  if (missing.length > 0) return wrong('schedules', `missing: ${missing.join(', ')}`, APPLY);
  const paused = there.filter(({ state }) => state === 'paused').map(({ id }) => id);
  if (paused.length === 0) return fine('schedules', `${there.length} are active`);
  const advice = 'Resume them in the Temporal UI, or with: temporal schedule toggle --unpause';
  return wrong('schedules', `paused: ${paused.join(', ')}`, advice);
}

/** Whether the version that gets the work has a worker. Empty where workers have no versions. */
async function versionChecks(client: Client, taskQueue: string): Promise<CheckResult[]> {
  const { current, polling } = await versionsOf(client, taskQueue).catch(() => ({ current: null, polling: [] }));
  const builds = polling.map((build) => build ?? 'none');
  const others = builds.length > 0 ? `those that poll ${taskQueue} are of version ${builds.join(', ')}` : 'none polls';
  if (current === null) {
    const versioned = polling.length > 0 && polling.every((build) => build !== null);
    if (!versioned) return [];
    const message = `no version is current, so that workers with one get no work; ${others}`;
    return [wrong('version', message, `Make it current: ebrc deploy current --build-id ${builds[0]}`)];
  }
  if (polling.includes(current)) return [fine('version', `${current} is current, and has a worker`)];
  const message = `version ${current} is current and has no worker; ${others}`;
  const advice =
    'Start a worker of it, make another version current (`ebrc deploy current --build-id …`), or none: `ebrc deploy unset`.';
  return [wrong('version', message, advice)];
}

async function checkWorkers(
  client: Client,
  { taskQueue, extraction }: Pick<Config, 'taskQueue' | 'extraction'>,
): Promise<CheckResult> {
  const classes = [...RATE_CLASSES, ...(extraction ? ([EXTRACTION] as const) : [])];
  const queues = [
    { name: taskQueue, type: 'workflow' as const },
    ...classes.map((rateClass) => ({ name: queueOfClass(taskQueue, rateClass), type: 'activity' as const })),
  ];
  const polled = await Promise.all(queues.map(({ name, type }) => pollersOf(client, name, type)));
  const idle = queues.filter((_queue, index) => polled[index] === 0).map(({ name }) => name);
  if (idle.length === 0) return fine('workers', `poll ${queues.length} task queues`);
  const all = idle.length === queues.length;
  const message = `no worker polls ${all ? taskQueue : idle.join(', ')}`;
  const advice = 'Start one: node dist/worker.js, with the same EBRC_TASK_QUEUE and TEMPORAL_NAMESPACE.';
  return wrong('workers', message, advice);
}
