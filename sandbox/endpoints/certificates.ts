import { dayNumber, threeMonthsAfter, isoOf } from '../authority/calendar';
import { effectOf } from '../faults/faults';
import { credentialProblem, customerOf, linkedAccount, logInAtPortal, namedCustomer } from '../authority/portal-access';
import { json, problem, validationFailed } from '../http/problem';
import type { Call, Route } from '../http/route';
import { FieldErrors, requiredDate, requiredText, requiredUuid } from './validate';
import type { Certificate } from '../authority/world';
import PDFDocument from 'pdfkit';

/** A one-page PDF, marked as a sandbox copy. The same certificate gives the same bytes. */
function certificatePdf(certificate: Certificate, exporterName: string): Promise<Buffer> {
  const document = new PDFDocument({
    size: 'A4',
    margin: 56,
    info: {
      Title: `eBRC ${certificate.eBRCNumber}`,
      Author: 'eBRC sandbox',
      CreationDate: new Date(`${isoOf(certificate.eBRCDate)}T00:00:00Z`),
    },
  });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const finished = new Promise<Buffer>((resolve, reject) => {
    document.on('end', () => resolve(Buffer.concat(chunks)));
    document.on('error', reject);
  });
  document.fontSize(16).text('Electronic Bank Realisation Certificate', { align: 'center' });
  document.fontSize(9).text('Sandbox copy, not issued by any authority', { align: 'center' }).moveDown(2);
  for (const [label, value] of lines(certificate, exporterName)) {
    document.fontSize(11).text(`${label}: ${value}`).moveDown(0.4);
  }
  document.end();
  return finished;
}

function lines(certificate: Certificate, exporterName: string): [string, string][] {
  return [
    ['eBRC number', certificate.eBRCNumber],
    ['eBRC date', isoOf(certificate.eBRCDate)],
    ['Exporter', exporterName],
    ['IEC', certificate.iec],
    ['Shipping bill / invoice', certificate.sbCumInvoiceNumber],
    ['Shipping bill / invoice date', isoOf(certificate.sbCumInvoiceDate)],
    ['Bill number', certificate.billNo],
    ['IRM', certificate.irmNumber],
    ['Realised value', `${certificate.currencyCode} ${certificate.realisedValueFCC.toFixed(2)}`],
    ['Realisation date', isoOf(certificate.realizationDt)],
  ];
}

const DOCUMENT_FILTER_MAX = 25;

/** POST /genebrc/fetch-details and GET /genebrc/download-pdf/{eBRCNumber} (spec: "Endpoints"). */
export const CERTIFICATE_ROUTES: readonly Route[] = [
  {
    operation: 'fetch-details',
    method: 'POST',
    url: '/genebrc/fetch-details',
    facts: ({ body }) => ({
      platformCustomerId: String(body['platformCustomerId']),
      documents: typeof body['sbCumInvoiceNumber'] === 'string' ? [body['sbCumInvoiceNumber']] : [],
    }),
    handle: fetchDetails,
  },
  {
    operation: 'download-pdf',
    method: 'GET',
    url: '/genebrc/download-pdf/:eBRCNumber',
    facts: ({ params, query }) => ({
      platformCustomerId: String(query['platformCustomerId']),
      eBRCNumber: params['eBRCNumber'] ?? '',
    }),
    handle: download,
  },
];

function fetchDetails(call: Call) {
  const { body } = call;
  const errors = new FieldErrors();
  const id = requiredUuid(body, 'platformCustomerId', errors);
  const iec = requiredText(body, 'iecCode', errors).trim().toUpperCase();
  const from = dayNumber(requiredDate(body, 'eBRCIssueFromDt', errors));
  const to = dayNumber(requiredDate(body, 'eBRCIssueToDt', errors));
  const document = body['sbCumInvoiceNumber'] ?? null;
  const documentDate = body['sbCumInvoiceDate'] ?? null;
  if (document !== null && (typeof document !== 'string' || document.length > DOCUMENT_FILTER_MAX)) {
    const message = `sbCumInvoiceNumber must be a string of at most ${DOCUMENT_FILTER_MAX} characters`;
    errors.add('sbCumInvoiceNumber', message);
  }
  if (documentDate !== null) requiredDate(body, 'sbCumInvoiceDate', errors);
  errors.throwIfAny();
  if (from === null || to === null) throw validationFailed([]);
  if (to < from) throw validationFailed(['eBRCIssueToDt: eBRCIssueToDt must not be before eBRCIssueFromDt']);
  if (to > threeMonthsAfter(from)) {
    throw problem(400, 'The period between eBRCIssueFromDt and eBRCIssueToDt must not exceed 3 months');
  }
  const account = logInAtPortal(call, customerOf(call, id));
  if (iec !== account.iec)
    throw validationFailed([`iecCode: iecCode is not linked to the customer's DGFT credentials`]);
  if (effectOf(call.effects, 'empty-details')) return json([]);
  const found = account.certificates.filter((certificate) => {
    const issued = dayNumber(certificate.eBRCDate) ?? 0;
    return (
      certificate.detailsFrom <= call.now &&
      issued >= from &&
      issued <= to &&
      (document ?? certificate.sbCumInvoiceNumber) === certificate.sbCumInvoiceNumber &&
      (documentDate ?? certificate.sbCumInvoiceDate) === certificate.sbCumInvoiceDate
    );
  });
  return json(found.map(detail));
}

/** The documented entry: realisedValueFCC is a number, everything else a string. */
function detail(certificate: Certificate) {
  const {
    irmNumber: _irm,
    requestId: _request,
    serialNo: _serial,
    detailsFrom: _at,
    pdfFrom: _pdf,
    ...shown
  } = certificate;
  return { ...shown, gstin: '' };
}

async function download(call: Call) {
  const customer = namedCustomer(call, call.query);
  const eBRCNumber = call.params['eBRCNumber'] ?? '';
  // A cached copy needs no login; every other download logs in with the stored credentials.
  const cached = customer.cachedPdfs.has(eBRCNumber) && call.effects.length === 0;
  const account = cached ? linkedAccount(call, customer) : logInAtPortal(call, customer);
  const certificate = account.certificates.find((candidate) => candidate.eBRCNumber === eBRCNumber);
  const absent = effectOf(call.effects, 'pdf-not-found') !== undefined;
  if (!certificate || certificate.pdfFrom > call.now || absent) throw credentialProblem(call, 'EBRC_NOT_FOUND');
  customer.cachedPdfs.add(eBRCNumber);
  return {
    kind: 'file' as const,
    status: 200,
    contentType: 'application/pdf',
    fileName: `${eBRCNumber}.pdf`,
    body: await certificatePdf(certificate, customer.companyName ?? customer.name),
  };
}
