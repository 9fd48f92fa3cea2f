/** The caller's reference as the key of idempotency: what it says of a filing that comes under it. */
import { isEnd } from '../../domain/filing/states';
import { sameId } from '../../domain/identity';
import { filingName } from '../../domain/names';
import { errorAt, type Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { numberToFileAgain, standingOfReference, type FilingRecord, type Reference } from './filings';

export type Named = Pick<
  FilingRecord,
  'mode' | 'reference' | 'n' | 'exporterId' | 'contentHash' | 'workflowId' | 'corrects'
>;

export type ReferenceJudgement =
  /** One that an earlier run of the same workflow did not finish. */
  | { outcome: 'resumed'; filingId: string }
  /** The same content was filed before: its outcome is returned, nothing is sent. */
  | { outcome: 'recorded'; filingId: string }
  | { outcome: 'refused'; findings: Finding[] };

/** One transaction at a time records under a reference. Before the locks of IRMs, so that none waits in a circle. */
export async function lockReference(client: Queryable, { mode, reference }: Reference): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 1))', [`${mode}|${reference}`]);
}

/** What earlier filings under the reference mean for this one; null: it is new. Under {@link lockReference}. */
export async function judgeReference(client: Queryable, named: Named): Promise<ReferenceJudgement | null> {
  const before = await standingOfReference(client, named);
  if (before?.n !== named.n) {
    const next = (before?.n ?? 0) + 1;
    return named.n === next ? null : refused(wrongNumber(named, next));
  }
  const { filingId } = before;
  if (!sameContent(before, named)) return refused(await referenceTaken(client, before));
  if (isEnd(before.state)) return { outcome: 'recorded', filingId };
  // A filing belongs to one workflow id, and Temporal runs one workflow of that id at a time: if it asks again, its
  // previous run is lost.
  if (before.workflowId === named.workflowId) return { outcome: 'resumed', filingId };
  return refused(runElsewhere(before));
}

export const sameContent = (
  a: Pick<FilingRecord, 'contentHash' | 'exporterId'>,
  b: Pick<FilingRecord, 'contentHash' | 'exporterId'>,
): boolean => a.contentHash === b.contentHash && sameId(a.exporterId, b.exporterId);

/** The refusal of other content under a reference and number that a filing has. */
export async function referenceTaken(db: Queryable, before: FilingRecord): Promise<Finding> {
  const { filingId, state, madeAt } = before;
  const again = await numberToFileAgain(db, before);
  return refusal(
    'reference_taken',
    filingId,
    `Reference ${filingName(before)} belongs to filing ${filingId} with other content (state ${state}, made ` +
      `${madeAt.toISOString()}). Use another reference, or correct that filing` +
      (again === null ? '.' : `, or file under this reference once more as its number ${again} (--again ${again}).`),
  );
}

function runElsewhere({ workflowId, filingId, state, madeAt }: FilingRecord): Finding {
  return refusal(
    'mapping_live',
    filingId,
    `Workflow ${workflowId} runs filing ${filingId} with this content (state ${state}, made ` +
      `${madeAt.toISOString()}). Follow that one: two workflows would send its rows twice.`,
  );
}

function wrongNumber({ reference, n }: Named, next: number): Finding {
  const text =
    next === 1
      ? `Nothing was filed under reference ${reference} yet, so there is no filing ${n} of it. Leave the number out.`
      : `${n} is not the next number of reference ${reference}: that is ${next} (--again ${next}).`;
  return refusal('wrong_number', undefined, text);
}

function refusal(code: string, filingId: string | undefined, message: string): Finding {
  return { ...errorAt(null, null, code, message), ...(filingId && { filingId }) };
}

const refused = (finding: Finding): ReferenceJudgement => ({ outcome: 'refused', findings: [finding] });
