/** Reads activity failures. Workflows branch on a failure's `type`, never on its message. */
import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { FailureDetails } from '../activities/application-failure';
import { isErrorKind, type ErrorKind } from '../domain/service/error-kinds';
import { cutText } from '../domain/text';

export interface ReadFailure {
  /** Null when the failure does not come from activity code: a lost worker, a missed heartbeat, a time-out. */
  kind: ErrorKind | null;
  message: string;
  details: Partial<FailureDetails>;
}

const MAX_DEPTH = 5;

/** The kind, message and details of the first ApplicationFailure in the chain of causes. */
export function readFailure(error: unknown): ReadFailure {
  let current: unknown = error;
  for (let depth = 0; depth < MAX_DEPTH && current instanceof Error; depth += 1) {
    if (current instanceof ApplicationFailure) {
      const details = (current.details?.[0] ?? {}) as Partial<FailureDetails>;
      return { kind: isErrorKind(current.type) ? current.type : null, message: current.message, details };
    }
    if (!(current instanceof ActivityFailure) && !(current instanceof ChildWorkflowFailure)) break;
    current = current.cause;
  }
  return { kind: null, message: textOf(current), details: {} };
}

/** Replaces Temporal's own messages, such as `activity Heartbeat timeout`, for users. */
function textOf(failure: unknown): string {
  if (failure instanceof TimeoutFailure)
    return failure.timeoutType === 'HEARTBEAT' ? 'the worker ended or stopped responding' : 'it did not end in time';
  return failure instanceof Error ? failure.message : String(failure);
}

/**
 * Makes a call that its workflow can continue without. @returns null when its activity or child workflow failed
 * @throws a cancellation, or an error of the workflow's own code
 */
export async function orNull<T>(
  call: () => Promise<T>,
  onFailure: (failure: ReadFailure) => unknown = () => undefined,
): Promise<T | null> {
  try {
    return await call();
  } catch (error) {
    const helpFailed = error instanceof ActivityFailure || error instanceof ChildWorkflowFailure;
    if (!helpFailed || isCancellation(error)) throw error;
    await onFailure(readFailure(error));
    return null;
  }
}

/** Limits of `skipped`, because a result must fit into a payload of 2 MB. */
const SKIPPED_SHOWN = 1_000;
const REASON_BYTES = 500;

/** Adds a skipped exporter to a result, unless it lists {@link SKIPPED_SHOWN} already. */
export function noteSkipped(
  result: { skipped: { exporterId: string; reason: string }[] },
  exporterId: string,
  reason: string,
): void {
  if (result.skipped.length < SKIPPED_SHOWN) result.skipped.push({ exporterId, reason: cutText(reason, REASON_BYTES) });
}
