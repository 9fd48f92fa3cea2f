import { ApplicationFailure } from '@temporalio/workflow';
import { isObject } from '../domain/values';

/**
 * Fails a workflow that was started with nothing, or with something that is no object: callers in any SDK start
 * workflows by name. Without this the first read of a property would fail the workflow task, and Temporal would repeat
 * that for ever. A field that is null is taken out: SDKs whose objects have all their fields write null for one that is
 * left out.
 * @throws ApplicationFailure of type `invalid_input`
 */
export function needInput(workflow: string, input: unknown): void {
  if (isObject(input)) {
    for (const [field, value] of Object.entries(input)) if (value === null) delete input[field];
    return;
  }
  const message = `${workflow} takes one object; schemas/${workflow}.input.schema.json describes it.`;
  throw ApplicationFailure.nonRetryable(message, 'invalid_input');
}
