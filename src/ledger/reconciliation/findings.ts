import { adviceOfKind, FINDING_KINDS, noFindings, checkOfKind } from '../../domain/reconciliation/findings';
import type { FindingKind, FindingView, ReconcileCheck } from '../../domain/reconciliation/findings';
import { nearMatcher, type NearSide } from '../../domain/reconciliation/near-match';
import { IS_ASKED } from '../filings/filings';
import { evidenceUntil } from '../questions/waiting';
import { ISO } from '../paging';
import type { Queryable } from '../pool';

const COLUMNS = `question_id::text AS id, kind, exporter_id AS "exporterId",
  (SELECT name FROM exporters e WHERE e.exporter_id = questions.exporter_id) AS "exporterName", ebrc_number AS "eBRCNumber",
  filing_id AS "filingId", source_row AS row, irm_number AS "irmNumber", ours, theirs, amount::text AS amount, currency,
  coalesce(reason, text) AS reason, greatest(0, extract(day FROM coalesce(closed_at, last_seen_at) - first_seen_at))::int AS "ageDays",
  ${ISO('first_seen_at')} AS "firstSeenAt", ${ISO('last_seen_at')} AS "lastSeenAt", ${ISO('closed_at')} AS "closedAt", healed,
  ${ISO('acknowledged_at')} AS "acknowledgedAt", acknowledged_by AS "acknowledgedBy", note,
  (SELECT ${ISO(evidenceUntil('filings.filing_id'))} FROM filings WHERE filings.filing_id = questions.filing_id AND kind = 'outcome_unknown'
     AND state = 'outcome_unknown' AND NOT ${IS_ASKED}) AS "gatheredUntil"`;

const isOfExporters = (ids: string) =>
  `(${ids}::text[] IS NULL OR party_id IN (SELECT party_id FROM exporters WHERE lower(exporter_id) = ANY(${ids})))`;

/** `gatheredUntil`: until then evidence of an unknown outcome is gathered, and nobody is asked; ISO 8601. */
type StoredFinding = Omit<FindingView, 'advice'> & { gatheredUntil: string | null };

/** Findings, oldest first: open ones that nobody has acknowledged, or all. */
export async function listFindings(
  db: Queryable,
  filter: {
    mode: string;
    /** Only of this party. */
    partyId?: number | null;
    /** Lower-cased ids of exporters whose parties' findings are listed; null: all. */
    exporters?: readonly string[] | null;
    kind?: FindingKind;
    all?: boolean;
    after?: string;
    limit?: number;
  },
): Promise<FindingView[]> {
  const { mode, partyId, exporters, kind, all = false, after = 0, limit } = filter;
  const { rows } = await db.query<StoredFinding>(
    `SELECT ${COLUMNS} FROM questions
      WHERE mode = $1 AND ($2::int IS NULL OR party_id = $2) AND ($3::text IS NULL OR kind = $3)
        AND ($4 OR (closed_at IS NULL AND acknowledged_at IS NULL)) AND kind = ANY($6) AND question_id > $7
        AND ${isOfExporters('$8')}
      ORDER BY question_id LIMIT $5`,
    [mode, partyId, kind, all, limit, FINDING_KINDS, after, exporters],
  );
  return rows.map(viewOf);
}

/** Findings that repairs closed since a run began. */
export async function healedFindings(
  db: Queryable,
  { mode, partyId, runId }: { mode: string; partyId?: number | null; runId: string },
): Promise<FindingView[]> {
  const { rows } = await db.query<StoredFinding>(
    `SELECT ${COLUMNS} FROM questions
      WHERE mode = $1 AND ($2::int IS NULL OR party_id = $2) AND kind = ANY($3) AND healed IS NOT NULL
        AND closed_at >= (SELECT started_at FROM reconciliation_runs WHERE run_id = $4)
      ORDER BY question_id`,
    [mode, partyId ?? null, FINDING_KINDS, runId],
  );
  return rows.map(viewOf);
}

/** Open findings by kind, acknowledged ones included. */
export async function countFindings(
  db: Queryable,
  { mode, partyId }: { mode: string; partyId?: number | null },
): Promise<Record<FindingKind, number>> {
  const { rows } = await db.query<{ kind: FindingKind; n: number }>(
    `SELECT kind, count(*)::int AS n FROM questions
      WHERE mode = $1 AND ($2::int IS NULL OR party_id = $2) AND closed_at IS NULL AND kind = ANY($3)
      GROUP BY kind`,
    [mode, partyId ?? null, FINDING_KINDS],
  );
  return { ...noFindings(), ...Object.fromEntries(rows.map(({ kind, n }) => [kind, n])) };
}

