import { z } from 'zod';
import { BadAnswerError, parseAnswer, readEnvelope, readText, unknownRemarks } from './answers';
import type { Caller, CallRequest } from './call';
import type { BulkUploadInput, CallContext, FilingApi, SubmissionResult, SubmitContext } from './client-types';
import { createDownload } from './download';
import { ApiError } from './errors';
import { callJson, jsonBody, outgoing } from './json-call';
import { multipartBody, readUpload } from './multipart';
import {
  bulkUploadAnswer,
  bulkUploadQuery,
  certificateDetail,
  fetchDetailsBody,
  pushAnswer,
  pushMessage,
  requestStatus,
  statusBody,
} from './schemas-filings';
import { namedByRow } from './push-rows';

type FilingsApi = Pick<FilingApi, 'pushIrm' | 'bulkUpload' | 'status' | 'fetchDetails' | 'downloadPdf'>;

const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
const MAX_WORKBOOK_BYTES = 5 * 1024 * 1024;
const MAX_PDF_BYTES = 64 * 1024 * 1024;

const KNOWN_PUSH_FIELDS = ['dgftAckId', 'requestId', 'ackStatus', 'recordResCount', 'errorDetails'];
const KNOWN_BULK_FIELDS = [...KNOWN_PUSH_FIELDS, 'parsedRowCount', 'irmNumbers', 'irms'];

const fileName = z
  .string()
  .regex(/^[^\r\n"\\/]+\.xlsx?$/iu, 'fileName must be a plain name that ends in .xlsx or .xls');
const downloadQuery = z.strictObject({ eBRCNumber: z.string().min(1), platformCustomerId: z.string().min(1) });

const certificateList = z
  .array(certificateDetail)
  .nullable()
  .transform((list) => list ?? []);

/** Filing, its status and its certificates (spec: "POST /genebrc/push-irm" to "GET /genebrc/download-pdf"). */
export function createFilingsApi(caller: Caller): FilingsApi {
  const download = createDownload(caller);

  return {
    pushIrm: async (message, call) => {
      try {
        const body = outgoing('pushIrm', pushMessage, message);
        const request: CallRequest = { operation: 'pushIrm', ...jsonBody(body) };
        return await submit(caller, request, call, pushAnswer, KNOWN_PUSH_FIELDS);
      } catch (error) {
        throw error instanceof ApiError ? namedByRow(error, message) : error;
      }
    },
    bulkUpload: async (input, call) => {
      const { query, request } = await bulkRequest(input);
      return submit(caller, { ...request, query }, call, bulkUploadAnswer, KNOWN_BULK_FIELDS);
    },
    status: async (query, call = {}) => {
      const body = outgoing('status', statusBody, query);
      return callJson(caller, { operation: 'status', ...jsonBody(body) }, call, requestStatus);
    },
    fetchDetails: async (query, call = {}) => {
      const body = outgoing('fetchDetails', fetchDetailsBody, query);
      return callJson(caller, { operation: 'fetchDetails', ...jsonBody(body) }, call, certificateList);
    },
    downloadPdf: async (certificate, sink, call = {}) => {
      const { eBRCNumber, platformCustomerId } = outgoing('downloadPdf', downloadQuery, certificate);
      const request: CallRequest = {
        operation: 'downloadPdf',
        params: { eBRCNumber },
        query: { platformCustomerId },
        maxBytes: MAX_PDF_BYTES,
      };
      return download(request, sink, call);
    },
  };
}

async function bulkRequest(input: BulkUploadInput) {
  const { file, fileName: name, ...fields } = input;
  const query = outgoing('bulkUpload', bulkUploadQuery, fields);
  const content = await readUpload('bulkUpload', file, MAX_WORKBOOK_BYTES);
  const contentType = /\.xlsx$/iu.test(name)
    ? 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
    : 'application/vnd.ms-excel';
  const part = { content, fileName: outgoing('bulkUpload', fileName, name), contentType };
  return { query, request: { operation: 'bulkUpload' as const, ...(await multipartBody(part)) } };
}

/** Makes a submission. An answer that cannot be read proves nothing, so it comes out as outcome_unknown. */
async function submit<T>(
  caller: Caller,
  request: CallRequest,
  call: SubmitContext,
  schema: z.ZodType<T>,
  known: readonly string[],
): Promise<SubmissionResult<T>> {
  const context: CallContext = call;
  return caller.call({ ...request, beforeWrite: call.beforeWrite }, context, async (answer) => {
    const raw = await readText(answer.body, MAX_ANSWER_BYTES);
    const data = readEnvelope(raw);
    if (typeof data !== 'object' || data === null) throw new BadAnswerError('the answer has no acknowledgement', raw);
    return {
      parsed: parseAnswer(schema, data, raw),
      raw,
      status: answer.status,
      warnings: unknownRemarks(data, known),
    };
  });
}
