/** Pages of filings, of their rows and of their events. */
import type { FilingResult } from '../../domain/contracts';
import type { RowView } from '../../domain/filing/view';
import type { Mode } from '../../domain/names';
import type { Queryable } from '../pool';
import { Conditions, MICROSECONDS } from '../paging';
import { ASKS } from '../questions/questions';
import { ROW_COUNTS, ROWS_AND_CERTIFICATES } from '../rows/filing-rows';
import { FILING_COLUMNS, IS_ASKED, type FilingRecord } from './filings';

export async function pageOfFilings(
  db: Queryable,
  page: {
    mode: Mode;
    states?: readonly string[];
    exporterId?: string;
    /** Lower-cased ids of the exporters to include; null: all. */
    exporters?: readonly string[] | null;
    attention?: boolean;
    since?: Date;
    /** Part of a reference, document number, IRM number or certificate number, or a whole id. */
    search?: string;
    after?: { madeAt: string; filingId: string };
    limit: number;
  },
) {
  const { mode, states, exporterId, exporters = null, attention, since, search, after, limit } = page;
  const where = new Conditions(mode, limit)
    .add(states, (p) => (states?.length === 1 ? `state = (${p}::text[])[1]` : `state = ANY(${p})`))
    .add(exporterId, (p) => `exporter_id = ${exporterOf(`lower(${p})`)}`)
    .add(exporters, (p) => `exporter_id IN (SELECT exporter_id FROM exporters WHERE lower(exporter_id) = ANY(${p}))`)
    .add(attention, (p) => (attention ? `${ASKS} AND ${p}` : `NOT ${ASKS} AND NOT ${p}`))
    .add(since, (p) => `made_at >= ${p}`)
    .add(search, (p) => `filing_id = ANY (ARRAY(${found(p)}))`)
    .behind(after && { at: after.madeAt, id: after.filingId }, { at: 'made_at', id: 'filing_id' });
  const { rows } = await db.query<FilingRecord & { mark: string; exporterName: string | null }>(
    `SELECT ${FILING_COLUMNS}, ${MICROSECONDS('made_at')} AS mark,
            (SELECT name FROM exporters e WHERE e.exporter_id = filings.exporter_id) AS "exporterName"
       FROM filings WHERE mode = $1 ${where.text} ORDER BY made_at DESC, filing_id LIMIT $2`,
    where.values,
  );
  return rows;
}

const exporterOf = (id: string) => `(SELECT exporter_id FROM exporters WHERE lower(exporter_id) = ${id})`;

/** SQL for the `search` of {@link pageOfFilings}; it scans every filing. */
const found = (
  text: string,
) => `SELECT filing_id FROM filings WHERE strpos(lower(reference), lower(${text})) > 0 OR filing_id = ${text}
  UNION ALL SELECT filing_id FROM requests WHERE ${text} IN (request_id, dgft_ack_id)
  UNION ALL SELECT filing_id FROM filing_inputs i JOIN filings USING (input_ref) WHERE strpos(i.words, lower(${text})) > 0
  UNION ALL SELECT r.filing_id FROM certificates c CROSS JOIN LATERAL (SELECT filing_id FROM filing_rows
      WHERE party_id = c.party_id AND ebrc_number = c.ebrc_number AND NOT disputed OFFSET 0) AS r
    WHERE strpos(lower(c.ebrc_number), lower(${text})) > 0`;

/** The cursor of the page that follows a filing; undefined if the ledger does not hold the filing. */
export async function markBehind(db: Queryable, filingId: string) {
  const { rows } = await db.query<{ madeAt: string; filingId: string }>(
    `SELECT ${MICROSECONDS('made_at')} AS "madeAt", filing_id AS "filingId" FROM filings WHERE filing_id = $1`,
    [filingId],
  );
  return rows[0];
}

export interface PagedSubmission {
  submission: number;
  requests: { requestId: string; source: string; state: string }[];
  /** When the first of its requests was submitted; null: it has none. */
  since: Date | null;
}

