/** Looking at what exists before a send, and opening the attempt to send with. */
import { filingDateInKolkata, DAY_MS } from '../../domain/dates';
import { readSnapshotSource, saveSnapshot } from '../../ledger/certificates/snapshots';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/attempts';
import { withStepHeartbeat } from '../call-context';
import { readDetails } from '../read-details';
import type { Deps } from '../dependencies';
import { hold } from './moves';
import { isWaitForLedger, onWholeLedger } from './whole-ledger';

/** A filing of the same exporter made seconds ago has read today's certificates already. */
const SNAPSHOT_STILL_FRESH_WINDOWS = 1;

export interface TakenSnapshot {
  /** How many there are; null where they could not be read. */
  certificates: number | null;
  /** Null where that is left to a step of its own. */
  opened: OpenedAttempt | null;
}

/** Notes certificates and balances before a send, to settle an unknown outcome. `open`: with the attempt, in one go. */
async function takeSnapshot(
  deps: Deps,
  args: {
    filingId: string;
    submission: number;
    exporterId: string;
    /** Opens the next attempt with it, where the run that wants to send knows of every move and attempt. */
    open?: {
      /** Number of the last move that it knows of. */
      seq: number;
      /** Number of the last attempt that it knows of; 0: none. */
      after: number;
    };
  },
): Promise<TakenSnapshot> {
  const { open, ...of } = args;
  const { pool, clock } = deps;
  const { filingId, submission, exporterId } = of;
  const { count: certificates, ...list } = await certificatesNow(deps, exporterId);
  const alone = async () => {
    await saveSnapshot(pool, { ...of, ...list });
    return { certificates, opened: null };
  };
  if (!open) return alone();
  const { seq, after } = open;
  try {
    const opened = await withStepHeartbeat(() =>
      onWholeLedger(deps, filingId, async (client, filing) => {
        const held = await hold(client, { filingId, seq }, filing);
        await saveSnapshot(client, { ...of, ...list });
        const at = new Date(clock());
        return typeof held === 'object' ? openAttempt(client, held, { submission, at, after }) : null;
      }),
    );
    return { certificates, opened };
  } catch (error) {
    // The snapshot helps whatever is waited for; the attempt is opened when that has passed.
    if (!isWaitForLedger(error)) throw error;
    return alone();
  }
}

/** Certificates of today and yesterday, and how many there are; null where they cannot be read. */
async function certificatesNow(
  deps: Deps,
  exporterId: string,
): Promise<{ certificates: string[] | 'recent' | null; count: number | null; at: Date }> {
  const { clock, settings, pool } = deps;
  const at = new Date(clock());
  const since = new Date(at.getTime() - SNAPSHOT_STILL_FRESH_WINDOWS * settings.rateWindowMs);
  const { recent, ...caller } = await readSnapshotSource(pool, exporterId, since);
  if (recent) return { certificates: 'recent', count: recent.listed, at: recent.takenAt };
  // Yesterday's too: a send around midnight is settled against both days.
  const days = { from: filingDateInKolkata(at.getTime() - DAY_MS), to: filingDateInKolkata(at.getTime()) };
  const { numbers, problem } = await readDetails(deps, { exporterId, caller, ...days });
  // A list with entries that could not be read is none: what is not on it may have existed before the send.
  return problem === null
    ? { certificates: numbers, count: numbers.length, at }
    : { certificates: null, count: null, at };
}

export const snapshotActivities = { takeSnapshot };
