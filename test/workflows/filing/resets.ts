import { randomUUID } from 'node:crypto';
import type { fileRemittances } from '../../../src/workflows/file-remittances';
import type { Filing, FilingStage } from './filing-stage';

type Event = NonNullable<Awaited<ReturnType<Filing['fetchHistory']>>['events']>[number];

/**
 * Resets a filing's workflow to the workflow task that scheduled the activity or timer of this summary, as the UI does.
 */
export function resetBefore(stage: FilingStage, filing: Filing, summary: (text: string) => boolean): Promise<Filing> {
  return resetTo(stage, filing, (events) => {
    const scheduled = events.find((event) => scheduledBy(event) && summary(summaryOf(event)));
    return scheduledBy(scheduled)?.workflowTaskCompletedEventId;
  });
}

/** Resets a filing's workflow to the last workflow task that was completed, or to the one before and so on (`back`). */
export function resetToLast(stage: FilingStage, filing: Filing, back = 0): Promise<Filing> {
  return resetTo(stage, filing, (events) => {
    const completed = events.filter(({ workflowTaskCompletedEventAttributes: task }) => task);
    return completed[Math.max(0, completed.length - 1 - back)]?.eventId;
  });
}

/** Resets a filing's workflow to before its first update, which the server then repeats in the new run. */
export function resetBeforeUpdate(stage: FilingStage, filing: Filing): Promise<Filing> {
  return resetTo(stage, filing, (events) => {
    const accepted = events.findIndex((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
    const completed = events.slice(0, accepted).filter((event) => event.workflowTaskCompletedEventAttributes);
    return completed.at(-2)?.eventId;
  });
}

async function resetTo(
  stage: FilingStage,
  filing: Filing,
  point: (events: Event[]) => Event['eventId'] | undefined,
): Promise<Filing> {
  const { events } = await filing.fetchHistory();
  const workflowTaskFinishEventId = point(events ?? []);
  if (!workflowTaskFinishEventId) throw new Error('no such point in the history');
  const { client, connection, namespace } = stage.env;
  const { runId } = await filing.describe();
  await connection.workflowService.resetWorkflowExecution({
    namespace: namespace ?? 'default',
    workflowExecution: { workflowId: filing.workflowId, runId },
    workflowTaskFinishEventId,
    reason: 'an operator',
    requestId: randomUUID(),
  });
  return client.workflow.getHandle<typeof fileRemittances>(filing.workflowId);
}

const scheduledBy = (event: Event | undefined) =>
  event?.activityTaskScheduledEventAttributes ?? event?.timerStartedEventAttributes;

function summaryOf(event: Event): string {
  const { data } = event.userMetadata?.summary ?? {};
  return data ? String(JSON.parse(Buffer.from(data).toString())) : '';
}
