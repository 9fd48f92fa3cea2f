/** Looks at what the authority has: before a send, and for evidence about an unknown outcome. */
import type pg from 'pg';
import { DAY_MS, filingDateInKolkata } from '../../domain/dates';
import type { Ambiguity } from '../../domain/reconciliation/certificate-matching';
import { balancesNow, readSnapshotSource, saveSnapshot, type Balance } from '../../ledger/certificates/snapshots';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { saveOfFiling } from '../../ledger/filings/filing-notes';
import { agreeingCertificates, lineageSend } from '../../ledger/gates/absence';
import { certifiedAs, certifyByDetails, type Contradiction } from '../../ledger/gates/certify';
import { withTransaction } from '../../ledger/pool';
import { countOpenRows } from '../../ledger/rows/filing-rows';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/attempts';
import { noteCertificatesRead, readSent } from '../../ledger/submissions/lost-time';
import { withStepHeartbeat } from '../call-context';
import { readDetails } from '../read-details';
import type { Deps } from '../dependencies';
import { hold, moveOnSettled, type FilingNow, isWaitForLedger, onWholeLedger } from './moves';
import type { SubmissionKey } from '../../domain/filing/attempt';

/** How many rate windows a party's list of certificates stays fresh, so that filings made in a row share one. */
const SNAPSHOT_STILL_FRESH_WINDOWS = 1;

/** Records certificates and balances before a send, to settle an unknown outcome with, and opens its attempt. */
async function takeSnapshot(
  deps: Deps,
  args: SubmissionKey & {
    exporterId: string;
    /** What the run knows: the numbers of the last move and of the last attempt (0: none). */
    open: { seq: number; after: number };
  },
): Promise<{
  certificates: number | null;
  /** Null: a separate step must open it. */
  opened: OpenedAttempt | null;
}> {
  const { filingId, submission, exporterId, open } = args;
  const { pool, clock } = deps;
  const { count: certificates, ...list } = await certificatesNow(deps, exporterId);
  const snapshot = { filingId, submission, exporterId, ...list };
  try {
    const opened = await withStepHeartbeat(() =>
      onWholeLedger(deps, filingId, async (client, filing) => {
        const held = await hold(client, { filingId, seq: open.seq }, filing);
        await saveSnapshot(client, snapshot);
        const next = { submission, at: new Date(clock()), after: open.after };
        return typeof held === 'object' ? openAttempt(client, held, next) : null;
      }),
    );
    return { certificates, opened };
  } catch (error) {
    // Keep the snapshot; the attempt is opened once the wait for the ledger is over.
    if (!isWaitForLedger(error)) throw error;
    await saveSnapshot(pool, snapshot);
    return { certificates, opened: null };
  }
}

/** The certificates of today and yesterday and their number; null: they cannot be read. */
async function certificatesNow(
  deps: Deps,
  exporterId: string,
): Promise<{ certificates: string[] | 'recent' | null; count: number | null; at: Date }> {
  const { clock, settings, pool } = deps;
  const at = new Date(clock());
  const since = new Date(at.getTime() - SNAPSHOT_STILL_FRESH_WINDOWS * settings.rateWindowMs);
  const { recent, ...caller } = await readSnapshotSource(pool, exporterId, since);
  if (recent) return { certificates: 'recent', count: recent.listed, at: recent.takenAt };
  // Yesterday's too, because a send around midnight is settled against both days.
  const days = { from: filingDateInKolkata(at.getTime() - DAY_MS), to: filingDateInKolkata(at.getTime()) };
  const { numbers, problem } = await readDetails(deps, { exporterId, caller, ...days });
  // A list with unreadable entries is useless, because a certificate that is not on it may still precede the send.
  const certificates = problem === null ? numbers : null;
  return { certificates, count: certificates?.length ?? null, at };
}

/** Evidence about a submission of unknown outcome, for the UI, `ebrc show` and the ledger. */
export interface Evidence {
  gatheredAt: string;
  sentAt: string | null;
  looked: boolean;
  /** Rows that certificates proved to be filed in this round; in the stored evidence, in all rounds. */
  adopted: { position: number; eBRCNumber: string }[];
  openRows: number;
  /** Certificates that fit several rows, or rows that several certificates fit. */
  ambiguous: Ambiguity[];
  /** Certificates that fit a row, and why it does not get them. */
  contradicted: Contradiction[];
  /** Certificates with the document or bill number of open rows, which speak against "not filed". */
  agreeing: string[];
  /** The only agreeing certificate and its only row; null: there are several, or none. */
  pair: { row: number; eBRCNumber: string } | null;
  balances: {
    irmKey: string;
    before: string | null;
    after: string | null;
    readBefore: string | null;
    readAfter: string | null;
  }[];
  /** Why nothing may be adopted or the look is incomplete; null: neither. */
  problem: string | null;
}

