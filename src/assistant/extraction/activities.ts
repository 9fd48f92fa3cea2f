import { createHash } from 'node:crypto';
import type pg from 'pg';
import type { Extraction } from '../../api/endpoints/extraction';
import { ApiError } from '../../api/errors/api-error';
import { callTimeoutMs } from '../../domain/service/operations';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { endpointOf, EXTRACTION_OPERATIONS, extractDocumentInput } from './contracts';
import type { ExtractDocumentInput, ExtractDocumentResult } from './contracts';
import { isEncrypted, pdfProblem } from '../../domain/pdf';
import { asSentence } from '../../domain/text';
import { IN_PLAIN_WORDS, issueText } from '../../domain/issues';
import {
  openExtraction as openInLedger,
  readExtraction,
  settleExtraction,
  type ExtractionOutcome,
  type ExtractionRow,
  releaseSlot,
  noteFailedCall,
  takeSlot,
  type Pace,
} from './extractions';
import { readWithHash } from '../../documents/stored-document';
import { failureOf, notYet, refusal } from '../../activities/application-failure';
import { withHeartbeat, keepTrying } from '../../activities/call-context';
import type { Deps, ExtractionDependencies } from '../../activities/dependencies';

/** Calls per document after failures that a repeat may fix. Each call may be paid for. */
const DOCUMENT_TRIES = 2;
const RATE_LIMIT_TRIES = 6;

/** Where a failed call's cause lies, or that the service refused the document. Other kinds are caused on our side. */
const SCOPE_OF_KIND: Readonly<Partial<Record<ErrorKind, 'document' | 'rate' | 'service' | 'refused'>>> = {
  not_sent: 'service',
  timeout: 'document',
  connection_lost: 'document',
  portal_unavailable: 'document',
  server_error: 'document',
  bad_answer: 'document',
  rate_limited: 'rate',
  validation_failed: 'refused',
  conflict: 'refused',
  refused: 'refused',
};

/** Identifies the address and key, for failures that they cause. */
export function accessOf(url: string, key: string): string {
  return createHash('sha256').update(`${url}\n${key}`).digest('hex');
}

/** Finds a stored answer, or records a new document. */
async function openExtraction(
  { extraction, pool }: Deps,
  asked: ExtractDocumentInput,
): Promise<{
  /** What is wrong with the input. If anything is, nothing else is set. */
  problems: string[];
  extractionId: string;
  /** The outcome that the ledger already has. */
  result: ExtractDocumentResult | null;
}> {
  const { data: input, error } = extractDocumentInput.safeParse(asked, IN_PLAIN_WORDS);
  const wrong = error?.issues.map(issueText) ?? [];
  if (!input) return { problems: wrong, extractionId: '', result: null };
  const { service, access } = configured(extraction);
  const { kind, full, document, sha256, fileName, again } = input;
  const endpoint = endpointOf(kind, full);
  const row = await openInLedger(pool, { service, access, endpoint, sha256, document, fileName, again });
  return { problems: [], extractionId: row.extractionId, result: resultOf(row, true) };
}

