import PDFDocument from 'pdfkit';
import { isoOf } from './calendar';
import type { Certificate } from './world';

/**
 * A certificate as a one-page PDF, marked as a sandbox copy so that it is not mistaken for an issued one. The same
 * certificate gives the same bytes, as a cached download would.
 */
export function certificatePdf(certificate: Certificate, exporterName: string): Promise<Buffer> {
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
