/** Certificates with their PDFs, and the workbooks and evidence of filings. */
import { z } from 'zod';
import { named } from '../http/components';
import { dateText } from '../../domain/dates';
import type { Principal } from '../../domain/principal';
import { pageOfCertificates, type PagedCertificate } from '../../ledger/certificates/certificates';
import { visibleExporter, visibleFiling } from '../access/scope';
import { addRoute, type Call, type HttpApi, type Registrar } from '../http/route';
import { exporterName, FILING_DATE, filingName, listOf, pageOf, paging, readCursor, visible } from '../http/fields';
import { asSeenBy, bundleOf, pdfOf, visibleCertificate, WORKBOOK, workbookOf } from '../views/documents';

const CERTIFICATE = z.object({ number: visible(100).describe('an eBRC number') });
const MARK = z.tuple([z.string().regex(/^\d{1,16}$/), z.string().max(200)]);

const text = z.string().nullable();
const certificateSchema = named(
  'Certificate',
  z.object({
    eBRCNumber: z.string(),
    eBRCDate: text.describe(FILING_DATE),
    eBRCStatus: text,
    exporterId: z.string(),
    filingId: text,
    reference: text,
    sbCumInvoiceNumber: text,
    billNo: text,
    irmNumber: text,
    realisedValueFCC: text,
    currencyCode: text,
    document: text.describe('file name of the PDF in the document store'),
    sha256: text,
    archivedAt: text,
    cancelBy: text.describe(
      'the last day on which it may be cancelled at the authority’s portal; null: it is cancelled',
    ),
    pdfNote: text.describe('what is odd about the PDF, which opens all the same'),
  }),
);

export function addDocumentRoutes(server: Registrar, { deps }: HttpApi): void {
  const registrar = { ...server, tag: 'Certificates' };
  const ofFilings = { ...server, tag: 'Filings' };
  const { pool, mode, cancelWithinMs } = deps;

  const certificateOf = ({ principal, params }: Pick<Call<{ number: string }>, 'principal' | 'params'>) =>
    visibleCertificate(deps, principal, params.number);

  addRoute(registrar, {
    id: 'listCertificates',
    route: 'GET /certificates',
    summary: 'List certificates, the newest first',
    query: z.strictObject({
      ...paging,
      exporter: exporterName.optional(),
      filing: filingName.optional(),
      document: visible(100).optional().describe('part of a shipping bill, Softex, (GST) invoice or Bill No number'),
    }),
    answers: {
      200: { description: 'Certificates; clients of one IEC share theirs', schema: listOf(certificateSchema) },
    },
    async handle({ principal, query: { cursor, limit, exporter, filing, document } }) {
      const [seenAt, eBRCNumber] = readCursor(cursor, MARK) ?? [];
      const read = await pageOfCertificates(pool, {
        mode,
        exporters: principal.exporters,
        exporterId: exporter && (await visibleExporter(deps, principal, exporter)),
        filingId: filing && (await visibleFiling(deps, principal, filing)).filingId,
        document,
        after: seenAt !== undefined && eBRCNumber !== undefined ? { seenAt, eBRCNumber } : undefined,
        limit: limit + 1,
        cancelWithinMs,
      });
      const { items, next } = pageOf(read, limit, (last) => [last.mark, last.eBRCNumber]);
      return { body: { items: items.map((item) => certificateBody(principal, item)), next } };
    },
  });

  addRoute(registrar, {
    id: 'getCertificate',
    codes: ['unknown_certificate'],
    route: 'GET /certificates/:number',
    summary: 'A certificate',
    params: CERTIFICATE,
    answers: { 200: { description: 'The certificate', schema: certificateSchema } },
    handle: async (call) => ({ body: certificateBody(call.principal, await certificateOf(call)) }),
  });

  addRoute(registrar, {
    id: 'getCertificatePdf',
    codes: ['unknown_certificate', 'no_pdf'],
    route: 'GET /certificates/:number/pdf',
    summary: 'The PDF of a certificate, with its hash',
    params: CERTIFICATE,
    answers: {
      200: { description: 'The PDF', type: 'application/pdf' },
      304: { description: 'The one that you have' },
    },
    async handle(call) {
      return pdfOf(deps, await certificateOf(call), call.request.headers['if-none-match']);
    },
  });

  addRoute(ofFilings, {
    id: 'getFilingWorkbook',
    codes: ['no_workbook'],
    route: 'GET /filings/:filing/workbook',
    summary: 'The workbook of a filing, with what became of its rows',
    params: z.object({ filing: filingName }),
    answers: {
      200: { description: 'A workbook', type: WORKBOOK },
    },
    async handle({ principal, params }) {
      return workbookOf(deps, await visibleFiling(deps, principal, params.filing));
    },
  });

  addRoute(ofFilings, {
    id: 'getBundle',
    route: 'GET /filings/:filing/bundle',
    summary: 'All evidence of a filing as one zip, with the SHA-256 of every file',
    params: z.object({ filing: filingName }),
    answers: { 200: { description: 'The zip', type: 'application/zip' } },
    async handle({ principal, params }) {
      return bundleOf(deps, await visibleFiling(deps, principal, params.filing));
    },
  });
}

function certificateBody(principal: Principal, found: PagedCertificate) {
  const { archivedAt, mark: _, eBRCDate, ...certificate } = asSeenBy(principal, found);
  return { ...certificate, eBRCDate: dateText(eBRCDate), archivedAt: archivedAt?.toISOString() ?? null };
}
