/** Compares export documents with their certificates, by the day until which they have to be realised. */
import type { Queryable } from '../pool';
import { oneInScope, stepsOf, type DayCount, type ReportScope } from './scope';

/** A dated rule of realisation-rules.yaml. Dates are YYYY-MM-DD. */
export interface RealisationRule {
  id: string;
  inForceFrom: string;
  /** The rule covers documents from this day on; undefined: every document that is still open. */
  documentsFrom?: string;
  months: number;
  monthsByCurrency?: Readonly<Record<string, number>>;
  restrictedAfterMonths?: number;
  source: string;
  url: string;
  uncertain?: string;
}

/**
 * From the longest overdue to the latest due date; `from` and `to` in days until the due date, both included, null
 * without a limit.
 */
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

export type BucketId = (typeof BUCKETS)[number]['id'];

interface OpenDocument {
  exporter: string;
  document: string;
  documentDate: string;
  type: number | null;
  buyer: string | null;
  currency: string;
  value: string;
  certified: string;
  /** Certificates of the document in another currency: they are counted, but not added. */
  otherCurrency: number;
  outstanding: string;
  dueOn: string;
  daysToDue: number;
  rule: string;
  restricted: boolean;
}

const BUCKET = `CASE ${BUCKETS.map(({ id, to }) => (to === null ? `ELSE '${id}'` : `WHEN days_to_due <= ${to} THEN '${id}'`)).join(' ')} END`;

/**
 * A document is one of a party: number and date in comparable form. The invoice list stands above what rows say of it.
 * Certified is what every certificate of the document is over that was issued by then, whoever filed it.
 */
const DOCUMENTS = `, rules AS (
    SELECT r.*, r."inForceFrom"::date AS since, r."documentsFrom"::date AS documents_from
      FROM scope, jsonb_to_recordset($6::jsonb) AS r (id text, "inForceFrom" text, "documentsFrom" text, months int,
        "monthsByCurrency" jsonb, "restrictedAfterMonths" int)
     WHERE r."inForceFrom"::date <= to_date),
  documents AS (
    SELECT DISTINCT ON (party_id, key, dated) * FROM (
      SELECT e.party_id, i.exporter_id, i.document_key AS key, i.document_date AS dated, i.document_no AS document,
             i.document_type AS type, i.buyer, upper(i.currency) AS currency, i.amount AS value, i.due_override, 0 AS rank, i.imported_at AS at
        FROM invoices i JOIN exporters e USING (exporter_id) JOIN scope ON scope.mode = e.mode
       WHERE i.document_date <= to_date
      UNION ALL
      SELECT r.party_id, r.exporter_id, r.match_key::jsonb->>0, to_date(r.match_key::jsonb->>1, 'DDMMYYYY'),
             r.mapping->>'sbCumInvoiceNumber', (r.mapping->>'uploadType')::int, NULL, upper(r.mapping->>'sbCumInvoiceFCC'),
             (r.mapping->>'sbCumInvoiceValueinFCC')::numeric, NULL, 1, f.made_at
        FROM filing_rows r JOIN filings f USING (filing_id) JOIN scope ON scope.mode = f.mode
       WHERE r.match_key IS NOT NULL AND f.made_at < scope.until
         AND to_date(r.match_key::jsonb->>1, 'DDMMYYYY') <= to_date) d
     ORDER BY party_id, key, dated, rank, at DESC),
  certificates_then AS (
    SELECT c.party_id, coalesce(r.match_key, c.match_key)::jsonb AS m, coalesce(c.amount, r.mapped_amount) AS amount,
           upper(coalesce(c.currency, r.currency)) AS currency,
           coalesce(c.issued_on, (c.first_seen_at AT TIME ZONE 'Asia/Kolkata')::date) AS on_day, c.ebrc_number
      FROM certificates c JOIN parties p USING (party_id) JOIN scope ON scope.mode = p.mode
      LEFT JOIN filing_rows r ON r.filing_id = c.filing_id AND r.position = c.position
     WHERE coalesce(r.match_key, c.match_key) IS NOT NULL
       AND coalesce(c.issued_on, (c.first_seen_at AT TIME ZONE 'Asia/Kolkata')::date) <= to_date),
  issued AS MATERIALIZED (
    SELECT party_id, m->>0 AS key, to_date(m->>1, 'DDMMYYYY') AS dated, amount, currency, on_day, ebrc_number
      FROM certificates_then),
  running AS (
    SELECT d.party_id, d.key, d.dated, i.on_day, i.amount, i.currency = d.currency AS same,
           sum(i.amount) FILTER (WHERE i.currency = d.currency)
             OVER (PARTITION BY d.party_id, d.key, d.dated ORDER BY i.on_day, i.ebrc_number) >= d.value AS settled
      FROM documents d JOIN issued i USING (party_id, key, dated)),
  certified AS (
    SELECT party_id, key, dated, coalesce(sum(amount) FILTER (WHERE same), 0) AS amount,
           count(*) FILTER (WHERE NOT same)::int AS other, min(on_day) FILTER (WHERE settled) AS settled_on
      FROM running GROUP BY party_id, key, dated),
  due AS (
    SELECT d.*, coalesce(c.amount, 0) AS certified, d.value - coalesce(c.amount, 0) AS outstanding, coalesce(c.other, 0) AS other,
           c.settled_on, coalesce(d.due_override, (d.dated + make_interval(months => rule.months))::date) AS due_on,
           CASE WHEN d.due_override IS NULL THEN rule.id ELSE 'agreed' END AS rule, rule.restricted_after
      FROM documents d LEFT JOIN certified c USING (party_id, key, dated)
      LEFT JOIN LATERAL (
        SELECT r.id, coalesce((r."monthsByCurrency"->>d.currency)::int, r.months) AS months, r."restrictedAfterMonths" AS restricted_after
          FROM rules r WHERE r.documents_from IS NULL OR d.dated >= r.documents_from ORDER BY r.since DESC LIMIT 1) rule ON true),
  ageing AS (
    SELECT u.*, e.name AS exporter, u.due_on - (SELECT to_date FROM scope) AS days_to_due,
           coalesce((SELECT to_date FROM scope) > (u.due_on + make_interval(months => u.restricted_after))::date, false) AS restricted
      FROM due u JOIN exporters e USING (exporter_id) WHERE u.outstanding > 0 AND u.due_on IS NOT NULL)`;

