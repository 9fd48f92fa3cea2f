/** What open pages wait for: one look a second for all of them. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { lookForPages } from '../../ledger/principals/sessions';
import type { LedgerDependencies } from '../../starter/dependencies';
import { secretOf } from '../access/session';
import { createWatch, type Watch } from './watch';

/** Requests wait shorter than the pages ask again, so that a page has one at a time. */
export const ASK_EVERY_S = 60;
const WAIT_MS = 50_000;

/** An open page that waits for news. */
interface LiveWait {
  secret: string;
  /** A filing's id, or what needs somebody. */
  about: string;
  seen: string;
  /** The session has ended. */
  over: boolean;
}

export interface LiveParts {
  /** The present version of what a page shows. */
  versionOf: (about: string) => Promise<string>;
  watch: Watch<LiveWait>;
}

/** One look a second for all open pages. */
export function createLiveParts({ pool, mode }: LedgerDependencies): LiveParts {
  const watch = createWatch<LiveWait>(1_000, async (waiting) => {
    const secrets = [...new Set(waiting.map(({ secret }) => secret))];
    const about = [...new Set(waiting.map((each) => each.about))];
    const { sessions, versions } = await lookForPages(pool, { mode, secrets, about });
    return (each) => {
      const exporters = sessions.get(each.secret);
      each.over = exporters === undefined;
      const { version, exporterId = null } = versions.get(each.about) ?? {};
      // Who sees some exporters only is told nothing of the others, not even that something happened.
      const sees = !exporters || (exporterId !== null && exporters.includes(exporterId));
      return each.over || (sees && version !== each.seen);
    };
  });
  return {
    watch,
    async versionOf(about) {
      const { versions } = await lookForPages(pool, { mode, secrets: [], about: [about] });
      return versions.get(about)?.version ?? '';
    },
  };
}

/** Bounded, because one statement looks for all open pages: what it does not take would keep the others waiting. */
const ASKED = z.object({ about: z.string().regex(/^[\w-]{1,100}$/), seen: z.string().max(200) });

/** Answers when something has changed: the page then reads its parts anew, or signs in again. */
export function addLiveRoute(app: FastifyInstance, live: LiveParts): void {
  app.get('/live', { schema: { hide: true } }, async (request, reply) => {
    const secret = secretOf(request);
    const asked = ASKED.safeParse(request.query);
    if (secret === undefined || !asked.success) return refresh(reply);
    const { about, seen } = asked.data;
    const waiting: LiveWait = { secret, about, seen, over: false };
    const hasCome = await live.watch.until(waiting, WAIT_MS, goneOf(reply));
    if (waiting.over) return refresh(reply);
    return reply
      .code(204)
      .headers(hasCome ? { 'hx-trigger': 'ebrc-changed' } : {})
      .send();
  });
}

const refresh = (reply: FastifyReply): FastifyReply => reply.code(204).header('hx-refresh', 'true').send();

function goneOf(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => void (reply.raw.writableFinished || gone.abort()));
  return gone.signal;
}
