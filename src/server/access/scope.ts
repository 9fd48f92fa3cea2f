/** What a principal may see. What it may not see is answered like what is not there. */
import type { Principal } from '../../domain/principal';
import { findExporter } from '../../ledger/exporters/exporters';
import type { FilingRecord } from '../../ledger/filings/filings';
import type { LedgerDependencies } from '../../starter/dependencies';
import { exporterIdOf, unknownExporter, filingOf, unknownFiling } from '../../starter/lookup';

/** Whether a principal may see an exporter. */
export function maySee({ exporters }: Principal, exporterId: string): boolean {
  return exporters === null || exporters.includes(exporterId.toLowerCase());
}

/** The id of an exporter that the principal may see. @throws RefusedError `unknown_exporter` */
export async function visibleExporter(
  { pool, mode }: LedgerDependencies,
  principal: Principal,
  idOrEmail: string,
): Promise<string> {
  const exporterId = await exporterIdOf(pool, mode, idOrEmail);
  if (maySee(principal, exporterId)) return exporterId;
  throw unknownExporter(idOrEmail, mode);
}

/** As {@link visibleExporter}, of an exporter that the ledger knows. @throws RefusedError `unknown_exporter` */
export async function knownExporter({ pool, mode }: LedgerDependencies, principal: Principal, idOrEmail: string) {
  const known = await findExporter(pool, mode, idOrEmail);
  if (known && maySee(principal, known.exporterId)) return known;
  throw unknownExporter(idOrEmail, mode);
}

/** A filing that the principal may see. @throws RefusedError `unknown_filing` */
export async function visibleFiling(
  deps: LedgerDependencies,
  principal: Principal,
  idOrReference: string,
): Promise<FilingRecord> {
  const filing = await filingOf(deps, idOrReference);
  if (maySee(principal, filing.exporterId)) return filing;
  throw unknownFiling(idOrReference, deps.mode);
}
