/** Attempts after they began: what is stored of them, silence, and what the ledger lost. */
import type { Verdict } from '../../domain/filing/states';
import type { SendResult } from '../../domain/filing/verdicts';
import type { LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { SETTLE_BEATS } from './send';

/** What the service answered, complete but without secrets, as it is stored. */
export interface StoredAnswer extends SendResult {
  dgftAckId: string | null;
  ackStatus: string | null;
  errorCode: string | null;
  message: string | null;
  fieldErrors: readonly { row?: number; field?: string; message: string }[];
  errorDetails: readonly unknown[];
  warnings: readonly unknown[];
  /** Rows that a bulk upload read; null: a push. */
  irms: readonly unknown[] | null;
}

/** SQL: what the service said in its answer to attempt `a`, in its words; null: there is no answer. */
export const SAID = `coalesce(nullif(a.answer ->> 'message', ''),
  (SELECT nullif(string_agg(said.text, '; '), '') FROM jsonb_array_elements_text(a.answer -> 'texts') AS said (text)),
  CASE WHEN a.answer ->> 'kind' = 'accepted' THEN 'an acknowledgement that names no request' ELSE a.answer ->> 'kind' END)`;

export interface AttemptRow {
  number: number;
  verdict: Verdict;
  reason: string | null;
  requestId: string | null;
  sender: string | null;
  markedAt: number;
  timeoutMs: number;
}

const COLUMNS = `number, verdict, reason, request_id AS "requestId", sender, ${MS('marked_at')} AS "markedAt",
  timeout_ms::float8 AS "timeoutMs"`;

export async function readAttempts(client: Queryable, filingId: string): Promise<AttemptRow[]> {
  const { rows } = await client.query<AttemptRow>(
    `SELECT ${COLUMNS} FROM attempts WHERE filing_id = $1 ORDER BY number`,
    [filingId],
  );
  return rows;
}

export async function writeVerdict(
  client: Queryable,
  filingId: string,
  n: number,
  verdict: Verdict,
  reason: string | null,
): Promise<void> {
  await client.query('UPDATE attempts SET verdict = $3, reason = $4 WHERE filing_id = $1 AND number = $2', [
    filingId,
    n,
    verdict,
    reason,
  ]);
}

/** Holds a filing's freed rows again, as sent, at the next free ordinal of their mapping. */
export async function holdAgain(client: Queryable, { filingId }: Pick<LockedFiling, 'filingId'>): Promise<void> {
  await client.query(
    `UPDATE filing_rows r SET state = 'sent', sent_at = coalesce(sent_at, clock_timestamp()), freed_at = NULL, settled_at = NULL,
        ordinal = CASE WHEN r.held THEN r.ordinal ELSE (SELECT coalesce(max(o.ordinal), -1) + 1 FROM filing_rows o
          WHERE o.fingerprint = r.fingerprint AND o.held) + (SELECT count(*) FROM filing_rows s WHERE s.filing_id = r.filing_id
          AND s.fingerprint = r.fingerprint AND NOT s.held AND s.position < r.position)::int END
      WHERE r.filing_id = $1 AND r.state IN ('planned', 'released', 'rejected')`,
    [filingId],
  );
}

/**
 * A `sending` attempt whose process can no longer answer is unknown. `timeoutMs`: of this process.
 * @returns whether there was one
 */
export async function noteSilent(client: Queryable, filing: LockedFiling, timeoutMs: number): Promise<boolean> {
  if (!filing.sending) return false;
  const { rowCount } = await client.query(
    `UPDATE attempts SET verdict = 'unknown', reason = 'its worker gave no answer' WHERE filing_id = $1 AND verdict = 'sending'
        AND clock_timestamp() > marked_at + (greatest(timeout_ms, $2) + ${ANSWER_MARGIN_MS}) * interval '1 ms'`,
    [filing.filingId, timeoutMs],
  );
  if (!rowCount) return false;
  await addEvent(client, filing, { kind: 'unknown', text: 'its worker gave no answer' });
  return true;
}

/** How long after its time-out a sender may still store its answer. */
export const ANSWER_MARGIN_MS = 30_000;

/**
 * Records an attempt that may have been made and that the ledger lacks. Its rows are sent.
 * @param fromMs from when on it may have been sent; default: now
 */
export async function insertUnknown(
  client: Queryable,
  filing: LockedFiling,
  n: number,
  { settleMs, timeoutMs, fromMs }: { settleMs: number; timeoutMs: number; fromMs?: number | undefined },
): Promise<void> {
  const { filingId } = filing;
  await client.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, reason, epoch, beat, settle_beats, settle_ms, timeout_ms)
     SELECT $1, $2, f.mode, f.exporter_id, 'unknown', 'the ledger went back while it may have been sent', server_epoch(), l.beat,
       ${SETTLE_BEATS('$3')}, $3, $4 FROM filings f, ledger l WHERE f.filing_id = $1`,
    [filingId, n, settleMs, timeoutMs],
  );
  await holdAgain(client, filing);
  if (fromMs !== undefined) await sentFrom(client, filing, n, fromMs);
  await addEvent(client, filing, { kind: 'unknown', text: `attempt ${n} may have been sent: the ledger went back` });
}

/** Notes an earlier time from which on an attempt may have been sent, so that its own certificates are not older. */
export async function sentFrom(
  client: Queryable,
  { filingId }: Pick<LockedFiling, 'filingId'>,
  n: number,
  fromMs: number,
): Promise<void> {
  await client.query(
    `UPDATE attempts SET marked_at = least(marked_at, to_timestamp($3::float8 / 1000)),
        settle_ms = settle_ms + greatest(0, floor(extract(epoch FROM marked_at) * 1000) - $3::float8)::bigint
      WHERE filing_id = $1 AND number = $2`,
    [filingId, n, fromMs],
  );
  await client.query(
    `UPDATE filing_rows SET sent_at = least(sent_at, to_timestamp($2::float8 / 1000)) WHERE filing_id = $1 AND state = 'sent'`,
    [filingId, fromMs],
  );
}
