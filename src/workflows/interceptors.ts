/** Part of every bundle: the SDK makes one of these for each workflow execution. */
import type { WorkflowInterceptors, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';

/** One local activity at a time: a replay resolves two in one activation, which is not deterministic. */
class OneLocalStepAtATime implements WorkflowOutboundCallsInterceptor {
  private last: Promise<unknown> = Promise.resolve();

  scheduleLocalActivity: NonNullable<WorkflowOutboundCallsInterceptor['scheduleLocalActivity']> = (input, next) => {
    const made = this.last.then(() => next(input));
    this.last = made.catch(() => undefined);
    return made;
  };
}

export function interceptors(): WorkflowInterceptors {
  return { outbound: [new OneLocalStepAtATime()] };
}