/** Acknowledges a finding, or a question of a fact, without closing it; null for any other question. */
export async function acknowledgeFinding(
  db: Queryable,
  args: { mode: string; id: string; by: string; note: string; exporters?: readonly string[] | null; at: Date },
): Promise<FindingView | null> {
  const { mode, id, by, note, exporters, at } = args;
  if (!/^\d{1,18}$/.test(id)) return null;
  const { rows } = await db.query<StoredFinding>(
    `UPDATE questions SET acknowledged_at = $3, acknowledged_by = $4, note = $5
      WHERE mode = $1 AND question_id = $2 AND (kind = ANY($6) OR until = 'fact') AND ${isOfExporters('$7')}
      RETURNING ${COLUMNS}`,
    [mode, id, at, by, note, FINDING_KINDS, exporters],
  );
  return rows[0] ? viewOf(rows[0]) : null;
}

/** Records what was done about a finding; the text is kept after the finding is closed. */
export async function noteHealed(
  db: Queryable,
  { partyId, kind, subject, healed }: { partyId: number; kind: FindingKind; subject: string; healed: string },
): Promise<void> {
  // The repair may have closed it already.
  await db.query(
    `UPDATE questions SET healed = $3 WHERE question_id =
       (SELECT question_id FROM questions WHERE party_id = $1 AND key = $2 ORDER BY question_id DESC LIMIT 1)`,
    [partyId, `${kind}|${subject}`, healed],
  );
}

/** A finding that a repair may remove. `lost`: the newest attempt of each submission of unknown outcome. */
export interface RepairableFinding {
  kind: FindingKind;
  exporterId: string;
  eBRCNumber: string | null;
  filingId: string | null;
  lost: { submission: number; attemptId: string }[];
}

export async function repairable(
  db: Queryable,
  { partyId, limit }: { partyId: number; limit: number },
): Promise<RepairableFinding[]> {
  const { rows } = await db.query<RepairableFinding>(
    `SELECT kind, exporter_id AS "exporterId", ebrc_number AS "eBRCNumber", filing_id AS "filingId",
            coalesce((SELECT jsonb_agg(jsonb_build_object('submission', a.submission, 'attemptId', a.attempt_id) ORDER BY a.submission)
               FROM (SELECT DISTINCT ON (submission) submission, attempt_id FROM attempts
                      WHERE filing_id = f.filing_id ORDER BY submission, number DESC) a
              WHERE EXISTS (SELECT FROM filing_rows r WHERE r.filing_id = f.filing_id AND r.submission = a.submission
                             AND r.state = 'unknown')), '[]') AS lost
       FROM questions f
      WHERE party_id = $1 AND closed_at IS NULL
        AND kind IN ('pdf_missing', 'pdf_damaged', 'outcome_unknown', 'filing_without_workflow')
      ORDER BY first_seen_at, question_id LIMIT $2`,
    [partyId, limit],
  );
  return rows;
}

const NEAR_MATCHES = 2_000;

/** Adds to each finding about an unclaimed certificate the rows of ours that nearly match it. */
export async function explainNearMatches(db: Queryable, partyId: number): Promise<void> {
  const sides = await readUnmatched(db, { partyId, limit: NEAR_MATCHES });
  const near = nearMatcher(sides.filter(({ side }) => side === 'ours'));
  const reasons = sides
    .filter(({ side }) => side === 'theirs')
    .flatMap((theirs) => {
      const matches = near(theirs);
      if (matches.length === 0) return [];
      const text = matches.map((match) => `${match.id} (${match.reasons.join(', ')})`).join('; ');
      return [{ id: theirs.id, reason: `no row of ours matches in every field; near matches: ${text}` }];
    });
  if (reasons.length === 0) return;
  await db.query(
    `UPDATE questions f SET reason = r.reason FROM jsonb_to_recordset($1::jsonb) AS r (id bigint, reason text)
      WHERE f.question_id = r.id`,
    [JSON.stringify(reasons)],
  );
}

