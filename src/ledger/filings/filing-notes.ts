/** What is recorded about a filing besides its moves: events, findings, evidence, approval, the note of its end. */
import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';

/** Stores the given fields of a filing: errors, latest evidence, note of its end, annotated workbook, approval. */
export async function saveOfFiling(
  db: Queryable,
  filingId: string,
  fields: {
    errors?: readonly Finding[];
    evidence?: unknown;
    note?: string;
    annotated?: string;
    approved?: { by: string; at: Date };
  },
): Promise<void> {
  const { errors, evidence, note, annotated, approved } = fields;
  const found = [errors && JSON.stringify(errors), evidence && JSON.stringify(evidence)];
  await db.query(
    `UPDATE filings SET errors = coalesce($2, errors), evidence = coalesce($3, evidence), note = coalesce($4, note),
        annotated = coalesce($5, annotated), approved_by = coalesce($6, approved_by), approved_at = coalesce($7, approved_at)
      WHERE filing_id = $1`,
    [filingId, ...found, note, annotated, approved?.by, approved?.at],
  );
}

/** Replaces the findings of an earlier balance check; warnings of other rules are kept. */
export async function saveBalanceFindings(
  db: Queryable,
  filingId: string,
  findings: readonly Finding[],
): Promise<void> {
  const warnings = findings.filter((finding) => finding.severity === 'warning');
  const errors = findings.filter((finding) => finding.severity === 'error');
  await db.query(
    `UPDATE filings SET errors = $4, warnings = (SELECT coalesce(jsonb_agg(w ORDER BY n), '[]') FROM jsonb_array_elements(warnings)
        WITH ORDINALITY AS kept (w, n) WHERE coalesce(w->>'code', '') <> ALL ($2)) || $3::jsonb
      WHERE filing_id = $1`,
    [filingId, findings.map((finding) => finding.code), JSON.stringify(warnings), JSON.stringify(errors)],
  );
}

/** Adds an event that is not a move; with a `step` it is written once. */
export async function addEvent(
  db: Queryable,
  event: {
    filingId: string;
    step?: string;
    at: Date;
    kind: string;
    text: string;
    who?: string;
    data?: unknown;
  },
): Promise<void> {
  const { filingId, step, at, kind, text, who, data } = event;
  await db.query(
    `INSERT INTO filing_events (filing_id, step, at, kind, who, text, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT DO NOTHING`,
    [filingId, step, at, kind, who, text, JSON.stringify(data)],
  );
}

export async function countEvents(db: Queryable, filingId: string, kinds: readonly string[]): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'SELECT count(*)::int AS n FROM filing_events WHERE filing_id = $1 AND kind = ANY($2)',
    [filingId, kinds],
  );
  return rows[0]?.n ?? 0;
}
