/** The event feed: what happened, in commit order, for programs that follow it. */
import { z } from 'zod';
import { named } from '../http/components';
import { EXAMPLES } from '../http/examples';
import { cloudEventOf } from '../../domain/webhooks';
import { feedEnd, readFeed, type FeedMark } from '../../ledger/events';
import { EVENT_DAYS } from '../../ledger/retention';
import { openMark, sealMark } from '../http/sealed-cursor';
import { cursorText, pageSize } from '../http/fields';
import { callerGone, Problem } from '../http/problem';
import { addRoute, type HttpApi, type Registrar } from '../http/route';
import { LONGEST_WAIT_S } from '../views/watch';

/** A mark that is never valid, which {@link readFeed} answers with where to start again. */
const NO_MARK: FeedMark = { epoch: '', position: '0' };

const eventSchema = named(
  'Event',
  z.object({
    specversion: z.literal('1.0'),
    id: z.string().describe('the same wherever the event is shown'),
    source: z.string(),
    type: z.string().describe('ebrc.filing.<state>, ebrc.exporter.<state>, ebrc.certificate.archived, …'),
    time: z.string(),
    subject: z.string().describe('the reference of a filing, otherwise the id of what it is about'),
    datacontenttype: z.literal('application/json'),
    data: z.record(z.string(), z.unknown()).describe('ids, state, number of the move, and a link'),
  }),
  EXAMPLES.event,
);

const HOW = `Events in the order of their commits, as CloudEvents 1.0; those of a filing in the order of its moves. Keep \`next\`, and
send it as \`after\`. After a 410 you may get an event again; its id is the same.`;

export function addEventRoutes(server: Registrar, { deps, feed, isStopping }: HttpApi): void {
  const registrar = { ...server, tag: 'Events' };
  const { pool, mode } = deps;

  addRoute(registrar, {
    id: 'readEvents',
    codes: ['cursor_gone'],
    route: 'GET /events',
    summary: 'The events since a cursor, or the next ones',
    query: z.strictObject({
      after: cursorText
        .optional()
        .describe('`next` of the answer before; left out: from the oldest event that is kept'),
      limit: pageSize,
      wait: z.coerce
        .number()
        .int()
        .min(0)
        .max(LONGEST_WAIT_S)
        .default(0)
        .describe('how many seconds to wait for an event if there is none yet'),
    }),
    answers: {
      200: {
        description: HOW,
        schema: z.object({
          items: z.array(eventSchema),
          next: z.string().describe('always present: the cursor to go on from'),
        }),
      },
    },
    async handle({ principal: { exporters }, query: { after, limit, wait }, gone }) {
      const until = performance.now() + wait * 1_000;
      let from = after === undefined ? undefined : (openMark(after, (await feedEnd(pool)).epoch) ?? NO_MARK);
      for (;;) {
        const page = await readFeed(pool, { mode, after: from, exporters, limit });
        if ('start' in page) throw cursorGone(page);
        const { events, next } = page;
        const left = until - performance.now();
        if (events.length > 0 || left <= 0 || isStopping()) {
          return { body: { items: events.map(cloudEventOf), next: sealMark(next) } };
        }
        // Events that this principal may not see are skipped.
        from = next;
        await feed.until(next, left, gone);
        if (gone.aborted) throw callerGone();
      }
    },
  });
}

function cursorGone({ start, end }: Record<'start' | 'end', FeedMark>): Problem {
  const detail =
    `The cursor is from before a restore of the ledger, or older than the ${EVENT_DAYS} days for which events are kept: events after it ` +
    'may be missing. Read what you need again (GET /v1/filings?since=…) and go on from `end`, or read all kept events from `start`.';
  return new Problem(410, 'cursor_gone', detail, { members: { start: sealMark(start), end: sealMark(end) } });
}
