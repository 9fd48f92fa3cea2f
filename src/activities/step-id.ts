import { Context } from '@temporalio/activity';

/** Names the step that an activity carries out: the same for each of its tries, another one in another run. */
export function stepId(): string {
  const { workflowExecution, activityId } = Context.current().info;
  return `${workflowExecution?.runId ?? ''}/${activityId}`;
}
