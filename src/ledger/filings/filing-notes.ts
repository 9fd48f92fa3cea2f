import type { Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';

/** Data stored beside a filing's progress: findings, evidence, approval, the note of its end. */

/** Replaces a filing's errors. */
export async function saveErrors(db: Queryable, filingId: string, errors: readonly Finding[]): Promise<void> {
  await db.query('UPDATE filings SET errors = $2 WHERE filing_id = $1', [filingId, JSON.stringify(errors)]);
}

/** Stores a balance check's findings in place of an earlier check's; warnings of other rules are kept. */
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

/** Stores the evidence of the last round about an unknown outcome. */
export async function saveEvidence(db: Queryable, filingId: string, evidence: unknown): Promise<void> {
  await db.query('UPDATE filings SET evidence = $2 WHERE filing_id = $1', [filingId, JSON.stringify(evidence)]);
}

export async function saveApproval(db: Queryable, approval: { filingId: string; by: string; at: Date }): Promise<void> {
  await db.query('UPDATE filings SET approved_by = $2, approved_at = $3 WHERE filing_id = $1', [
    approval.filingId,
    approval.by,
    approval.at,
  ]);
}

export async function saveNote(db: Queryable, filingId: string, note: string): Promise<void> {
  await db.query('UPDATE filings SET note = $2 WHERE filing_id = $1', [filingId, note]);
}

/** Stores the caller's annotated workbook, by its name in the document store. */
export async function saveAnnotated(db: Queryable, filingId: string, document: string): Promise<void> {
  await db.query('UPDATE filings SET annotated = $2 WHERE filing_id = $1', [filingId, document]);
}
