import type { EventView, FilingSummary, FilingView } from '../domain/filing/view';
import { bankList } from '../ledger/certificates/bank-list';
import { pageOfCertificates, type PagedCertificate } from '../ledger/certificates/certificates';
import { getExporter, listExporters, type ExporterRow } from '../ledger/exporters/exporters';
import { eventsPage, listFilings, markOf } from '../ledger/views/lists';
import { RefusedError } from './errors';
import type { EbrcReaderDependencies } from './dependencies';
import { exporterIdOf, filingOf, isWhole, viewNamed } from './lookup';
import { irmCursor, readIrmCursor } from '../domain/identity';
import { exporterViews, readIrmViews, type IrmView } from './exporters/views';
import type { FindingView } from '../domain/reconciliation/findings';
import { makeReport, type ReportRequest } from './report';
import { findings, type FindingsRequest } from './reconcile';

/** A part of a list; without options, the whole list. */
export interface PartOfList {
  /** The last entry of the previous part. */
  after?: string;
  /** Maximum number of entries. */
  limit?: number;
}

/** `after` is a filing's id or reference; `limit` defaults to 1,000. */
export interface ListFilter extends PartOfList {
  /** Only filings in one of these states. */
  states?: readonly string[];
  /** Id or e-mail. */
  exporter?: string;
  /** Only filings that need attention. */
  attention?: boolean;
  /** Made at this time or later. */
  since?: Date;
  /** Part of a reference, document number, IRM number or eBRC number, or the id of a filing or request. */
  search?: string;
}

export interface CertificateFilter extends PartOfList {
  exporter?: string;
  document?: string;
}

/** Reads a list page by page, each from behind the last entry of the previous one. */
async function* pagesOf<T>(
  limit: number,
  read: (page: { last: T | undefined; limit: number }) => Promise<T[]>,
): AsyncGenerator<T[]> {
  let last: T | undefined;
  for (let left = limit; left > 0; left -= PAGE_SIZE) {
    const asked = Math.min(left, PAGE_SIZE);
    const page = await read({ last, limit: asked });
    if (page.length > 0) yield page;
    if (page.length < asked) return;
    last = page.at(-1);
  }
}

const PAGE_SIZE = 1_000;
/** Most events shown of a filing; a filing that waits for months has a few thousand. */
const MAX_EVENTS = 10_000;

const unknownEntry = (what: string) =>
  new RefusedError([{ code: 'unknown_entry', message: `${what} is not in this list: --after takes its last entry.` }]);

