/** The recording of looks, and what may have been sent in the time that ledger and documents both lost. */
import { attemptIdOf, type SubmissionKey } from '../../domain/filing/attempt';
import { agrees, COVERS_DAYS_SINCE } from '../gates/absence';
import { insertAttempt } from '../gates/attempts';
import { PUT_BACK_TOGETHER } from '../gates/held-rows';
import { writeVerdict } from '../gates/verdict';
import type { Balance } from '../certificates/snapshots';
import type { Queryable } from '../pool';
import { type FilingDate, isoFromFilingDate } from '../../domain/dates';

/** Records an attempt as marked, because it may have been sent; persons or evidence settle it. @returns its id */
export async function doubtAttempt(
  client: Queryable,
  { filingId, submission, number, reason, at }: SubmissionKey & { number: number; reason: string; at: Date },
): Promise<string> {
  const attemptId = attemptIdOf(filingId, submission, number);
  await insertAttempt(client, attemptId);
  const mark = { sender: null, settleMs: null, timeoutMs: null };
  await writeVerdict(client, { attemptId, from: ['open'], verdict: 'marked', reason, at, mark });
  return attemptId;
}

/** Sets the live rows of submissions to sent with an unknown outcome. @returns how many */
export async function doubtRows(
  client: Queryable,
  { filingId, submissions, at }: { filingId: string; submissions: readonly number[]; at: Date },
): Promise<number> {
  const { rowCount } = await client.query(
    `UPDATE filing_rows SET state = 'unknown', submitted_at = coalesce(submitted_at, $2), reserved_at = coalesce(reserved_at, $2)
      WHERE filing_id = $1 AND live AND state IN ('planned', 'submitted') AND submission = ANY($3)`,
    [filingId, at, submissions],
  );
  return rowCount ?? 0;
}

/**
 * Certificates that may be of a submission that was sent in a lost time; null: nothing was lost. Those that a row got
 * since the restore count too, because fetch-details does not tell which of two equal tranches a certificate is of.
 */
export async function lostTimeCertificates(client: Queryable, { filingId, submission }: SubmissionKey) {
  const { rows } = await client.query<{
    /** The day before the restored copy was made. */
    since: Date;
    /**
     * Issued since then and equal to the row in document, date, amount and currency; or equal in document or bill
     * alone, if issued before the certificates of the lost time were to be read.
     */
    agreeing: { position: number; eBRCNumber: string }[];
    /** Whether a complete look has shown all of them; without an IEC no look is possible. */
    looked: boolean;
  }>(
    `SELECT i.certificates_from AS since,
       EXISTS (SELECT FROM looks l WHERE l.party_id = p.party_id AND l.began_at >= i.certificates_after
          AND ${COVERS_DAYS_SINCE("(i.certificates_from AT TIME ZONE 'Asia/Kolkata')::date")}) AS looked,
       (SELECT coalesce(jsonb_agg(jsonb_build_object('position', r.position, 'eBRCNumber', c.ebrc_number)
                 ORDER BY r.position, c.ebrc_number), '[]')
          FROM filing_rows r JOIN certificates c USING (party_id)
         WHERE r.filing_id = f.filing_id AND r.submission = $2 AND r.live AND r.ebrc_number IS NULL
           AND (c.filing_id IS NULL OR c.claimed_at > i.restored_at)
           AND (c.issued_on IS NULL OR c.issued_on >= (i.certificates_from AT TIME ZONE 'Asia/Kolkata')::date)
           AND ((c.document_key = r.document_key AND c.match_key = r.match_key) OR (${agrees('r')}
             AND (c.issued_on IS NULL OR c.issued_on <= (i.certificates_after AT TIME ZONE 'Asia/Kolkata')::date)))) AS agreeing
       FROM ledger_identity i, filings f JOIN exporters e USING (exporter_id) JOIN parties p ON p.party_id = e.party_id
      WHERE f.filing_id = $1 AND i.certificates_after IS NOT NULL`,
    [filingId, submission],
  );
  return rows[0] ?? null;
}

/** What evidence about an attempt is compared with; null: the ledger does not hold the attempt. */
export async function readSent(db: Queryable, attemptId: string) {
  const { rows } = await db.query<{
    markedAt: Date | null;
    /** The balances in the snapshot before the attempt; null: there is none. */
    balances: Balance[] | null;
    /** If a restore left the attempt in doubt: since when certificates are evidence about it; otherwise null. */
    lostSince: Date | null;
  }>(
    `SELECT a.marked_at AS "markedAt", s.balances,
            (SELECT certificates_from FROM ledger_identity WHERE a.reason = $2) AS "lostSince"
       FROM attempts a LEFT JOIN snapshots s USING (snapshot_id) WHERE a.attempt_id = $1`,
    [attemptId, PUT_BACK_TOGETHER],
  );
  return rows[0] ?? null;
}

/** Notes that certificates were read at `at`, under `iecCode`. Null: without an IEC. Default: the party's IEC. */
export async function noteCertificatesRead(
  db: Queryable,
  { exporterId, iecCode, at }: { exporterId: string; iecCode?: string | null; at: Date },
): Promise<void> {
  await db.query(
    `UPDATE parties p SET certificates_read_at = greatest(p.certificates_read_at, $2) FROM exporters e
      WHERE e.party_id = p.party_id AND e.exporter_id = $1 AND ($4 OR p.iec IS NOT DISTINCT FROM $3)`,
    [exporterId, at, iecCode ?? null, iecCode === undefined],
  );
}

export interface Look {
  exporterId: string;
  /** The IEC that was asked for. Default: the party's. */
  iecCode?: string;
  beganAt: Date;
  endedAt: Date;
  from: FilingDate;
  to: FilingDate;
  /** Why the look is incomplete; null: every day of the span and every entry was read. */
  problem: string | null;
}

/** SQL that records a {@link lookToRecord} for the party of the requested IEC, which may have changed since. */
export const recordsLook = (look: string): string =>
  `INSERT INTO looks (party_id, began_at, ended_at, from_date, to_date, complete, problem)
     SELECT p.party_id, l.began_at, l.ended_at, l.from_date, l.to_date, l.problem IS NULL, l.problem
       FROM jsonb_to_record(${look}) AS l (exporter_id text, iec text, began_at timestamptz, ended_at timestamptz, from_date date,
         to_date date, problem text)
       JOIN exporters e ON e.exporter_id = l.exporter_id
       JOIN parties p ON p.mode = e.mode AND (p.iec = l.iec OR (l.iec IS NULL AND p.party_id = e.party_id))`;

export function lookToRecord({ exporterId, iecCode, beganAt, endedAt, from, to, problem }: Look): string {
  return JSON.stringify({
    exporter_id: exporterId,
    iec: iecCode ?? null,
    began_at: beganAt,
    ended_at: endedAt,
    from_date: isoFromFilingDate(from),
    to_date: isoFromFilingDate(to),
    problem,
  });
}

export async function recordLook(db: Queryable, look: Look): Promise<void> {
  await db.query(recordsLook('$1::jsonb'), [lookToRecord(look)]);
}
