/** Every transaction takes its locks in the same order, to avoid deadlocks: IRMs by key, the filing, the rest. */
import type { FilingFacts } from '../../domain/filing/run-judgement';
import { IS_MAYBE_FILED } from '../gates/attempts';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import type { FilingRecord } from './filings';
import { irmIdentity, type IrmNames } from '../../domain/identity';
import type { Mode } from '../../domain/names';

/** What every step on a filing decides by, read under the filing's lock. */
export interface LockedFiling extends Pick<
  FilingRecord,
  'filingId' | 'exporterId' | 'state' | 'seq' | 'dueAt' | 'waitsFor'
> {
  ended: boolean;
  /** It still needs an approval, whatever its state. */
  unapproved: boolean;
}

/** Locks a filing and all of its reference, whose rows it may take over; null if the ledger does not hold it. */
export async function lockFiling(client: Queryable, filingId: string): Promise<LockedFiling | null> {
  const { rows } = await client.query<LockedFiling>(
    `SELECT filing_id AS "filingId", exporter_id AS "exporterId", state, seq::int AS seq, closed_at IS NOT NULL AS ended,
            approval_needed AND approved_by IS NULL AS unapproved, ${MS('due_at')} AS "dueAt", waits_for AS "waitsFor"
       FROM filings WHERE (mode, reference) = (SELECT mode, reference FROM filings WHERE filing_id = $1) ORDER BY filing_id FOR UPDATE`,
    [filingId],
  );
  return rows.find((filing) => filing.filingId === filingId) ?? null;
}

const NOTHING = { planned: false, doubtful: false, followed: false, settled: false, unapproved: false, rows: 0 };

/** Which parts of a filing are planned, in doubt, followed or settled, and how many rows it has. */
export async function readFacts(db: Queryable, filingId: string): Promise<FilingFacts & { rows: number }> {
  const { rows } = await db.query<FilingFacts & { rows: number }>(
    `SELECT coalesce(bool_or(open AND NOT followed AND NOT doubtful), false) AS planned,
            coalesce(bool_or(open AND NOT followed AND doubtful), false) AS doubtful,
            coalesce(bool_or(open AND followed), false) AS followed,
            coalesce(bool_or(s.state = 'settled'), false) AS settled,
            coalesce(bool_or(f.approval_needed AND f.approved_by IS NULL), false) AS unapproved,
            coalesce(sum(s.row_count), 0)::int AS rows
       FROM submissions s JOIN filings f USING (filing_id)
       CROSS JOIN LATERAL (SELECT s.state IN ('planned', 'acknowledged') AS open,
         EXISTS (SELECT FROM requests q WHERE q.filing_id = s.filing_id AND q.submission = s.submission AND q.state = 'followed')
           AS followed,
         EXISTS (SELECT FROM attempts a WHERE a.filing_id = s.filing_id AND a.submission = s.submission
           AND ${IS_MAYBE_FILED}) AS doubtful) AS of
      WHERE s.filing_id = $1`,
    [filingId],
  );
  return rows[0] ?? NOTHING;
}

/** Namespace of the advisory locks; any fixed number. */
const IRM_LOCKS = 2;

/** IRMs share this many locks: a filing can have a thousand IRMs, and PostgreSQL has room for a few thousand locks. */
const STRIPES = 256;

/** Locks a filing's IRMs. Advisory, because an IRM may have no row yet; by mode, because its party may change. */
export async function lockIrms(client: Queryable, mode: Mode, irms: readonly IrmNames[]): Promise<void> {
  const keys = [...new Set(irms.map((irm) => `${mode} ${irmIdentity(irm)}`))];
  await client.query(
    `SELECT pg_advisory_xact_lock(${IRM_LOCKS}, stripe) FROM (
       SELECT DISTINCT (hashtextextended(key, 0) & ${STRIPES - 1})::int AS stripe FROM unnest($1::text[]) AS key ORDER BY 1
     ) AS ordered`,
    [keys],
  );
}
