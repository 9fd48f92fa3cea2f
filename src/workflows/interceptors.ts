/** The workflow interceptors; the SDK creates them for each workflow execution. */
import {
  ActivityFailure,
  ApplicationFailure,
  type WorkflowInboundCallsInterceptor,
  type WorkflowInterceptors,
  type WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import { isRefusedPlaintext, PLAINTEXT_CODE, plaintextText } from '../domain/plaintext';

/** Runs one local activity at a time: a replay may resolve two in one activation, which is not deterministic. */
class OneLocalStepAtATime implements WorkflowOutboundCallsInterceptor {
  private last: Promise<unknown> = Promise.resolve();

  scheduleLocalActivity: NonNullable<WorkflowOutboundCallsInterceptor['scheduleLocalActivity']> = (input, next) => {
    const result = this.last.then(() => next(input));
    this.last = result.catch(() => undefined);
    return result;
  };
}

/** Names the class of an error that fails a workflow task: Temporal keeps its message alone. */
class NamedErrors implements WorkflowInboundCallsInterceptor {
  execute: NonNullable<WorkflowInboundCallsInterceptor['execute']> = async (input, next) => {
    try {
      return await next(input);
    } catch (error) {
      if (error instanceof TypeError || error instanceof ReferenceError)
        error.message = `${error.name}: ${error.message}`;
      throw error;
    }
  };
}

/** An activity's result that is not encrypted is no result: the activity failed, which every caller handles. */
class EncryptedResults implements WorkflowOutboundCallsInterceptor {
  scheduleActivity: NonNullable<WorkflowOutboundCallsInterceptor['scheduleActivity']> = async (input, next) => {
    const result = await next(input);
    if (!isRefusedPlaintext(result)) return result;
    const text = plaintextText(`The result of ${input.activityType}`);
    const cause = ApplicationFailure.nonRetryable(text, PLAINTEXT_CODE);
    throw new ActivityFailure(text, input.activityType, undefined, 'NON_RETRYABLE_FAILURE', undefined, cause);
  };
}

export function interceptors(): WorkflowInterceptors {
  return { inbound: [new NamedErrors()], outbound: [new OneLocalStepAtATime(), new EncryptedResults()] };
}
