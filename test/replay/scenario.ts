import type { WorkflowHandle } from '@temporalio/client';

/** A story that a workflow has to be able to replay for as long as runs of it may be open. */
export interface Scenario<Stage> {
  name: string;
  /** The workflow type whose history is recorded. */
  workflow: string;
  /** What of the workflow's result shows that the story went as its name says. */
  ends: Record<string, unknown>;
  /** Where the story would be long on the usual clock of the service. */
  pace?: { ackDelayMs?: number; settleAfterMs?: number };
  /** Lives through the story and answers whose history it is; the workflow has ended then. */
  play(stage: Stage): Promise<WorkflowHandle>;
}
