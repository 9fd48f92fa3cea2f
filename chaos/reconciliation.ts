/** Compares the findings of the worker's own reconciliation with what the run left unsettled. */
import type { FindingView } from '../src/domain/reconciliation/findings';
import type { Stage } from './stage';
import { isAsked, readStandings } from './watch';
import type { Verdict } from './verdict';

/**
 * Reconciles every exporter. Settled filings have no open finding. A filing of unknown outcome has one, and
 * certificates that may belong to it are findings until a person has answered.
 */
export async function reconcileAll({ client, pool }: Stage): Promise<Verdict> {
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
