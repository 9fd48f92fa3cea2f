/** Begins to send a filing: the one transaction after which a byte may be written to the service. */
import { HOUR_MS } from '../../domain/dates';
import type { LedgerTime } from '../../domain/filing/facts';
import { CANCELLED, ROW_OF_CERTIFICATE } from '../certificates/certificates';
import type { Queryable } from '../pool';
import { doubtIfLost, wentBackSince, type SeenTime } from '../time';
import { lockFiling, lockIrmsOf, type LockedFiling } from '../filings/lock';
import { addEvent } from '../filings/move';
import { lastWholeReading, standsAgainst } from './send-conditions';

export interface Sender {
  filingId: string;
  /** The number of the attempt that the run was told to make, and the ledger's time then. */
  n: number;
  time: LedgerTime;
  /** The ledger's time as this process saw it. */
  seen: SeenTime;
  /** The execution that sends: only its own answer may say that nothing was written. */
  sender: string;
  payloadHash: string;
  document: string | null;
  settleMs: number;
  timeoutMs: number;
}

/**
 * Inserts attempt n as `sending` and makes all rows of the filing `sent`, if every condition of docs/protocol.md holds.
 * The commit is synchronous, whatever the database's default: a byte is written after it.
 * @returns why nothing may be written; null: it may be sent now
 */
export async function beginToSend(client: Queryable, sender: Sender): Promise<string | null> {
  const { filingId, n, time, settleMs, timeoutMs } = sender;
  await client.query(`SELECT set_config('synchronous_commit', 'on', true)`);
  await lockIrmsOf(client, filingId);
  const filing = await lockFiling(client, filingId);
  // Read by a statement of its own after the locks were had, so that it sees what others committed meanwhile.
  const refusal = (await refusalOf(client, filing, sender)) ?? (await againstIt(client, filing, settleMs));
  if (refusal !== null) return refusal;
  const { rowCount } = await client.query(
    `INSERT INTO attempts (filing_id, number, mode, exporter_id, verdict, epoch, beat, settle_beats, settle_ms, timeout_ms,
        sender, payload_hash, document, balances)
     SELECT $1, $2, f.mode, f.exporter_id, 'sending', server_epoch(), l.beat, ${SETTLE_BEATS('$3')}, $3, $4, $5, $6, $7, ${BALANCES}
       FROM filings f, ledger l
      WHERE f.filing_id = $1 AND l.epoch = $8 AND server_epoch() = $8 AND l.beat >= $9
     ON CONFLICT DO NOTHING`,
    [filingId, n, settleMs, timeoutMs, sender.sender, sender.payloadHash, sender.document, time.epoch, time.beat],
  );
  if (rowCount !== 1) return 'the ledger went back, or another attempt is under way';
  await client.query(
    `UPDATE filing_rows SET state = 'sent', sent_at = coalesce(sent_at, clock_timestamp()) WHERE filing_id = $1`,
    [filingId],
  );
  await addEvent(client, filing, { kind: 'sending', text: `attempt ${n} is being sent` });
  return null;
}

/** SQL: the beats that a settle time (ms) has at least: one is raised every min(60 s, settle time ÷ 4). */
export const SETTLE_BEATS = (ms: string): string =>
  `greatest(floor(${ms}::float8 / least(60000, ${ms}::float8 / 4)) - 1, 1)::bigint`;

/**
 * SQL: per IRM of filing $1, the last balance before now that was read while no row of ours was on its way on it:
 * that of an attempt whose rows are on their way, or were at the last reading, or else the balance as last read.
 */
