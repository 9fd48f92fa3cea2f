import { matchCertificates, type Ambiguity } from '../../domain/reconciliation/certificate-matching';
import { filingDateInKolkata } from '../../domain/dates';
import { unclaimedCertificates } from './certificates';
import { certificatesBefore } from './snapshots';
import { lockFiling } from '../filings/filing-lock';
import { countOpenRows, openRowsOf, settleRows } from '../rows/filing-rows';
import type { Queryable } from '../pool';
import { moveSubmission } from '../submissions/submissions';

const DAY_MS = 24 * 60 * 60_000;

/** What fetch-details proved for a submission. */
export interface Adoption {
  adopted: { position: number; eBRCNumber: string }[];
  ambiguous: Ambiguity[];
  /** Rows of the submission without an outcome, afterwards. */
  openRows: number;
}

/**
 * Gives rows of a submission that was sent the certificates that fetch-details shows for them, with positive evidence
 * only: numbers that no snapshot from before the attempt holds, dated on or after the send. A day before the send
 * counts too where a snapshot covers it, because the send may have crossed midnight. A submission whose every row has
 * its outcome is settled. Must run in a transaction: what is adopted and what follows from it are one step.
 */
export async function adoptCertificates(
  client: Queryable,
  {
    filingId,
    submission,
    exporterId,
    attemptId,
    settles,
    at,
  }: { filingId: string; submission: number; exporterId: string; attemptId: string; settles: boolean; at: Date },
): Promise<Adoption> {
  await lockFiling(client, filingId);
  const { sentAt, excluded } = await beforeAttempt(client, attemptId);
  const found = { adopted: [] as Adoption['adopted'], ambiguous: [] as Ambiguity[] };
  if (sentAt) {
    const issuedFrom = filingDateInKolkata(sentAt.getTime() - (excluded ? DAY_MS : 0));
    const entries = await unclaimedCertificates(client, exporterId);
    const rows = await openRowsOf(client, { filingId, submission, exporterId });
    const { matches, ambiguous } = matchCertificates(rows, entries, { excluded: excluded ?? new Set(), issuedFrom });
    const verdicts = matches.map((match) => ({ outcome: 'certified' as const, ...match }));
    await settleRows(client, { filingId, exporterId, verdicts, at });
    found.adopted = matches.map(({ position, eBRCNumber }) => ({ position, eBRCNumber }));
    found.ambiguous = ambiguous;
  }
  const openRows = await countOpenRows(client, filingId, submission);
  if (settles && openRows === 0) await moveSubmission(client, { filingId, submission, state: 'settled', at });
  return { ...found, openRows };
}

/**
 * When an attempt was sent, and the numbers that the party's snapshots held before it; null where none was taken for
 * it.
 */
async function beforeAttempt(
  client: Queryable,
  attemptId: string,
): Promise<{ sentAt: Date | null; excluded: Set<string> | null }> {
  const { rows } = await client.query<{ sentAt: Date | null; numbers: string[] | null }>(
    `SELECT a.sending_at AS "sentAt", CASE WHEN s.certificates IS NOT NULL THEN ${certificatesBefore('s')} END AS numbers
       FROM attempts a LEFT JOIN snapshots s USING (snapshot_id) WHERE a.attempt_id = $1`,
    [attemptId],
  );
  const found = rows[0];
  return { sentAt: found?.sentAt ?? null, excluded: found?.numbers ? new Set(found.numbers) : null };
}
