import { ApplicationFailure } from '@temporalio/workflow';

/**
 * Fails a workflow that was started with nothing, or with something that is no object: callers in any SDK start
 * workflows by name. Without this the first read of a property would fail the workflow task, and Temporal would repeat
 * that for ever.
 * @throws ApplicationFailure of type `invalid_input`
 */
export function needInput(workflow: string, input: unknown): void {
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return;
  const message = `${workflow} takes one object; schemas/${workflow}.input.schema.json describes it.`;
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}
