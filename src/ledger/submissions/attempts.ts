/** Opens the attempt for a send, or says why there is none, and reads its outcome. The gates write verdicts. */
import { attemptIdOf, MAYBE_FILED, partsOfAttemptId } from '../../domain/filing/attempt';
import type { AttemptReading, AttemptVerdict } from '../../domain/filing/attempt';
import type { FilingState, SubmissionState } from '../../domain/filing/states';
import type { LockedFiling } from '../filings/filing-lock';
import { FilingMissing } from '../filings/filings';
import { absenceToConfirm } from '../gates/absence';
import { lockAttempts, type AttemptRow } from '../gates/attempts';
import { PUT_BACK_TOGETHER } from '../gates/held-rows';
import { judgeRefused, judgeUnsent } from '../gates/release';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { holderBeside } from '../rows/live-mappings';
import { doubtAttempt, doubtRows, lostTimeCertificates } from './lost-time';

export type OpenedAttempt =
  /** The attempt to send or, if its verdict is not `open`, the one that has already been sent. */
  | { outcome: 'attempt'; attemptId: string; number: number; verdict: AttemptVerdict }
  /** The submission cannot be sent any more: a request of it is followed, or it is settled or released. */
  | { outcome: 'passed'; state: SubmissionState }
  /**
   * Nothing of the exporter is sent before its certificates since `from` were read after `until`; epoch ms.
   */
  | { outcome: 'wait'; until: number; from: number }
  /**
   * Its rows were released as not filed. Before the send, a complete look at the certificates since `from` must begin
   * after `since` (epoch ms), and two persons must name the `agreeing` certificates as another filing's.
   */
  | { outcome: 'look'; since: number; from: number; agreeing: string[] }
  /** Some of its rows must no longer be sent. */
  | { outcome: 'rows_gone'; reason: string }
  | { outcome: 'ended'; state: FilingState };

/**
 * Opens a submission's next attempt, or returns the current one. With `after`, for a step that may be late, only if it
 * is the number of the last attempt (0: none); otherwise the run went on without the step, and the result is null.
 * Requires the filing's lock.
 */
