import type pg from 'pg';
import type { Mode } from '../../domain/names';
import { needExporter, setApprovalPolicy } from '../../ledger/exporters/exporters';
import { exporterIdOf } from './lookup';
import { exporterView, type ExporterView } from './views';

/**
 * Sets whether every filing of an exporter needs approval, even if its request does not ask for it. The service has no
 * such setting; only the ledger stores it.
 */
export async function requireApproval(
  { pool, mode }: { pool: pg.Pool; mode: Mode },
  exporter: string,
  required: boolean,
): Promise<ExporterView> {
  const exporterId = await exporterIdOf(pool, mode, exporter);
  await setApprovalPolicy(pool, { exporterId, required });
  return exporterView(await needExporter(pool, exporterId));
}
