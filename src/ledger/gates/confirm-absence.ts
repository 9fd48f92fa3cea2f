/**
 * What two persons say at the send gate about rows released as absent: agreeing certificates are other filings', or
 * nothing was filed although no look is possible.
 */
import type { Carried } from '../../domain/filing/questions';
import { lockFiling } from '../filings/filing-lock';
import type { Queryable } from '../pool';
import type { Word } from '../submissions/words';
import { absenceToConfirm, type AbsenceToConfirm } from './absence';
import { lockAttempts } from './attempts';
import { recordRelease } from './held-rows';
import { longestWindow, noLookSince } from './settle-window';

/** Carries out a word about rows that the send gate keeps back: it is no look, and frees nothing. Under the lock. */
export async function confirmAbsence(
  client: Queryable,
  word: Word,
  others: readonly Word[],
  { settleMs, at }: { settleMs: number; at: Date },
): Promise<Carried> {
  const { filingId } = word;
  const exporterId = (await lockFiling(client, filingId))?.exporterId ?? '';
  const kept = await keptBack(client, filingId, at);
  if (kept.length === 0) return { outcome: 'refused', why: 'it names neither an attempt nor a request' };
  for (const { submission, looked, from, since } of kept) {
    if (word.at.getTime() < since)
      return { outcome: 'refused', why: 'its rows were released as not filed after that: look at the filing again' };
    if (looked) continue;
    const windowMs = longestWindow(await lockAttempts(client, filingId, submission), settleMs);
    if (!(await noLookSince(client, exporterId, at.getTime() - windowMs, new Date(from))))
      return {
        outcome: 'refused',
        why: 'a complete look at the certificates was possible lately: --unseen counts after a settle window without one',
      };
  }
  const needs = kept.some(({ looked }) => !looked) ? ['--unseen'] : [];
  const agreeing = [...new Set(kept.flatMap((each) => each.agreeing))];
  if (agreeing.length > 0) needs.push(`--not-ours NUMBER for each of ${agreeing.join(', ')}`);
  const needed = needs.join(' and ');
  const says = ({ unseen, notOurs }: Word) =>
    kept.every(({ looked }) => looked || unseen) && agreeing.every((number) => notOurs.includes(number));
  if (!says(word)) return { outcome: 'refused', why: `look at the portal; two persons have to say so, with ${needed}` };
  const newest = Math.max(...kept.map(({ since }) => since));
  const second = others.find((other) => other.at.getTime() >= newest && says(other));
  if (!second) {
    const why = `${word.by} is the first to say so; somebody else has to say the same too, with ${needed}`;
    return { outcome: 'stands', why };
  }
  for (const { submission, looked, from } of kept) {
    const notOurs = word.notOurs.filter((number) => second.notOurs.includes(number));
    const reason = `not filed, say ${second.by} and ${word.by}: ${word.note ?? ''}`;
    const said = { filingId, submission, unseen: !looked, notOurs, from: new Date(from), reason, at };
    await recordRelease(client, { ...said, ground: 'absent' });
  }
  return { outcome: 'again' };
}

/** The submissions of a filing that are to be sent, and that the send gate keeps back. */
async function keptBack(client: Queryable, filingId: string, at: Date) {
  const { rows } = await client.query<{ submission: number }>(
    `SELECT submission FROM submissions WHERE filing_id = $1 AND state = 'planned' ORDER BY submission`,
    [filingId],
  );
  const kept: (AbsenceToConfirm & { submission: number })[] = [];
  for (const { submission } of rows) {
    const absence = await absenceToConfirm(client, { filingId, submission, at });
    if (absence) kept.push({ submission, ...absence });
  }
  return kept;
}