export async function openAttempt(
  client: Queryable,
  filing: LockedFiling,
  { submission, at, after }: { submission: number; at: Date; after?: number },
): Promise<OpenedAttempt | null> {
  const { filingId } = filing;
  if (filing.ended) return { outcome: 'ended', state: filing.state };
  const { state, followed, gone, restored } = await readStage(client, filing, submission);
  // An acknowledgement without a request id to poll is settled like a lost answer.
  if (state === 'settled' || state === 'released' || followed) return { outcome: 'passed', state };
  const attempts = await lockAttempts(client, filingId, submission);
  const last = attempts.at(-1) ?? null;
  const standing =
    attempts.findLast(({ verdict }) => verdict === 'accepted') ??
    attempts.findLast(({ verdict }) => verdict === 'open' || MAYBE_FILED.includes(verdict));
  if (standing) {
    const { attemptId, number, verdict } = standing;
    // The attempt may have been opened before the newest snapshot was taken.
    const newest = snapshotFor({ filing: 'a.filing_id', submission: 'a.submission', attempt: '$1' });
    const note = `UPDATE attempts a SET snapshot_id = coalesce(${newest}, snapshot_id) WHERE attempt_id = $1`;
    if (verdict === 'open') await client.query(note, [attemptId]);
    return { outcome: 'attempt', attemptId, number, verdict };
  }
  if (after !== undefined && (last?.number ?? 0) !== after) return null;
  if (gone !== null) return { outcome: 'rows_gone', reason: gone };
  const holder = await holderBeside(client, filingId, submission);
  if (holder !== null)
    return {
      outcome: 'rows_gone',
      reason: `Filing ${holder} also holds one of its mappings, as was found after both were recorded: resolve that filing first.`,
    };
  const number = (last?.number ?? 0) + 1;
  if (restored?.unread) return { outcome: 'wait', until: restored.until, from: restored.from };
  // Only before the first attempt, because later a person may have said that it was not filed.
  const lost = restored && last === null ? await lostTimeCertificates(client, { filingId, submission }) : null;
  if (lost && (lost.agreeing.length > 0 || !lost.looked)) {
    const doubted = { filingId, submission, number, reason: PUT_BACK_TOGETHER, at: lost.since };
    await doubtRows(client, { ...doubted, submissions: [submission] });
    return { outcome: 'attempt', attemptId: await doubtAttempt(client, doubted), number, verdict: 'marked' };
  }
  const absence = await absenceToConfirm(client, { filingId, submission, at });
  if (absence) return { outcome: 'look', ...absence };
  const attemptId = attemptIdOf(filingId, submission, number);
  await client.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, snapshot_id)
     VALUES ($1, $2, $3, $4, ${snapshotFor({ filing: '$2', submission: '$3', attempt: '$1' })})`,
    [attemptId, filingId, submission, number],
  );
  return { outcome: 'attempt', attemptId, number, verdict: 'open' };
}

/** How far a submission is. Requires the filing's lock, without which its rows do not change. */
async function readStage(client: Queryable, { filingId, exporterId }: LockedFiling, submission: number) {
  const { rows } = await client.query<{
    state: SubmissionState;
    followed: boolean;
    /** Why rows must no longer be sent; null: all may be. */
    gone: string | null;
    /** The certificates to read first if ledger and documents were put back together; epoch ms. */
    restored: { until: number; from: number; unread: boolean } | null;
  }>(
    `SELECT state, EXISTS (SELECT FROM requests q WHERE q.filing_id = $1 AND q.submission = $2 AND q.state = 'followed') AS followed,
            (SELECT CASE WHEN count(*) > 0 THEN coalesce(min(errors ->> 0), count(*) || ' rows of the submission are not to be sent any more') END
               FROM filing_rows WHERE filing_id = $1 AND submission = $2 AND NOT (live AND state = 'planned')) AS gone,
            (SELECT jsonb_build_object('until', ${MS('i.certificates_after')}, 'from', ${MS('i.certificates_from')},
                'unread', coalesce(p.certificates_read_at < i.certificates_after, true))
               FROM ledger_identity i, exporters e JOIN parties p USING (party_id)
              WHERE e.exporter_id = $3 AND i.certificates_after IS NOT NULL) AS restored
       FROM submissions WHERE filing_id = $1 AND submission = $2`,
    [filingId, submission, exporterId],
  );
  if (!rows[0]) throw new FilingMissing(filingId, `Submission ${submission} of filing ${filingId}`);
  return rows[0];
}

/** SQL: the newest snapshot of a submission, unless another attempt has it; by order of writing, not by clocks. */
const snapshotFor = ({ filing, submission, attempt }: Record<'filing' | 'submission' | 'attempt', string>) =>
  `(SELECT max(snapshot_id) FROM snapshots n WHERE n.filing_id = ${filing} AND n.submission = ${submission}
      AND NOT EXISTS (SELECT FROM attempts t WHERE t.filing_id = ${filing} AND t.submission = ${submission}
        AND t.attempt_id <> ${attempt} AND t.snapshot_id >= n.snapshot_id))`;

/** Records that an attempt's exchange ended with an unknown outcome, so that no answer can follow. */
export async function noteUnknown(
  db: Queryable,
  { attemptId, sender, reason }: { attemptId: string; sender: string; reason: string },
): Promise<void> {
  await db.query(`UPDATE attempts SET reason = $3 WHERE attempt_id = $1 AND verdict = 'marked' AND sender = $2`, [
    attemptId,
    sender,
    reason,
  ]);
}

/** Sets the rows of an attempt to `unknown`, unless the attempt was not sent or is judged as not filed. */
export async function markRowsUnknown(client: Queryable, attemptId: string): Promise<void> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  await client.query(
    `UPDATE filing_rows SET state = 'unknown'
      WHERE filing_id = $1 AND submission = $2 AND live AND state IN ('planned', 'submitted')
        AND NOT EXISTS (SELECT FROM attempts WHERE attempt_id = $3 AND verdict IN ('open', 'unsent', 'refused', 'absent'))`,
    [filingId, submission, attemptId],
  );
}

/**
 * Reads the outcome of an attempt. Requires the filing's lock. An unmarked attempt is judged unsent first, so that a
 * worker that wakes late cannot mark it. `refused`: a refusal that its execution could perhaps not record.
 */
export async function readAttempt(
  client: Queryable,
  filing: LockedFiling | null,
  { attemptId, refused, at }: { attemptId: string; refused?: { reason: string; sender: string }; at: Date },
): Promise<AttemptReading> {
  if (refused) await judgeRefused(client, { attemptId, ...refused, at });
  await judgeUnsent(client, { attemptId, proof: 'unmarked', reason: 'closed before anything was written', at });
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { rows } = await client.query<Omit<AttemptRow, 'number'> & Pick<AttemptReading, 'timeoutMs' | 'settleMs'>>(
    `SELECT attempt_id AS "attemptId", verdict, reason, answer, marked_at AS "markedAt", timeout_ms::float8 AS "timeoutMs",
            settle_ms::float8 AS "settleMs"
       FROM attempts WHERE filing_id = $1 AND submission = $2 AND (attempt_id = $3 OR verdict = 'accepted')
      ORDER BY (attempt_id = $3) DESC, number`,
    [filingId, submission, attemptId],
  );
  const attempt = rows.find((row) => row.attemptId === attemptId);
  // An acceptance of any attempt of the submission takes precedence over this attempt's outcome.
  const accepted = rows.find((row) => row.verdict === 'accepted');
  const unknown = { verdict: null, reason: 'the ledger does not hold the attempt', answer: null };
  const { verdict, reason, answer } = accepted ? { ...accepted, reason: null } : (attempt ?? unknown);
  return {
    ...{ verdict, reason, answer, attemptId: accepted?.attemptId ?? attemptId },
    markedAt: attempt?.markedAt?.getTime() ?? null,
    timeoutMs: attempt?.timeoutMs ?? null,
    settleMs: attempt?.settleMs ?? null,
    underWay: verdict === 'marked' && reason === null,
    filingEnded: filing?.ended ?? false,
  };
}
