import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Operation } from '../domain/operations';
import { PdfScan } from '../domain/pdf';
import { createCaller, type Caller, type CallerOptions } from './call';
import type { CallContext } from './client-types';
import { ApiError } from './errors';
import { readEnvelope, parseAnswer, readText } from './answers';
import { text } from './lenient';
import { createRedactor, type Redactor } from './redact';
import { multipartBody, readUpload, unsendable } from './multipart';

export interface ExtractionInput {
  /** Path of the PDF, or its content. */
  file: string | Readable | Buffer;
  fileName: string;
}

/** Answer of the extraction service. The field contents of `data` are not specified; they are kept as they come. */
export interface Extraction {
  status: string;
  data: Record<string, unknown>;
}

/** The extraction service (spec: "Extraction service"). Rejects with `ApiError`. */
export interface ExtractionApi {
  extractShippingBill(input: ExtractionInput, call?: CallContext): Promise<Extraction>;
  extractShippingBillFull(input: ExtractionInput, call?: CallContext): Promise<Extraction>;
  extractInvoice(input: ExtractionInput, call?: CallContext): Promise<Extraction>;
  close(): Promise<void>;
}

/** `url` and `key` are the extraction service's own; without them every call is refused as extraction_unconfigured. */
export type ExtractionApiOptions = Omit<CallerOptions, 'baseUrl' | 'apiKey' | 'budget'> & {
  url?: string;
  key?: string;
};

/** "Under 5 MB". */
const MAX_PDF_BYTES = 5 * 1024 * 1024 - 1;
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** What stands in a document (terms, descriptions) may be longer than what the filing service says. */
const MAX_TEXT_BYTES = 64 * 1024;

const extraction = z.looseObject({
  status: text,
  data: z.record(z.string(), z.unknown()).nullish(),
  message: text,
});

export function createExtractionApi(options: ExtractionApiOptions): ExtractionApi {
  const { url, key, ...rest } = options;
  const caller = url && key ? createCaller({ ...rest, baseUrl: url, apiKey: key }) : null;
  const extract =
    (operation: Operation) =>
    (input: ExtractionInput, call: CallContext = {}) =>
      caller === null
        ? Promise.reject(unconfigured(operation))
        : extractWith({ caller, operation, redact: createRedactor([key]) }, input, call);
  return {
    extractShippingBill: extract('extractShippingBill'),
    extractShippingBillFull: extract('extractShippingBillFull'),
    extractInvoice: extract('extractInvoice'),
    close: async () => caller?.close(),
  };
}

async function extractWith(
  deps: { caller: Caller; operation: Operation; redact: Redactor },
  input: ExtractionInput,
  call: CallContext,
): Promise<Extraction> {
  const { caller, operation, redact } = deps;
  const content = await readUpload(operation, input.file, MAX_PDF_BYTES);
  const problem = new PdfScan().push(content).problem();
  if (problem !== null) throw unsendable(operation, problem);
  const fileName = input.fileName.replace(/[\r\n"\\/]/gu, '_') || 'document.pdf';
  const request = {
    operation,
    maxBytes: MAX_ANSWER_BYTES,
    ...(await multipartBody({ content, fileName, contentType: 'application/pdf' })),
  };
  const answer = await caller.call(request, call, async ({ body }) => {
    const raw = await readText(body, MAX_ANSWER_BYTES);
    return parseAnswer(extraction, readEnvelope(raw, { textBytes: MAX_TEXT_BYTES }), raw);
  });
  // The service says `error` in an answer of status 200: the document could not be read, and a repeat reads the same.
  if (answer.status?.toLowerCase() === 'error') {
    const why = answer.message ?? textOf(answer.data?.message) ?? 'the document could not be read';
    throw new ApiError({ kind: 'refused', operation, status: 200, message: `${operation}: ${redact(why)}` });
  }
  return { status: answer.status ?? 'success', data: answer.data ?? {} };
}

function unconfigured(operation: Operation): ApiError {
  const message = 'Extraction is not configured: set EBRC_EXTRACTION_URL and EBRC_EXTRACTION_KEY.';
  return new ApiError({ kind: 'extraction_unconfigured', operation, message });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