/** Calls the service once, when a slot is free. The outcome is in the ledger before this ends. */
async function askExtraction(
  { extraction, pool, settings, documents, logger }: Deps,
  { extractionId }: { extractionId: string },
): Promise<ExtractDocumentResult> {
  const { api, service, access, pace } = configured(extraction);
  const row = await readExtraction(pool, extractionId);
  if (!row) throw refusal('unexpected', `The ledger has no extraction ${extractionId}.`);
  const known = resultOf(row, false);
  if (known) return known;
  const operation = EXTRACTION_OPERATIONS[row.endpoint];
  const callMs = callTimeoutMs(operation, settings.httpTimeoutMs);
  const waitMs = await takeSlot(pool, { extractionId, service, callMs, pace });
  if (waitMs > 0) throw notYet(row.error ?? 'Waiting for its turn at the extraction service.', waitMs);
  const stored = await readWithHash(documents, row.document).catch(async (error: unknown) => {
    await releaseSlot(pool, extractionId);
    throw error;
  });
  if (stored?.sha256 !== row.sha256) {
    await releaseSlot(pool, extractionId);
    throw refusal('unexpected', `${row.document} of the document store is not the document that was handed in.`);
  }
  const file = stored.content;
  const problem = pdfProblem(file);
  const outcome = problem
    ? refusedOutcome(extractionId, problem)
    : await withHeartbeat(service, (call) =>
        api.extract(operation, { file, fileName: row.fileName }, { ...call, exporterId: undefined }),
      ).then(
        (answer) => answeredOutcome(extractionId, answer),
        (error: unknown) => failedOutcome(error, row, { file, pool, pace, access }),
      );
  // An answer that was paid for must not be lost to a restart of PostgreSQL.
  await keepTrying(
    () => settleExtraction(pool, outcome),
    (error) => logger.warn({ err: error }, 'an extraction could not be recorded yet'),
  );
  const settled = await readExtraction(pool, extractionId);
  const result = settled && resultOf(settled, false);
  if (!result) throw refusal('unexpected', `Extraction ${extractionId} was not recorded.`);
  return result;
}

function configured(extraction: ExtractionDependencies | undefined): ExtractionDependencies {
  if (extraction) return extraction;
  const message = 'Extraction is not configured: set EBRC_EXTRACTION_URL and EBRC_EXTRACTION_KEY for the worker.';
  throw refusal('extraction_unconfigured', message);
}

function answeredOutcome(extractionId: string, { data, answer, problem }: Extraction): ExtractionOutcome {
  if (data !== null && problem === null) return { extractionId, state: 'extracted', data };
  const error = `${problem ?? 'The answer has no data'}; the whole answer is kept.`;
  return { extractionId, state: 'failed', answer, errorCode: 'unknown_shape', error };
}

function refusedOutcome(extractionId: string, { code, message }: { code: string; message: string }): ExtractionOutcome {
  return { extractionId, state: 'refused', errorCode: code, error: message };
}

/** The outcome of a failed call. @throws ApplicationFailure if a repeat may fix it */
async function failedOutcome(
  error: unknown,
  { extractionId, service }: ExtractionRow,
  { file, pool, pace, access }: { file: Buffer; pool: pg.Pool; pace: Pace; access: string },
): Promise<ExtractionOutcome> {
  if (!(error instanceof ApiError) || error.kind === 'cancelled') {
    await releaseSlot(pool, extractionId);
    throw error;
  }
  const { kind, message, retryAfterMs } = error;
  const scope = SCOPE_OF_KIND[kind];
  if (scope === 'refused') {
    const hint = isEncrypted(file) ? ' The PDF is encrypted: save it without a password.' : '';
    return refusedOutcome(extractionId, { code: kind, message: `${asSentence(message)}${hint}` });
  }
  if (scope === undefined) return { extractionId, state: 'failed', errorCode: kind, error: message, access };
  const noted = { extractionId, service, scope, reason: message, atLeastMs: retryAfterMs, pace };
  const { faults, rateLimits, pauseMs } = await noteFailedCall(pool, noted);
  const times = scope === 'rate' ? rateLimits : faults;
  const last = scope === 'rate' ? RATE_LIMIT_TRIES : DOCUMENT_TRIES;
  if (scope !== 'service' && times >= last) {
    const why = `${message} (${times} times; \`ebrc extract --again\` asks again)`;
    return { extractionId, state: 'failed', errorCode: kind, error: why };
  }
  throw failureOf(error, { retry: true, nextDelayMs: pauseMs, benign: scope === 'rate' });
}

function resultOf(row: ExtractionRow, kept: boolean): ExtractDocumentResult | null {
  const { state, extractionId, sha256, errorCode, error } = row;
  if (state === 'asking') return null;
  const why = errorCode === null ? null : { code: errorCode, message: error ?? errorCode };
  return { state, extractionId, sha256, kept, error: why };
}

export const extractionActivities = { openExtraction, askExtraction };
