/** What a principal may see. What it may not see is answered as if it did not exist. */
import type { Principal } from '../../domain/principal';
import { findExporter } from '../../ledger/exporters/exporters';
import type { FilingRecord } from '../../ledger/filings/filing';
import type { LedgerDependencies } from '../../starter/dependencies';
import { exporterIdOf, unknownExporter, filingOf, unknownFiling } from '../../starter/lookup';

export function maySee({ exporters }: Principal, exporterId: string): boolean {
  return exporters === null || exporters.includes(exporterId.toLowerCase());
}

/** The id of an exporter, if the principal may see it. @throws RefusedError `unknown_exporter` */
export async function visibleExporter(
  { pool, mode }: LedgerDependencies,
  principal: Principal,
  idOrEmail: string,
): Promise<string> {
  const exporterId = await exporterIdOf(pool, mode, idOrEmail);
  if (maySee(principal, exporterId)) return exporterId;
  throw unknownExporter(idOrEmail, mode);
}

/** Like {@link visibleExporter}, for exporters in the ledger only. @throws RefusedError `unknown_exporter` */
export async function knownExporter({ pool, mode }: LedgerDependencies, principal: Principal, idOrEmail: string) {
  const exporter = await findExporter(pool, mode, idOrEmail);
  if (exporter && maySee(principal, exporter.exporterId)) return exporter;
  throw unknownExporter(idOrEmail, mode);
}

/** A filing, if the principal may see it. @throws RefusedError `unknown_filing` */
export async function visibleFiling(
  deps: LedgerDependencies,
  principal: Principal,
  idOrReference: string,
): Promise<FilingRecord> {
  const filing = await filingOf(deps, idOrReference);
  if (maySee(principal, filing.exporterId)) return filing;
  throw unknownFiling(idOrReference, deps.mode);
}
