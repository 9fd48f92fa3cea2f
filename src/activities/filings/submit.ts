import { createHash, randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApiError } from '../../api/errors/api-error';
import type { SubmissionResult } from '../../api/endpoints/filings';
import type { CallContext } from '../../api/http/call';
import { startStopwatch } from '../../api/http/transport';
import type { BulkUploadAnswer, PushAnswer } from '../../api/schemas/filings';
import type { LedgerTime } from '../../domain/filing/facts';
import { pushMessageOf } from '../../domain/filing/mapping';
import { verdictOf } from '../../domain/filing/verdicts';
import { errorTexts } from '../../domain/service/request-status';
import type { CallFailure } from '../../ledger/filings/advance';
import { storeAnswer } from '../../ledger/attempts/answer';
import type { StoredAnswer } from '../../ledger/attempts/attempts';
import { readToSend } from '../../ledger/attempts/to-send';
import { beginToSend } from '../../ledger/attempts/send';
import { withTransaction } from '../../ledger/pool';
import { readBulkTemplate } from '../../ledger/service/bulk-templates';
import { keepTrying, withHeartbeat } from '../call-context';
import type { Deps } from '../dependencies';
import { withCredentials } from '../exporters/credential-guard';

export interface SubmitArgs {
  filingId: string;
  exporterId: string;
  /** The attempt that the run was told to make, and the ledger's time then. */
  n: number;
  time: LedgerTime;
}

/** How an attempt ended for its run, which reads the ledger for the rest. */
export interface Submitted {
  /** Nothing was written, and why; null: something was, or may have been. */
  failure: CallFailure | null;
  /** Whether it began: whether the attempt was inserted, as far as this execution knows. */
  begun: boolean;
}

/** How much of the activity's time, besides one HTTP time-out, must be left to begin. */
const MARGIN_MS = 15_000;
/** How long the activity waits for its answer to be stored; the tries go on while the process lives. */
const STORE_WITHIN_MS = 20_000;

/** POST /genebrc/push-irm for a filing, once. */
async function submitPush(deps: Deps, args: SubmitArgs): Promise<Submitted> {
  const elapsedMs = startStopwatch();
  const { rows, ...filing } = await readToSend(deps.pool, args.filingId);
  const message = pushMessageOf(filing, rows);
  const payloadHash = sha256(JSON.stringify(message));
  return submit(deps, { ...args, payloadHash, document: null, elapsedMs }, (context) =>
    deps.api.pushIrm(message, context),
  );
}

/** POST /genebrc/bulk-upload for a filing, once. Its workbook is written and stored first. */
async function submitBulk(deps: Deps, args: SubmitArgs): Promise<Submitted> {
  const elapsedMs = startStopwatch();
  const { workbooks, pool, documents, api } = deps;
  const { rows, uploadType, declaration } = await readToSend(pool, args.filingId);
  const name = `${args.filingId}-${args.n}`;
  // A try that did not begin may have stored it. Written again it would have other bytes, which the store refuses.
  const kept = await documents.find({ name, kind: 'xlsx' });
  const workbook = kept ? await documents.read(kept.name) : await write();
  const document = kept ?? (await documents.put({ name, kind: 'xlsx', buffer: workbook }));
  const sending = { ...args, payloadHash: document.sha256, document: document.name, elapsedMs };
  return submit(deps, sending, (context) =>
    api.bulkUpload(
      {
        platformCustomerId: args.exporterId,
        uploadType: String(uploadType) as '101' | '102' | '103' | '104',
        decalarationFlag: declaration,
        file: workbook,
        fileName: `${name}.xlsx`,
      },
      context,
    ),
  );

  async function write(): Promise<Buffer> {
    const template = (await readBulkTemplate(pool, deps.mode)) ?? undefined;
    const written = rows.map(({ serialNo, sourceRow, mapping, extra }) => ({
      ...{ row: sourceRow, mapping: { ...mapping, serialNo } },
      ...(extra ? { extra } : {}),
    }));
    return workbooks.write(written, template);
  }
}

type Sending = SubmitArgs & { payloadHash: string; document: string | null; elapsedMs: () => number };

