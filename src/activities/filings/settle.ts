import type { Ambiguity } from '../../domain/reconciliation/certificate-matching';
import { filingDateInKolkata } from '../../domain/dates';
import { adoptCertificates } from '../../ledger/certificates/adoption';
import { inDoubtSince, lostTimeCertificates, noteCertificatesRead } from '../../ledger/submissions/lost-time';
import { sendingAt } from '../../ledger/submissions/attempts';
import { saveEvidence } from '../../ledger/filings/filing-notes';
import { countOpenRows } from '../../ledger/rows/filing-rows';
import { withTransaction, type Queryable } from '../../ledger/pool';
import { balancesNow, snapshotOf, type Snapshot } from '../../ledger/certificates/snapshots';
import type { ActivityDependencies } from '../dependencies';
import { iecOf } from '../../ledger/exporters/exporters';
import { readDetails } from '../certificates/read-details';
import { moveOnSettled, type MovedOn } from './moves';

/** Evidence about a submission of unknown outcome, for the UI, `ebrc show` and the ledger. */
export interface Evidence {
  gatheredAt: string;
  sentAt: string | null;
  /** Whether the service was asked for certificates in this round. */
  looked: boolean;
  /** Rows that certificates proved to be filed, in this round. */
  adopted: { position: number; eBRCNumber: string }[];
  /** Rows still without proof. */
  openRows: number;
  /** Certificates that would fit more than one row, or rows that more than one would fit. */
  ambiguous: Ambiguity[];
  balances: {
    irmKey: string;
    before: string | null;
    after: string | null;
    readBefore: string | null;
    readAfter: string | null;
  }[];
  /** Why nothing may be adopted, where that is so. */
  problem: string | null;
}

const DAY_MS = 24 * 60 * 60_000;

/** Looking after a lost answer. */
export function createSettleActivities(deps: ActivityDependencies) {
  const { pool, clock, settings } = deps;

  return {
    /**
     * Reads an exporter's certificates since `from` (ms since the epoch), for a ledger that lost sends together with
     * the document store: what it filed meanwhile shows in them and in the balances.
     */
    async readAfterRestore({ exporterId, from }: { exporterId: string; from: number }): Promise<void> {
      const at = clock();
      const iecCode = await iecOf(pool, exporterId);
      if (iecCode) {
        const days = { from: filingDateInKolkata(from), to: filingDateInKolkata(at) };
        await readDetails(deps, { exporterId, iecCode, ...days });
      }
      await noteCertificatesRead(pool, exporterId, new Date(at));
    },

    /**
     * One round of evidence for a submission of unknown outcome: certificates by document, date, amount and currency,
     * issued on or after the send and not seen before it. Rows are adopted one by one, with positive evidence only;
     * absence proves nothing. The last row settles the submission and, with the last submission, moves the filing on.
     */
    async gatherEvidence(args: {
      filingId: string;
      submission: number;
      exporterId: string;
      attemptId: string;
    }): Promise<Evidence & { moved: MovedOn | null }> {
      const { filingId, submission, exporterId } = args;
      const { attemptId } = args;
      const sentAt = await sendingAt(pool, attemptId);
      const now = clock();
      const before = await snapshotOf(pool, attemptId);
      const iecCode = await iecOf(pool, exporterId);
      const problem = problemOf({ sentAt, before, iecCode });
      const lostSince = await inDoubtSince(pool, attemptId);
      if (sentAt && iecCode) {
        // A day earlier too: the authority's midnight may have come between the send and its certificates.
        const from = Math.min(sentAt.getTime() - DAY_MS, lostSince?.getTime() ?? Infinity);
        const days = { from: filingDateInKolkata(from), to: filingDateInKolkata(now) };
        await readDetails(deps, { exporterId, iecCode, ...days });
        if (lostSince) await noteCertificatesRead(pool, exporterId, new Date(now));
      }
      const adoption = { filingId, submission, exporterId, attemptId, settles: true, at: new Date(now) };
      const looked = {
        gatheredAt: new Date(now).toISOString(),
        sentAt: sentAt?.toISOString() ?? null,
        looked: sentAt !== null && iecCode !== null,
        balances: compareBalances(
          before?.balances ?? [],
          await balancesNow(pool, { filingId, submission, exporterId }),
        ),
        problem,
      };
      return withTransaction(pool, async (client) => {
        const found =
          problem === null
            ? await adoptCertificates(client, adoption)
            : {
                adopted: [],
                ambiguous: lostSince ? await candidatesOfLostTime(client, { filingId, submission }) : [],
                openRows: await countOpenRows(client, filingId, submission),
              };
        const evidence: Evidence = { ...looked, ...found };
        await saveEvidence(client, filingId, evidence);
        const settled = problem === null && found.openRows === 0;
        const moved = settled ? await moveOnSettled(client, settings, { filingId, at: adoption.at }) : null;
        return { ...evidence, moved };
      });
    },
  };
}

/**
 * Certificates that may be those of a submission sent in the time that ledger and documents have lost. None is adopted,
 * even where one alone fits: it may be that of another remittance's filing, which was lost altogether.
 */
async function candidatesOfLostTime(db: Queryable, of: { filingId: string; submission: number }): Promise<Ambiguity[]> {
  const byPosition = new Map<number, string[]>();
  for (const { position, eBRCNumber } of (await lostTimeCertificates(db, of))?.agreeing ?? []) {
    byPosition.set(position, [...(byPosition.get(position) ?? []), eBRCNumber]);
  }
  return [...byPosition].map(([position, candidates]) => ({ positions: [position], candidates, competingFilings: [] }));
}

/** Why certificates may not be adopted, in words for a person; null when they may. */
function problemOf({
  sentAt,
  before,
  iecCode,
}: {
  sentAt: Date | null;
  before: Snapshot | null;
  iecCode: string | null;
}): string | null {
  if (!sentAt) return 'the ledger does not say when the submission was sent';
  if (!iecCode) return 'fetch-details needs an IEC, and neither the exporter nor its IRMs have one';
  if (!before?.certificates) return 'no list of certificates from before the send exists to compare with';
  return null;
}

function compareBalances(before: Snapshot['balances'], after: Snapshot['balances']): Evidence['balances'] {
  const now = new Map(after.map((balance) => [balance.irmKey, balance]));
  return before.map((balance) => ({
    irmKey: balance.irmKey,
    before: balance.available,
    after: now.get(balance.irmKey)?.available ?? null,
    readBefore: balance.readAt,
    readAfter: now.get(balance.irmKey)?.readAt ?? null,
  }));
}
