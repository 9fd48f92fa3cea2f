/** The caller's reference as the idempotency key of a filing. */
import { isEnd } from '../../domain/filing/states';
import { sameId } from '../../domain/identity';
import { filingName } from '../../domain/names';
import { errorAt, type Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { numberToFileAgain, standingOfReference, type FilingRecord, type Reference } from './filings';

export type ReferenceJudgement =
  /** An earlier run of the same workflow recorded the filing and did not finish. */
  | { outcome: 'resumed'; filingId: string }
  /** The same content was filed before: its outcome is returned and nothing is sent. */
  | { outcome: 'recorded'; filingId: string }
  | { outcome: 'refused'; findings: Finding[] };

/** Serializes transactions under a reference. Take it before the locks of IRMs, to avoid deadlocks. */
export async function lockReference(client: Queryable, { mode, reference }: Reference): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [`${mode}|${reference}`]);
}

/** What earlier filings under the reference mean for this one; null: it is new. Requires {@link lockReference}. */
export async function judgeReference(
  client: Queryable,
  named: Pick<FilingRecord, 'mode' | 'reference' | 'n' | 'exporterId' | 'contentHash' | 'workflowId' | 'corrects'>,
): Promise<ReferenceJudgement | null> {
  const before = await standingOfReference(client, named);
  if (before?.n !== named.n) {
    const next = (before?.n ?? 0) + 1;
    if (named.n === next) return null;
    const { reference, n } = named;
    const text =
      next === 1
        ? `Nothing was filed under reference ${reference} yet, so there is no filing ${n} of it. Leave the number out.`
        : `${n} is not the next number of reference ${reference}: that is ${next} (--again ${next}).`;
    return refused(refusal('wrong_number', text));
  }
  const { filingId, workflowId, state } = before;
  if (!sameContent(before, named)) return refused(await referenceTaken(client, before));
  if (isEnd(state)) return { outcome: 'recorded', filingId };
  // A filing belongs to one workflow id and Temporal runs one workflow per id, so if it asks again its run is lost.
  if (workflowId === named.workflowId) return { outcome: 'resumed', filingId };
  const text =
    `Workflow ${workflowId} runs filing ${filingId} with this content (state ${state}, made ` +
    `${before.madeAt.toISOString()}). Follow that one: two workflows would send its rows twice.`;
  return refused(refusal('mapping_live', text, filingId));
}

export const sameContent = (
  a: Pick<FilingRecord, 'contentHash' | 'exporterId'>,
  b: Pick<FilingRecord, 'contentHash' | 'exporterId'>,
): boolean => a.contentHash === b.contentHash && sameId(a.exporterId, b.exporterId);

/** The refusal of other content under a reference and number that a filing already has. */
export async function referenceTaken(db: Queryable, before: FilingRecord): Promise<Finding> {
  const { filingId, state, madeAt } = before;
  const again = await numberToFileAgain(db, before);
  const text =
    `Reference ${filingName(before)} belongs to filing ${filingId} with other content (state ${state}, made ` +
    `${madeAt.toISOString()}). Use another reference, or correct that filing` +
    (again === null ? '.' : `, or file under this reference once more as its number ${again} (--again ${again}).`);
  return refusal('reference_taken', text, filingId);
}

const refusal = (code: string, message: string, filingId?: string): Finding => ({
  ...errorAt(null, null, code, message),
  ...(filingId && { filingId }),
});

const refused = (finding: Finding): ReferenceJudgement => ({ outcome: 'refused', findings: [finding] });
