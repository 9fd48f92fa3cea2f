/** A complete filing, or a whole reference, as commands, pages and the HTTP API show it. */
import type { AttemptView, DecisionView, EvidenceView, FilingView } from '../../domain/filing/view';
import { authorityErrors, type Finding } from '../../domain/rules/finding';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { filingOfReference, getFiling, type FilingRecord } from './filing';
import { summaryOf } from './lists';
import { countsOf, rowsOf, type Scope } from './rows';

/** One filing; null if the ledger does not hold it. */
export async function readFilingView(db: Queryable, filingId: string): Promise<FilingView | null> {
  const filing = await getFiling(db, filingId);
  return filing && viewOf(db, filing, filing.n);
}

/** The whole reference: its newest filing, with the rows, attempts and decisions of all its n. Null: there is none. */
export async function readReferenceView(
  db: Queryable,
  { mode, reference }: Pick<Scope, 'mode' | 'reference'>,
): Promise<FilingView | null> {
  const filing = await filingOfReference(db, { mode, reference });
  return filing && viewOf(db, filing, null);
}

async function viewOf(db: Queryable, filing: FilingRecord, n: number | null): Promise<FilingView> {
  const { mode, reference, filingId } = filing;
  const scope = { mode, reference, n };
  const [rows, attempts, decisions, { evidence, correctedBy }] = await Promise.all([
    rowsOf(db, scope),
    attemptsOf(db, filingId),
    decisionsOf(db, scope),
    aboutFiling(db, filing),
  ]);
  return {
    ...summaryOf(filing, countsOf(rows)),
    errors: [...filing.errors, ...authorityErrors(rows, filing.errors as Finding[])],
    attempt: filing.attempt,
    ...{ attempts, evidence, decisions, correctedBy, rows },
  };
}

async function attemptsOf(db: Queryable, filingId: string): Promise<AttemptView[]> {
  const { rows } = await db.query<AttemptView>(
    `SELECT number, verdict, reason, ${ISO('marked_at')} AS "markedAt", request_id AS "requestId", request_from AS "requestFrom",
            dgft_ack_id AS "dgftAckId", ${ISO('answered_at')} AS "answeredAt"
       FROM attempts WHERE filing_id = $1 ORDER BY number`,
    [filingId],
  );
  return rows;
}

/** The decisions about a filing, or about a whole reference, oldest first. */
export async function decisionsOf(db: Queryable, { mode, reference, n }: Scope): Promise<DecisionView[]> {
  const { rows } = await db.query<DecisionView>(
    `SELECT d.decision_id::text AS id, d.filing_id AS "filingId", d.kind, d.name AS by, d.principal_id IS NOT NULL AS principal,
            d.attempt, d.shown, d.request_id AS "requestId", d.certificates, d.ends, d.note, ${ISO('d.at')} AS at, d.outcome, d.why
       FROM filings f JOIN decisions d ON d.filing_id = f.filing_id
      WHERE f.mode = $1 AND f.reference = $2 AND ($3::int IS NULL OR f.n = $3) ORDER BY d.decision_id`,
    [mode, reference, n],
  );
  return rows;
}

/** What was found of the attempt in question, or against sending, and the corrections. */
async function aboutFiling(db: Queryable, { filingId, attempt }: FilingRecord) {
  const { rows } = await db.query<{
    evidence: (Partial<EvidenceView> & { names?: string[] }) | null;
    settledAt: string | null;
    correctedBy: string[];
  }>(
    `SELECT a.evidence, ${ISO("a.marked_at + a.settle_ms * interval '1 ms'")} AS "settledAt",
            ARRAY(SELECT c.filing_id FROM filings c WHERE c.corrects = $1 ORDER BY c.n) AS "correctedBy"
       FROM (SELECT) AS one LEFT JOIN attempts a ON a.filing_id = $1 AND a.number = $2 AND a.verdict <> 'sending'`,
    [filingId, attempt],
  );
  const { evidence = null, settledAt = null, correctedBy = [] } = rows[0] ?? {};
  const { readAt = null, names = [], entries = [], balances = null } = evidence ?? {};
  const about = { attempt, readAt, settledAt, names, entries, balances };
  return { evidence: settledAt === null ? null : about, correctedBy };
}

/** The attempt in question of filings, with the names of what was found of it. */
export async function evidenceNames(
  db: Queryable,
  filingIds: readonly string[],
): Promise<Map<string, { attempt: number; names: string[] }>> {
  if (filingIds.length === 0) return new Map();
  const { rows } = await db.query<{ filingId: string; attempt: number; names: string[] }>(
    `SELECT filing_id AS "filingId", number AS attempt, ARRAY(SELECT jsonb_array_elements_text(evidence -> 'names')) AS names
       FROM attempts WHERE filing_id = ANY($1) AND verdict IN ('unknown', 'accepted')`,
    [filingIds],
  );
  return new Map(rows.map(({ filingId, ...found }) => [filingId, found]));
}
