import { isObject } from '../../domain/values';
import type { Operation } from '../../domain/service/operations';
import { cutText } from '../../domain/text';
import { createCaller, type CallContext, type Caller, type CallerOptions } from '../http/call';
import { ApiError } from '../errors/api-error';
import { readEnvelope, readText } from '../http/answers';
import { filledText, readJson } from '../schemas/clean';
import { createRedactor, type Redactor } from '../errors/redact';
import { multipartBody } from './calls';

/** An extraction's answer. The spec does not define the fields of `data`. `problem`: set if the shape is another. */
export interface Extraction {
  status: string | null;
  data: Record<string, unknown> | null;
  answer: unknown;
  problem: string | null;
}

/** Limit of one text: documents have longer texts than the filing service's answers. */
const MAX_TEXT_BYTES = 64 * 1024;

/** Client of the extraction service (spec: "Extraction service"), which has its own address and key. */
export function createExtractionApi(options: Omit<CallerOptions, 'budget'>) {
  const caller = createCaller(options);
  const redact = createRedactor([options.apiKey]);
  return {
    /** Sends a PDF that passed `pdfProblem`. Rejects with `ApiError`. */
    extract: (
      operation: Extract<Operation, `extract${string}`>,
      pdf: { file: Buffer; fileName: string },
      call: CallContext = {},
    ) => extractWith({ caller, operation, redact }, pdf, call),
    close: () => caller.close(),
  };
}

async function extractWith(
  { caller, operation, redact }: { caller: Caller; operation: Operation; redact: Redactor },
  pdf: { file: Buffer; fileName: string },
  call: CallContext,
): Promise<Extraction> {
  const fileName = pdf.fileName.replace(/[\r\n"\\/]/gu, '_') || 'document.pdf';
  const request = {
    operation,
    ...(await multipartBody({ file: pdf.file, fileName, contentType: 'application/pdf' })),
    readRefusal: (raw: string, status: number) =>
      NOT_ABOUT_THE_DOCUMENT.includes(status) ? null : refusalIn(readJson(raw, { redact }), { operation, status }),
  };
  return caller.call(request, call, async ({ body, status }) => {
    const raw = await readText(body);
    const answer = readEnvelope(raw, { textBytes: MAX_TEXT_BYTES, redact });
    const refusal = refusalIn(answer, { operation, status });
    if (refusal !== null) throw refusal;
    return extractionOf(answer);
  });
}

/** HTTP statuses about the key, the address, rate limits or availability, not about the document. */
const NOT_ABOUT_THE_DOCUMENT: readonly number[] = [401, 403, 404, 405, 408, 429, 502, 503, 504];

/** The refusal in an answer with `status: error`, which a repeat would get again; null for any other answer. */
function refusalIn(answer: unknown, { operation, status }: { operation: Operation; status: number }): ApiError | null {
  if (!isObject(answer) || filledText(answer.status)?.toLowerCase() !== 'error') return null;
  const why = [answer.message, answer.error, answer.data].map(reasonIn).find((reason) => reason !== undefined);
  const message = `${operation}: ${cutText(why ?? 'the service answered status error without a reason')}`;
  return new ApiError({ kind: 'refused', operation, status, message });
}

function reasonIn(value: unknown): string | undefined {
  return isObject(value)
    ? (filledText(value.message) ?? filledText(value.error) ?? filledText(value.reason))
    : filledText(value);
}

function extractionOf(answer: unknown): Extraction {
  const whole = isObject(answer) ? answer : {};
  const status = filledText(whole.status) ?? null;
  // Another status, such as `processing`, without data must not be stored as a result.
  const pending = status !== null && status.toLowerCase() !== 'success';
  if (isObject(whole.data) && pending && Object.keys(whole.data).length === 0) {
    const problem = `the answer has no data, and its status is neither success nor error: ${cutText(status)}`;
    return { status, data: null, answer, problem };
  }
  if (isObject(whole.data)) return { status, data: whole.data, answer, problem: null };
  const problem = 'the answer has another shape than the specification shows: no object `data`';
  return { status, data: null, answer, problem };
}
