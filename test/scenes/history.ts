/** What the history of a filing's run tells. */
import type { WorkflowHandle } from '@temporalio/client';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import type { fileRemittances } from '../../src/workflows/file-remittances';
import { filingQuery } from '../../src/workflows/messages';
import { eventually } from '../support/processes';

export type Filing = WorkflowHandle<typeof fileRemittances>;

/** How long a result may take, in real time. */
const RESULT_WITHIN_MS = 150_000;
/** After this much real time the clock is moved by hand. */
const SKIPS_ALONE_MS = 20_000;

/**
 * A result that does not come fails with the end of the filing's history, which tells what it waits for. A call that a
 * poke gives up just as it is scheduled stops the clock of the time-skipping server: it is moved by hand then.
 */
export function telling(filing: Filing, env: Pick<TestWorkflowEnvironment, 'sleep'>): Filing {
  const result = filing.result.bind(filing);
  const waiting = async (): Promise<never> => {
    const events = (await filing.fetchHistory()).events ?? [];
    const progress = JSON.stringify(await filing.query(filingQuery));
    const ending = events.slice(-25).map(lineOf).join('\n');
    throw new Error(`no result within ${RESULT_WITHIN_MS} ms: ${progress}; its history ends:\n${ending}`);
  };
  filing.result = () => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => void waiting().catch(reject), RESULT_WITHIN_MS);
    });
    let over = false;
    const move = () =>
      env.sleep('5 minutes').then(
        () => over,
        () => over,
      );
    const moving = setTimeout(() => void eventually(move, RESULT_WITHIN_MS), SKIPS_ALONE_MS);
    return Promise.race([result(), late]).finally(() => {
      over = true;
      clearTimeout(timer);
      clearTimeout(moving);
    });
  };
  return filing;
}

const lineOf = ({ eventId, eventType, eventTime, ...event }: History[number]): string => {
  const { activityTaskScheduledEventAttributes: scheduled, timerStartedEventAttributes: timer } = event;
  const about = scheduled?.activityType?.name ?? timer?.startToFireTimeout?.seconds ?? '';
  return [eventId, eventTime?.seconds, eventType, about].map(String).join(' ');
};

type History = NonNullable<Awaited<ReturnType<Filing['fetchHistory']>>['events']>;

/**
 * Whether a history ends with neither a workflow task nor an activity under way. A poll is under way for hours, and
 * waits nearly all of that time.
 */
export function isAsleep(events: History): boolean {
  const { workflowTaskScheduledEventAttributes, workflowTaskStartedEventAttributes } = events.at(-1) ?? {};
  if (workflowTaskScheduledEventAttributes || workflowTaskStartedEventAttributes) return false;
  const closed = new Set(
    events.map((event) =>
      String(
        (
          event.activityTaskCompletedEventAttributes ??
          event.activityTaskFailedEventAttributes ??
          event.activityTaskTimedOutEventAttributes ??
          event.activityTaskCanceledEventAttributes
        )?.scheduledEventId,
      ),
    ),
  );
  return events.every(
    ({ eventId, activityTaskScheduledEventAttributes: scheduled }) =>
      !scheduled || scheduled.activityType?.name === 'pollStatus' || closed.has(String(eventId)),
  );
}