/** Budget slot → connection ready, nothing written → begin to send → write within the time-out → store the answer. */
async function submit<A extends PushAnswer | BulkUploadAnswer>(
  deps: Deps,
  args: Sending,
  send: (context: CallContext & { beforeWrite: () => Promise<void> }) => Promise<SubmissionResult<A>>,
): Promise<Submitted> {
  // Only this execution can say that nothing was written after its beginning.
  const sender = randomUUID();
  // Once it has begun nothing cancels the request: an interrupted one has an unknown outcome.
  const beforeBegin = new AbortController();
  let begun = false;
  let beginning: Promise<void> | null = null;
  const beforeWrite = () => {
    beginning = begin(deps, args, sender).then(() => void (begun = true));
    return beginning;
  };
  const call = () =>
    withHeartbeat(args.exporterId, (context) => {
      context.signal?.addEventListener('abort', () => begun || beforeBegin.abort(context.signal?.reason));
      if (context.signal?.aborted) beforeBegin.abort(context.signal.reason);
      return send({ ...context, signal: beforeBegin.signal, beforeWrite });
    });
  let answer: StoredAnswer;
  let failure: CallFailure | null = null;
  try {
    answer = acceptedAnswer(await withCredentials(deps, args.exporterId, call));
  } catch (error) {
    // A call may be given up while its beginning is committed: the attempt is there then, and nothing was written.
    await (beginning as Promise<void> | null)?.catch(() => undefined);
    // A defect may come after the write: what the ledger has of the attempt decides, not the error.
    if (!(error instanceof ApiError)) {
      if (begun) throw error;
      return { failure: failureOf(error), begun: false };
    }
    const { kind, message, credentialsVersion } = error;
    failure = { kind, message, ...(credentialsVersion === undefined ? {} : { credentialsVersion }) };
    if (!begun) return { failure, begun: false };
    answer = failedAnswer(error);
  }
  await keepAnswer(deps, args, sender, answer);
  return { failure: verdictOf(answer, false) === 'not_sent' ? failure : null, begun: true };
}

/** Commits the beginning of the attempt. If it throws, nothing may be written. */
async function begin({ settings, seen, pool }: Deps, args: Sending, sender: string): Promise<void> {
  const { startToCloseTimeoutMs } = Context.current().info;
  const { filingId, n, time, payloadHash, document } = args;
  const { httpTimeoutMs: timeoutMs, settleAfterMs: settleMs } = settings;
  const refused =
    startToCloseTimeoutMs - args.elapsedMs() < timeoutMs + MARGIN_MS
      ? 'too little of its time is left'
      : await withTransaction(pool, (client) =>
          beginToSend(client, { filingId, n, time, seen, sender, payloadHash, document, settleMs, timeoutMs }),
        );
  if (refused === null) return;
  const message = `Attempt ${n} of filing ${filingId} is not sent: ${refused}.`;
  throw new ApiError({ kind: 'attempt_closed', operation: 'pushIrm', message });
}

/** Stores the answer while the process lives, and wakes the run, which may have given its call up. */
async function keepAnswer(deps: Deps, { filingId, n }: Sending, sender: string, answer: StoredAnswer): Promise<void> {
  const { pool, mode, logger } = deps;
  const { workflowExecution } = Context.current().info;
  // Until it is known to be in time, it is late. A worker that froze is not told that its call was given up.
  let late = true;
  const storing = keepTrying(
    async () => {
      late = await withTransaction(pool, (client) => storeAnswer(client, { filingId, mode, n, sender, answer }));
    },
    (error) => logger.warn({ filingId, n, err: error }, 'the answer could not be stored yet'),
  ).catch((error: unknown) => logger.error({ filingId, n, err: error }, 'the answer could not be stored'));
  const timer = new Promise<void>((resolve) => setTimeout(resolve, STORE_WITHIN_MS).unref());
  await Promise.race([storing, timer]);
  // A late answer's worker wakes the run, and starts one where there is none.
  const isLate = Context.current().cancellationSignal.aborted || late;
  if (isLate && workflowExecution) void storing.then(() => deps.pokeOrStart(filingId));
}

function acceptedAnswer({ parsed, status, warnings }: SubmissionResult<PushAnswer | BulkUploadAnswer>): StoredAnswer {
  const { requestId, dgftAckId, ackStatus, errorDetails } = parsed;
  const details = errorDetails ?? [];
  const irms = 'irms' in parsed ? (parsed.irms as unknown[]) : null;
  return {
    ...{
      kind: 'accepted',
      status,
      requestId,
      dgftAckId,
      ackStatus,
      texts: errorTexts(details),
      errorDetails: details,
      warnings,
      irms,
    },
    ...{ errorCode: null, message: null, fieldErrors: [] },
  };
}

function failedAnswer({ kind, status, errorCode, message, fieldErrors, causes }: ApiError): StoredAnswer {
  const texts = [message, ...fieldErrors.map((each) => each.message), ...(causes ?? [])];
  return {
    ...{
      kind,
      status: status ?? null,
      requestId: null,
      dgftAckId: null,
      ackStatus: null,
      texts,
      errorCode: errorCode ?? null,
      message,
    },
    ...{ fieldErrors, errorDetails: [], warnings: [], irms: null },
  };
}

function failureOf(error: unknown): CallFailure {
  const message = error instanceof Error ? error.message : String(error);
  const kind = typeof error === 'object' && error !== null && 'type' in error ? String(error.type) : null;
  const [details] = (error as { details?: { credentialsVersion?: number }[] }).details ?? [];
  return { kind: kind as CallFailure['kind'], message, ...details };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

export const submitActivities = { submitPush, submitBulk };
