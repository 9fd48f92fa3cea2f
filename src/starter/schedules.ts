import { setTimeout as sleep } from 'node:timers/promises';
import { ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import type { Client, ScheduleDescription, ScheduleOptions } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { parseDuration } from '../domain/dates';
import type { Mode } from '../domain/names';
import { IN_PLAIN_WORDS, issueText } from '../domain/issues';
import { isGrpcStatus } from '../temporal/grpc-status';
import { z } from 'zod';
import { readYamlFile } from './input-files';

export interface ScheduleView {
  id: string;
  workflowType: string;
  state: 'active' | 'paused' | 'deleted';
  timezone: string | null;
  overlap: string | null;
  /** Start times of the next runs, ISO 8601. */
  next: string[];
  lastResult: {
    workflowId: string;
    runId: string;
    /** Temporal's name of the status: RUNNING, COMPLETED, FAILED, TERMINATED … */
    status: string;
    startedAt: string;
    closedAt: string | null;
    result: unknown;
    /** First line of the failure, if the run failed. */
    error: string | null;
  } | null;
  /** Runs that were not started because the previous one was still in progress, and runs that an outage prevented. */
  skipped: number;
  missed: number;
}

interface Scope {
  temporal: Client;
  mode: Mode;
}

const NEXT_SHOWN = 3;
const OVERLAP = {
  skip: ScheduleOverlapPolicy.SKIP,
  'buffer-one': ScheduleOverlapPolicy.BUFFER_ONE,
  allow: ScheduleOverlapPolicy.ALLOW_ALL,
} as const;

function prefixOf(mode: Mode): string {
  return `ebrc-${mode}-`;
}

function optionsOf(
  planned: PlannedSchedule,
  { mode, taskQueue }: { mode: Mode; taskQueue: string },
): Omit<ScheduleOptions, 'scheduleId'> {
  return {
    spec: { cronExpressions: [planned.cron], timezone: planned.timezone, jitter: parseDuration(planned.jitter) ?? 0 },
    policies: { overlap: OVERLAP[planned.overlap], catchupWindow: parseDuration(planned.catchupWindow) ?? undefined },
    action: {
      type: 'startWorkflow',
      workflowType: planned.workflowType,
      workflowId: `schedule/${mode}/${planned.id}`,
      taskQueue,
      args: [{ ...planned.input, mode }],
      staticSummary: `${planned.workflowType}, by schedule ${planned.id}`,
      staticDetails: `${planned.cron}, ${planned.timezone}, ${mode} mode. Change it in schedules.yaml: \`ebrc schedules apply\`.`,
    },
  };
}

/** Makes the schedules match the file. Paused schedules stay paused; applying the file again changes nothing. */
export async function applySchedules(
  scope: Scope & { taskQueue: string; planned: readonly PlannedSchedule[] },
): Promise<ScheduleView[]> {
  const { temporal, mode, planned } = scope;
  const wantedIds = new Set(planned.map(({ id }) => prefixOf(mode) + id));
  for (const each of planned) {
    const scheduleId = prefixOf(mode) + each.id;
    const wanted = optionsOf(each, scope);
    try {
      await temporal.schedule.create({ scheduleId, ...wanted });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      const handle = temporal.schedule.getHandle(scheduleId);
      await retryWhileBusy(() => handle.update((before) => ({ ...wanted, state: before.state })));
    }
  }
  const removed: ScheduleView[] = [];
  for (const scheduleId of await idsOf(scope)) {
    if (!wantedIds.has(scheduleId)) removed.push(...(await remove(temporal, scheduleId)));
  }
  return [...(await describeAll(temporal, [...wantedIds])), ...removed];
}

/** Lists this mode's schedules. @param planned ids to look up as well, because the server may not list a new one yet */
export async function listSchedules(scope: Scope, planned: readonly string[] = []): Promise<ScheduleView[]> {
  const plannedIds = planned.map((id) => prefixOf(scope.mode) + id);
  return describeAll(scope.temporal, [...new Set([...(await idsOf(scope)), ...plannedIds])].sort());
}

/** Removes this mode's schedules. @returns those that existed */
export async function deleteSchedules(scope: Scope): Promise<ScheduleView[]> {
  const deleted: ScheduleView[] = [];
  for (const scheduleId of await idsOf(scope)) deleted.push(...(await remove(scope.temporal, scheduleId)));
  return deleted;
}

async function idsOf({ temporal, mode }: Scope): Promise<string[]> {
  const ids: string[] = [];
  for await (const { scheduleId } of temporal.schedule.list()) {
    if (scheduleId.startsWith(prefixOf(mode))) ids.push(scheduleId);
  }
  return ids.sort();
}

async function describeAll(temporal: Client, ids: readonly string[]): Promise<ScheduleView[]> {
  const views = await Promise.all(ids.map((id) => describe(temporal, id)));
  return views.filter((view) => view !== null);
}

async function remove(temporal: Client, scheduleId: string): Promise<ScheduleView[]> {
  const view = await describe(temporal, scheduleId);
  if (!view) return [];
  await temporal.schedule.getHandle(scheduleId).delete();
  return [{ ...view, state: 'deleted', next: [] }];
}

async function describe(temporal: Client, scheduleId: string): Promise<ScheduleView | null> {
  try {
    const handle = temporal.schedule.getHandle(scheduleId);
    const { action, info, state, spec, policies } = await retryWhileBusy(() => handle.describe());
    return {
      id: scheduleId,
      workflowType: action.workflowType,
      state: state.paused ? 'paused' : 'active',
      timezone: spec.timezone ?? null,
      overlap: policies.overlap ?? null,
      next: info.nextActionTimes.slice(0, NEXT_SHOWN).map((time) => time.toISOString()),
      lastResult: await lastResult(temporal, info),
      skipped: info.numActionsSkippedOverlap,
      missed: info.numActionsMissedCatchupWindow,
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

const MAX_TRIES = 5;

/** Retries while the server is busy: a schedule is a workflow of the server, whose task may run late or be refused. */
async function retryWhileBusy<T>(ask: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await ask();
    } catch (error) {
      if (tried === MAX_TRIES || !isGrpcStatus(error, 'DEADLINE_EXCEEDED', 'FAILED_PRECONDITION')) throw error;
      await sleep(500 * tried);
    }
  }
}

async function lastResult(temporal: Client, { recentActions }: ScheduleDescription['info']) {
  const last = recentActions.at(-1);
  if (last?.action.type !== 'startWorkflow') return null;
  const { workflowId, firstExecutionRunId: runId } = last.action.workflow;
  const base = { workflowId, runId, startedAt: last.takenAt.toISOString(), result: null, error: null };
  try {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    const { status, closeTime } = await handle.describe();
    const ended = { ...base, status: status.name, closedAt: closeTime?.toISOString() ?? null };
    // `result()` would wait for a run that has not ended, such as a paused one.
    if (!closeTime || status.name === 'CONTINUED_AS_NEW') return ended;
    return await handle.result().then(
      (result: unknown) => ({ ...ended, result: result ?? null }),
      (error: unknown) => ({ ...ended, error: reasonOf(error) }),
    );
  } catch (error) {
    // The run is older than the namespace's retention.
    if (error instanceof WorkflowNotFoundError) return { ...base, status: 'UNKNOWN', closedAt: null };
    throw error;
  }
}

function reasonOf(error: unknown): string {
  let inner = error;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  return (inner instanceof Error ? inner.message : String(inner)).split('\n', 1)[0] ?? '';
}

const duration = z.string().regex(/^\d+(ms|s|m|h|d)$/u, 'a duration is a number with ms, s, m, h or d');

const schedule = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,60}$/u, 'an id has small letters, digits and hyphens'),
  workflowType: z.enum(['refreshIrms', 'reconcile', 'dailyReport']),
  cron: z.string().regex(/^\S+( \S+){4}$/u, 'five parts: minute hour day-of-month month day-of-week'),
  input: z.record(z.string(), z.unknown()).default({}),
  overlap: z.enum(['skip', 'buffer-one', 'allow']).default('skip'),
  catchupWindow: duration.default('1h'),
  jitter: duration.default('0s'),
  timezone: z.string().optional(),
});

const scheduleFile = z.strictObject({ timezone: z.string().default('Asia/Kolkata'), schedules: z.array(schedule) });

/** A schedule of the file, with defaults filled in. */
export type PlannedSchedule = Required<z.output<typeof schedule>>;

/** Reads a YAML file of schedules. @throws UsageError that names the line of every problem */
export async function readScheduleFile(path: string): Promise<PlannedSchedule[]> {
  const { value, lineOf, fail } = await readYamlFile(path, {
    what: 'schedules',
    advice: 'Set EBRC_SCHEDULES to the file.',
  });
  const parsed = scheduleFile.safeParse(value, IN_PLAIN_WORDS);
  if (!parsed.success) {
    return fail(parsed.error.issues.map((issue) => `${lineOf(issue.path.slice(0, -1))}${issueText(issue)}`));
  }
  const { schedules, timezone } = parsed.data;
  const duplicates = schedules.filter(({ id }, index) => schedules.findIndex((other) => other.id === id) !== index);
  if (duplicates.length > 0) fail(duplicates.map(({ id }) => `id ${id} is used twice`));
  return schedules.map((wanted) => ({ ...wanted, timezone: wanted.timezone ?? timezone }));
}
