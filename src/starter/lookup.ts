/** EXPORTER and FILING arguments, and filings as they are printed. */
import type { Mode } from '../domain/names';
import type { FilingView } from '../domain/filing/view';
import { findExporter } from '../ledger/exporters/exporters';
import { findFiling, type FilingRecord } from '../ledger/filings/filing';
import { readFilingView, readReferenceView } from '../ledger/views/views';
import type { Queryable } from '../ledger/pool';
import type { EbrcReaderDependencies, LedgerDependencies, StarterSettings } from './dependencies';
import { refusal } from './errors';

export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

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

export function unknownExporter(idOrEmail: string, mode: Mode | 'test or live') {
  return refusal(
    'unknown_exporter',
    `Exporter ${idOrEmail} is not known in ${mode} mode. \`ebrc exporters\` lists those that are; \`ebrc onboard\` adds one.`,
  );
}

/** Finds the filing of a FILING argument (id or reference). @throws RefusedError if the ledger has none */
export async function filingOf({ pool, mode }: LedgerDependencies, name: string): Promise<FilingRecord> {
  const filing = await findFiling(pool, mode, name);
  if (filing) return filing;
  throw unknownFiling(name, mode);
}

/** Whether a FILING argument names the whole reference, and not one filing of it. */
export const isWhole = ({ reference }: Pick<FilingRecord, 'reference'>, name: string): boolean => name === reference;

/** An approval must name one filing exactly. @throws RefusedError if a bare reference stands for several filings */
export function needNamed({ filingId, reference, n }: FilingRecord, name: string): void {
  if (n === 1 || name !== reference) return;
  const text = `There are ${n} filings under reference ${reference}: name the one that you looked at, ${reference}#${n} or ${filingId}.`;
  throw refusal('approve_refused', text, { filingId });
}

export function unknownFiling(name: string, mode: Mode) {
  return refusal(
    'unknown_filing',
    `There is no filing ${name} in ${mode} mode: neither a filing id nor a reference. \`ebrc list\` shows them; what was refused before anything was recorded is not among them.`,
  );
}

/** What filings are read with. `settings`: of the workers, where they are known. */
export type ViewDependencies = Pick<EbrcReaderDependencies, 'pool' | 'documents'> & {
  settings?: Pick<StarterSettings, 'settleAfterMs'>;
};

/** A recorded filing as printed. */
export async function viewOf(deps: ViewDependencies, filingId: string): Promise<FilingView> {
  return withPaths(deps, await readFilingView(deps.pool, filingId, deps.settings?.settleAfterMs), filingId);
}

/** What a FILING argument names, as printed: one filing, or by its reference alone the whole reference. */
export async function viewNamed(deps: ViewDependencies & LedgerDependencies, name: string): Promise<FilingView> {
  const filing = await filingOf(deps, name);
  if (!isWhole(filing, name)) return viewOf(deps, filing.filingId);
  return withPaths(deps, await readReferenceView(deps.pool, filing, deps.settings?.settleAfterMs), name);
}

/** Replaces document names, as the ledger stores them, by paths. */
function withPaths({ documents }: ViewDependencies, filing: FilingView | null, name: string): FilingView {
  if (!filing) throw new Error(`Filing ${name} was removed while it was read.`);
  const pathOf = (document: string | null) => (document === null ? null : documents.pathOf(document));
  const rows = filing.rows.map((row) => ({ ...row, pdf: pathOf(row.pdf) }));
  return { ...filing, annotated: pathOf(filing.annotated), rows };
}
