/** Complete time-outs and retries: a policy that is given in part silently restores unlimited retries. */
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  log,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
  type ActivityInterfaceFor,
  type ActivityOptions,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { Activities } from '../activities/create-activities';
import type { StartedWorkflow } from '../activities/dependencies';
import { NOT_LOCAL, queueOfClass, ROWS_IN_A_LOCAL_STEP, type EXTRACTION, type RateClass } from '../domain/names';
import { summaryText } from '../domain/text';
import { otherModeText } from '../domain/values';

interface Profile extends ActivityOptions {
  startToCloseTimeout: NonNullable<ActivityOptions['startToCloseTimeout']>;
  retry: Required<
    Pick<
      NonNullable<ActivityOptions['retry']>,
      'initialInterval' | 'backoffCoefficient' | 'maximumInterval' | 'maximumAttempts'
    >
  >;
}

const FOREVER = Number.POSITIVE_INFINITY;

/** Generous, as a call waits for its slot inside; retries are decided in `src/domain/service/retry-table.ts`. */
const apiCall: Profile = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '5m', maximumAttempts: FOREVER },
};

const PROFILES = {
  /** The ledger: short, local, repeated until PostgreSQL is back. A lost worker is noticed by the time-out alone. */
  ledger: {
    startToCloseTimeout: '30s',
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: FOREVER },
  },
  /** A write to the ledger that only helps: given up after about half a minute. */
  note: {
    startToCloseTimeout: '30s',
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s', maximumAttempts: 6 },
  },
  /** Work on a whole workbook: local too, but it may take a while. It only helps: given up after a few tries. */
  document: {
    startToCloseTimeout: '5m',
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 4 },
  },
  api: apiCall,
  /** A read that only helps: given up after a few tries, and what needs it records that it failed. */
  helpful: {
    ...apiCall,
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 4 },
  },
  /** Right before a send, for about 90 s: nothing else could settle an unknown outcome later. */
  beforeSend: {
    ...apiCall,
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 6 },
  },
  /** Never repeated without proof that nothing was sent. Cancelling waits: a request may be on its way. */
  submit: {
    startToCloseTimeout: '30m',
    heartbeatTimeout: '30s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: '1s', backoffCoefficient: 1, maximumInterval: '1s', maximumAttempts: 1 },
  },
  /** A call to the extraction service: each failure carries its own delay until the next attempt. */
  extraction: { ...apiCall, startToCloseTimeout: '15m' },
  /** Every failure of a poll carries its own next delay; the policy's intervals are only what is left without one. */
  poll: {
    startToCloseTimeout: '30m',
    heartbeatTimeout: '30s',
    retry: { initialInterval: '1m', backoffCoefficient: 1, maximumInterval: '15m', maximumAttempts: FOREVER },
  },
} as const satisfies Record<string, Profile>;

/** The queue of each profile's work: `ebrc` itself for local work, the rate class's queue for calls. */
export type ProfileName = keyof typeof PROFILES;

export interface CallAbout {
  summary: string;
  /** The rate class whose queue runs the call; left out for local work on the main queue. */
  rateClass?: RateClass | typeof EXTRACTION;
  /** The exporter, so that one exporter's many calls do not starve another's one. */
  exporterId?: string;
  /** 1 what a person waits for and last looks, 2 reads before a send, 3 filings, 5 schedules and healing. */
  priorityKey?: 1 | 2 | 3 | 4 | 5;
}

/** Activities whose result is no object, or need not be. */
type WithoutObject = {
  [Name in keyof Activities]: Awaited<ReturnType<Activities[Name]>> extends object ? never : Name;
}[keyof Activities];

/** What their results are; `any` where nobody reads it, or null is one. */
const NO_OBJECTS: Record<WithoutObject, 'any' | 'string'> = {
  changeExporter: 'any',
  compareFiling: 'any',
  noteAfterEnd: 'any',
  noteEvent: 'any',
  noteHealed: 'any',
  recordRunProblem: 'any',
  recordWord: 'string',
  refreshIrms: 'any',
  refuseWord: 'any',
  stopAwaitingCredentials: 'any',
  tellCredentialsRenewed: 'any',
};

function isResult(name: keyof Activities, result: unknown): boolean {
  const expected = name in NO_OBJECTS ? NO_OBJECTS[name as WithoutObject] : 'object';
  return expected === 'any' || (typeof result === expected && result !== null);
}

type ActivityCalls = ActivityInterfaceFor<Activities>;

