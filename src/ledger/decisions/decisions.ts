/** Decisions of persons about filings: stored with what was shown, and carried out once they are enough. */
import {
  judgeApproval,
  judgeCertificates,
  judgeNotFiled,
  type DecisionKind,
  type Judgement,
  type Said,
} from '../../domain/filing/decision';
import { MS } from '../paging';
import type { Queryable } from '../pool';
import { certify, letGo, noteNotFiled } from './carry-out';
import { approvalFacts, readQuestion, type DecisionSettings } from './in-question';
import type { LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';

/**
 * SQL: whether the person `p` of decision `d` counts as one of two: a principal now as then, still a checker, who may
 * still see the filing's exporter.
 */
const COUNTS = `coalesce(p.removed_at IS NULL AND p.created_at <= d.at AND (p.expires_at IS NULL OR p.expires_at > clock_timestamp())
  AND NOT p.is_system AND 'checker' = ANY (p.roles) AND (p.exporters IS NULL OR lower(f.exporter_id) = ANY (p.exporters)), false)`;

/** The decisions of a filing that nothing came of yet, oldest first. */
export async function openDecisions(client: Queryable, filingId: string): Promise<Said[]> {
  const { rows } = await client.query<Said>(
    `SELECT d.decision_id::text AS id, d.kind, d.principal_id AS "principalId", d.name, ${COUNTS} AS counts, ${MS('d.at')} AS at,
            d.attempt, d.shown, d.certificates, d.ends, d.note
       FROM decisions d JOIN filings f USING (filing_id) LEFT JOIN principals p USING (principal_id)
      WHERE d.filing_id = $1 AND d.outcome IS NULL ORDER BY d.decision_id`,
    [filingId],
  );
  return rows;
}

/** A decision as it is stored. */
export interface NewDecision {
  kind: DecisionKind;
  principalId: string | null;
  name: string;
  attempt: number | null;
  shown: readonly string[];
  requestId: string | null;
  certificates: Said['certificates'];
  ends: boolean;
  note: string | null;
}

/** Stores a decision. @returns its id */
export async function insertDecision(client: Queryable, filingId: string, decision: NewDecision): Promise<string> {
  const { kind, principalId, name, attempt, shown, requestId, certificates, ends, note } = decision;
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO decisions (filing_id, kind, principal_id, name, attempt, shown, request_id, certificates, ends, note)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING decision_id::text AS id`,
    [filingId, kind, principalId, name, attempt, shown, requestId, JSON.stringify(certificates), ends, note],
  );
  return rows[0]?.id ?? '';
}

/** Writes what came of decisions, once. */
export async function endDecisions(
  client: Queryable,
  said: readonly Pick<Said, 'id'>[],
  outcome: 'carried_out' | 'refused' | 'void',
  why: string | null = null,
): Promise<void> {
  if (said.length === 0) return;
  await client.query(
    `UPDATE decisions SET outcome = $2, why = $3, outcome_at = clock_timestamp() WHERE decision_id = ANY($1) AND outcome IS NULL`,
    [said.map(({ id }) => id), outcome, why],
  );
}

/**
 * Carries out what was decided, as far as it is enough now, and ends what no longer holds. Requires the locks of the
 * filing's IRMs and of the filing. Repeating it changes nothing.
 * @returns what the remaining decisions wait for
 */
export async function carryOutDecisions(
  client: Queryable,
  filing: LockedFiling,
  settings: DecisionSettings,
): Promise<Judgement['waitsFor']> {
  const open = await openDecisions(client, filing.filingId);
  let waitsFor: Judgement['waitsFor'] = null;
  for (const kind of ['filed', 'not_filed', 'approve'] as const) {
    const said = open.filter((each) => each.kind === kind);
    if (said.length === 0) continue;
    const judgement = await judge(client, filing, said, kind, settings);
    for (const each of judgement.void) {
      await endDecisions(client, [each.said], 'void', each.why);
      const text = `what ${each.said.name} decided no longer holds: ${each.why}`;
      await addEvent(client, filing, { kind: 'decision_void', who: each.said.name, text });
    }
    waitsFor ??= judgement.waitsFor;
    if (judgement.carriedOut.length === 0) continue;
    const refusal = await CARRY_OUT[kind](client, filing, judgement, settings);
    await endDecisions(client, judgement.carriedOut, refusal === null ? 'carried_out' : 'refused', refusal);
    // What others said of the same is answered with it.
    const others = said.filter((each) => !judgement.carriedOut.includes(each));
    if (refusal === null) await endDecisions(client, others, 'void', 'it was answered by others');
    waitsFor = null;
  }
  return waitsFor;
}

async function judge(
  client: Queryable,
  filing: LockedFiling,
  said: readonly Said[],
  kind: 'approve' | 'filed' | 'not_filed',
  settings: DecisionSettings,
): Promise<Judgement> {
  if (filing.closed) return over(said, 'the filing has ended');
  if (kind === 'filed') return judgeCertificates(said, settings);
  if (kind === 'approve') return judgeApproval(said, await approvalFacts(client, filing, settings));
  const { refusal, ...question } = await readQuestion(client, filing, settings);
  if (refusal !== null) return over(said, refusal);
  return judgeNotFiled(said, { ...question, singlePerson: settings.singlePerson });
}

const over = (said: readonly Said[], why: string): Judgement => ({
  ...{ carriedOut: [], shown: [], waitsFor: null },
  void: said.map((each) => ({ said: each, why })),
});

/** Carries a judgement out. @returns why it cannot be; null: it was */
const CARRY_OUT = { approve: letGo, not_filed: noteNotFiled, filed: certify };
