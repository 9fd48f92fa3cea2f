/** Complete time-outs and retry policies, because a partial policy silently restores unlimited retries. */
import {
  ApplicationFailure,
  proxyActivities,
  proxyLocalActivities,
  workflowInfo,
  type ActivityInterfaceFor,
  type ActivityOptions,
  type LocalActivityOptions,
} from '@temporalio/workflow';
import type { Activities } from '../activities/create-activities';
import type { StartedWorkflow } from '../activities/dependencies';
import { queueOfClass, type EXTRACTION, type RateClass } from '../domain/names';
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
  /** Made once: only the run, which reads the ledger first, tells it again. */
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

type ActivityCalls = ActivityInterfaceFor<Activities>;

/** Activities under a complete profile. */
export function calls(profile: ProfileName, about: CallAbout | string): ActivityCalls {
  const { summary, rateClass, exporterId, priorityKey } = typeof about === 'string' ? { summary: about } : about;
  const mainQueue = workflowInfo().taskQueue;
  return proxyActivities<Activities>({
    ...PROFILES[profile],
    taskQueue: rateClass ? queueOfClass(mainQueue, rateClass) : mainQueue,
    summary: summaryText(summary),
    priority: { ...(exporterId && { fairnessKey: exporterId.slice(0, 64) }), ...(priorityKey && { priorityKey }) },
  });
}

/** Optional calls for an exporter, at the lowest priority: after what persons and filings wait for. */
export const callsInBackground = (exporterId: string, rateClass: RateClass, summary: string): ActivityCalls =>
  calls('helpful', { summary, rateClass, exporterId, priorityKey: 5 });

/**
 * Steps on the ledger, retried without end while PostgreSQL is away. Waits beyond ten seconds are timers of the
 * workflow, which cost six events each (measured), so they grow to a quarter of an hour.
 */
const LOCAL_STEP = {
  startToCloseTimeout: '30s',
  retry: { initialInterval: '500ms', backoffCoefficient: 2, maximumInterval: '15m', maximumAttempts: FOREVER },
  localRetryThreshold: '10s',
} as const satisfies LocalActivityOptions;

/** Ledger steps as local activities. */
export function steps(summary: string): ActivityCalls {
  return proxyLocalActivities<Activities>({ ...LOCAL_STEP, summary: summaryText(summary) });
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
