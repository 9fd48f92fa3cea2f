/** Certificates that the authority no longer lists: each is a finding until it is listed again. */
import type { Mode } from '../../domain/names';
import type { VanishedCertificate } from '../certificates/certificates';
import { openFinding } from '../findings';
import type { Queryable } from '../pool';

/** Opens a finding for each certificate that vanished, and closes those of certificates that are listed again. */
export async function judgeVanished(
  client: Queryable,
  args: { mode: Mode; iec: string; vanished: readonly VanishedCertificate[]; listed: readonly string[] },
): Promise<void> {
  const { mode, iec, vanished, listed } = args;
  await client.query(
    `UPDATE findings SET closed_at = clock_timestamp()
      WHERE mode = $1 AND iec = $2 AND kind = 'ours_not_theirs' AND closed_at IS NULL AND ebrc_number = ANY($3)`,
    [mode, iec, listed],
  );
  for (const { eBRCNumber, exporterId, issuedOn, amount, currency } of vanished) {
    const reason = 'fetch-details listed this certificate before, and does not list it any more';
    const about = { exporterId, eBRCNumber, onDate: issuedOn, amount, currency, reason };
    await openFinding(client, { mode, iec, kind: 'ours_not_theirs', subject: eBRCNumber, ...about });
  }
}
