/** What persons can decide about a filing now, and what they are shown. */
import type { ApprovalFacts, NotFiledFacts } from '../../domain/filing/decision';
import { evidenceName, isUnreadable, NO_READING } from '../../domain/filing/evidence';
import { verdictOf, type SendResult } from '../../domain/filing/verdicts';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import type { LockedFiling } from '../filings/lock';
import { standsAgainst, type Against } from '../attempts/send-conditions';

/** Settings that decisions depend on. */
export interface DecisionSettings {
  settleAfterMs: number;
  /** An installation of one person, who waits a day between her two decisions. */
  singlePerson: boolean;
}

/** The attempt that "not filed" answers, and why it cannot be said; null: it can. */
export type Question = Omit<NotFiledFacts, 'singlePerson'> & {
  refusal: string | null;
  verdict: string | null;
  requestId: string | null;
  /** The service had refused its content, which may be the proof that it was filed: the filing then ends. */
  refusedContent: boolean;
};

interface AttemptRead {
  attempt: number;
  verdict: 'sending' | 'unknown' | 'accepted';
  requestId: string | null;
  settled: boolean;
  /** The service denies the request, is done with it, or it is overdue. */
  overdue: boolean;
  answer: SendResult | null;
  names: string[];
  /** Certificates that its own record names, whose details are not read or contradict. */
  recorded: string[];
  sent: number;
  readAt: string | null;
  /** When the company's last whole reading began. */
  wholeAt: number | null;
}

/** The attempt in question. The longer settle time of this process and of the sender counts. */
export async function readQuestion(
  client: Queryable,
  filing: LockedFiling,
  { settleAfterMs }: DecisionSettings,
): Promise<Question> {
  const { filingId, mode, iec, now } = filing;
  const { beat } = filing.ledger;
  const { rows } = await client.query<AttemptRead>(
    `SELECT a.number AS attempt, a.verdict, a.request_id AS "requestId", a.answer,
            a.marked_at + greatest(a.settle_ms, $2) * interval '1 ms' <= clock_timestamp() AND $3 >= a.beat + a.settle_beats AS settled,
            a.ended_at IS NOT NULL OR coalesce(f.due_at <= clock_timestamp(), false)
              OR (a.denied_since IS NOT NULL AND (lower(trim(a.ack_status)) IS NOT DISTINCT FROM 'failed'
                OR a.denied_since + greatest(a.settle_ms, $2) * interval '1 ms' <= clock_timestamp())) AS overdue,
            ARRAY(SELECT jsonb_array_elements_text(a.evidence -> 'names')) AS names,
            ARRAY(SELECT record_number FROM filing_rows r WHERE r.filing_id = $1 AND r.state = 'sent' AND record_number IS NOT NULL)
              AS recorded,
            (SELECT count(*)::int FROM filing_rows r WHERE r.filing_id = $1 AND r.state = 'sent') AS sent,
            a.evidence ->> 'readAt' AS "readAt",
            (SELECT ${MS('max(began_at)')} FROM readings g WHERE g.mode = $4 AND g.iec = $5 AND g.whole) AS "wholeAt"
       FROM attempts a JOIN filings f USING (filing_id)
      WHERE a.filing_id = $1 AND a.verdict IN ('sending', 'unknown', 'accepted')`,
    [filingId, settleAfterMs, beat, mode, iec],
  );
  const [found] = rows;
  if (!found) {
    const refusal = 'no attempt of it is in question: nothing of it was sent, or the outcome is known';
    const none = { refusedContent: false, attempt: 0, names: [], accepted: false, readAt: null, unreadable: false };
    return { ...none, refusal, verdict: null, requestId: null };
  }
  const { attempt, verdict, requestId, answer, wholeAt } = found;
  const request = requestId === null ? [] : [evidenceName('request', requestId)];
  const recorded = found.recorded.map((number) => evidenceName('certificate', number));
  const names = [...new Set([...found.names, ...request, ...recorded])].sort();
  const readAt = found.readAt === null ? null : Date.parse(found.readAt);
  return {
    ...{ attempt, verdict, requestId, names, refusal: refusalOf(found) },
    accepted: verdict === 'accepted',
    // What the last whole reading found is not known before the filing's run has looked at it.
    readAt: readAt !== null && readAt >= (wholeAt ?? 0) && !names.includes(NO_READING) ? readAt : null,
    unreadable: wholeAt === null || wholeAt < now - settleAfterMs,
    refusedContent: answer !== null && verdictOf({ ...answer, texts: [] }, false) === 'refused',
  };
}

