/** Certificates: search, PDFs, and the list as CSV. */
import { z } from 'zod';
import { pageOfCertificates, type PagedCertificate } from '../../ledger/certificates/certificates';
import { certificatesCsv } from '../../starter/filings/export-certificates';
import { asCursor, readCursor, visible } from '../http/fields';
import { asSeenBy, pdfOf, visibleCertificate } from '../views/documents';
import { Layout } from './layout';
import { amountShown, dayShown } from '../views/words';
import { addPage, type PageServer, type Viewer } from './page';
import { filingHref, Input, Link, More, Table } from './parts';

const MARK = z.tuple([z.string().regex(/^\d{1,16}$/), z.string().max(200)]);
const SEARCH = z.object({
  document: z.string().trim().max(100).optional(),
  number: z.string().trim().max(100).optional(),
  cursor: z.string().max(1_000).optional(),
});
type Search = z.output<typeof SEARCH>;
const LISTED = 50;
/** Rows of the CSV. */
const MOST_LISTED = 10_000;

export function addCertificatePages(server: PageServer): void {
  const { deps } = server.httpApi;
  const { pool, mode, cancelWithinMs } = deps;

  const read = async (viewer: Pick<Viewer, 'principal'>, { document, number, cursor }: Search, limit: number) => {
    const [seenAt, eBRCNumber] = readCursor(cursor, MARK) ?? [];
    const found = await pageOfCertificates(pool, {
      ...{ mode, exporters: viewer.principal.exporters, limit, cancelWithinMs },
      document: document || undefined,
      eBRCNumber: number || undefined,
      after: seenAt !== undefined && eBRCNumber !== undefined ? { seenAt, eBRCNumber } : undefined,
    });
    return found.map((certificate) => asSeenBy(viewer.principal, certificate));
  };

  addPage(server, {
    route: 'GET /certificates',
    query: SEARCH,
    async handle(viewer) {
      const { query } = viewer;
      const found = await read(viewer, query, LISTED + 1);
      const last = found.length > LISTED ? found[LISTED - 1] : undefined;
      const next = last && linkOf({ ...query, cursor: asCursor([last.mark, last.eBRCNumber]) });
      return {
        html: <CertificatesPage viewer={viewer} found={found.slice(0, LISTED)} query={query} next={next ?? null} />,
      };
    },
  });

  addPage(server, {
    route: 'GET /certificates/list',
    query: SEARCH,
    async handle({ query, ...viewer }) {
      const headers = {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="certificates.csv"',
      };
      return { headers, body: certificatesCsv(await read(viewer, { ...query, cursor: undefined }, MOST_LISTED)) };
    },
  });

  addPage(server, {
    route: 'GET /certificates/:number/pdf',
    params: z.object({ number: visible(100) }),
    async handle({ principal, params, request }) {
      const certificate = await visibleCertificate(deps, principal, params.number);
      return pdfOf(deps, certificate, request.headers['if-none-match']);
    },
  });
}

const linkOf = (query: Search, path = '/certificates'): string =>
  `${path}?${new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))).toString()}`;

type Shown = { viewer: Viewer; found: PagedCertificate[]; query: Search; next: string | null };

const HEAD = ['Certificate', 'Date', 'Status', 'Document', 'IRM', '#Amount', 'Filing', 'PDF'];

const CertificatesPage = ({ viewer, found, query, next }: Shown): JSX.Element => (
  <Layout viewer={viewer} title="Certificates">
    <h1>Certificates</h1>
    <form method="get" action="/certificates" class="row" role="search">
      <Input label="Part of a document number" name="document" value={query.document} />
      <Input label="Certificate number" name="number" value={query.number} />
      <button>Search</button>
    </form>
    <Table
      name="Certificates"
      head={HEAD}
      rows={found.map(({ eBRCNumber, reference, document, ...certificate }) => [
        ...[eBRCNumber, dayShown(certificate.eBRCDate), certificate.eBRCStatus, certificate.sbCumInvoiceNumber],
        certificate.irmNumber,
        amountShown(certificate.realisedValueFCC, certificate.currencyCode, viewer.grouping),
        reference === null ? 'none of yours' : { safe: <Link href={filingHref(reference)} text={reference} /> },
        document === null ? 'not stored yet' : { safe: <Link href={pdfHref(eBRCNumber)} text="PDF" /> },
      ])}
    />
    <p>
      <Link href={linkOf({ ...query, cursor: undefined }, '/certificates/list')} text="This list as CSV" />
    </p>
    <More href={next} text="Older certificates" />
  </Layout>
);

const pdfHref = (eBRCNumber: string): string => `/certificates/${encodeURIComponent(eBRCNumber)}/pdf`;