/** Looks at an exporter's certificates since `from` (epoch ms). `last`: no other look follows. */
async function lookAtCertificates(
  deps: Deps,
  { exporterId, from, last = false }: { exporterId: string; from: number; last?: boolean },
): Promise<{ complete: boolean }> {
  const at = deps.clock();
  const days = { from: filingDateInKolkata(from), to: filingDateInKolkata(at) };
  const { problem, iecCode } = await readDetails(deps, { exporterId, ...days });
  const complete = problem === null;
  if (complete || last || iecCode === null)
    await noteCertificatesRead(deps.pool, { exporterId, iecCode, at: new Date(at) });
  return { complete };
}

/** One round of evidence: certificates since the lineage's first send certify rows; their absence proves nothing. */
async function gatherEvidence(
  deps: Deps,
  args: SubmissionKey & {
    exporterId: string;
    /** Null: the evidence is about a request. */
    attemptId: string | null;
  },
): Promise<Evidence & { filing: FilingNow | null }> {
  const { clock, pool, settings } = deps;
  const { filingId, submission, exporterId, attemptId } = args;
  const at = new Date(clock());
  const send = await lineageSend(pool, { filingId, submission });
  const sent = attemptId === null ? null : await readSent(pool, attemptId);
  const { lostSince, balances: before } = sent ?? { lostSince: null, balances: null };
  const from = Math.min((send.from ?? at).getTime(), lostSince?.getTime() ?? Infinity);
  const days = { from: filingDateInKolkata(from), to: filingDateInKolkata(at.getTime()) };
  const { problem, iecCode } = await readDetails(deps, { exporterId, ...days });
  if (lostSince && problem === null) await noteCertificatesRead(pool, { exporterId, iecCode, at });
  const sentAt = attemptId === null ? send.firstMarkAt : sent?.markedAt;
  const looked = {
    gatheredAt: at.toISOString(),
    sentAt: sentAt?.toISOString() ?? null,
    looked: problem === null,
    balances: compareBalances(before ?? [], await balancesNow(pool, { filingId, submission, exporterId })),
  };
  const settle = async (client: pg.PoolClient) => {
    const filing = await lockFiling(client, filingId);
    // An incomplete look must not certify, because another certificate may fit too.
    const found = looked.looked
      ? await certifyByDetails(client, { filingId, submission, exporterId, settleMs: settings.settleAfterMs, at })
      : { adopted: [], ambiguous: [], contradicted: [], openRows: await countOpenRows(client, filingId, submission) };
    const since = send.from ?? lostSince;
    const agreeing = await agreeingCertificates(client, { filingId, submission, ...send, from: since });
    const evidence: Evidence = {
      ...looked,
      ...found,
      agreeing: [...new Set(agreeing.map(({ eBRCNumber }) => eBRCNumber))],
      pair: agreeing.length === 1 ? (agreeing[0] ?? null) : null,
      problem:
        problem ??
        (send.before === null ? 'no list of certificates from before the send exists to compare with' : null),
    };
    // Rows are proven in several rounds; the stored evidence has all of them.
    const adopted = await certifiedAs(client, filingId, submission, 'details');
    await saveOfFiling(client, filingId, { evidence: { ...evidence, adopted } });
    const moved = filing && found.openRows === 0 ? await moveOnSettled(client, settings, filing, at) : null;
    return { ...evidence, filing: moved };
  };
  return withStepHeartbeat(() => withTransaction(pool, settle));
}

function compareBalances(before: readonly Balance[], after: readonly Balance[]): Evidence['balances'] {
  const now = new Map(after.map((balance) => [balance.irmKey, balance]));
  return before.map((balance) => ({
    irmKey: balance.irmKey,
    before: balance.available,
    after: now.get(balance.irmKey)?.available ?? null,
    readBefore: balance.readAt,
    readAfter: now.get(balance.irmKey)?.readAt ?? null,
  }));
}

export const lookActivities = { takeSnapshot, lookAtCertificates, gatherEvidence };
