import type { DataConverter } from '@temporalio/common';
import {
  Worker,
  type NativeConnection,
  type WorkerOptions,
  type ActivityExecuteInput,
  type ActivityInboundCallsInterceptor,
  type Next,
  type ActivitySlotInfo,
  type CustomSlotSupplier,
  type SlotPermit,
  type TunerHolder,
} from '@temporalio/worker';
import { createActivities } from '../activities/create-activities';
import { FailureInterceptor } from '../activities/interceptor';
import type { Deps } from '../activities/dependencies';
import type { StoppableBudget } from '../budget/budget';
import { CONCURRENT_WORKFLOW_TASKS } from '../config/values';
import { EXTRACTION, queueOfClass, RATE_CLASSES } from '../domain/names';
import { boundedConverter } from '../encryption/payload-codec';
import type { Telemetry } from '../telemetry/open-telemetry';
import type { Metrics } from './metrics';
import { PollLagInterceptor } from './observe';
import { shutdownTimes } from './lifecycle';
import type { Context } from '@temporalio/activity';
import { withLogScope } from '../telemetry/logger';
import type { SpanAttributes } from '../telemetry/tracer';
import type { BudgetGate, GatePass } from '../budget/gate';

/** Polls when the class's gate is open. Throws only for an aborted reservation; the SDK pauses a second otherwise. */
function createGatedSlotSupplier(gate: BudgetGate): CustomSlotSupplier<ActivitySlotInfo> {
  const passOf = (permit: SlotPermit) => (permit as SlotPermit & { pass?: GatePass }).pass;
  return {
    type: 'custom',

    async reserveSlot(_context, abortSignal) {
      return { pass: await gate.enter(abortSignal) };
    },

    // Eager tasks would bypass the server's fair order.
    tryReserveSlot: () => null,

    markSlotUsed({ permit }) {
      const pass = passOf(permit);
      if (pass) gate.started(pass);
    },

    releaseSlot({ permit }) {
      const pass = passOf(permit);
      if (pass) gate.left(pass);
    },
  };
}

/** For slots that an activity worker never uses; the SDK requires a number. */
const UNUSED = { type: 'fixed-size', numSlots: 2 } as const;

/** The `tuner` of a worker that runs only activities of one rate class. */
export function createGatedTuner(gate: BudgetGate): TunerHolder {
  return {
    activityTaskSlotSupplier: createGatedSlotSupplier(gate),
    workflowTaskSlotSupplier: UNUSED,
    localActivityTaskSlotSupplier: UNUSED,
    nexusTaskSlotSupplier: UNUSED,
  };
}

/** Adds filing and exporter ids to an activity's log lines and span. */
class ScopeInterceptor implements ActivityInboundCallsInterceptor {
  constructor(
    private readonly activity: Context,
    private readonly describe?: (attributes: SpanAttributes) => void,
  ) {}

  execute(input: ActivityExecuteInput, next: Next<ActivityInboundCallsInterceptor, 'execute'>): Promise<unknown> {
    const { activityType, workflowExecution, attempt } = this.activity.info;
    const { filingId, exporterId } = idsOf(input.args);
    this.describe?.({ 'ebrc.filing_id': filingId, 'ebrc.exporter_id': exporterId, attempt });
    const scope = { filingId, exporterId, workflowId: workflowExecution?.workflowId, activity: activityType };
    return withLogScope(scope, () => next(input));
  }
}

/** The ids in an activity's argument, which is one object with the same names everywhere. */
function idsOf([first]: readonly unknown[]): { filingId?: string; exporterId?: string } {
  if (typeof first !== 'object' || first === null) return {};
  const { filingId, exporterId } = first as { filingId?: unknown; exporterId?: unknown };
  return {
    filingId: typeof filingId === 'string' ? filingId : undefined,
    exporterId: typeof exporterId === 'string' ? exporterId : undefined,
  };
}

/** The most parallel activities (ledger, documents), and local activities, of the main task queue. */
const LOCAL_ACTIVITIES = 20;

export interface WorkersOptions {
  connection: NativeConnection;
  namespace: string;
  taskQueue: string;
  workflowBundle: { codePath: string };
  cachedWorkflows: number;
  /** Encrypts payloads, if given. */
  dataConverter?: DataConverter;
  deps: Deps;
  budget: StoppableBudget;
  metrics: Metrics;
  /** Traces, if given; needs the bundle that is built for tracing. */
  telemetry?: Telemetry | null;
  deployment?: { name: string; buildId?: string };
}

/** One worker for workflows and local work, one per rate class, and one for extraction if configured. */
export async function createWorkers(options: WorkersOptions): Promise<Worker[]> {
  const { connection, namespace, taskQueue, dataConverter, deps, budget, metrics, telemetry } = options;
  const { graceMs, forceMs } = shutdownTimes(deps.settings.httpTimeoutMs);
  const common: Omit<WorkerOptions, 'taskQueue'> = {
    connection,
    namespace,
    dataConverter: boundedConverter(dataConverter),
    activities: createActivities(deps),
    ...versionOf(options.deployment),
    shutdownGraceTime: graceMs,
    shutdownForceTime: forceMs,
    interceptors: {
      activity: [
        ...(telemetry ? [telemetry.activityInterceptors] : []),
        (activity) => ({ inbound: new ScopeInterceptor(activity, telemetry?.describeSpan) }),
        () => ({ inbound: new PollLagInterceptor(metrics) }),
        () => ({ inbound: new FailureInterceptor({ logger: deps.logger, settings: deps.settings }) }),
      ],
    },
  };
  const main = Worker.create({
    ...common,
    taskQueue,
    workflowBundle: options.workflowBundle,
    sinks: telemetry?.sinks,
    maxConcurrentActivityTaskExecutions: LOCAL_ACTIVITIES,
    maxConcurrentWorkflowTaskExecutions: CONCURRENT_WORKFLOW_TASKS,
    maxConcurrentLocalActivityExecutions: LOCAL_ACTIVITIES,
    maxCachedWorkflows: options.cachedWorkflows,
  });
  const classes = RATE_CLASSES.map((rateClass) =>
    Worker.create({
      ...common,
      taskQueue: queueOfClass(taskQueue, rateClass),
      tuner: createGatedTuner(budget.gate(rateClass)),
    }),
  );
  const extraction = deps.extraction && [
    Worker.create({
      ...common,
      taskQueue: queueOfClass(taskQueue, EXTRACTION),
      maxConcurrentActivityTaskExecutions: deps.extraction.pace.atOnce,
    }),
  ];
  return Promise.all([main, ...classes, ...(extraction ?? [])]);
}

/** The version of all task queues, so that a version's activities run on its own workers (decision record 0013). */
function versionOf(deployment: WorkersOptions['deployment']): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (deployment?.buildId === undefined) return {};
  return {
    workerDeploymentOptions: {
      version: { deploymentName: deployment.name, buildId: deployment.buildId },
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}
