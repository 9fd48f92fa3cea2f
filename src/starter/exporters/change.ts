import type pg from 'pg';
import type { FilingApi } from '../../api/client-types';
import type { Mode } from '../../domain/names';
import { getExporter, saveExporter } from '../../ledger/exporters/exporters';
import { refusal } from '../errors';
import { exporterIdOf } from './lookup';
import { exporterView, type ExporterView } from './views';

/**
 * The properties that can change after creation (spec: "PATCH /platform-customers/{id}"); omitted ones stay unchanged.
 */
export interface ExporterChange {
  name?: string;
  companyName?: string;
  address?: string;
}

/**
 * Changes an exporter at the service and in the ledger.
 * @throws RefusedError for an exporter that the ledger does not know; ApiError for a failed call
 */
export async function changeExporter(
  { pool, mode, api }: { pool: pg.Pool; mode: Mode; api: FilingApi },
  exporter: string,
  change: ExporterChange,
): Promise<ExporterView> {
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const at = new Date();
  const customer = await api.updateCustomer(exporterId, { ...change }, { exporterId });
  await saveExporter(pool, customer, mode, at);
  const row = await getExporter(pool, exporterId);
  if (row) return exporterView(row);
  throw refusal('unknown_exporter', `Exporter ${exporter} is not in this ledger.`);
}
