import {
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type Client,
  type ScheduleOptions,
} from '@temporalio/client';
import type { Mode } from '../domain/names';

/** A schedule as `ebrc schedules` prints it. */
export interface ScheduleView {
  scheduleId: string;
  workflow: string;
  /** For people. */
  when: string;
  nextRunAt: string | null;
  state: 'active' | 'paused' | 'deleted';
}

interface Planned {
  scheduleId: string;
  when: string;
  options: Omit<ScheduleOptions, 'scheduleId'>;
}

/** Early in the working day of the authority, spread so that many installations do not come at once. */
const DAILY_HOUR = 5;
const JITTER = '20m';
const TIME_ZONE = 'Asia/Kolkata';
/** After a longer outage one run is enough; replaying missed ones would only spend the rate budget. */
const CATCH_UP = '1h';

function planned({ mode, taskQueue }: { mode: Mode; taskQueue: string }): Planned[] {
  return [
    {
      scheduleId: `ebrc-refresh-irms-${mode}`,
      when: `daily at ${String(DAILY_HOUR).padStart(2, '0')}:30 ${TIME_ZONE}`,
      options: {
        spec: { calendars: [{ hour: DAILY_HOUR, minute: 30 }], timezone: TIME_ZONE, jitter: JITTER },
        policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: CATCH_UP },
        action: {
          type: 'startWorkflow',
          workflowType: 'refreshIrms',
          workflowId: `refresh-irms/${mode}/scheduled`,
          taskQueue,
          args: [{ mode }],
        },
      },
    },
  ];
}

/** Makes the schedules, or brings those that are there up to date; whether they are paused stays. */
export async function applySchedules(options: {
  temporal: Client;
  mode: Mode;
  taskQueue: string;
}): Promise<ScheduleView[]> {
  const { schedule } = options.temporal;
  for (const { scheduleId, options: wanted } of planned(options)) {
    try {
      await schedule.create({ scheduleId, ...wanted });
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await schedule.getHandle(scheduleId).update((before) => ({ ...wanted, state: before.state }));
    }
  }
  return listSchedules(options);
}

/** The schedules of this mode that are there. */
export async function listSchedules({ temporal, mode }: { temporal: Client; mode: Mode }): Promise<ScheduleView[]> {
  const views: ScheduleView[] = [];
  for (const plan of planned({ mode, taskQueue: '' })) {
    const view = await describe(temporal, plan);
    if (view) views.push(view);
  }
  return views;
}

/** Removes the schedules of this mode; answers those that were there. */
export async function deleteSchedules(options: { temporal: Client; mode: Mode }): Promise<ScheduleView[]> {
  const there = await listSchedules(options);
  for (const { scheduleId } of there) await options.temporal.schedule.getHandle(scheduleId).delete();
  return there.map((view) => ({ ...view, nextRunAt: null, state: 'deleted' }));
}

async function describe(temporal: Client, { scheduleId, when }: Planned): Promise<ScheduleView | null> {
  try {
    const { action, info, state } = await temporal.schedule.getHandle(scheduleId).describe();
    return {
      scheduleId,
      workflow: action.workflowType,
      when,
      nextRunAt: info.nextActionTimes[0]?.toISOString() ?? null,
      state: state.paused ? 'paused' : 'active',
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}
