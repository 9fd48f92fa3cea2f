/** Looks as they are recorded, and what may have been sent in the time that ledger and documents have both lost. */
import { attemptIdOf, type SubmissionKey } from '../../domain/filing/attempt';
import { agrees } from '../gates/absence';
import { insertAttempt } from '../gates/attempts';
import { PUT_BACK_TOGETHER } from '../gates/held-rows';
import { writeVerdict } from '../gates/verdict';
import type { Balance } from '../certificates/snapshots';
import type { Queryable } from '../pool';
import { type FilingDate, isoFromFilingDate } from '../../domain/dates';

/** Records an attempt that may have been sent: a person, or evidence from before it, settles it. @returns its id */
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

/** Takes the live rows of submissions for sent, with an unknown outcome. @returns how many there are */
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
 * What the authority may have certified of a submission without this ledger knowing; null: nothing was lost. What a row
 * took since the restore counts too: of two equal tranches fetch-details does not tell which it is of.
 */
export async function lostTimeCertificates(client: Queryable, { filingId, submission }: SubmissionKey) {
  const { rows } = await client.query<{
    /** The day before the copy that was put back. */
    since: Date;
    /**
     * Issued since then, and equal to the row in document, date, amount and currency; or in its document or bill alone,
     * where it was issued before the certificates of the lost time were to be read.
     */
    agreeing: { position: number; eBRCNumber: string }[];
    /** Whether a complete look has shown all of them; without an IEC there is none. */
    looked: boolean;
  }>(
    `SELECT i.certificates_from AS since,
       EXISTS (SELECT FROM looks l WHERE l.party_id = p.party_id AND l.complete AND l.began_at >= i.certificates_after
          AND l.from_date <= (i.certificates_from AT TIME ZONE 'Asia/Kolkata')::date
          AND l.to_date >= (l.began_at AT TIME ZONE 'Asia/Kolkata')::date) AS looked,
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

/** What evidence about an attempt is held against; null: the ledger does not hold it. */
export async function readSent(db: Queryable, attemptId: string) {
  const { rows } = await db.query<{
    markedAt: Date | null;
    /** The balances in the snapshot taken before it; null: there is none. */
    balances: Balance[] | null;
    /** From when on certificates are evidence about it, where a restore left it in doubt; null for any other. */
    lostSince: Date | null;
  }>(
    `SELECT a.marked_at AS "markedAt", s.balances,
            (SELECT certificates_from FROM ledger_identity WHERE a.reason = $2) AS "lostSince"
       FROM attempts a LEFT JOIN snapshots s USING (snapshot_id) WHERE a.attempt_id = $1`,
    [attemptId, PUT_BACK_TOGETHER],
  );
  return rows[0] ?? null;
}

/** Notes that certificates were read at `at`. `iecCode`: under which; null: there is none; left out: its party's. */
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
  /** The IEC that was asked for; left out: its party's. */
  iecCode?: string;
  beganAt: Date;
  endedAt: Date;
  from: FilingDate;
  to: FilingDate;
  /** Why it is not complete; null: every day of the span was read, and every entry. */
  problem: string | null;
}

/** The SQL that records a {@link lookToRecord} for the party of the IEC asked for, which may have changed since. */
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
