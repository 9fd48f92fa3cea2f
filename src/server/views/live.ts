/** What open pages wait for: one look a second for all of them. */
import { lookForPages } from '../../ledger/principals/sessions';
import type { LedgerDependencies } from '../../starter/dependencies';
import { createWatch, type Watch } from './watch';

/** Requests wait shorter than the pages ask again, so that a page has one at a time. */
export const ASK_EVERY_S = 60;
export const WAIT_MS = 50_000;

/** An open page that waits for news. */
export interface LiveWait {
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
