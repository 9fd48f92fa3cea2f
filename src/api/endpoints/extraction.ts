import { isObject } from '../../domain/values';
import type { Operation } from '../../domain/service/operations';
import { cutText } from '../../domain/text';
import { createCaller, type CallContext, type Caller, type CallerOptions } from '../http/call';
import { ApiError } from '../errors/api-error';
import { readEnvelope, readText } from '../http/answers';
import { filledText, readJson } from '../schemas/clean';
import { createRedactor, type Redactor } from '../errors/redact';
import { multipartBody } from './calls';

/** Fields of `data` are not specified. For an answer of another shape `problem` says so, and `answer` has all of it. */
export interface Extraction {
  status: string | null;
  data: Record<string, unknown> | null;
  answer: unknown;
  problem: string | null;
}

/** Texts of a document (terms, descriptions) may be longer than those of the filing service. */
const MAX_TEXT_BYTES = 64 * 1024;

/** The extraction service (spec: "Extraction service"), which has an address and a key of its own. */
export function createExtractionApi(options: Omit<CallerOptions, 'budget'>) {
  const caller = createCaller(options);
  const redact = createRedactor([options.apiKey]);
  return {
    /** Sends a PDF that `pdfProblem` has nothing against. Rejects with `ApiError`. */
    extract: (
      operation: Extract<Operation, `extract${string}`>,
      pdf: { file: Buffer; fileName: string },
      call: CallContext = {},
    ) => extractWith({ caller, operation, redact }, pdf, call),
    close: () => caller.close(),
  };
}

export type ExtractionApi = ReturnType<typeof createExtractionApi>;

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

/** These concern the key, the address, the number of calls or the service's availability, not the document. */
const NOT_ABOUT_THE_DOCUMENT: readonly number[] = [401, 403, 404, 405, 408, 429, 502, 503, 504];

/** `status: error` is an answer, with any HTTP status that may concern the document: a repeat would give the same. */
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
  // Another word, such as `processing`, with no data is no result that may be kept as one.
  const pending = status !== null && status.toLowerCase() !== 'success';
  if (isObject(whole.data) && pending && Object.keys(whole.data).length === 0) {
    const problem = `the answer has no data, and its status is neither success nor error: ${cutText(status)}`;
    return { status, data: null, answer, problem };
  }
  if (isObject(whole.data)) return { status, data: whole.data, answer, problem: null };
  const problem = 'the answer has another shape than the specification shows: no object `data`';
  return { status, data: null, answer, problem };
}
