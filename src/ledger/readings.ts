/** Readings of a company's certificates and of its clients' IRMs, at one time by one reader. */
import { companyOf } from '../domain/identity';
import type { Company } from './exporters/exporters';
import { MS } from './paging';
import type { Queryable } from './pool';

/** The time by PostgreSQL's clock, which all facts of the ledger are told in. */
export async function readClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ at: Date }>('SELECT clock_timestamp() AS at');
  if (!rows[0]) throw new Error('PostgreSQL does not tell the time.');
  return rows[0].at;
}

/** An open reading that is older has lost its reader. */
const LEASE = `interval '10 minutes'`;

/**
 * Begins a reading, unless another one of the company is under way (null). `iec` null: only IRMs can be read. Requires
 * no transaction; the unique index lets one of two readers begin.
 * @param reader the activity that reads; an open reading of it is one whose worker was lost
 */
export async function beginReading(
  db: Queryable,
  company: Company,
  reader: string,
): Promise<{ readingId: string; beganAt: Date } | null> {
  const key = companyOf(company);
  await db.query(
    `UPDATE readings SET ended_at = clock_timestamp(), problem = 'its reader ended before it did'
      WHERE mode = $1 AND iec = $2 AND ended_at IS NULL AND (began_at < clock_timestamp() - ${LEASE} OR reader = $3)`,
    [company.mode, key, reader],
  );
  const { rows } = await db.query<{ readingId: string; beganAt: Date }>(
    `INSERT INTO readings (mode, iec, exporter_id, reader) VALUES ($1, $2, $3, $4)
     ON CONFLICT (mode, iec) WHERE ended_at IS NULL DO NOTHING RETURNING reading_id AS "readingId", began_at AS "beganAt"`,
    [company.mode, key, company.exporterId, reader],
  );
  return rows[0] ?? null;
}

/** What a reading came to. */
export interface ReadingResult {
  /** The days whose certificates were read, YYYY-MM-DD; null: none. */
  from: string | null;
  to: string | null;
  /** Whether the certificates were read whole up to today, and the client's IRMs; null: not read. */
  whole: boolean | null;
  irmsWhole: boolean | null;
  /** Why something was not read whole; null together with `whole` false: a part of the history, read whole. */
  problem: string | null;
}

/** Ends a reading. @returns false if it took so long that its lease was given up: then it proves nothing */
export async function endReading(db: Queryable, readingId: string, result: ReadingResult): Promise<boolean> {
  const { from, to, whole, irmsWhole, problem } = result;
  const { rowCount } = await db.query(
    `UPDATE readings SET ended_at = clock_timestamp(), from_date = $2, to_date = $3, whole = $4, irms_whole = $5, problem = $6
      WHERE reading_id = $1 AND ended_at IS NULL`,
    [readingId, from, to, whole, irmsWhole, problem],
  );
  return rowCount === 1;
}

/**
 * The day (YYYY-MM-DD) up to which all certificates of a company were read at some time; null: none were. Its
 * certificates, and those of the day before, are read again.
 */
export async function lastDayRead(db: Queryable, company: Company): Promise<string | null> {
  const { rows } = await db.query<{ day: string | null }>(
    // A worker's clock may have been ahead of PostgreSQL's.
    `SELECT to_char(max(least(to_date, (began_at AT TIME ZONE 'Asia/Kolkata')::date)), 'YYYY-MM-DD') AS day
       FROM readings WHERE mode = $1 AND iec = $2 AND problem IS NULL AND to_date IS NOT NULL`,
    [company.mode, companyOf(company)],
  );
  return rows[0]?.day ?? null;
}

/** For each span of days: when one reading last read it whole (epoch ms), and whether a finding of it is open. */
export async function readingsOfSpans(
  db: Queryable,
  { mode, iec, spans }: { mode: string; iec: string; spans: readonly { from: string; to: string }[] },
): Promise<{ readAt: number | null; open: boolean }[]> {
  const { rows } = await db.query<{ readAt: number | null; open: boolean }>(
    `SELECT (SELECT max(${MS('d.began_at')}) FROM readings d WHERE d.mode = $1 AND d.iec = $2 AND d.problem IS NULL
              AND d.from_date <= s."from" AND d.to_date >= s."to") AS "readAt",
            EXISTS (SELECT FROM findings f WHERE f.mode = $1 AND f.iec = $2 AND f.closed_at IS NULL
              AND f.on_date BETWEEN s."from" AND s."to") AS open
       FROM jsonb_to_recordset($3::jsonb) AS s ("from" date, "to" date, n int) ORDER BY s.n`,
    [mode, iec, JSON.stringify(spans.map((span, n) => ({ ...span, n })))],
  );
  return rows;
}

/**
 * The runs of a company's other open filings that a new reading may move on: their outcome is unknown, they are
 * overdue, wait for certificates' details, could not be sent for want of a reading, or wait for persons because of a
 * certificate that may have become another row's.
 */
export async function filingsInDoubt(
  db: Queryable,
  { mode, iec, except }: { mode: string; iec: string; except: string | null },
): Promise<string[]> {
  const { rows } = await db.query<{ workflowId: string }>(
    `SELECT workflow_id AS "workflowId" FROM filings
      WHERE mode = $1 AND iec = $2 AND closed_at IS NULL AND filing_id IS DISTINCT FROM $3
        AND (state IN ('checking', 'submitting', 'outcome_unknown', 'overdue', 'collecting')
          OR (state = 'awaiting_approval' AND approval IS NULL))
      ORDER BY made_at LIMIT 2000`,
    [mode, iec, except],
  );
  return rows.map(({ workflowId }) => workflowId);
}
