import { matchCertificates, type Ambiguity } from '../../domain/reconciliation/certificate-matching';
import { filingDateInKolkata } from '../../domain/dates';
import { unclaimedCertificates } from './certificates';
import { certificatesBefore } from './snapshots';
import { lockFiling } from '../filings/filing-lock';
import { countOpenRows, openRowsOf, settleRows } from '../rows/filing-rows';
import type { Queryable } from '../pool';
import { moveSubmission } from '../submissions/submissions';

const DAY_MS = 24 * 60 * 60_000;

/** The result of fetch-details for a submission. */
export interface Adoption {
  adopted: { position: number; eBRCNumber: string }[];
  ambiguous: Ambiguity[];
  /** Rows of the submission without an outcome, afterwards. */
  openRows: number;
}

/**
 * Gives the rows of a sent submission the certificates that fetch-details shows for them, with positive evidence only:
 * numbers that no snapshot from before the attempt contains, dated on or after the send. If a snapshot covers the day
 * before the send, that day counts too, because the send may have crossed midnight. A submission in which every row has
 * its outcome is settled. Must run in a transaction: the adoption and its consequences are one step.
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

/** When an attempt was sent, and the numbers in the party's snapshots before it; null if there is no snapshot. */
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
