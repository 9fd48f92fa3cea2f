/** A row and a certificate beside each other: whether they agree, are equal, or contradict. */
import { filingDateFromAnything, isoFromFilingDate } from '../dates';
import { comparableText } from '../identity';
import { type Amount, canonicalAmount, isSameAmount } from '../money';

/** What of a row its certificate and its request's record are compared with. Dates are YYYY-MM-DD. */
export interface RowFacts {
  position: number;
  /** The Excel row or `serialNo`, for people. */
  row: number;
  irmKey: string;
  irmNumber: string;
  documentKey: string;
  documentOn: string | null;
  billKey: string;
  amount: Amount;
  currency: string;
  /** The document's own value and currency, which differ from the mapped ones. */
  documentAmount: Amount;
  documentCurrency: string;
}

/** A date in any known form as YYYY-MM-DD; null if it names no day. */
export function dayOf(text: string | null | undefined): string | null {
  const date = filingDateFromAnything(text ?? null);
  return date && isoFromFilingDate(date);
}

/** A certificate as fetch-details described it; null: not told. Times are epoch ms, dates YYYY-MM-DD. */
export interface Certificate {
  number: string;
  /** As the authority wrote it, for people. */
  date: string | null;
  issuedOn: string | null;
  status: string | null;
  documentKey: string;
  documentOn: string | null;
  billKey: string;
  amount: Amount | null;
  currency: string | null;
  firstSeenAt: number;
}

/** Only an issued certificate certifies; a cancelled one does not. */
export const isIssued = ({ status }: Pick<Certificate, 'status'>): boolean => comparableText(status ?? '') === 'ISSUED';

/** Whether a certificate is of a row's document or bill number, whatever its amount and date. */
export const agrees = (
  row: Pick<RowFacts, 'documentKey' | 'billKey'>,
  certificate: Pick<Certificate, 'documentKey' | 'billKey'>,
): boolean =>
  (certificate.documentKey !== '' && certificate.documentKey === row.documentKey) ||
  (certificate.billKey !== '' && certificate.billKey === row.billKey);

/** What a row and its certificate have in common where they are equal; null if the certificate does not tell it all. */
export function equalityKey(of: RowFacts | Certificate): string | null {
  const { documentKey: document, documentOn: on, billKey: bill, amount, currency } = of;
  if (document === '' || on === null || amount === null || currency === null) return null;
  return JSON.stringify([document, on, bill, canonicalAmount(amount), comparableText(currency)]);
}

/** How a certificate's details contradict a row; null: they do not. What is not told contradicts nothing. */
export function contradiction(row: RowFacts, certificate: Certificate): string | null {
  const { documentKey: document, documentOn: on, billKey: bill, amount, status } = certificate;
  const currency = certificate.currency === null ? null : comparableText(certificate.currency);
  if (status !== null && !isIssued(certificate)) return `it is ${status}`;
  if (document !== '' && document !== row.documentKey) return `it is of document ${document}`;
  if (on !== null && row.documentOn !== null && on !== row.documentOn) return `its document is of ${on}`;
  if (bill !== '' && row.billKey !== '' && bill !== row.billKey) return `its bill number is ${bill}`;
  if (currency !== null && currency !== row.currency && currency !== row.documentCurrency)
    return `it is in ${currency}`;
  // In the document's currency the mapped amount cannot be told.
  const comparable = currency === null || currency === row.currency;
  if (amount !== null && comparable && !isSameAmount(amount, row.amount, row.currency))
    return `its amount is ${amount}`;
  return null;
}