/** The row counts and the submissions of some filings. */
export async function partsOf(
  db: Queryable,
  filingIds: readonly string[],
): Promise<Map<string, { counts: FilingResult['counts']; submissions: PagedSubmission[] }>> {
  // PostgreSQL caches a plan for `= $1`, but plans `= ANY($1)` at each call.
  const [of, value] = filingIds.length === 1 ? ['= $1', filingIds[0]] : ['= ANY($1)', filingIds];
  const { rows } = await db.query<
    FilingResult['counts'] & {
      filingId: string;
      submissions: (Omit<PagedSubmission, 'since'> & { since: string | null })[];
    }
  >(
    `SELECT f.filing_id AS "filingId", counts.*,
            coalesce((SELECT jsonb_agg(to_jsonb(one) ORDER BY one.submission) FROM (
              SELECT s.submission, min(q.since) AS since,
                     coalesce(jsonb_agg(jsonb_build_object('requestId', q.request_id, 'source', q.source, 'state', q.state)
                       ORDER BY q.since) FILTER (WHERE q.request_id IS NOT NULL), '[]') AS requests
                FROM submissions s LEFT JOIN requests q ON q.filing_id = s.filing_id AND q.submission = s.submission
               WHERE s.filing_id = f.filing_id GROUP BY s.submission) AS one), '[]') AS submissions
       FROM filings f CROSS JOIN LATERAL (SELECT ${ROW_COUNTS} WHERE r.filing_id = f.filing_id) AS counts
      WHERE f.filing_id ${of}`,
    [value],
  );
  return new Map(
    rows.map(({ filingId, submissions, ...counts }) => {
      const dated = submissions.map(({ since, ...submission }) => ({
        ...submission,
        since: since === null ? null : new Date(since),
      }));
      return [filingId, { counts, submissions: dated }];
    }),
  );
}

/** SQL: the columns of rows `r` that users see, with their FROM clause. */
export const ROW_VIEWS = `r.source_row AS row, r.mapping->>'irmNumber' AS "irmNumber",
            r.mapping->>'sbCumInvoiceNumber' AS "sbCumInvoiceNumber", r.currency, r.state, r.ebrc_number AS "eBRCNumber",
            r.ebrc_date AS "eBRCDate", c.pdf_document AS document, c.pdf_sha256 AS sha256, r.errors
       FROM ${ROWS_AND_CERTIFICATES}`;

/** Rows of a filing after a position, in the order of the file. */
export async function pageOfRows(
  db: Queryable,
  { filingId, after, limit, state }: { filingId: string; after: number; limit: number; state?: string },
) {
  const { rows } = await db.query<
    Omit<RowView, 'mappedIRMAmountFCC'> & { position: number; submission: number; mappedIRMAmountFCC: string }
  >(
    `SELECT r.position, r.submission, r.serial_no AS "serialNo", r.mapped_amount::text AS "mappedIRMAmountFCC", ${ROW_VIEWS}
      WHERE r.filing_id = $1 AND r.position > $2 AND ($4::text IS NULL OR r.state = $4) ORDER BY r.position LIMIT $3`,
    [filingId, after, limit, state ?? null],
  );
  return rows;
}

/** Events of a filing after an event, oldest first. */
export async function pageOfEvents(
  db: Queryable,
  { filingId, after, limit }: { filingId: string; after: string; limit: number },
) {
  const { rows } = await db.query<{
    id: string;
    seq: number | null;
    at: Date;
    kind: string;
    state: string | null;
    who: string | null;
    text: string;
    /** A person's answer about an unknown outcome, `filed` or `not-filed`; the text is their note. */
    said: string | null;
  }>(
    `SELECT event_id AS id, seq::int AS seq, at, kind, state, who, text, data->>'as' AS said FROM filing_events
      WHERE filing_id = $1 AND event_id > $2 ORDER BY event_id LIMIT $3`,
    [filingId, after, limit],
  );
  return rows;
}

/** The state of filings, and whether a person was asked, for callers that wait for them. */
export async function standingsOf(db: Queryable, filingIds: readonly string[]) {
  const { rows } = await db.query<Pick<FilingRecord, 'filingId' | 'state' | 'asked'>>(
    `SELECT filing_id AS "filingId", state, ${IS_ASKED} AS asked FROM filings WHERE filing_id = ANY($1)`,
    [filingIds],
  );
  return rows;
}
