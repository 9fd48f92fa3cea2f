/** Reading what an activity failed with. Workflows branch on the failure's `type`, never on its message. */
import {
  ActivityFailure,
  ApplicationFailure,
  ChildWorkflowFailure,
  isCancellation,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { FailureDetails } from '../activities/application-failure';
import { FILING_MISSING, SET_ASIDE } from '../domain/names';
import { isErrorKind, type ErrorKind } from '../domain/service/error-kinds';
import { isObject } from '../domain/values';

export interface ReadFailure {
  /** Null when the failure is not from activity code: a lost worker, a missed heartbeat, a time-out. */
  kind: ErrorKind | null;
  message: string;
  details: Partial<FailureDetails>;
}

/** Whether a step failed because the ledger does not hold its filing. */
export function isFilingMissing(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === FILING_MISSING;
}

/** Why a step is set aside, because several workers did not survive it; null for any other failure. */
export function setAsideText(error: unknown): string | null {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  return cause instanceof ApplicationFailure && cause.type === SET_ASIDE ? cause.message : null;
}

const MAX_DEPTH = 5;

/** The kind and the details of a failure, from as deep in its chain of causes as they are. */
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

/** Temporal's own words, `activity Heartbeat timeout`, are not for who reads the filing. */
function textOf(failure: unknown): string {
  if (failure instanceof TimeoutFailure)
    return failure.timeoutType === 'HEARTBEAT'
      ? 'the worker that did it ended, or stood still'
      : 'it did not end in time';
  return failure instanceof Error ? failure.message : String(failure);
}

/**
 * Makes a call that its workflow can go on without: null where it failed. A cancellation, and what the workflow itself
 * throws, come through.
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

/**
 * Fails a workflow started with no object: reading a property would fail the task for ever. Null fields are taken out:
 * some SDKs write them for what is left out. @throws ApplicationFailure `invalid_input`
 */
export function needInput(workflow: string, input: unknown): void {
  if (isObject(input)) {
    for (const [field, value] of Object.entries(input)) if (value === null) delete input[field];
    return;
  }
  const message = `${workflow} takes one object; schemas/${workflow}.input.schema.json describes it.`;
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}
