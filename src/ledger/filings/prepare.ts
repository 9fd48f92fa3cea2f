/** What a filing passes before it is sent: the check, and the reservation of its balances. */
import { MINUTE_MS } from '../../domain/dates';
import { hasErrors, type Finding } from '../../domain/rules/finding';
import type { Queryable } from '../pool';
import { assignIec, checkFiling } from './check';
import type { LockedFiling } from './lock';
import { moveFiling } from './move';
import { endPause } from './pauses';
import { reserveBalances } from './reserve';

/** Checks exporter, IRMs and documents once they were read; errors end the filing before it is sent. */
export async function check(client: Queryable, filing: LockedFiling): Promise<void> {
  const findings = [...(await assignIec(client, filing)), ...(await checkFiling(client, filing))];
  if (hasErrors(findings)) return refuseFiling(client, filing, findings);
  await client.query(
    'UPDATE filings SET checked_at = clock_timestamp(), warnings = warnings || $2::jsonb WHERE filing_id = $1',
    [filing.filingId, JSON.stringify(findings)],
  );
  filing.checkedAt = filing.now;
}

/** Reserves the balances, or refuses what they do not cover. */
export async function reserve(client: Queryable, filing: LockedFiling): Promise<void> {
  const { filingId, exporterId, now } = filing;
  const { outcome, findings } = await reserveBalances(client, filing);
  if (outcome === 'refused') return refuseFiling(client, filing, findings);
  if (outcome === 'reserved') {
    filing.reservedAt = now;
    return endPause(client, filing);
  }
  // Stale: the balances are read afresh. Short through what others have sent: their outcome frees it or not.
  if (outcome === 'stale') {
    await client.query('UPDATE exporters SET irms_refreshed_at = NULL WHERE exporter_id = $1', [exporterId]);
    return;
  }
  const text = findings[0]?.message ?? 'The balance may not cover it yet';
  await client.query(
    `UPDATE filings SET pause = 'failure', pause_text = $2, pause_until = clock_timestamp() + interval '15 min' WHERE filing_id = $1`,
    [filingId, text],
  );
  Object.assign(filing, { pause: 'failure', pauseText: text, pauseUntil: now + 15 * MINUTE_MS });
}

/** Ends a filing before it is sent, with its errors. */
export async function refuseFiling(
  client: Queryable,
  filing: LockedFiling,
  findings: readonly Finding[],
): Promise<void> {
  await client.query(
    `UPDATE filing_rows SET state = 'released', settled_at = clock_timestamp() WHERE filing_id = $1 AND state = 'planned'`,
    [filing.filingId],
  );
  await client.query('UPDATE filings SET errors = $2 WHERE filing_id = $1', [
    filing.filingId,
    JSON.stringify(findings),
  ]);
  const text = findings.find(({ severity }) => severity === 'error')?.message ?? 'refused';
  await moveFiling(client, filing, {
    state: 'needs_correction',
    asked: false,
    event: { kind: 'refused', text },
  });
}
