/** The only statement that writes the verdict of an attempt. Only the gates and imports of lost sends may call it. */
import type { AttemptVerdict, StoredAnswer } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';

/** @returns whether the verdict was written */
export async function writeVerdict(
  client: Queryable,
  verdict: {
    attemptId: string;
    /** Default: any. */
    from?: readonly AttemptVerdict[];
    verdict: AttemptVerdict;
    reason?: string | null;
    at: Date;
    /** Write only if the attempt is open, or this sender marked it and no other execution did. */
    ofSender?: string;
    answer?: StoredAnswer;
    /** The sender, and the settings of its process. */
    mark?: { sender: string | null; payloadHash?: string; settleMs: number | null; timeoutMs: number | null };
  },
): Promise<boolean> {
  const { attemptId, from, reason, at, ofSender, answer, mark } = verdict;
  const judged = [attemptId, from, verdict.verdict, reason, at, ofSender];
  const answered = [answer && JSON.stringify(answer), answer?.status];
  const marked = [mark?.sender, mark?.payloadHash, mark?.settleMs, mark?.timeoutMs, mark !== undefined];
  const { rowCount } = await client.query(
    `UPDATE attempts SET verdict = $3::text, reason = $4, judged_at = CASE WHEN $3 IN ('open', 'marked') THEN NULL ELSE $5::timestamptz END,
        marked_at = CASE WHEN $13 THEN greatest(marked_at, $5) WHEN $3 = 'accepted' THEN coalesce(marked_at, opened_at) ELSE marked_at END,
        sender = CASE WHEN $13 THEN $9 ELSE sender END, payload_hash = coalesce($10, payload_hash),
        settle_ms = greatest($11, settle_ms), timeout_ms = greatest($12, timeout_ms),
        answer = coalesce($7, answer), answer_status = coalesce($8, answer_status),
        answered_at = CASE WHEN $7::jsonb IS NULL THEN answered_at ELSE $5 END
      WHERE attempt_id = $1 AND ($2::text[] IS NULL OR verdict = ANY($2)) AND ($6::text IS NULL OR verdict = 'open' OR (sender = $6
        AND NOT EXISTS (SELECT FROM sends WHERE attempt_id = $1 AND sender <> $6)))`,
    [...judged, ...answered, ...marked],
  );
  return (rowCount ?? 0) > 0;
}
