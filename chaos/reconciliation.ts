/** Compares the findings of the worker's own reconciliation with what the run left unsettled. */
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { FindingView } from '../src/domain/reconciliation/findings';
import type { Stage } from './stage';
import { isAsked, readStandings } from './watch';
import type { Verdict } from './verdict';

const SWEPT_WITHIN_MS = 90_000;
const LOOK_EVERY_MS = 2_000;

/**
 * Reconciles every exporter. Settled filings have no open finding. A filing of unknown outcome has one, and
 * certificates that may belong to it are findings until a person has answered.
 */
export async function reconcileAll({ client, pool }: Stage): Promise<Verdict> {
  await runsAreLookedAt(pool);
  const reconciled = await client.reconcile({}, { wait: true });
  const findings = reconciled.findings.filter(({ closedAt }) => closedAt === null);
  const standings = await readStandings(pool);
  const unknown = new Set(standings.filter(isAsked).map(({ filingId }) => filingId));
  const explained = ({ kind, filingId }: FindingView) =>
    filingId === null ? kind === 'theirs_not_ours' && unknown.size > 0 : unknown.has(filingId);
  const unexpected = findings.filter((finding) => !explained(finding));
  return {
    figures: [
      ['findings of a reconciliation', findings.length],
      ['… that no unknown outcome explains', unexpected.length],
    ],
    problems: [
      ...reconciled.skipped.map(({ exporterId }) => `not reconciled: exporter ${exporterId}`),
      ...unexpected.map(({ kind, filingId, eBRCNumber, irmNumber, reason }) =>
        ['finding', kind, filingId, eBRCNumber, irmNumber, reason].filter(Boolean).join(' '),
      ),
    ],
  };
}

/** A sweep closes what was found about runs once it saw them go on, or their filings' ends. */
async function runsAreLookedAt(pool: pg.Pool): Promise<void> {
  const open = `SELECT FROM findings WHERE kind = 'run_failing' AND closed_at IS NULL`;
  for (const until = Date.now() + SWEPT_WITHIN_MS; Date.now() < until; await sleep(LOOK_EVERY_MS))
    if ((await pool.query(open)).rowCount === 0) return;
}
