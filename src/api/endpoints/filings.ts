import { z } from 'zod';
import { kindOfErrorCode } from '../../domain/service/error-kinds';
import { MAX_WORKBOOK_BYTES } from '../../domain/service/limits';
import { isObject } from '../../domain/values';
import { BadAnswerError, parseAnswer, readText, unknownRemarks, unwrap } from '../http/answers';
import type { CallContext, Caller, CallRequest, SubmitContext } from '../http/call';
import { download, callJson, jsonBody, outgoing, multipartBody, type DownloadSink } from './calls';
import { ApiError, type FieldError } from '../errors/api-error';
import { NOTHING_LISTED } from '../errors/classify';
import { isAbsent, recordList } from '../schemas/tolerant';
import { readPage } from './paging';
import {
  bulkUploadAnswer,
  bulkUploadQuery,
  certificateDetail,
  fetchDetailsBody,
  pushAnswer,
  pushMessage,
  requestStatus,
  statusBody,
  type BulkUploadAnswer,
  type PushAnswer,
  type RequestStatus,
} from '../schemas/filings';
import type { PushMessage } from '../../domain/filing/mapping';

/** Gives field errors of a push, which name items by index (`ebrcBulkGenDtos.0.irmDt`), the `serialNo` as row. */
function namedByRow(error: ApiError, message: PushMessage): ApiError {
  if (error.fieldErrors.length === 0) return error;
  const items = message.ebrcBulkGenDtos;
  // An index beyond the last item shows that indices are not counted from 0, so none of them is used.
  const fromZero = error.fieldErrors.every(({ index = 0 }) => index >= 0 && index < items.length);
  const fieldErrors = error.fieldErrors.map((fieldError): FieldError => {
    const { message, row, serialNo } = fieldError;
    const place = placeOf(fieldError);
    const index = place?.index ?? (fromZero ? fieldError.index : undefined);
    const rowNumber: unknown = serialNo ?? (index === undefined ? row : items[index]?.serialNo);
    const field = place === null ? fieldError.field : place.field;
    return { ...(typeof rowNumber === 'number' ? { row: rowNumber } : {}), ...(field ? { field } : {}), message };
  });
  const copy = new ApiError({ ...error, message: error.message, cause: error.cause, fieldErrors });
  copy.stack = error.stack;
  return copy;
}

function placeOf(error: FieldError): { index: number; field: string } | null {
  const match = /^ebrcBulkGenDtos(?:\.|\[)(\d+)(?!\d)\]?\.?(.*)$/su.exec(error.field ?? '');
  return match?.[1] === undefined ? null : { index: Number(match[1]), field: match[2] ?? '' };
}

const KNOWN_PUSH_FIELDS = ['dgftAckId', 'requestId', 'ackStatus', 'recordResCount', 'errorDetails'];
const KNOWN_BULK_FIELDS = [...KNOWN_PUSH_FIELDS, 'parsedRowCount', 'irmNumbers', 'irms'];

/** The parsed answer to a submission, with every list for the ledger. */
export interface SubmissionResult<T> {
  parsed: T;
  status: number;
  /** Values under names that the specification does not show, such as observations on an accepted filing. */
  warnings: unknown[];
}