interface AgeingBucket {
  bucket: BucketId;
  currency: string;
  documents: number;
  outstanding: string;
}

export interface Ageing {
  totals: { documents: number; overdue: number; overYear: number; restricted: number; withoutRule: number };
  byCurrency: { currency: string; documents: number; outstanding: string; overdue: string; overYear: string }[];
  byBucket: AgeingBucket[];
  byExporter: (AgeingBucket & { exporter: string })[];
  /** Documents that were overdue at the end of each day, by the rules of the last day. */
  trend: DayCount[];
  documents: OpenDocument[];
}

const SUMS = 'count(*)::int AS documents, sum(outstanding)::text AS outstanding';
const PARTS: Readonly<Record<Exclude<keyof Ageing, 'totals'>, string>> = {
  byCurrency: `SELECT currency, ${SUMS}, coalesce(sum(outstanding) FILTER (WHERE days_to_due < 0), 0)::text AS overdue,
      coalesce(sum(outstanding) FILTER (WHERE days_to_due < -365), 0)::text AS "overYear"
      FROM ageing GROUP BY currency ORDER BY sum(outstanding) DESC, currency`,
  byBucket: `SELECT ${BUCKET} AS bucket, currency, ${SUMS} FROM ageing GROUP BY 1, 2 ORDER BY 2`,
  byExporter: `SELECT exporter, ${BUCKET} AS bucket, currency, ${SUMS} FROM ageing GROUP BY 1, 2, 3 ORDER BY 1, 3`,
  trend: `SELECT d.name AS day, coalesce(sum(s.n), 0)::int AS n FROM numbered d LEFT JOIN steps s ON s.k < d.no
      GROUP BY d.name ORDER BY d.name`,
  documents: `SELECT exporter, document, to_char(dated, 'YYYY-MM-DD') AS "documentDate", type, buyer, currency, value::text AS value,
      certified::text AS certified, other AS "otherCurrency", outstanding::text AS outstanding,
      to_char(due_on, 'YYYY-MM-DD') AS "dueOn", days_to_due AS "daysToDue", rule, restricted
      FROM ageing ORDER BY due_on, exporter, document LIMIT (SELECT row_limit FROM scope)`,
};

/** A document is overdue from the day after its due day on, until the day on which certificates cover it. */
const OVERDUE = `overdue AS (
    SELECT (due_on + 1)::timestamp AT TIME ZONE 'Asia/Kolkata' AS since, settled_on::timestamp AT TIME ZONE 'Asia/Kolkata' AS until
      FROM due WHERE due_on IS NOT NULL AND (settled_on IS NULL OR settled_on > due_on + 1))`;

/**
 * Open documents: the part of their value that no certificate covers. One statement, so that the documents are
 * assembled once.
 */
export async function realisationAgeing(
  db: Queryable,
  scope: ReportScope,
  rules: readonly RealisationRule[],
): Promise<Ageing> {
  const lists = Object.entries(PARTS).map(
    ([name, sql]) => `(SELECT coalesce(jsonb_agg(to_jsonb(part)), '[]') FROM (${sql}) part) AS "${name}"`,
  );
  return oneInScope<Ageing>(
    db,
    scope,
    `${DOCUMENTS}, ${OVERDUE}, ${stepsOf('overdue')}
     SELECT (SELECT to_jsonb(part) FROM (
        SELECT count(*)::int AS documents, count(*) FILTER (WHERE days_to_due < 0)::int AS overdue,
               count(*) FILTER (WHERE days_to_due < -365)::int AS "overYear", count(*) FILTER (WHERE restricted)::int AS restricted,
               (SELECT count(*)::int FROM due WHERE due_on IS NULL AND outstanding > 0) AS "withoutRule" FROM ageing) part) AS totals,
       ${lists.join(',\n')}`,
    [JSON.stringify(rules)],
  );
}
