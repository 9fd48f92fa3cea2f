/** The settle window of a submission, and what stands in for a look that was not possible in it. */
import type { Queryable } from '../pool';
import { completeLook } from './absence';
import { lockAttempts, type AttemptRow } from './attempts';
import { PUT_BACK_TOGETHER } from './held-rows';

/** The window of this process, or of the sender whose window was longer. */
export const longestWindow = (attempts: readonly AttemptRow[], settleMs: number): number =>
  Math.max(settleMs, ...attempts.map((each) => each.settleMs ?? 0));

/** The end of the settle window: after the last mark, and after what the service says was first said. */
export async function windowEnd(
  client: Queryable,
  of: { attempts: readonly AttemptRow[]; settleMs: number; statementSince?: Date | null },
): Promise<Date> {
  const { attempts, settleMs, statementSince } = of;
  const begun = [...attempts.map(({ markedAt }) => markedAt), statementSince];
  const ends = begun.flatMap((from) => (from ? [from.getTime() + settleMs] : []));
  const { rows } = await client.query<{ after: Date | null }>(
    'SELECT certificates_after AS after FROM ledger_identity',
  );
  const restored = attempts.some(({ reason }) => reason === PUT_BACK_TOGETHER) ? rows[0]?.after?.getTime() : null;
  return new Date(Math.max(restored ?? 0, ...ends));
}

/** Whether the window of a submission that was sent is over, for what does not show by then. */
export async function windowIsOver(
  client: Queryable,
  { filingId, submission, settleMs, at }: { filingId: string; submission: number; settleMs: number; at: Date },
): Promise<boolean> {
  const attempts = await lockAttempts(client, filingId, submission);
  if (!attempts.some(({ markedAt }) => markedAt !== null)) return false;
  const longest = longestWindow(attempts, settleMs);
  return at >= (await windowEnd(client, { attempts, settleMs: longest }));
}

/** Whether no complete look at the certificates of a party was possible since then; `since` in ms since the epoch. */
export async function noLookSince(client: Queryable, exporterId: string, since: number, from: Date): Promise<boolean> {
  return (await completeLook(client, { exporterId, since: new Date(since), from })) === null;
}

/** What was in the way of the party's last look, for people. */
export async function lastProblem(client: Queryable, exporterId: string): Promise<string> {
  const { rows } = await client.query<{ problem: string | null }>(
    `SELECT problem FROM looks WHERE party_id = (SELECT party_id FROM exporters WHERE exporter_id = $1)
      ORDER BY began_at DESC LIMIT 1`,
    [exporterId],
  );
  return rows[0]?.problem ? ` (${rows[0].problem})` : '';
}