/** Activities of which each is called by `call`. */
function calledBy(call: (name: keyof Activities, args: unknown[]) => Promise<unknown>): ActivityCalls {
  const get = (_target: object, name: keyof Activities | 'then') =>
    // What an async function returns is asked for its `then`, which is no activity.
    name === 'then' ? undefined : (...args: unknown[]) => call(name, args);
  return new Proxy({}, { get }) as ActivityCalls;
}

const made = (activities: ActivityCalls, name: keyof Activities, args: unknown[]) =>
  (activities[name] as (...args: unknown[]) => Promise<unknown>)(...args);

/** An operator can complete an activity by hand, without its result: then it is asked again. */
async function untilResult(scheduled: ActivityCalls, name: keyof Activities, args: unknown[]): Promise<unknown> {
  for (;;) {
    const result = await made(scheduled, name, args);
    if (isResult(name, result)) return result;
    log.warn('an activity was completed by hand without its result, and is asked again', { activity: name });
  }
}

function scheduledUnder(
  profile: ProfileName,
  { summary, rateClass, exporterId, priorityKey }: CallAbout,
): ActivityCalls {
  const mainQueue = workflowInfo().taskQueue;
  return proxyActivities<Activities>({
    ...PROFILES[profile],
    taskQueue: rateClass ? queueOfClass(mainQueue, rateClass) : mainQueue,
    // Names, ids and words of others are in some of them.
    summary: summaryText(summary),
    priority: { ...(exporterId && { fairnessKey: exporterId.slice(0, 64) }), ...(priorityKey && { priorityKey }) },
  });
}

/** Activities under a complete profile. A send that was completed by hand is not asked again: the ledger is read. */
export function calls(profile: ProfileName, about: CallAbout | string): ActivityCalls {
  const scheduled = scheduledUnder(profile, typeof about === 'string' ? { summary: about } : about);
  return calledBy((name, args) =>
    profile === 'submit' ? made(scheduled, name, args) : untilResult(scheduled, name, args),
  );
}

/** A call that only helps, for an exporter, after everything that a person or a filing waits for. */
export const callsInBackground = (exporterId: string, rateClass: RateClass, summary: string): ActivityCalls =>
  calls('helpful', { summary, rateClass, exporterId, priorityKey: 5 });

/** Tried once; more time than the activity's own bound (`STEP_DEADLINE`), so that its transaction has ended. */
const LOCAL_STEP = {
  scheduleToCloseTimeout: '6s',
  retry: { maximumAttempts: 1 },
} as const satisfies LocalActivityOptions;

/** A local step's refusal, as a normal activity fails with it; null for what a normal activity may wait out, or do. */
function refusalOf(name: string, error: unknown): ActivityFailure | null {
  if (!(error instanceof ApplicationFailure) || !error.nonRetryable || error.type === NOT_LOCAL) return null;
  return new ActivityFailure(error.message, name, undefined, 'NON_RETRYABLE_FAILURE', undefined, error);
}

/** A step as a local activity. Where it fails within seconds, a normal activity of the same code waits as needed. */
export function steps(
  summary: string,
  /** How many rows the step opens or settles, and the profile of the normal activity. */
  { rows = 0, profile = 'ledger' }: { rows?: number; profile?: 'ledger' | 'note' } = {},
): ActivityCalls {
  const normal = scheduledUnder(profile, { summary });
  const local =
    rows > ROWS_IN_A_LOCAL_STEP
      ? null
      : proxyLocalActivities<Activities>({ ...LOCAL_STEP, summary: summaryText(summary) });
  return calledBy(async (name, args) => {
    if (local) {
      try {
        // A cancelled local activity would be given up in the middle of its transaction.
        return await CancellationScope.nonCancellable(() => made(local, name, args));
      } catch (error) {
        const refusal = refusalOf(name, error);
        if (refusal) throw refusal;
      }
    }
    return untilResult(normal, name, args);
  });
}

/** Checks input and mode. `what`: is for that mode. @throws ApplicationFailure `invalid_input`, `wrong_mode` */
export async function checkStarted(
  started: StartedWorkflow & { input: { mode: string } },
  what: string,
): Promise<void> {
  const { mode, inputProblems = [] } = await calls('ledger', 'Read the settings').readSettings(started);
  if (inputProblems.length > 0) throw ApplicationFailure.nonRetryable(inputProblems.join('; '), 'invalid_input');
  const { mode: asked } = started.input;
  if (asked !== mode) throw ApplicationFailure.nonRetryable(otherModeText(what, asked, mode), 'wrong_mode');
}
