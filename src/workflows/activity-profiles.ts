/** Complete time-outs and retry policies, because a partial policy silently restores unlimited retries. */
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

/** Long, because the call waits for its slot inside; `src/domain/service/retry-table.ts` decides the retries. */
const apiCall: Profile = {
  startToCloseTimeout: '30m',
  heartbeatTimeout: '30s',
  retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '5m', maximumAttempts: FOREVER },
};

const PROFILES = {
  /** Short ledger transactions, retried until PostgreSQL is back. The time-out alone detects a lost worker. */
  ledger: {
    startToCloseTimeout: '30s',
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: FOREVER },
  },
  /** An optional write to the ledger, given up after about half a minute. */
  note: {
    startToCloseTimeout: '30s',
    retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '10s', maximumAttempts: 6 },
  },
  /** Optional work on a whole workbook, without calls to the service; given up after four attempts. */
  document: {
    startToCloseTimeout: '5m',
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: 4 },
  },
  api: apiCall,
  /** An optional read, given up after four attempts; its caller records the failure. */
  helpful: {
    ...apiCall,
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 4 },
  },
  /** The snapshot before a send, retried for about 90 s because only it can settle an unknown outcome later. */
  beforeSend: {
    ...apiCall,
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '30s', maximumAttempts: 6 },
  },
  /** Never retried without proof that nothing was sent. A cancellation waits, because the request may be on its way. */
  submit: {
    startToCloseTimeout: '30m',
    heartbeatTimeout: '30s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: { initialInterval: '1s', backoffCoefficient: 1, maximumInterval: '1s', maximumAttempts: 1 },
  },
  /** A call to the extraction service: each failure carries the delay until the next attempt. */
  extraction: { ...apiCall, startToCloseTimeout: '15m' },
  /** Every failure of a poll carries the delay until the next one; the policy's intervals are only a fallback. */
  poll: {
    startToCloseTimeout: '30m',
    heartbeatTimeout: '30s',
    retry: { initialInterval: '1m', backoffCoefficient: 1, maximumInterval: '15m', maximumAttempts: FOREVER },
  },
} as const satisfies Record<string, Profile>;

export type ProfileName = keyof typeof PROFILES;

export interface CallAbout {
  summary: string;
  /** The rate class whose task queue runs the call; left out for work on the main queue. */
  rateClass?: RateClass | typeof EXTRACTION;
  /** The fairness key: one exporter's many calls must not delay another exporter's. */
  exporterId?: string;
  /** 1: a person waits, last looks; 2: reads before a send; 3: filings; 5: schedules and repairs. */
  priorityKey?: 1 | 2 | 3 | 4 | 5;
}

/** Activities whose result is not an object, or need not be one. */
type WithoutObject = {
  [Name in keyof Activities]: Awaited<ReturnType<Activities[Name]>> extends object ? never : Name;
}[keyof Activities];

/** The results of these activities; `any` if nobody reads them or null is allowed. */
const NON_OBJECT_RESULTS: Record<WithoutObject, 'any' | 'string'> = {
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
  const expected = name in NON_OBJECT_RESULTS ? NON_OBJECT_RESULTS[name as WithoutObject] : 'object';
  return expected === 'any' || (typeof result === expected && result !== null);
}

type ActivityCalls = ActivityInterfaceFor<Activities>;

/** A proxy that invokes each activity through `call`. */
function calledBy(call: (name: keyof Activities, args: unknown[]) => Promise<unknown>): ActivityCalls {
  const get = (_target: object, name: keyof Activities | 'then') =>
    // `await` reads `then` of the proxy, which must not look like an activity.
    name === 'then' ? undefined : (...args: unknown[]) => call(name, args);
  return new Proxy({}, { get }) as ActivityCalls;
}

const callActivity = (activities: ActivityCalls, name: keyof Activities, args: unknown[]) =>
  (activities[name] as (...args: unknown[]) => Promise<unknown>)(...args);

/** Calls an activity again if an operator completed it by hand without its result. */
async function untilResult(scheduled: ActivityCalls, name: keyof Activities, args: unknown[]): Promise<unknown> {
  for (;;) {
    const result = await callActivity(scheduled, name, args);
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
    summary: summaryText(summary),
    priority: { ...(exporterId && { fairnessKey: exporterId.slice(0, 64) }), ...(priorityKey && { priorityKey }) },
  });
}

/** Activities under a complete profile. A send completed by hand is not repeated: the ledger is read instead. */
export function calls(profile: ProfileName, about: CallAbout | string): ActivityCalls {
  const scheduled = scheduledUnder(profile, typeof about === 'string' ? { summary: about } : about);
  return calledBy((name, args) =>
    profile === 'submit' ? callActivity(scheduled, name, args) : untilResult(scheduled, name, args),
  );
}

/** Optional calls for an exporter, at the lowest priority: after what persons and filings wait for. */
export const callsInBackground = (exporterId: string, rateClass: RateClass, summary: string): ActivityCalls =>
  calls('helpful', { summary, rateClass, exporterId, priorityKey: 5 });

/** One attempt, longer than the activity's own `STEP_DEADLINE`, so that its transaction has ended by then. */
const LOCAL_STEP = {
  scheduleToCloseTimeout: '6s',
  retry: { maximumAttempts: 1 },
} as const satisfies LocalActivityOptions;

/** A local step's non-retryable failure in the form of a normal activity's; null if a normal activity should try. */
function refusalOf(name: string, error: unknown): ActivityFailure | null {
  if (!(error instanceof ApplicationFailure) || !error.nonRetryable || error.type === NOT_LOCAL) return null;
  return new ActivityFailure(error.message, name, undefined, 'NON_RETRYABLE_FAILURE', undefined, error);
}

/** Ledger steps as local activities. When one fails, a normal activity of the same code waits for the ledger. */
export function steps(
  summary: string,
  /** `rows`: how many rows the step opens or settles; `profile`: that of the normal activity. */
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
        // Cancelling a local activity would abandon it in the middle of its transaction.
        return await CancellationScope.nonCancellable(() => callActivity(local, name, args));
      } catch (error) {
        const refusal = refusalOf(name, error);
        if (refusal) throw refusal;
      }
    }
    return untilResult(normal, name, args);
  });
}

/** Checks input and mode. `what` begins the message. @throws ApplicationFailure `invalid_input`, `wrong_mode` */
export async function checkStarted(
  started: StartedWorkflow & { input: { mode: string } },
  what: string,
): Promise<void> {
  const { mode, inputProblems = [] } = await calls('ledger', 'Read the settings').readSettings(started);
  if (inputProblems.length > 0) throw ApplicationFailure.nonRetryable(inputProblems.join('; '), 'invalid_input');
  const { mode: asked } = started.input;
  if (asked !== mode) throw ApplicationFailure.nonRetryable(otherModeText(what, asked, mode), 'wrong_mode');
}
