/** What stands against sending a filing: rule 4 of docs/protocol.md. */
import { NOBODYS } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { MS } from '../paging';
import type { LockedFiling } from '../filings/lock';

/** Rows `p` that were sent, are sent no longer and have no certificate; not those of attempts that were not sent. */
const SENT_BEFORE = `p.sent_at IS NOT NULL AND p.state IN ('planned', 'rejected', 'released')`;

const BEFORE = 'p.filing_id, p.position AS p_position, p.sent_at, p.freed_at, p.document_key, p.bill_key';

export interface Against {
  /** The certificates that speak against sending it, by name, without those it was approved or let in beside. */
  names: string[];
  /** A whole reading must have begun after this (epoch ms): rows were freed, or the ledger was restored, then. */
  readAfter: number;
}

/**
 * A certificate that is nobody's and equals a row in document, currency and amount stands against it, whatever its age.
 * Where a row with one of its documents, or of an earlier filing of its reference, was sent before, so does each newer
 * certificate of the document or its bill number that fits no other sent row. `settleMs`: of this process.
 */
export async function standsAgainst(client: Queryable, filing: LockedFiling, settleMs: number): Promise<Against> {
  const { filingId, mode, iec, reference, n, approvedEvidence } = filing;
  const { rows } = await client.query<Against>(
    `WITH own AS (SELECT * FROM filing_rows WHERE filing_id = $1),
       before AS (
         SELECT r.position, ${BEFORE} FROM own r JOIN filing_rows p
             ON p.mode = $2 AND p.iec = $3 AND p.document_key = r.document_key AND ${SENT_BEFORE}
         UNION SELECT r.position, ${BEFORE} FROM own r, filings e JOIN filing_rows p ON p.filing_id = e.filing_id
          WHERE e.mode = $2 AND e.reference = $4 AND e.n < $5 AND p.mode = $2 AND p.iec = $3 AND ${SENT_BEFORE}),
       equal AS (
         SELECT c.ebrc_number, r.beside FROM own r JOIN certificates c
             ON c.mode = $2 AND c.iec = $3 AND c.document_key = r.document_key AND c.amount = r.amount
            AND upper(c.currency) = upper(r.currency)
          WHERE ${NOBODYS}),
       newer AS (
         SELECT c.ebrc_number, r.beside FROM own r JOIN certificates c ON c.mode = $2 AND c.iec = $3
            AND (c.document_key = r.document_key OR (c.bill_key <> '' AND c.bill_key = r.bill_key))
          WHERE ${NOBODYS} AND c.first_seen_at > (SELECT min(b.sent_at) FROM before b WHERE b.position = r.position)
            AND NOT EXISTS (SELECT FROM filing_rows s WHERE s.mode = $2 AND s.iec = $3 AND s.state = 'sent' AND s.filing_id <> $1
              AND s.document_key = c.document_key AND s.amount = c.amount))
     SELECT coalesce((SELECT array_agg(DISTINCT 'certificate:' || ebrc_number) FROM (TABLE equal UNION TABLE newer) AS found
              WHERE ebrc_number <> ALL (beside) AND 'certificate:' || ebrc_number <> ALL ($6)), '{}') AS names,
            coalesce(greatest((SELECT ${MS('max(freed_at)')} FROM before),
              (SELECT ${MS('restored_at')} + $7::float8 FROM ledger)), 0) AS "readAfter"`,
    [filingId, mode, iec, reference, n, approvedEvidence, settleMs],
  );
  return rows[0] ?? { names: [], readAfter: 0 };
}

/** When the last whole reading of the company's certificates began, epoch ms; null: there was none. */
export async function lastWholeReading(
  client: Queryable,
  { mode, iec }: Pick<LockedFiling, 'mode' | 'iec'>,
): Promise<number | null> {
  const { rows } = await client.query<{ at: number | null }>(
    `SELECT ${MS('max(began_at)')} AS at FROM readings WHERE mode = $1 AND iec = $2 AND whole`,
    [mode, iec],
  );
  return rows[0]?.at ?? null;
}