const upload = z.strictObject({
  file: z
    .instanceof(Buffer)
    .refine((content) => content.length > 0, 'the file is empty')
    .refine((content) => content.length <= MAX_WORKBOOK_BYTES, {
      message: `the file is longer than ${MAX_WORKBOOK_BYTES} bytes; make it smaller or split it`,
    }),
  fileName: z.string().regex(/^[^\r\n"\\/]+\.xlsx?$/iu, 'fileName must be a plain name that ends in .xlsx or .xls'),
});
const downloadQuery = z.strictObject({ eBRCNumber: z.string().min(1), platformCustomerId: z.string().min(1) });

const CERTIFICATES = recordList(certificateDetail);

/** For an answer without a list, which an outage may give too: it proves absence only where nothing was ever listed. */
const NO_LIST = { records: [], unread: 0, noList: true };

/** A list or a page of certificates. Another shape is refused, because certificates must not be missed. */
const certificateList = z.unknown().transform((value, context) => {
  if (value !== undefined && isAbsent(value)) return NO_LIST;
  const page = readPage(value);
  if (page !== null) {
    const { records } = CERTIFICATES.parse(page.items);
    // An entry without anything may be of a certificate too.
    const unread = page.items.length - records.length;
    // The specification shows no pages here, so further pages count as an unread entry.
    const isWhole = (page.totalPages ?? 1) <= 1 && (page.total ?? 0) <= page.items.length;
    // An empty list by another name may be one of errors.
    const isList = Array.isArray(value) || (isObject(value) && 'data' in value) || page.items.length > 0;
    return { records, unread: isWhole && isList ? unread : unread + 1, noList: false };
  }
  const single = CERTIFICATES.parse(value);
  if (single.records.some(({ eBRCNumber }) => eBRCNumber !== null)) return { ...single, noList: false };
  const message: unknown = single.records[0]?.message;
  if (typeof message === 'string' && NOTHING_LISTED.test(message)) return NO_LIST;
  context.addIssue({ code: 'custom', message: 'neither a list nor a certificate' });
  return z.NEVER;
});

/** Submissions, their status and certificates (spec: "POST /genebrc/push-irm" to "GET /genebrc/download-pdf"). */
export function createFilingsApi(caller: Caller) {
  return {
    /** Uses a connection of its own. Never repeat it without proof that nothing was sent. */
    async pushIrm(message: PushMessage, call: SubmitContext): Promise<SubmissionResult<PushAnswer>> {
      try {
        const body = outgoing('pushIrm', pushMessage, message);
        const request: CallRequest = { operation: 'pushIrm', ...jsonBody(body) };
        return await submit(caller, request, call, { schema: pushAnswer, known: KNOWN_PUSH_FIELDS });
      } catch (error) {
        throw error instanceof ApiError ? namedByRow(error, message) : error;
      }
    },
    /** Uses a connection of its own. Never repeat it without proof that nothing was sent. */
    async bulkUpload(
      input: z.input<typeof bulkUploadQuery> & z.input<typeof upload>,
      call: SubmitContext,
    ): Promise<SubmissionResult<BulkUploadAnswer>> {
      const { query, request } = await bulkRequest(input);
      return submit(caller, { ...request, query }, call, { schema: bulkUploadAnswer, known: KNOWN_BULK_FIELDS });
    },
    async status(query: z.input<typeof statusBody>, call: CallContext = {}): Promise<RequestStatus> {
      const body = outgoing('status', statusBody, query);
      const status = await callJson(caller, { operation: 'status', ...jsonBody(body) }, call, requestStatus);
      caller.noteUnread('status', status.unreadEntries);
      return status;
    },
    /**
     * Reads a window of at most three months. `unread`: number of unreadable entries; each may be any certificate.
     * `noList`: the answer says, or shows by being empty, that there is nothing.
     */
    async fetchDetails(query: z.input<typeof fetchDetailsBody>, call: CallContext = {}) {
      const body = outgoing('fetchDetails', fetchDetailsBody, query);
      try {
        const list = await callJson(
          caller,
          { operation: 'fetchDetails', ...jsonBody(body) },
          call,
          certificateList,
          null,
        );
        caller.noteUnread('fetchDetails', list.unread);
        return { certificates: list.records, unread: list.unread, noList: list.noList };
      } catch (error) {
        // A 404 for an empty result. Its error code says it as a list would, its message only as words.
        if (!(error instanceof ApiError) || error.kind !== 'certificate_not_ready') throw error;
        const isEmptyList = error.status === 404 && kindOfErrorCode(error.errorCode) === error.kind;
        return { certificates: [], unread: (error.status ?? 500) >= 500 ? 1 : 0, noList: !isEmptyList };
      }
    },
    async downloadPdf<T>(
      certificate: z.input<typeof downloadQuery>,
      sink: DownloadSink<T>,
      call: CallContext = {},
    ): Promise<T> {
      const { eBRCNumber, platformCustomerId } = outgoing('downloadPdf', downloadQuery, certificate);
      const request: CallRequest = { operation: 'downloadPdf', params: { eBRCNumber }, query: { platformCustomerId } };
      return download(caller, request, sink, call);
    },
  };
}

async function bulkRequest({ file, fileName, ...fields }: z.input<typeof bulkUploadQuery> & z.input<typeof upload>) {
  const query = outgoing('bulkUpload', bulkUploadQuery, fields);
  const part = outgoing('bulkUpload', upload, { file, fileName });
  const contentType = /\.xlsx$/iu.test(fileName)
    ? 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
    : 'application/vnd.ms-excel';
  return { query, request: { operation: 'bulkUpload' as const, ...(await multipartBody({ ...part, contentType })) } };
}

/** Makes a submission. An unreadable answer becomes `outcome_unknown`. */
async function submit<T>(
  caller: Caller,
  request: CallRequest,
  call: SubmitContext,
  { schema, known }: { schema: z.ZodType<T>; known: readonly string[] },
): Promise<SubmissionResult<T>> {
  return caller.call({ ...request, beforeWrite: call.beforeWrite }, call, async (answer) => {
    const { data, beside } = unwrap(await readText(answer.body));
    if (!isObject(data)) throw new BadAnswerError('the answer has no acknowledgement');
    if (isError(data)) throw new BadAnswerError('the answer is an error with a status of success');
    return {
      parsed: parseAnswer(schema, data),
      status: answer.status,
      warnings: [...unknownRemarks(data, known), ...unknownRemarks(beside, known)],
    };
  });
}

/** Whether a 2xx answer is an error, whose `requestId` is the call's and not a filing's (spec: "Errors"). */
function isError({ ackStatus, dgftAckId, recordResCount, ...answer }: Record<string, unknown>): boolean {
  const acknowledged = [ackStatus, dgftAckId, recordResCount].some((field) => !isAbsent(field));
  return !acknowledged && ERROR_FIELDS.some((field) => !isAbsent(answer[field]));
}

const ERROR_FIELDS = ['errorCode', 'code', 'error', 'message', 'errors'];
