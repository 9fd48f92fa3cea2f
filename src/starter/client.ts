import type { FilingView } from '../domain/contracts';
import { listCertificates, type CertificateView } from '../ledger/certificates';
import { listFilingViews, readFilingView, type FilingSummary } from '../ledger/filing-view';
import { correctFiling, type CorrectRequest } from './filings/correct';
import type { EbrcClientDependencies } from './dependencies';
import { exporterIdOf } from './exporters/lookup';
import { createExporterOperations, type ExporterOperations } from './exporters/operations';
import { fileFile, type FileRequest } from './filings/file';
import type { FilingOutcome } from './filings/outcome';
import { createFilingOperations, filingOf, type FilingOperations } from './filings/operate';
import { withPaths, type WaitOptions } from './filings/start';

export interface ListFilter {
  state?: string;
  /** Id or e-mail. */
  exporter?: string;
  /** Only filings that somebody should look at. */
  attention?: boolean;
}

/**
 * Everything the command line does, for other TypeScript programs. Filings and exporters are read from the ledger; what
 * changes something goes through Temporal. Refusals are thrown as `RefusedError` with every reason.
 */
export interface EbrcClient extends ExporterOperations, FilingOperations {
  /** Files a push message or a workbook; the same content again finds the first filing. */
  file(request: FileRequest, wait?: WaitOptions): Promise<FilingOutcome>;
  /** Files the errored rows of a filing again, as a new filing. */
  correct(request: CorrectRequest, wait?: WaitOptions): Promise<FilingOutcome>;
  /** A filing by its id or reference. @throws RefusedError when there is none */
  show(filing: string): Promise<FilingView>;
  list(filter?: ListFilter): Promise<FilingSummary[]>;
  certificates(filter?: { exporter?: string }): Promise<CertificateView[]>;
}

/** The typed client. What it stands on is opened, and closed, by the caller. */
export function createEbrcClient(deps: EbrcClientDependencies): EbrcClient {
  const { pool, mode, documents } = deps;
  const exporterOf = (exporter: string | undefined) =>
    exporter === undefined ? undefined : exporterIdOf(pool, mode, exporter);
  return {
    ...createExporterOperations(deps),
    ...createFilingOperations(deps),
    file: (request, wait = {}) => fileFile(deps, request, wait),
    correct: (request, wait = {}) => correctFiling(deps, request, wait),
    async show(idOrReference) {
      const { filingId } = await filingOf(deps, idOrReference);
      const view = await readFilingView(pool, filingId);
      if (!view) throw new Error(`Filing ${filingId} went away while it was read.`);
      return withPaths(deps, view);
    },
    async list({ state, exporter, attention } = {}) {
      const exporterId = await exporterOf(exporter);
      return listFilingViews(pool, { mode, state, exporterId, attention });
    },
    async certificates({ exporter } = {}) {
      const all = await listCertificates(pool, { mode, exporterId: await exporterOf(exporter) });
      return all.map((each) => ({ ...each, document: each.document && documents.pathOf(each.document) }));
    },
  };
}
