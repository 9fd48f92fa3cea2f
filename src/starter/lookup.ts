import type { Mode } from '../domain/names';
import { findExporter } from '../ledger/exporters/exporters';
import type { Queryable } from '../ledger/pool';
import { refusal } from './errors';
import type { FilingView } from '../domain/filing/view';
import { findFiling, type FilingRecord } from '../ledger/filings/filings';
import { readFilingView } from '../ledger/filings/filing-view';
import type { EbrcReaderDependencies, LedgerDependencies } from './dependencies';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Resolves an EXPORTER argument to an id. An unknown UUID is returned unchanged, because the workflow adopts it.
 * @throws RefusedError for an unknown e-mail
 */
export async function exporterIdOf(db: Queryable, mode: Mode, idOrEmail: string): Promise<string> {
  const exporter = await findExporter(db, mode, idOrEmail);
  if (exporter) return exporter.exporterId;
  if (UUID.test(idOrEmail)) return idOrEmail;
  throw unknownExporter(idOrEmail, mode);
}

export function unknownExporter(idOrEmail: string, mode: string) {
  return refusal(
    'unknown_exporter',
    `Exporter ${idOrEmail} is not known in ${mode} mode. \`ebrc exporters\` lists those that are; \`ebrc onboard\` adds one.`,
  );
}

/** Finds the filing of a FILING argument (id or reference). @throws RefusedError if the ledger has none */
export async function filingOf({ pool, mode }: LedgerDependencies, idOrReference: string): Promise<FilingRecord> {
  const filing = await findFiling(pool, mode, idOrReference);
  if (filing) return filing;
  throw unknownFiling(idOrReference, mode);
}

/** An approval must name one filing exactly. @throws RefusedError if a bare reference stands for several filings */
export function needNamed({ filingId, reference, n }: FilingRecord, name: string): void {
  if (n === 1 || name !== reference) return;
  const text = `There are ${n} filings under reference ${reference}: name the one that you looked at, ${reference}#${n} or ${filingId}.`;
  throw refusal('approve_refused', text, { filingId });
}

export function unknownFiling(idOrReference: string, mode: Mode) {
  return refusal(
    'unknown_filing',
    `There is no filing ${idOrReference} in ${mode} mode: neither a filing id nor a reference. \`ebrc list\` shows them; what was refused before anything was recorded is not among them.`,
  );
}

/** A recorded filing as printed. */
export async function viewOf(
  deps: Pick<EbrcReaderDependencies, 'pool' | 'cadence' | 'documents'>,
  filingId: string,
): Promise<FilingView> {
  const view = await readFilingView(deps.pool, filingId, deps.cadence);
  if (!view) throw new Error(`Filing ${filingId} was removed while it was read.`);
  return withPaths(deps, view);
}

/** Replaces document names, as the ledger stores them, by paths. */
export function withPaths({ documents }: Pick<EbrcReaderDependencies, 'documents'>, filing: FilingView): FilingView {
  return {
    ...filing,
    annotated: filing.annotated === null ? null : documents.pathOf(filing.annotated),
    rows: filing.rows.map((row) => ({
      ...row,
      document: row.document === null ? null : documents.pathOf(row.document),
    })),
  };
}
