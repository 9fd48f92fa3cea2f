/**
 * What two persons can say besides the outcome of a send: that a named request is another filing's; and of rows that
 * were released as absent, that agreeing certificates are other filings', or (without a look) that nothing was filed.
 */
import type { Carried } from '../../domain/filing/questions';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';
import { endRequest } from '../submissions/requests';
import type { Word } from '../submissions/words';
import { absenceToConfirm, completeLook, settleWindow, WINDOW_END } from './absence';
import { recordRelease } from './held-rows';
import { releaseRejected } from './release';

export const refused = (why: string) => ({ outcome: 'refused' as const, why });
export const stands = (why: string) => ({ outcome: 'stands' as const, why });

/** Closes requests that two persons say are not ours. Requires the filing's lock. @returns null: no such request */
export async function closeNotOurs(
  client: Queryable,
  word: Word,
  others: readonly Word[],
  { settleMs, at }: { settleMs: number; at: Date },
): Promise<Extract<Carried, { why: string } | { outcome: 'not_ours' }> | null> {
  const { filingId } = word;
  const { rows: named } = await client.query<{ requestId: string; submission: number; end: Date | null }>(
    `SELECT request_id AS "requestId", submission, ${WINDOW_END} AS end FROM requests o WHERE filing_id = $1
        AND request_id = ANY($2) AND source = 'named' AND state = 'followed' ORDER BY submission, request_id FOR UPDATE`,
    [filingId, word.notOurs, settleMs],
  );
  if (named.length === 0) return null;
  const window = new Date(Math.max(...named.map(({ end }) => end?.getTime() ?? 0)));
  if (word.at < window)
    return refused(`it may still be processed: wait for the end of the settle window at ${window.toISOString()}`);
  const numbers = named.map(({ requestId }) => requestId);
  const isSecond = (other: Word) => other.at >= window && numbers.every((each) => other.notOurs.includes(each));
  if (!others.some(isSecond))
    return stands(
      `${word.by} is the first to say that request ${numbers.join(', ')} is not ours; somebody else has to say the same too`,
    );
  const end = { state: 'not_ours', processingStatus: null, errored: [], at } as const;
  for (const { submission, requestId } of named) {
    await endRequest(client, { filingId, submission, requestId }, end);
    await releaseRejected(client, { filingId, submission, at });
  }
  return { outcome: 'not_ours' };
}

/** Carries out a word about rows that the send gate holds back. It frees nothing. Requires the filing's lock. */
export async function confirmAbsence(
  client: Queryable,
  word: Word,
  others: readonly Word[],
  { settleMs, at }: { settleMs: number; at: Date },
): Promise<Carried> {
  const { filingId } = word;
  const exporterId = (await lockFiling(client, filingId))?.exporterId ?? '';
  const kept = await heldBack(client, filingId, at);
  if (kept.length === 0) return refused('it names neither an attempt nor a request');
  for (const { submission, looked, from, since } of kept) {
    if (word.at.getTime() < since)
      return refused('its rows were released as not filed after that: look at the filing again');
    if (looked) continue;
    const { ms: windowMs } = await settleWindow(client, { filingId, submission, settleMs });
    const windowAgo = { exporterId, since: new Date(at.getTime() - windowMs), from: new Date(from) };
    if ((await completeLook(client, windowAgo)) !== null)
      return refused(
        'a complete look at the certificates was possible lately: --unseen counts after a settle window without one',
      );
  }
  const needs = kept.some(({ looked }) => !looked) ? ['--unseen'] : [];
  const agreeing = [...new Set(kept.flatMap((each) => each.agreeing))];
  if (agreeing.length > 0) needs.push(`--not-ours NUMBER for each of ${agreeing.join(', ')}`);
  const needed = needs.join(' and ');
  const says = ({ unseen, notOurs }: Word) =>
    kept.every(({ looked }) => looked || unseen) && agreeing.every((number) => notOurs.includes(number));
  if (!says(word)) return refused(`look at the portal; two persons have to say so, with ${needed}`);
  const newest = Math.max(...kept.map(({ since }) => since));
  const second = others.find((other) => other.at.getTime() >= newest && says(other));
  if (!second)
    return stands(`${word.by} is the first to say so; somebody else has to say the same too, with ${needed}`);
  for (const { submission, looked, from } of kept) {
    const notOurs = word.notOurs.filter((number) => second.notOurs.includes(number));
    const reason = `not filed, say ${second.by} and ${word.by}: ${word.note ?? ''}`;
    const statement = { filingId, submission, unseen: !looked, notOurs, from: new Date(from), reason, at };
    await recordRelease(client, { ...statement, ground: 'absent' });
  }
  return { outcome: 'again' };
}

/** The planned submissions of a filing that the send gate holds back. */
async function heldBack(client: Queryable, filingId: string, at: Date) {
  const { rows } = await client.query<{ submission: number }>(
    `SELECT submission FROM submissions WHERE filing_id = $1 AND state = 'planned' ORDER BY submission`,
    [filingId],
  );
  const kept = [];
  for (const { submission } of rows) {
    const absence = await absenceToConfirm(client, { filingId, submission, at });
    if (absence) kept.push({ submission, ...absence });
  }
  return kept;
}
