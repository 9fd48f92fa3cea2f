/** A request's status record (spec: "Request status record"), as far as it is used. */
import { sameId } from '../identity';
import { cutText, plainText } from '../text';

/** The fields of a status record, with the spec's names. */
export interface StatusRecord {
  processingStatus: string | null;
  recordProCount: number | null;
  recordFailCount: number | null;
  errorDetails?: readonly unknown[];
  ebrcBulkGenStatusLst: readonly StatusEntry[];
  /** Number of list entries that could not be parsed; each may belong to any row. */
  unreadEntries?: number;
}

export interface StatusEntry {
  serialNo: string | null;
  irmNumber: string | null;
  irmDt: string | null;
  iecNumber?: string | null;
  sbCumInvoiceNumber: string | null;
  sbCumInvoiceDate: string | null;
  billNo?: string | null;
  fobFCC?: number | null;
  fcc?: string | null;
  eBRCNumber: string | null;
  eBRCDt: string | null;
  processingStatus: string | null;
  errorDetails: readonly unknown[];
}

/** Whether a status record is about the polled request; another request's record would free rows wrongly. */
export function isAbout(
  record: { requestId: string | null; dgftAckId: string | null },
  asked: { requestId: string; dgftAckId: string | null },
): boolean {
  if (record.requestId === null || sameId(record.requestId, asked.requestId)) return true;
  // `requestId` may hold the authority's own id; the record is then identified by its `dgftAckId`.
  return record.dgftAckId !== null && asked.dgftAckId !== null && sameId(record.dgftAckId, asked.dgftAckId);
}

const word = (text: string | null): string => (text ?? '').trim().toLowerCase();

export const isProcessed = ({ processingStatus }: Pick<StatusRecord, 'processingStatus'>): boolean =>
  word(processingStatus) === 'processed';

export const isErrored = ({ processingStatus }: Pick<StatusRecord, 'processingStatus'>): boolean =>
  word(processingStatus) === 'errored';

/** Whether the authority is done with a request; before that a record frees no row. */
export const isDone = (record: Pick<StatusRecord, 'processingStatus'>): boolean =>
  isProcessed(record) || isErrored(record);

const MESSAGE_FIELDS = ['errorMessage', 'message', 'errorDescription', 'description'] as const;

/** Texts of the undocumented `errorDetails`: a string, code and message, or else everything that an entry holds. */
export function errorTexts(details: readonly unknown[]): string[] {
  return details.map((detail) => {
    if (typeof detail === 'string') return cutText(detail);
    if (typeof detail !== 'object' || detail === null) return String(detail);
    const parts = detail as Record<string, unknown>;
    const isText = (part: unknown) => (typeof part === 'string' && part.trim() !== '') || typeof part === 'number';
    const code = [parts.errorCode, parts.code].find(isText);
    const known = MESSAGE_FIELDS.map((field) => parts[field]).find(isText);
    const others = Object.entries(parts).flatMap(([field, part]) =>
      field !== 'errorCode' && field !== 'code' && typeof part === 'string' && isText(part) ? [part] : [],
    );
    if (code === undefined && known === undefined) return cutText(plainText(detail));
    return cutText([code, known ?? others.join(', ')].filter(isText).join(': '));
  });
}
