import type pg from 'pg';
import { isEnd, type FilingState } from '../../domain/filing/states';
import { feedEnd, type FeedMark } from '../../ledger/events/feed';
import { standingsOf } from '../../ledger/filings/filing-pages';
import { waitsForPerson } from '../../starter/filings/outcome';
import { LONGEST_WAIT_S } from '../http/limits';
import { createWatch, type Watch } from './watch';

/** Waits for filings, by their ids, until they have ended or ask somebody: one look at the ledger a second. */
export function createFilingWatch({ pool }: { pool: pg.Pool }): Watch<string> {
  return createWatch(1_000, async (waiting) => {
    const standings = await standingsOf(pool, [...new Set(waiting)]);
    const over = standings.filter(
      ({ state, asked }) => isEnd(state as FilingState) || waitsForPerson({ state, asked }),
    );
    const ids = new Set(over.map(({ filingId }) => filingId));
    return (filingId) => ids.has(filingId);
  });
}

/** Waits until the feed does not end at a mark any more: one look at its end every half a second. */
export function createFeedWatch({ pool }: { pool: pg.Pool }): Watch<FeedMark> {
  return createWatch(500, async () => {
    const end = await feedEnd(pool);
    return (mark) => mark.epoch !== end.epoch || mark.position !== end.position;
  });
}

/** The seconds of `Prefer: wait=N`, 60 at most; 0 without it. */
export function preferredWait(header: string | string[] | undefined): number {
  const text = Array.isArray(header) ? header.join(',') : (header ?? '');
  const [, seconds = '0'] = /(?:^|,)\s*wait=(\d{1,9})\s*(?:$|[,;])/i.exec(text.slice(0, 1_000)) ?? [];
  return Math.min(Number(seconds), LONGEST_WAIT_S);
}
