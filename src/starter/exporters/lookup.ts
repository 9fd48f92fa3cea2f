import type { Mode } from '../../domain/names';
import { findExporter } from '../../ledger/exporters/exporters';
import type { Queryable } from '../../ledger/pool';
import { refusal } from '../errors';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * The id of an EXPORTER argument (id or e-mail). An id that the ledger does not know is used unchanged: the exporter
 * may have been onboarded elsewhere, and the workflow adopts it.
 * @throws RefusedError for an e-mail that the ledger does not know
 */
export async function exporterIdOf(db: Queryable, mode: Mode, idOrEmail: string): Promise<string> {
  const known = await findExporter(db, mode, idOrEmail);
  if (known) return known.exporterId;
  if (UUID.test(idOrEmail)) return idOrEmail;
  throw unknownExporter(idOrEmail, mode);
}

/** The refusal of an unknown exporter. */
export function unknownExporter(idOrEmail: string, mode: string) {
  return refusal(
    'unknown_exporter',
    `Exporter ${idOrEmail} is not known in ${mode} mode. \`ebrc exporters\` lists those that are; \`ebrc onboard\` adds one.`,
  );
}