/** Read-only access to the ledger. The caller opens and closes the dependencies. */
export function createEbrcReader(deps: EbrcReaderDependencies) {
  const { pool, mode, documents, cancelWithinMs } = deps;
  const exporterOf = (exporter: string | undefined) =>
    exporter === undefined ? undefined : exporterIdOf(pool, mode, exporter);
  const list = async ({ exporter, after, limit = PAGE_SIZE, ...filter }: ListFilter = {}): Promise<FilingSummary[]> => {
    const exporterId = await exporterOf(exporter);
    const mark = after === undefined ? undefined : await markOf(pool, (await filingOf(deps, after)).filingId);
    const page = await listFilings(pool, { mode, exporterId, limit, ...filter, ...(mark && { after: mark }) });
    return page.map(({ mark: _, ...filing }) => filing);
  };
  return {
    /** A filing by id or `REFERENCE#n`, or by its reference alone the whole reference. @throws RefusedError: none */
    show: (name: string): Promise<FilingView> => viewNamed(deps, name),
    /** The events of what a FILING argument names, oldest first. @throws RefusedError if there is no such filing */
    async history(name: string): Promise<EventView[]> {
      const filing = await filingOf(deps, name);
      const { mode: ofMode, reference } = filing;
      const n = isWhole(filing, name) ? null : filing.n;
      return (await eventsPage(pool, { mode: ofMode, reference, n, limit: MAX_EVENTS })).items;
    },
    list,
    /** Pages of filings with their counts, newest first. */
    filingPages: ({ limit = Infinity, after, ...filter }: ListFilter = {}) =>
      pagesOf<FilingSummary>(limit, ({ last, limit: asked }) =>
        list({ ...filter, after: last?.filingId ?? after, limit: asked }),
      ),
    /** Pages of certificates, newest first. `document` is part of a document number. */
    async *certificates({ exporter, document, after, limit = Infinity }: CertificateFilter = {}) {
      const filter = { mode, exporters: null, exporterId: await exporterOf(exporter), document, cancelWithinMs };
      const [first] =
        after === undefined
          ? []
          : await pageOfCertificates(pool, { mode, exporters: null, eBRCNumber: after, limit: 1 });
      if (after !== undefined && !first) throw unknownEntry(`Certificate ${after}`);
      const pages = pagesOf<PagedCertificate>(limit, ({ last = first, limit: asked }) =>
        pageOfCertificates(pool, {
          ...filter,
          limit: asked,
          ...(last && { after: { seenAt: last.mark, eBRCNumber: last.eBRCNumber } }),
        }),
      );
      for await (const page of pages)
        yield page.map(({ mark: _, ...each }) => ({
          ...each,
          document: each.document && documents.pathOf(each.document),
        }));
    },
    /** The certificates that are not cancelled, by document, with what of its value is still open. */
    bankList: async ({ exporter, document }: Pick<CertificateFilter, 'exporter' | 'document'> = {}) =>
      bankList(pool, { mode, exporterId: await exporterOf(exporter), document }),
    /** Pages of exporters, by name. */
    async *exporterPages({ after, limit = Infinity }: PartOfList = {}) {
      const first = after === undefined ? null : await exporterIdOf(pool, mode, after);
      const pages = pagesOf<ExporterRow>(limit, ({ last, limit: asked }) =>
        listExporters(pool, mode, { after: last?.exporterId ?? first, limit: asked }),
      );
      for await (const page of pages) yield exporterViews(pool, page);
    },
    /** Pages of an exporter's IRMs with the holds of our filings, newest issue date first. */
    async *irmPages(idOrEmail: string, { after, limit = Infinity }: PartOfList = {}) {
      const exporterId = await exporterIdOf(pool, mode, idOrEmail);
      const first = after === undefined ? undefined : readIrmCursor(after);
      if (first === null) throw unknownEntry(`IRM ${after}`);
      yield* pagesOf<IrmView>(limit, ({ last, limit: asked }) =>
        readIrmViews(pool, exporterId, {
          after: last ? (readIrmCursor(irmCursor(last)) ?? undefined) : first,
          limit: asked,
        }),
      );
    },
    /** Pages of reconciliation findings, oldest first. */
    findingPages({ limit = Infinity, after, ...filter }: FindingsRequest = {}) {
      return pagesOf<FindingView>(limit, ({ last, limit: asked }) =>
        findings(deps, { ...filter, after: last?.id ?? after, limit: asked }),
      );
    },
    /** Reconciliation findings, oldest first. */
    findings: (request?: FindingsRequest) => findings(deps, request),
    /** Writes the daily or the ageing report. @throws UsageError for an invalid file name or day */
    report: (request: ReportRequest) => makeReport(deps, request),
    exporters: async () => exporterViews(pool, await listExporters(pool, mode)),
    /** @throws RefusedError if the ledger does not know the exporter */
    async exporter(idOrEmail: string) {
      const row = await getExporter(pool, await exporterIdOf(pool, mode, idOrEmail));
      const [view] = row ? await exporterViews(pool, [row]) : [];
      if (view) return view;
      throw new RefusedError([{ code: 'unknown_exporter', message: `Exporter ${idOrEmail} is not in this ledger.` }]);
    },
    /** An exporter's IRMs with the balances last read from the authority and the holds of our filings. */
    async irms(idOrEmail: string) {
      return readIrmViews(pool, await exporterIdOf(pool, mode, idOrEmail));
    },
  };
}
