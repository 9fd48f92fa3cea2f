/** Certificates with their PDFs, and the workbooks and evidence of filings. */
import { z } from 'zod';
import { dateText } from '../../domain/dates';
import type { Principal } from '../../domain/principal';
import { pageOfCertificates, type PagedCertificate } from '../../ledger/certificates/certificates';
import { readWithHash } from '../../documents/stored-document';
import { readInputHead } from '../../ledger/filings/inputs';
import { evidenceBundle } from '../../starter/filings/evidence';
import { maySee, visibleExporter, visibleFiling } from '../access/scope';
import { notFound } from '../http/problem';
import { addRoute, type Call, type Door, type Registrar } from '../http/route';
import { exporterName, FILING_DATE, filingName, listOf, pageOf, paging, readCursor, visible } from '../http/fields';
import { WORKBOOK, workbookHeaders } from './exporters';

const CERTIFICATE = z.object({ number: visible(100).describe('an eBRC number') });
const MARK = z.tuple([z.string().regex(/^\d{1,16}$/), z.string().max(200)]);

const text = z.string().nullable();
const certificateSchema = z.object({
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
});

export function addDocumentRoutes(server: Registrar, { deps }: Door): void {
  const registrar = { ...server, tag: 'Certificates' };
  const ofFilings = { ...server, tag: 'Filings' };
  const { pool, mode, documents } = deps;

  async function certificateOf({ principal, params }: Pick<Call<{ number: string }>, 'principal' | 'params'>) {
    const { exporters } = principal;
    const [found] = await pageOfCertificates(pool, { mode, exporters, eBRCNumber: params.number, limit: 1 });
    if (found) return found;
    throw notFound('unknown_certificate', `There is no certificate ${params.number} in ${mode} mode.`);
  }

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
      });
      const { items, next } = pageOf(read, limit, (last) => [last.mark, last.eBRCNumber]);
      return { body: { items: items.map((item) => certificateBody(principal, item)), next } };
    },
  });

  addRoute(registrar, {
    id: 'getCertificate',
    route: 'GET /certificates/:number',
    summary: 'A certificate',
    params: CERTIFICATE,
    answers: { 200: { description: 'The certificate', schema: certificateSchema } },
    handle: async (call) => ({ body: certificateBody(call.principal, await certificateOf(call)) }),
  });

  addRoute(registrar, {
    id: 'getCertificatePdf',
    route: 'GET /certificates/:number/pdf',
    summary: 'The PDF of a certificate, with its hash',
    params: CERTIFICATE,
    answers: {
      200: { description: 'The PDF', type: 'application/pdf' },
      304: { description: 'The one that you have' },
    },
    async handle(call) {
      const { document, sha256, eBRCNumber } = await certificateOf(call);
      if (document === null || sha256 === null) {
        throw notFound('no_pdf', `The PDF of certificate ${eBRCNumber} is not stored yet.`);
      }
      const etag = `"${sha256}"`;
      if (call.request.headers['if-none-match'] === etag) return { status: 304, headers: { etag }, body: null };
      const digest = Buffer.from(sha256, 'hex').toString('base64');
      const headers = { etag, 'content-digest': `sha-256=:${digest}:`, 'content-type': 'application/pdf' };
      const found = await readWithHash(documents, document);
      if (found?.sha256 === sha256) return { headers, body: found.content };
      const problem = found === null ? 'is not in the document store any more' : 'is not the one that was stored';
      throw notFound('no_pdf', `The PDF of certificate ${eBRCNumber} ${problem}: reconciliation fetches it again.`);
    },
  });

  addRoute(ofFilings, {
    id: 'getFilingWorkbook',
    route: 'GET /filings/:filing/workbook',
    summary: 'The workbook of a filing, with what became of its rows',
    params: z.object({ filing: filingName }),
    answers: {
      200: { description: 'A workbook', type: WORKBOOK },
    },
    async handle({ principal, params }) {
      const { filingId, annotated, inputRef } = await visibleFiling(deps, principal, params.filing);
      // Until it is annotated, the workbook as it was handed in.
      const name = (annotated || null) ?? (await readInputHead(pool, inputRef))?.sourceDocument ?? null;
      if (name === null)
        throw notFound('no_workbook', `Filing ${filingId} was made from a message, and has no workbook.`);
      const found = await readWithHash(documents, name);
      if (found) return { headers: workbookHeaders(`${filingId}.xlsx`), body: found.content };
      throw notFound('no_workbook', `The workbook of filing ${filingId} is not in the document store any more.`);
    },
  });

  addRoute(ofFilings, {
    id: 'getBundle',
    route: 'GET /filings/:filing/bundle',
    summary: 'All evidence of a filing as one zip, with the SHA-256 of every file',
    params: z.object({ filing: filingName }),
    answers: { 200: { description: 'The zip', type: 'application/zip' } },
    async handle({ principal, params }) {
      const filing = await visibleFiling(deps, principal, params.filing);
      const { zip } = await evidenceBundle(deps, filing);
      const disposition = `attachment; filename="evidence-${filing.filingId}.zip"`;
      return { headers: { 'content-type': 'application/zip', 'content-disposition': disposition }, body: zip };
    },
  });
}

/** The certificate, which clients of one IEC share, with its filing only for who may see that. */
function certificateBody(principal: Principal, { archivedAt, mark: _, eBRCDate, ...certificate }: PagedCertificate) {
  return {
    ...certificate,
    ...(!maySee(principal, certificate.exporterId) && { filingId: null, reference: null }),
    eBRCDate: dateText(eBRCDate),
    archivedAt: archivedAt?.toISOString() ?? null,
  };
}
