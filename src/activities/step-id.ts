import { Context } from '@temporalio/activity';
import { NOT_LOCAL, ROWS_IN_A_LOCAL_STEP } from '../domain/names';
import { refusal } from './application-failure';

/** The same for each try of a step. With the type: a repeated workflow task may decide otherwise than the lost. */
export function stepId(): string {
  const { workflowExecution, activityId, activityType } = Context.current().info;
  return `${workflowExecution?.runId ?? ''}/${activityId}/${activityType}`;
}

/** A step on many rows is no local activity: it would hold its workflow task up. @throws where this one runs locally */
export function needFewRows(rows: number): void {
  if (rows > ROWS_IN_A_LOCAL_STEP && Context.current().info.isLocal) {
    throw refusal(NOT_LOCAL, `${rows} rows are for a normal activity.`);
  }
}
