/** What may have been sent in the time that a ledger and its document store have both lost. */
import { attemptIdOf } from '../../domain/filing/attempt';
import type { Queryable } from '../pool';

export const PUT_BACK_TOGETHER =
  'the ledger and the document store were put back together: whether it was sent is not known';

interface Doubted {
  filingId: string;
  submission: number;
  /** Of the attempt that stands for what may have been sent. */
  number: number;
  at: Date;
}

/** Records an attempt of which nobody knows whether it was sent: evidence or a person settles it. */
export async function doubtAttempt(client: Queryable, { filingId, submission, number, at }: Doubted): Promise<string> {
  const attemptId = attemptIdOf(filingId, submission, number);
  await client.query(
    `INSERT INTO attempts (attempt_id, filing_id, submission, number, state, sender, sending_at, reason)
     VALUES ($1, $2, $3, $4, 'sending', 'unknown', $5, $6)`,
    [attemptId, filingId, submission, number, at, PUT_BACK_TOGETHER],
  );
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
 * Since when (the day before the copy) the authority may have certified rows of a submission without this ledger
 * knowing: it issued a certificate since then that no row has, and that agrees with a row in document, date, amount and
 * currency. Null where it did not. Sent as if it were new, such a row could get a second certificate.
 */
export async function certifiedInLostTime(
  client: Queryable,
  { filingId, submission }: { filingId: string; submission: number },
): Promise<Date | null> {
  const { rows } = await client.query<{ since: Date }>(
    `SELECT i.certificates_from AS since FROM ledger_identity i
      WHERE i.certificates_after IS NOT NULL AND EXISTS (SELECT FROM filing_rows r JOIN certificates c USING (party_id, match_key)
        WHERE r.filing_id = $1 AND r.submission = $2 AND r.live AND c.filing_id IS NULL
          AND c.issued_on >= (i.certificates_from AT TIME ZONE 'Asia/Kolkata')::date)`,
    [filingId, submission],
  );
  return rows[0]?.since ?? null;
}

/**
 * What `ebrc ledger restored --documents restored` asks for before anything of a party is sent; null when it was done.
 */
export async function certificatesToRead(
  client: Queryable,
  exporterId: string,
): Promise<{ until: Date; from: Date } | null> {
  const { rows } = await client.query<{ until: Date; from: Date }>(
    `SELECT i.certificates_after AS until, i.certificates_from AS from FROM ledger_identity i, exporters e JOIN parties p USING (party_id)
      WHERE e.exporter_id = $1 AND i.certificates_after IS NOT NULL
        AND (p.certificates_read_at IS NULL OR p.certificates_read_at < i.certificates_after)`,
    [exporterId],
  );
  return rows[0] ?? null;
}

/** Notes that an exporter's certificates were read at `at`, for what waits for it. */
export async function noteCertificatesRead(db: Queryable, exporterId: string, at: Date): Promise<void> {
  await db.query(
    `UPDATE parties p SET certificates_read_at = greatest(p.certificates_read_at, $2) FROM exporters e
      WHERE e.party_id = p.party_id AND e.exporter_id = $1`,
    [exporterId, at],
  );
}
