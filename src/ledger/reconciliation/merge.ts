/** What a comparison found becomes the party's findings. */
import { CHECK_OF_KIND, FINDING_KINDS, type ReconcileCheck } from '../../domain/reconciliation/findings';
import type { Queryable } from '../pool';

export interface Compared {
  opened: number;
  closed: number;
  /** Open findings of the party after the comparison. */
  open: number;
}

/**
 * An answer without any of the certificates that the ledger knows is rather an answer that failed: nothing that was
 * seen before is gone because of it.
 */
async function showedAny(client: Queryable): Promise<boolean> {
  const { rows } = await client.query<{ showed: boolean }>(
    'SELECT coalesce(bool_or(seen), true) AS showed FROM covered',
  );
  return rows[0]?.showed ?? true;
}

/** Opens, renews and closes findings as the temporary tables of a comparison have them. */
export async function mergeFindings(
  client: Queryable,
  { mode, partyId, checks, at }: { mode: string; partyId: number; checks: readonly ReconcileCheck[]; at: Date },
): Promise<Compared> {
  await client.query(
    `UPDATE questions f SET last_seen_at = $2, exporter_id = c.exporter_id, amount = c.amount, currency = c.currency,
        ours = c.ours, theirs = c.theirs, reason = c.reason, on_date = c.on_date
       FROM current_findings c WHERE f.party_id = $1 AND f.closed_at IS NULL AND f.key = c.key`,
    [partyId, at],
  );
  const opened = await client.query(
    `INSERT INTO questions (mode, party_id, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date,
        amount, currency, ours, theirs, reason, first_seen_at, last_seen_at)
     SELECT $1, $2, key, kind, exporter_id, ebrc_number, filing_id, source_row, irm_number, on_date, amount, currency, ours,
        theirs, reason, $3, $3 FROM current_findings
     ON CONFLICT (party_id, key) WHERE closed_at IS NULL DO NOTHING`,
    [mode, partyId, at],
  );
  const showed = checks.includes('certificates') && (await showedAny(client));
  const kinds = FINDING_KINDS.filter((kind) => {
    const check = CHECK_OF_KIND[kind];
    return check !== null && checks.includes(check) && (showed || check !== 'certificates');
  });
  const closed = await client.query(
    `UPDATE questions f SET closed_at = $3
      WHERE f.party_id = $1 AND f.closed_at IS NULL AND f.kind = ANY ($2)
        AND NOT EXISTS (SELECT FROM current_findings c WHERE c.key = f.key)
        AND (f.on_date IS NULL OR EXISTS (SELECT FROM read_windows w WHERE f.on_date BETWEEN w.from_date AND w.to_date))`,
    [partyId, kinds, at],
  );
  const { rows } = await client.query<{ open: number }>(
    'SELECT count(*)::int AS open FROM questions WHERE party_id = $1 AND closed_at IS NULL AND kind = ANY($2)',
    [partyId, FINDING_KINDS],
  );
  return { opened: opened.rowCount ?? 0, closed: closed.rowCount ?? 0, open: rows[0]?.open ?? 0 };
}
