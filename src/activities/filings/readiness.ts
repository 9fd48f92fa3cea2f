import { comparableText } from '../../domain/identity';
import { getExporter } from '../../ledger/exporters/exporters';
import { heldIrms } from '../../ledger/exporters/irms';
import type { Queryable } from '../../ledger/pool';
import { readRowsToSend } from '../../ledger/rows/balance-reservation';

export interface FilingReadiness {
  /** Of the oldest balance among the filing's IRMs, ms since the epoch; null when one was never read. */
  balancesReadAt: number | null;
  apiState: string | null;
  /** ISO 8601. */
  activatesAt: string | null;
}

/** How fresh the balances of a filing's IRMs are and whether its exporter may file yet. */
export async function readReadiness(
  db: Queryable,
  { filingId, exporterId }: { filingId: string; exporterId: string },
): Promise<FilingReadiness> {
  const rows = await readRowsToSend(db, filingId);
  const numbers = [...new Set(rows.map((row) => row.mapping.irmNumber))];
  const held = await heldIrms(db, exporterId, numbers);
  const known = new Set(held.map((irm) => comparableText(irm.irmNumber)));
  const complete = numbers.every((number) => known.has(comparableText(number)));
  const exporter = await getExporter(db, exporterId);
  return {
    balancesReadAt: complete && held.length > 0 ? Math.min(...held.map((irm) => irm.readAt)) : null,
    apiState: exporter?.apiState ?? null,
    activatesAt: exporter?.activatesAt ?? null,
  };
}
