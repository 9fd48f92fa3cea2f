import type pg from 'pg';
import type { Principal } from '../../domain/access/principal';
import type { Mode } from '../../domain/names';
import { needExporter } from '../../ledger/exporters/exporters';
import { setApprovalPolicy } from '../../ledger/exporters/policy';
import { withTransaction } from '../../ledger/pool';
import { refusal } from '../errors';
import { exporterIdOf } from './lookup';
import { exporterView, type ExporterView } from './views';

export interface ApprovalChange {
  exporter: ExporterView;
  /** What it still takes; null: the policy is as was asked for. */
  waits: string | null;
}

const SECOND =
  'Noted. A second principal with the role admin has to ask for the same within a day; until then it stays on.';

/**
 * Sets whether every filing of an exporter needs approval, even if its request does not ask for it. The service has no
 * such setting; only the ledger stores it. To switch it off takes two principals.
 * @throws RefusedError where it takes a principal, or another one
 */
export async function requireApproval(
  { pool, mode, principal }: { pool: pg.Pool; mode: Mode; principal?: Principal },
  exporter: string,
  { required, by }: { required: boolean; by: string },
): Promise<ApprovalChange> {
  const exporterId = await exporterIdOf(pool, mode, exporter);
  const approval = required ? 'required' : 'off';
  const outcome = await withTransaction(pool, (client) =>
    setApprovalPolicy(client, { exporterId, approval, by, principal }),
  );
  if (typeof outcome === 'object') throw refusal('policy_refused', `The policy stays as it is: ${outcome.refused}.`);
  return {
    exporter: exporterView(await needExporter(pool, exporterId)),
    waits: outcome === 'asked' ? SECOND : null,
  };
}