/** Unmatched certificates and rows of a party, at most `limit` of each, to find near matches. */
async function readUnmatched(
  db: Queryable,
  { partyId, limit }: { partyId: number; limit: number },
): Promise<(NearSide & { side: 'ours' | 'theirs' })[]> {
  const { rows } = await db.query<NearSide & { side: 'ours' | 'theirs' }>(
    `(SELECT 'theirs' AS side, question_id::text AS id, theirs->>'document' AS document, theirs->>'documentDate' AS date,
             theirs->>'amount' AS amount, theirs->>'currency' AS currency
        FROM questions WHERE party_id = $1 AND closed_at IS NULL AND kind = 'theirs_not_ours'
         AND ours IS NULL LIMIT $2)
     UNION ALL
     (SELECT 'ours', f.filing_id || ' row ' || r.source_row, r.mapping->>'sbCumInvoiceNumber', r.mapping->>'sbCumInvoiceDate',
             r.mapped_amount::text, r.currency
        FROM filing_rows r JOIN filings f USING (filing_id)
       WHERE r.party_id = $1 AND ((r.live AND r.state <> 'certified')
          OR EXISTS (SELECT FROM questions o WHERE o.party_id = $1 AND o.closed_at IS NULL AND o.kind = 'ours_not_theirs'
               AND o.ebrc_number = r.ebrc_number)) LIMIT $2)`,
    [partyId, limit],
  );
  return rows;
}

const CONTRADICTION_ADVICE =
  'Something contradicts what the ledger has: look at the portal. Acknowledge it with a note once it is settled.';

/** @param gatheredUntil when gathering evidence ends, for an unknown outcome that no person was asked about yet */
function viewOf({ gatheredUntil, ...row }: StoredFinding): FindingView {
  const gathering =
    gatheredUntil &&
    `Evidence of whether ${row.filingId} was filed is gathered until ${gatheredUntil}: nothing has to be done yet. If it is not conclusive, a person is asked.`;
  return { ...row, advice: gathering ?? adviceOfKind(row.kind) ?? CONTRADICTION_ADVICE };
}

/** SQL: whether an acknowledgement still holds; a difference of another amount, or another status, is listed again. */
const SAME_AS_ACKNOWLEDGED = `f.amount IS NOT DISTINCT FROM c.amount AND (f.kind <> 'status_changed' OR f.reason = c.reason)`;

/** Opens, renews and closes findings according to the temporary tables of a comparison. */
export async function mergeFindings(
  client: Queryable,
  { mode, partyId, checks, at }: { mode: string; partyId: number; checks: readonly ReconcileCheck[]; at: Date },
) {
  await client.query(
    `UPDATE questions f SET last_seen_at = $2, exporter_id = c.exporter_id, filing_id = c.filing_id, amount = c.amount, currency = c.currency,
        ours = c.ours, theirs = c.theirs, reason = c.reason, on_date = c.on_date,
        acknowledged_at = CASE WHEN ${SAME_AS_ACKNOWLEDGED} THEN f.acknowledged_at END
       FROM current_findings c WHERE f.party_id = $1 AND f.closed_at IS NULL AND f.key = c.key`,
    [partyId, at],
  );
  const opened = await client.query(
    `INSERT INTO questions (mode, party_id, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date,
        amount, currency, ours, theirs, reason, first_seen_at, last_seen_at)
     SELECT $1, $2, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date, amount, currency, ours,
        theirs, reason, $3, $3 FROM current_findings
     ON CONFLICT (party_id, key) WHERE closed_at IS NULL DO NOTHING`,
    [mode, partyId, at],
  );
  // An answer without any known certificate has probably failed, so it closes nothing.
  const { rows: shown } = checks.includes('certificates')
    ? await client.query<{ showed: boolean }>('SELECT coalesce(bool_or(seen), true) AS showed FROM covered')
    : { rows: [] };
  const showed = shown[0]?.showed ?? false;
  const kinds = FINDING_KINDS.filter((kind) => {
    const check = checkOfKind(kind);
    return check !== null && checks.includes(check) && (showed || check !== 'certificates');
  });
  const closed = await client.query(
    `UPDATE questions f SET closed_at = $3
      WHERE f.party_id = $1 AND f.closed_at IS NULL AND f.kind = ANY ($2)
        AND NOT EXISTS (SELECT FROM current_findings c WHERE c.key = f.key)
        AND (f.on_date IS NULL OR EXISTS (SELECT FROM read_windows w WHERE f.on_date BETWEEN w.from_date AND w.to_date))`,
    [partyId, kinds, at],
  );
  const { rows } = await client.query<{ open: number }>(
    'SELECT count(*)::int AS open FROM questions WHERE party_id = $1 AND closed_at IS NULL AND kind = ANY($2)',
    [partyId, FINDING_KINDS],
  );
  return { opened: opened.rowCount ?? 0, closed: closed.rowCount ?? 0, open: rows[0]?.open ?? 0 };
}
