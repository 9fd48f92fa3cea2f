/** Requests that a person named, and that are another filing's: two persons say so, and nothing waits for them then. */
import type { Carried } from '../../domain/filing/questions';
import type { Queryable } from '../pool';
import { endRequest } from '../submissions/requests';
import type { Word } from '../submissions/words';
import { lockAttempts } from './attempts';
import { releaseRejected } from './release';
import { longestWindow, windowEnd } from './settle-window';

/** Closes requests that two persons say are not ours. Under the filing's lock. @returns null: no such request */
export async function closeNotOurs(
  client: Queryable,
  word: Word,
  others: readonly Word[],
  { settleMs, at }: { settleMs: number; at: Date },
): Promise<Exclude<Carried, { outcome: 'again' | 'freed' | 'filed' }> | null> {
  const { filingId } = word;
  const { rows: named } = await client.query<{ requestId: string; submission: number }>(
    `SELECT request_id AS "requestId", submission FROM requests WHERE filing_id = $1 AND request_id = ANY($2)
        AND source = 'named' AND state = 'followed' ORDER BY submission, request_id FOR UPDATE`,
    [filingId, word.notOurs],
  );
  if (named.length === 0) return null;
  const windows: Date[] = [];
  for (const { submission } of named) {
    const attempts = await lockAttempts(client, filingId, submission);
    const longest = longestWindow(attempts, settleMs);
    windows.push(await windowEnd(client, { attempts, settleMs: longest }));
  }
  const window = new Date(Math.max(...windows.map((end) => end.getTime())));
  if (word.at < window) {
    const why = `it may still be processed: wait for the end of the settle window at ${window.toISOString()}`;
    return { outcome: 'refused', why };
  }
  const numbers = named.map(({ requestId }) => requestId);
  const isSecond = (other: Word) => other.at >= window && numbers.every((each) => other.notOurs.includes(each));
  if (!others.some(isSecond)) {
    const why = `${word.by} is the first to say that request ${numbers.join(', ')} is not ours; somebody else has to say the same too`;
    return { outcome: 'stands', why };
  }
  for (const request of named) {
    const { submission } = request;
    await endRequest(client, { filingId, ...request }, { state: 'not_ours', processingStatus: null, errored: [], at });
    await releaseRejected(client, { filingId, submission, at });
  }
  return { outcome: 'not_ours' };
}
