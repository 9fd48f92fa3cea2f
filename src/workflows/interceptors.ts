/** The workflow interceptors; the SDK creates them for each workflow execution. */
import type { WorkflowInterceptors, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';

/** Runs one local activity at a time: a replay may resolve two in one activation, which is not deterministic. */
class OneLocalStepAtATime implements WorkflowOutboundCallsInterceptor {
  private last: Promise<unknown> = Promise.resolve();

  scheduleLocalActivity: NonNullable<WorkflowOutboundCallsInterceptor['scheduleLocalActivity']> = (input, next) => {
    const result = this.last.then(() => next(input));
    this.last = result.catch(() => undefined);
    return result;
  };
}

export function interceptors(): WorkflowInterceptors {
  return { outbound: [new OneLocalStepAtATime()] };
}
