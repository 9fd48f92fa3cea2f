/** Part of every bundle: the SDK makes one of these for each workflow execution. */
import type { WorkflowInterceptors, WorkflowOutboundCallsInterceptor } from '@temporalio/workflow';

/**
 * Makes a workflow's local activities one at a time. Where two are under way, each resolves in an activation of its
 * own, but a replay resolves both in one, and what waits for them goes on in another order: the workflow task fails as
 * not deterministic.
 */
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
