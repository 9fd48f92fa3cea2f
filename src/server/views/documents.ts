/** PDFs, workbooks and evidence as the HTTP API and the pages answer them. */
import type { Readable } from 'node:stream';
import { zipStream } from '../../documents/output-file';
import { readWithHash } from '../../documents/stored-document';
import type { Principal } from '../../domain/principal';
import { pageOfCertificates, type PagedCertificate } from '../../ledger/certificates/certificates';
import type { FilingRecord } from '../../ledger/filings/filing';
import { readInputHead } from '../../ledger/filings/inputs';
import { rowsOf, type Scope } from '../../ledger/views/rows';
import type { EbrcClientDependencies } from '../../starter/dependencies';
import { fileNamePart } from '../../starter/filings/export-certificates';
import { evidenceBundle } from '../../starter/filings/evidence';
import { maySee } from '../access/scope';
import { notFound } from '../http/problem';

type Stored = Pick<EbrcClientDependencies, 'pool' | 'documents' | 'mode'>;

interface Download {
  status?: number;
  headers: Record<string, string>;
  body: Buffer | Readable | null;
}

export const WORKBOOK = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

const asFile = (name: string) => ({
  'content-disposition': `attachment; filename="${name.replace(/[^\w.-]/g, '_').slice(0, 120)}"`,
});

/** Headers of a downloaded workbook. @param name is made safe for a file name */
export const workbookHeaders = (name: string) => ({ 'content-type': WORKBOOK, ...asFile(name) });

const zipHeaders = (name: string) => ({ 'content-type': 'application/zip', ...asFile(name) });

/** A certificate that the principal may see. @throws Problem 404 */
export async function visibleCertificate(
  { pool, mode, cancelWithinMs }: Pick<EbrcClientDependencies, 'pool' | 'mode' | 'cancelWithinMs'>,
  { exporters }: Principal,
  eBRCNumber: string,
): Promise<PagedCertificate> {
  const [found] = await pageOfCertificates(pool, { mode, exporters, eBRCNumber, limit: 1, cancelWithinMs });
  if (found) return found;
  throw notFound('unknown_certificate', `There is no certificate ${eBRCNumber} in ${mode} mode.`);
}

/** A certificate for a principal. Clients of one company share theirs, but not what each filed. */
export const asSeenBy = <T extends PagedCertificate>(principal: Principal, certificate: T): T =>
  maySee(principal, certificate.exporterId) ? certificate : { ...certificate, filingId: null, reference: null };

/** The PDF of a certificate; 304 for a caller that has it. @throws Problem 404 */
export async function pdfOf(
  { documents }: Pick<Stored, 'documents'>,
  { document, sha256, eBRCNumber }: Pick<PagedCertificate, 'document' | 'sha256' | 'eBRCNumber'>,
  known: string | undefined,
): Promise<Download> {
  if (document === null || sha256 === null) {
    throw notFound('no_pdf', `The PDF of certificate ${eBRCNumber} is not stored yet.`);
  }
  const etag = `"${sha256}"`;
  if (known === etag) return { status: 304, headers: { etag }, body: null };
  const digest = Buffer.from(sha256, 'hex').toString('base64');
  const headers = { etag, 'content-digest': `sha-256=:${digest}:`, 'content-type': 'application/pdf' };
  const found = await readWithHash(documents, document);
  if (found?.sha256 === sha256) return { headers, body: found.content };
  const problem = found === null ? 'is not in the document store any more' : 'is not the one that was stored';
  throw notFound('no_pdf', `The PDF of certificate ${eBRCNumber} ${problem}: reconciliation fetches it again.`);
}

/** The workbook of a filing: annotated or, until it is, as it was handed in. @throws Problem 404 */
export async function workbookOf({ pool, documents }: Stored, filing: FilingRecord): Promise<Download> {
  const { filingId, annotated, inputRef } = filing;
  const name = (annotated || null) ?? (await readInputHead(pool, inputRef))?.sourceDocument ?? null;
  if (name === null) throw notFound('no_workbook', `Filing ${filingId} was made from a message, and has no workbook.`);
  const found = await readWithHash(documents, name);
  if (found) return { headers: workbookHeaders(`${filingId}.xlsx`), body: found.content };
  throw notFound('no_workbook', `The workbook of filing ${filingId} is not in the document store any more.`);
}

/** All evidence of a filing as a zip. */
export async function bundleOf(deps: Stored, filing: FilingRecord): Promise<Download> {
  const { zip } = await evidenceBundle(deps, filing);
  return { headers: zipHeaders(`evidence-${filing.filingId}.zip`), body: zip };
}

/** The stored PDFs of a filing, or of a whole reference, as a zip. @throws Problem 404 where there is none */
export async function pdfsOf({ pool, documents }: Stored, scope: Scope): Promise<Download> {
  const entries = (await rowsOf(pool, scope)).flatMap(({ eBRCNumber, sbCumInvoiceNumber, pdf }) => {
    if (eBRCNumber === null || pdf === null) return [];
    const name = `${fileNamePart(sbCumInvoiceNumber)}-${fileNamePart(eBRCNumber)}.pdf`;
    return [{ name, content: () => documents.read(pdf), compressed: true }];
  });
  if (entries.length === 0) throw notFound('no_pdf', 'No PDF of it is stored yet.');
  return { headers: zipHeaders(`certificates-${scope.reference}.zip`), body: await zipStream(entries) };
}
