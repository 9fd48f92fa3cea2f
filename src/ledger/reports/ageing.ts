/** Ageing of export documents: what their certificates do not cover, by the day on which realisation is due. */
import { CANCELLED, NOBODYS, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { partsInScope, OPEN_BY_DAY, stepsOf, type DayCount, type ReportScope } from './scope';

/** A dated rule of realisation-rules.yaml. Dates are YYYY-MM-DD. */
export interface RealisationRule {
  id: string;
  inForceFrom: string;
  /** The rule covers documents dated from this day on; undefined: every document that is still open. */
  documentsFrom?: string;
  months: number;
  monthsByCurrency?: Readonly<Record<string, number>>;
  restrictedAfterMonths?: number;
  source: string;
  url: string;
  uncertain?: string;
}

/** Longest overdue first. `from` and `to` are days until the due date, both included; null: no limit. */
export const BUCKETS = [
  { id: 'overdue_over_365', label: 'Overdue, more than 365 days', from: null, to: -366 },
  { id: 'overdue_181_365', label: 'Overdue, 181 to 365 days', from: -365, to: -181 },
  { id: 'overdue_91_180', label: 'Overdue, 91 to 180 days', from: -180, to: -91 },
  { id: 'overdue_31_90', label: 'Overdue, 31 to 90 days', from: -90, to: -31 },
  { id: 'overdue_1_30', label: 'Overdue, 1 to 30 days', from: -30, to: -1 },
  { id: 'due_0_30', label: 'Due within 30 days', from: 0, to: 30 },
  { id: 'due_31_90', label: 'Due in 31 to 90 days', from: 31, to: 90 },
  { id: 'due_91_180', label: 'Due in 91 to 180 days', from: 91, to: 180 },
  { id: 'due_over_180', label: 'Due in more than 180 days', from: 181, to: null },
] as const;

const BUCKET = `CASE ${BUCKETS.map(({ id, to }) => (to === null ? `ELSE '${id}'` : `WHEN days_to_due <= ${to} THEN '${id}'`)).join(' ')} END`;

/** SQL: the day from which certificate `c` counts. */
const ON_DAY = `coalesce(c.issued_on, (c.first_seen_at AT TIME ZONE 'Asia/Kolkata')::date)`;

/**
 * A document is a company's number and date in comparable form; a company is its IEC, or a client without one. The
 * invoice list takes precedence over what rows state, and what a corrected row states counts until the day of its
 * correction. The certified amount is the sum of all certificates of the document that were issued by then, whoever
 * filed it. A cancelled one counts on no day, because the day of its cancellation is not known. What a certificate in
 * another currency covers cannot be said: it closes its document, which is listed apart.
 *
 * Nearly every past document is certified in full, so one pass over the rows leaves those out before anything is
 * sorted: rows whose own certificate covers the document's value, then documents whose certificates do, in one
 * currency. Only certificates from before the first day, or from before the document could be overdue, are counted
 * here, so that what is left out counts on no day. The rest (`unsettled`) is computed exactly.
 */
const DOCUMENTS = `, rules AS MATERIALIZED (
    SELECT r.*, r."inForceFrom"::date AS since, r."documentsFrom"::date AS documents_from
      FROM scope, jsonb_to_recordset($6::jsonb) AS r (id text, "inForceFrom" text, "documentsFrom" text, months int,
        "monthsByCurrency" jsonb, "restrictedAfterMonths" int)
     WHERE r."inForceFrom"::date <= to_date),
  listed AS MATERIALIZED (
    SELECT coalesce(e.iec, 'exporter:' || e.exporter_id) AS company, i.* FROM invoices i JOIN exporters e USING (exporter_id) WHERE e.mode = $1),
  young AS MATERIALIZED (
    SELECT ($3::date - make_interval(months => min(least(months, (SELECT min(value::int) FROM jsonb_each_text("monthsByCurrency"))))))::date AS since
      FROM rules),
  facts AS (
    SELECT * FROM (
      SELECT r.iec AS company, r.document_key AS key, r.document_on AS dated, (r.mapping->>'sbCumInvoiceValueinFCC')::numeric AS value, NULL::date AS due,
             upper(r.mapping->>'sbCumInvoiceFCC') AS currency, upper(coalesce(c.currency, r.currency)) AS paid_in,
             CASE WHEN c.ebrc_number IS NOT NULL AND NOT ${CANCELLED}
                   AND ${ON_DAY} <= CASE WHEN r.document_on > (SELECT since FROM young) THEN $3::date ELSE $2::date END
                  THEN coalesce(c.amount, r.amount) END AS amount
        FROM filing_rows r JOIN filings f USING (filing_id) LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE}
       WHERE r.mode = $1 AND r.iec IS NOT NULL AND r.document_on IS NOT NULL AND f.made_at < $4::timestamptz
         AND NOT EXISTS (SELECT FROM filings later WHERE later.filing_id = r.corrected_by AND later.made_at < $4::timestamptz)) stated
     WHERE (amount >= value AND currency = paid_in) IS NOT TRUE
        OR EXISTS (SELECT FROM listed l WHERE l.company = stated.company AND l.document_key = key AND l.document_date = dated)
    UNION ALL
    SELECT c.iec, c.document_key, c.document_on, 0, NULL, upper(c.currency), upper(c.currency), c.amount
      FROM certificates c WHERE c.mode = $1 AND c.document_on IS NOT NULL AND NOT ${CANCELLED} AND ${ON_DAY} <= $2::date AND ${NOBODYS}
    UNION ALL
    SELECT company, document_key, document_date, amount, due_override, upper(currency), NULL, NULL FROM listed),
  unsettled AS MATERIALIZED (
    SELECT company, key, dated FROM facts GROUP BY company, key, dated
    HAVING (sum(amount) >= max(value) AND max(due) IS NULL
      AND min(least(currency, paid_in) COLLATE "C") = max(greatest(currency, paid_in) COLLATE "C")) IS NOT TRUE),
  documents AS MATERIALIZED (
    SELECT u.*, coalesce(i.exporter_id, r.exporter_id) AS exporter_id, coalesce(i.document_no, r.mapping->>'sbCumInvoiceNumber') AS document,
           CASE WHEN i.exporter_id IS NULL THEN (r.mapping->>'uploadType')::int ELSE i.document_type END AS type, i.buyer,
           upper(coalesce(i.currency, r.mapping->>'sbCumInvoiceFCC')) AS currency,
           coalesce(i.amount, (r.mapping->>'sbCumInvoiceValueinFCC')::numeric) AS value, i.due_override
      FROM unsettled u
      LEFT JOIN (
        SELECT DISTINCT ON (company, document_key, document_date) * FROM listed
         ORDER BY company, document_key, document_date, imported_at DESC) i
        ON i.company = u.company AND i.document_key = u.key AND i.document_date = u.dated
      LEFT JOIN LATERAL (
        SELECT f.exporter_id, r.mapping FROM filing_rows r JOIN filings f USING (filing_id)
         WHERE r.mode = $1 AND r.iec = u.company AND r.document_key = u.key AND r.document_on = u.dated AND f.made_at < $4::timestamptz
         ORDER BY f.made_at DESC LIMIT 1) r ON i.exporter_id IS NULL
     WHERE u.dated <= $3::date AND coalesce(i.exporter_id, r.exporter_id) IS NOT NULL),
  issued AS (
    SELECT d.company, d.key, d.dated, d.value, c.amount, c.currency, c.currency = d.currency AS same, c.on_day, c.ebrc_number
      FROM documents d CROSS JOIN LATERAL (
        SELECT coalesce(c.amount, r.amount) AS amount, upper(coalesce(c.currency, r.currency)) AS currency, ${ON_DAY} AS on_day, c.ebrc_number
          FROM filing_rows r JOIN certificates c ON ${ROW_OF_CERTIFICATE}
         WHERE r.mode = $1 AND r.iec = d.company AND r.document_key = d.key AND r.document_on = d.dated AND NOT ${CANCELLED}
        UNION ALL
        SELECT c.amount, upper(c.currency), ${ON_DAY}, c.ebrc_number FROM certificates c
         WHERE c.mode = $1 AND c.iec = d.company AND c.document_key = d.key AND c.document_on = d.dated AND NOT ${CANCELLED} AND ${NOBODYS}
        OFFSET 0) c),
  running AS (
    SELECT *, NOT same OR sum(amount) FILTER (WHERE same) OVER (PARTITION BY company, key, dated ORDER BY on_day, ebrc_number) >= value AS settled
      FROM issued WHERE on_day <= $3::date),
  certified AS (
    SELECT company, key, dated, coalesce(sum(amount) FILTER (WHERE same), 0) AS amount, min(settled_on) AS settled_on,
           string_agg(amount || ' ' || currency, ', ' ORDER BY currency) FILTER (WHERE NOT same) AS other
      FROM (SELECT company, key, dated, same, currency, sum(amount) AS amount, min(on_day) FILTER (WHERE settled) AS settled_on
              FROM running GROUP BY 1, 2, 3, 4, 5) paid
     GROUP BY company, key, dated),
  due AS (
    SELECT d.*, coalesce(c.amount, 0) AS certified, d.value - coalesce(c.amount, 0) AS outstanding,
           c.other, c.settled_on, coalesce(d.due_override, (d.dated + make_interval(months => rule.months))::date) AS due_on,
           CASE WHEN d.due_override IS NULL THEN rule.id ELSE 'agreed' END AS rule, rule.restricted_after
      FROM documents d LEFT JOIN certified c USING (company, key, dated)
      LEFT JOIN LATERAL (
        SELECT r.id, coalesce((r."monthsByCurrency"->>d.currency)::int, r.months) AS months, r."restrictedAfterMonths" AS restricted_after
          FROM rules r WHERE r.documents_from IS NULL OR d.dated >= r.documents_from ORDER BY r.since DESC LIMIT 1) rule ON true),
  ageing AS (
    SELECT u.*, e.name AS exporter, u.due_on - (SELECT to_date FROM scope) AS days_to_due,
           coalesce((SELECT to_date FROM scope) > (u.due_on + make_interval(months => u.restricted_after))::date, false) AS restricted
      FROM due u JOIN exporters e USING (exporter_id) WHERE u.outstanding > 0 AND u.other IS NULL AND u.due_on IS NOT NULL)`;

export interface Ageing {
  totals: { documents: number; overdue: number; overYear: number; restricted: number };
  byCurrency: { currency: string; documents: number; outstanding: string; overdue: string }[];
  byBucket: { bucket: (typeof BUCKETS)[number]['id']; currency: string; documents: number; outstanding: string }[];
  byExporter: (Ageing['byBucket'][number] & { exporter: string })[];
  /** How many documents were overdue at the end of each day, by the rules of the last day. */
  trend: DayCount[];
  documents: {
    exporter: string;
    document: string;
    documentDate: string;
    type: number | null;
    buyer: string | null;
    currency: string;
    value: string;
    certified: string;
    outstanding: string;
    dueOn: string;
    daysToDue: number;
    rule: string;
    restricted: boolean;
  }[];
  /** Closed by certificates in other currencies, whose amounts are no share of the value that can be computed. */
  otherCurrency: {
    exporter: string;
    document: string;
    documentDate: string;
    currency: string;
    value: string;
    certified: string;
    inOthers: string;
  }[];
}

const SUMS = 'count(*)::int AS documents, sum(outstanding)::text AS outstanding';
const LISTS: Readonly<Record<Exclude<keyof Ageing, 'totals'>, string>> = {
  byCurrency: `SELECT currency, ${SUMS}, coalesce(sum(outstanding) FILTER (WHERE days_to_due < 0), 0)::text AS overdue
      FROM ageing GROUP BY currency ORDER BY sum(outstanding) DESC, currency`,
  byBucket: `SELECT ${BUCKET} AS bucket, currency, ${SUMS} FROM ageing GROUP BY 1, 2 ORDER BY 2`,
  byExporter: `SELECT exporter, ${BUCKET} AS bucket, currency, ${SUMS} FROM ageing GROUP BY 1, 2, 3 ORDER BY 1, 3`,
  trend: OPEN_BY_DAY,
  documents: `SELECT exporter, document, to_char(dated, 'YYYY-MM-DD') AS "documentDate", type, buyer, currency, value::text AS value,
      certified::text AS certified, outstanding::text AS outstanding,
      to_char(due_on, 'YYYY-MM-DD') AS "dueOn", days_to_due AS "daysToDue", rule, restricted
      FROM ageing ORDER BY due_on, exporter, document LIMIT (SELECT row_limit FROM scope)`,
  otherCurrency: `SELECT e.name AS exporter, document, to_char(dated, 'YYYY-MM-DD') AS "documentDate", currency, value::text AS value,
      certified::text AS certified, other AS "inOthers"
      FROM due JOIN exporters e USING (exporter_id) WHERE outstanding > 0 AND other IS NOT NULL
      ORDER BY settled_on DESC, 1, document LIMIT (SELECT row_limit FROM scope)`,
};

const TOTALS = `SELECT count(*)::int AS documents, count(*) FILTER (WHERE days_to_due < 0)::int AS overdue,
      count(*) FILTER (WHERE days_to_due < -365)::int AS "overYear", count(*) FILTER (WHERE restricted)::int AS restricted FROM ageing`;

/** SQL: a document is overdue from the day after its due date until the day on which certificates cover it. */
const OVERDUE = `overdue AS (
    SELECT (due_on + 1)::timestamp AT TIME ZONE 'Asia/Kolkata' AS since, settled_on::timestamp AT TIME ZONE 'Asia/Kolkata' AS until
      FROM due WHERE due_on IS NOT NULL AND (settled_on IS NULL OR settled_on > due_on + 1))`;

/** Open documents, which certificates do not fully cover. One statement, so that documents are assembled once. */
export async function realisationAgeing(
  db: Queryable,
  scope: ReportScope,
  rules: readonly RealisationRule[],
): Promise<Ageing> {
  const sql = `${DOCUMENTS}, ${OVERDUE}, ${stepsOf('overdue')}`;
  return partsInScope<Ageing>(db, scope, sql, { one: { totals: TOTALS }, lists: LISTS }, [JSON.stringify(rules)]);
}
