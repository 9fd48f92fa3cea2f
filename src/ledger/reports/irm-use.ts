import type { Queryable } from '../pool';
import { partsInScope, stepsOf, type ReportScope } from './scope';

/** SQL: the day of a filing date; null for a text that is none, such as 31022026, on which to_date fails. */
const dayOf = (text: string): string => {
  const [day, month, year] = [`left(${text}, 2)`, `substr(${text}, 3, 2)`, `right(${text}, 4)`].map(
    (part) => `${part}::int`,
  );
  const counted = `(make_date(${year}, 1, 1) + make_interval(months => ${month} - 1, days => ${day} - 1))::date`;
  const isDate = `CASE WHEN ${text} ~ '^[0-9]{4}(19|2[0-9])[0-9]{2}$' THEN to_char(${counted}, 'DDMMYYYY') = ${text} END`;
  return `CASE WHEN ${isDate} THEN ${counted} END`;
};

/**
 * An IRM counts once per company, however many of its clients see it, with the balance that was read last by then.
 * Dates are DDMMYYYY, or other text. As for a filing, rows count against a balance that are reserved or sent, and
 * certified ones whose certificate came after the reading began.
 */
const BALANCES = `, seen AS (
    SELECT DISTINCT ON (company, i.irm_key, i.ad_code, i.ifsc_code, i.issue_date)
           coalesce(e.iec, 'exporter:' || e.exporter_id) AS company, e.iec, e.name AS exporter, i.irm_key, i.irm_number, i.ifsc_code, i.ad_code,
           i.issue_date, i.remitter_name, coalesce(i.currency, '') AS currency, i.amount, i.utilized,
           -- For an earlier day only the last change is known, not the last reading.
           CASE WHEN i.read_at < scope.until THEN i.available ELSE c.available END AS available,
           CASE WHEN i.read_at < scope.until THEN i.read_at ELSE c.seen_at END AS read_at,
           ${dayOf('coalesce(i.remittance_date, i.issue_date)')} AS remitted_on
      FROM irms i JOIN exporters e USING (exporter_id) JOIN scope ON scope.mode = e.mode
      LEFT JOIN LATERAL (SELECT h.available, h.seen_at FROM irm_changes h
         WHERE i.read_at >= scope.until AND h.exporter_id = i.exporter_id AND h.irm_number = i.irm_number AND h.ad_code = i.ad_code
           AND h.ifsc_code = i.ifsc_code AND h.issue_date = i.issue_date AND h.seen_at < scope.until
         ORDER BY h.seen_at DESC, h.change_id DESC LIMIT 1) c ON true
     WHERE (i.read_at < scope.until OR c.seen_at IS NOT NULL) AND (i.missing_since IS NULL OR i.missing_since >= scope.until)
     ORDER BY company, i.irm_key, i.ad_code, i.ifsc_code, i.issue_date, i.read_at DESC),
  readings AS (SELECT company, iec, irm_key, min(read_at) AS read_at FROM seen GROUP BY 1, 2, 3),
  held AS (
    SELECT k.company, k.irm_key, sum(r.amount) AS amount
      FROM scope, readings k JOIN filing_rows r ON r.mode = $1 AND r.iec = k.iec AND r.irm_key = k.irm_key AND r.held
      JOIN filings f USING (filing_id)
     WHERE coalesce(r.sent_at, f.reserved_at) < scope.until
       AND (r.state <> 'certified' OR r.settled_at >= k.read_at OR r.settled_at >= scope.until)
     GROUP BY 1, 2),
  balances AS (
    SELECT s.*, coalesce(s.available, 0) AS balance,
           -- What is held of an IRM number is taken from its oldest record first, and nothing from one that is overdrawn.
           least(greatest(s.available, 0), greatest(coalesce(h.amount, 0) - coalesce(sum(greatest(s.available, 0)) OVER (
             PARTITION BY s.company, s.irm_key ORDER BY s.remitted_on, s.ifsc_code, s.issue_date
             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0), 0)) AS taken
      FROM seen s LEFT JOIN held h USING (company, irm_key)),
  aged AS (
    SELECT b.*, b.balance - b.taken AS free, (SELECT to_date FROM scope) - b.remitted_on AS age FROM balances b)`;

const aged = (when: string) => `coalesce(sum(free) FILTER (WHERE ${when}), 0)::text`;
const BY_CURRENCY = `SELECT currency, count(*)::int AS irms, sum(balance)::text AS available, sum(taken)::text AS reserved,
    coalesce(sum(utilized), 0)::text AS utilised, ${aged('age <= 30')} AS "upTo30", ${aged('age BETWEEN 31 AND 90')} AS "upTo90",
    ${aged('age BETWEEN 91 AND 180')} AS "upTo180", ${aged('age > 180 OR age IS NULL')} AS older
    FROM aged GROUP BY currency ORDER BY sum(balance) DESC, currency`;
const OLDEST = `SELECT exporter, irm_number AS "irmNumber", to_char(remitted_on, 'YYYY-MM-DD') AS "remittedOn", age,
    remitter_name AS remitter, free::text AS free, currency
    FROM aged WHERE free > 0 ORDER BY remitted_on NULLS FIRST, irm_number LIMIT (SELECT row_limit FROM scope)`;

const BALANCE_CHANGES = `changes AS (
    SELECT coalesce(h.currency, '') AS currency, coalesce(h.available, 0) AS available, h.seen_at AS since,
           lead(h.seen_at) OVER (PARTITION BY e.exporter_id, h.irm_number, h.ad_code, h.ifsc_code, h.issue_date
                                 ORDER BY h.seen_at, h.change_id) AS until
      FROM irm_changes h JOIN exporters e USING (exporter_id) JOIN scope ON scope.mode = e.mode)`;
const BY_DAY = `SELECT d.name AS day, s.currency, sum(s.n)::text AS available FROM numbered d JOIN steps s ON s.k < d.no
    GROUP BY d.name, s.currency ORDER BY d.name, s.currency`;

export async function irmUse(db: Queryable, scope: ReportScope) {
  const changes = `${BALANCE_CHANGES}, ${stepsOf('changes', { amount: 'available', by: 'currency' })}`;
  return partsInScope<{
    /** What is available and not taken by a filing of ours, by the age of the remittance in days. */
    byCurrency: (Record<
      'currency' | 'available' | 'reserved' | 'utilised' | 'upTo30' | 'upTo90' | 'upTo180' | 'older',
      string
    > & { irms: number })[];
    oldest: {
      exporter: string;
      irmNumber: string;
      remittedOn: string | null;
      age: number | null;
      remitter: string | null;
      free: string;
      currency: string;
    }[];
    trend: { day: string; currency: string; available: string }[];
  }>(db, scope, `${BALANCES}, ${changes}`, { lists: { byCurrency: BY_CURRENCY, oldest: OLDEST, trend: BY_DAY } });
}