function refusalOf({ attempt, verdict, settled, overdue, sent }: AttemptRead): string | null {
  if (verdict === 'sending') return `attempt ${attempt} is being sent`;
  if (sent === 0) return 'every row has its outcome';
  if (!settled) return `attempt ${attempt} may still show in certificates and balances: the settle time is not over`;
  return verdict === 'accepted' && !overdue ? 'the service accepted it, and its outcome is not overdue' : null;
}

/** What approvals are judged by: of a filing as it is locked, or as it is shown. */
export type ToApprove = Pick<
  LockedFiling,
  'filingId' | 'mode' | 'iec' | 'reference' | 'n' | 'approvedEvidence' | 'unreadApproved' | 'now'
>;

/** What approvals depend on, with what stands against sending the filing. */
export async function approvalFacts(
  client: Queryable,
  filing: LockedFiling,
  settings: DecisionSettings,
): Promise<ApprovalFacts> {
  const { filingId, approval, approvedAt, makerId } = filing;
  const { rows } = await client.query<{ madeAt: number; sendable: boolean }>(
    `SELECT ${MS('made_at')} AS "madeAt", f.checked_at IS NOT NULL AND f.iec IS NOT NULL
            AND EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = $1 AND r.state = 'planned')
            AND NOT EXISTS (SELECT FROM attempts a WHERE a.filing_id = $1 AND a.verdict IN ('sending', 'unknown', 'accepted')) AS sendable
       FROM filings f WHERE filing_id = $1`,
    [filingId],
  );
  const { madeAt = 0, sendable = false } = rows[0] ?? {};
  const pending = approval !== null && approvedAt === null;
  const { names } = sendable ? await againstSending(client, filing, settings.settleAfterMs) : { names: [] };
  return { names, pending, makerId, madeAt, singlePerson: settings.singlePerson };
}

/** What stands against sending a filing: certificates, or that they could not be read for a settle time. */
export async function againstSending(client: Queryable, filing: ToApprove, settleAfterMs: number): Promise<Against> {
  const { mode, iec, now, unreadApproved } = filing;
  const against = await standsAgainst(client, filing as LockedFiling, settleAfterMs);
  const { names, readAfter } = against;
  if (unreadApproved) return against;
  const { rows } = await client.query<{ wholeAt: number | null; failingSince: number | null }>(
    `WITH last_whole AS (SELECT max(began_at) AS at FROM readings WHERE mode = $1 AND iec = $2 AND whole)
     SELECT ${MS('(SELECT at FROM last_whole)')} AS "wholeAt",
            (SELECT ${MS('min(began_at)')} FROM readings, last_whole WHERE mode = $1 AND iec = $2 AND ended_at IS NOT NULL
               AND whole IS FALSE AND began_at > coalesce(last_whole.at, '-infinity')) AS "failingSince"`,
    [mode, iec],
  );
  const { wholeAt = null, failingSince = null } = rows[0] ?? {};
  const unreadable = isUnreadable({ wholeAt, failingSince, readAfter, now }, settleAfterMs);
  return unreadable ? { names: [...names, NO_READING], readAfter } : against;
}

/** Whether certificates can be named for rows that were never sent: something stands against sending it. */
export const standsInTheWay = ({ names }: ApprovalFacts): boolean => names.length > 0;
