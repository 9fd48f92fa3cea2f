/** What fails in a run, as Temporal tells it: its workflow tasks, or a call that a defect stops at every try. */
import type { Client } from '@temporalio/client';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow';
import type { temporal } from '@temporalio/proto';
import { ApplicationFailure } from '@temporalio/common';
import { cutText } from '../domain/text';

type Failure = temporal.api.failure.v1.IFailure;

/** The first tries again come at once, and may follow a lost worker. */
export const FAILS_AFTER = 3;

/** A call that was tried more than once. */
export interface RetriedCall {
  name: string;
  attempt: number;
  /** The error of its last attempt, where that is a defect of ours; null: an expected failure. */
  defect: string | null;
}

export interface TaskFailures {
  /** A workflow task of this run was completed: it has a history that a build may fail to replay. */
  begun: boolean;
  /** The error of the last task that failed; null: none was recorded, such as where a worker was lost. */
  error: string | null;
}

const MESSAGE_BYTES = 600;
/** Events to look through; a run whose tasks fail gathers few beside its pokes. */
const EVENTS = 200;

async function errorText(client: Client, failure: Failure | null | undefined): Promise<string> {
  const error = await decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  const type = error instanceof ApplicationFailure && error.type ? error.type : 'Error';
  const text = cutText(error?.message.split('\n', 1)[0] ?? 'no message', MESSAGE_BYTES);
  return text.startsWith('[TMPRL') || type === 'Error' ? text : `${type}: ${text}`;
}

/** Our failures have a kind in small letters; an error of JavaScript has the name of its class. */
const isDefect = (failure: Failure | null | undefined): boolean =>
  /^[A-Z]/u.test(failure?.applicationFailureInfo?.type ?? '');

/** The calls of a description that were tried before. */
export function retriedCalls(
  client: Client,
  pending: readonly temporal.api.workflow.v1.IPendingActivityInfo[],
): Promise<RetriedCall[]> {
  const retried = pending.filter(({ attempt }) => (attempt ?? 1) > 1);
  return Promise.all(
    retried.map(async ({ activityType, attempt, lastFailure }) => ({
      name: activityType?.name ?? 'a call',
      attempt: attempt ?? 1,
      defect: isDefect(lastFailure) ? await errorText(client, lastFailure) : null,
    })),
  );
}

/** Reads the end of a run's history, where Temporal keeps the first failure of a task that fails again and again. */
export async function readTaskFailures(client: Client, workflowId: string): Promise<TaskFailures> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: EVENTS,
  });
  const events = history?.events ?? [];
  const completed = events.findIndex((event) => event.workflowTaskCompletedEventAttributes);
  const since = completed < 0 ? events : events.slice(0, completed);
  const failed = since.find((event) => event.workflowTaskFailedEventAttributes)?.workflowTaskFailedEventAttributes;
  return {
    // A history that does not fit into the page began long ago.
    begun: completed >= 0 || events.length >= EVENTS,
    error: failed ? await errorText(client, failed.failure) : null,
  };
}

/** Whether a build refuses a history that another one made. */
export const isNondeterminism = (error: string | null): boolean =>
  error !== null && /TMPRL1100|[Nn]on-?determinis/u.test(error);

/** Texts of the SDK, and of errors that JavaScript itself makes, name code alone; others may quote rows. */
const OF_CODE = /^(?:\[TMPRL\d+\]|(?:Type|Reference)Error: )/u;

/** A failure for logs: without names and amounts. */
export const failureForLog = (error: string): string =>
  OF_CODE.test(error) ? error : 'its text is in the Temporal UI and in `ebrc list --attention`';

/** The failure in a log line of the SDK, which has it in Rust's debug format; null: none. */
export function failureInDebugText(text: string): string | null {
  const [, message] = /message: "((?:[^"\\]|\\.)*)"/u.exec(text) ?? [];
  if (message === undefined) return null;
  return cutText(message.replaceAll('\\"', '"').split('\\n', 1)[0] ?? '', MESSAGE_BYTES);
}
