/** A complete filing, or a whole reference, as commands, pages and the HTTP API show it. */
import type { AttemptView, DecisionView, EvidenceView, FilingView } from '../../domain/filing/view';
import { authorityErrors, type Finding } from '../../domain/rules/finding';
import { HOUR_MS } from '../../domain/dates';
import { ISO } from '../paging';
import type { Queryable } from '../pool';
import { filingOfReference, getFiling, type FilingRecord } from '../filings/filing';
import { againstSending } from '../decisions/in-question';
import { summaryOf } from './lists';
import { countsOf, rowsOf, type Scope } from './rows';

/** The settle time of a process that was told none. */
const SETTLE_MS = 4 * HOUR_MS;

/** One filing; null if the ledger does not hold it. */
export async function readFilingView(
  db: Queryable,
  filingId: string,
  settleAfterMs = SETTLE_MS,
): Promise<FilingView | null> {
  const filing = await getFiling(db, filingId);
  return filing && viewOf(db, filing, filing.n, settleAfterMs);
}

/** The whole reference: its newest filing, with the rows, attempts and decisions of all its n. Null: there is none. */
export async function readReferenceView(
  db: Queryable,
  { mode, reference }: Pick<Scope, 'mode' | 'reference'>,
  settleAfterMs = SETTLE_MS,
): Promise<FilingView | null> {
  const filing = await filingOfReference(db, { mode, reference });
  return filing && viewOf(db, filing, null, settleAfterMs);
}

async function viewOf(
  db: Queryable,
  filing: FilingRecord,
  n: number | null,
  settleAfterMs: number,
): Promise<FilingView> {
  const { mode, reference, filingId } = filing;
  const scope = { mode, reference, n };
  const [rows, attempts, decisions, evidence, correctedBy] = await Promise.all([
    rowsOf(db, scope),
    attemptsOf(db, filingId),
    decisionsOf(db, scope),
    evidenceOf(db, filing, settleAfterMs),
    correctionsOf(db, filingId),
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
async function decisionsOf(db: Queryable, { mode, reference, n }: Scope): Promise<DecisionView[]> {
  const { rows } = await db.query<DecisionView>(
    `SELECT d.decision_id::text AS id, d.filing_id AS "filingId", d.kind, d.name AS by, d.principal_id IS NOT NULL AS principal,
            d.attempt, d.shown, d.request_id AS "requestId", d.certificates, d.ends, d.note, ${ISO('d.at')} AS at, d.outcome, d.why
       FROM filings f JOIN decisions d ON d.filing_id = f.filing_id
      WHERE f.mode = $1 AND f.reference = $2 AND ($3::int IS NULL OR f.n = $3) ORDER BY d.decision_id`,
    [mode, reference, n],
  );
  return rows;
}

/** The corrections of a filing. */
async function correctionsOf(db: Queryable, filingId: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    'SELECT filing_id AS id FROM filings WHERE corrects = $1 ORDER BY n',
    [filingId],
  );
  return rows.map(({ id }) => id);
}

/** What speaks against "not filed" or, while it waits for an approval, against sending it; null: nothing does. */
async function evidenceOf(db: Queryable, filing: FilingRecord, settleAfterMs: number): Promise<EvidenceView | null> {
  const { filingId, attempt, state, approved } = filing;
  // Once every row has its outcome nothing is asked any more.
  if (attempt !== null)
    return filing.closed || state === 'collecting' ? null : evidenceOfAttempt(db, filingId, attempt);
  if (state !== 'awaiting_approval' || (approved && !filing.asked)) return null;
  const { names } = await againstSending(db, { ...filing, now: Date.now() }, settleAfterMs);
  const { rows } = await db.query<{ name: string; text: string }>(
    `SELECT name, coalesce('certificate ' || c.ebrc_number || ' of document ' || coalesce(c.document_no, '?') || ', '
              || coalesce(c.amount::text, '?') || ' ' || coalesce(c.currency, '') || ', dated ' || coalesce(c.ebrc_date, '?'),
            'the certificates could not be read whole') AS text
       FROM unnest($1::text[]) AS name LEFT JOIN certificates c ON c.mode = $2 AND c.iec = $3 AND 'certificate:' || c.ebrc_number = name`,
    [names, filing.mode, filing.iec],
  );
  return { attempt: null, readAt: null, settledAt: null, names, entries: rows, balances: [] };
}

async function evidenceOfAttempt(db: Queryable, filingId: string, attempt: number): Promise<EvidenceView | null> {
  const { rows } = await db.query<{
    evidence: Partial<EvidenceView> | null;
    settledAt: string;
    balances: EvidenceView['balances'];
  }>(
    `SELECT a.evidence, ${ISO("(a.marked_at + a.settle_ms * interval '1 ms')")} AS "settledAt",
            (SELECT coalesce(jsonb_agg(jsonb_build_object('irmNumber', k.number, 'before', a.balances -> k.irm_key ->> 'available',
                'beforeAt', a.balances -> k.irm_key ->> 'readAt', 'now', i.now, 'nowAt', i.at) ORDER BY k.number), '[]')
               FROM (SELECT irm_key, min(mapping ->> 'irmNumber') AS number FROM filing_rows WHERE filing_id = $1 GROUP BY irm_key) AS k
               LEFT JOIN LATERAL (SELECT sum(available)::text AS now, ${ISO('min(read_at)')} AS at FROM irms i
                  WHERE i.exporter_id = a.exporter_id AND i.irm_key = k.irm_key AND i.missing_since IS NULL) AS i ON true) AS balances
       FROM attempts a WHERE a.filing_id = $1 AND a.number = $2 AND a.verdict <> 'sending'`,
    [filingId, attempt],
  );
  const [found] = rows;
  if (!found) return null;
  const { readAt = null, names = [], entries = [] } = found.evidence ?? {};
  return { attempt, readAt, settledAt: found.settledAt, names, entries, balances: found.balances };
}

/** The attempts in question of filings, with the names of what was found of each. */
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