const BALANCES = `(SELECT coalesce(jsonb_object_agg(k.irm_key, coalesce(
    (SELECT a.balances -> k.irm_key FROM filing_rows o JOIN attempts a ON a.filing_id = o.filing_id
        AND a.verdict IN ('sending', 'unknown', 'accepted')
      WHERE o.mode = k.mode AND o.iec = k.iec AND o.irm_key = k.irm_key AND o.filing_id <> $1 AND a.balances ? k.irm_key
        AND (o.state = 'sent' OR (o.state = 'certified' AND o.settled_at > b.read_at))
      ORDER BY a.marked_at LIMIT 1),
    jsonb_build_object('available', b.available::text, 'readAt', b.read_at))), '{}')
  FROM (SELECT DISTINCT mode, iec, irm_key FROM filing_rows WHERE filing_id = $1) AS k
  LEFT JOIN LATERAL (SELECT CASE WHEN bool_and(i.available IS NOT NULL) THEN sum(i.available) END AS available, min(i.read_at) AS read_at
    FROM (SELECT DISTINCT ON (i.issue_date, i.ifsc_code, i.ad_code) i.available, i.read_at FROM irms i JOIN exporters e USING (exporter_id)
           WHERE e.mode = k.mode AND e.iec = k.iec AND i.irm_key = k.irm_key AND i.missing_since IS NULL
           ORDER BY i.issue_date, i.ifsc_code, i.ad_code, i.read_at DESC) AS i) AS b ON true)`;

/** Rules 1 to 3: the filing, its rows, its attempts and the ledger. */
async function refusalOf(client: Queryable, filing: LockedFiling, { n, time, seen }: Sender): Promise<string | null> {
  const { filingId, closed, state, approval, approvedAt, reservedAt, now, iec } = filing;
  if (closed) return `the filing has ended as ${state}`;
  if (iec === null) return 'its IEC is not known';
  if (approval !== null && approvedAt === null) return 'nobody has approved it';
  if (reservedAt === null || reservedAt < now - 2 * HOUR_MS) return 'its balances are not reserved';
  if (!filing.ledgerWhole) return 'the ledger went back';
  const { ledger } = filing;
  if (await doubtIfLost(client, [seen.of(ledger.epoch)], ledger))
    return 'the ledger went back since this worker saw it';
  if (wentBackSince(time, ledger)) return 'the ledger went back since it was told to be sent';
  const { rows } = await client.query<
    Record<'holder' | 'corrected', string | null> & Record<'unplanned' | 'last', number> & { maybe: number | null }
  >(
    `SELECT (SELECT count(*)::int FROM filing_rows WHERE filing_id = $1 AND state <> 'planned') AS unplanned,
            (SELECT min(o.filing_id) FROM filing_rows r JOIN filing_rows o ON o.fingerprint = r.fingerprint AND o.held
               AND o.filing_id <> r.filing_id AND o.filing_id <> ALL (r.beside) AND r.filing_id <> ALL (o.beside)
              WHERE r.filing_id = $1) AS holder,
            (SELECT min(r.filing_id) FROM filing_rows r LEFT JOIN certificates c ON ${ROW_OF_CERTIFICATE}
              WHERE r.filing_id = $2 AND r.corrected_by = $1 AND r.held AND (${CANCELLED}) IS NOT TRUE) AS corrected,
            (SELECT max(number) FROM attempts WHERE filing_id = $1 AND verdict IN ('sending', 'unknown', 'accepted')) AS maybe,
            (SELECT coalesce(max(number), 0) FROM attempts WHERE filing_id = $1) AS last`,
    [filingId, filing.corrects],
  );
  const { unplanned = 1, holder = null, corrected = null, maybe = null, last = 0 } = rows[0] ?? {};
  if (maybe !== null) return `attempt ${maybe} may have been filed`;
  if (n !== last + 1) return `attempt ${n} is not the next one`;
  if (unplanned > 0) return `${unplanned} of its rows are not planned any more`;
  // It may have been filed after all, whatever the correction changed in it.
  if (corrected !== null) return `filing ${corrected} holds a row again that it corrects`;
  return holder === null ? null : `filing ${holder} holds a mapping of it too`;
}

/** Rule 4: the certificates were read whole lately, and nothing that was not approved stands against it. */
async function againstIt(client: Queryable, filing: LockedFiling, settleMs: number): Promise<string | null> {
  const { names, readAfter } = await standsAgainst(client, filing, settleMs);
  if (names.length > 0) return `${names.join(', ')} may be its own`;
  if (filing.unreadApproved) return null;
  const wholeAt = await lastWholeReading(client, filing);
  const since = Math.max(filing.now - HOUR_MS, readAfter);
  return wholeAt !== null && wholeAt >= since ? null : 'the certificates were not read whole since they had to be';
}
