import { createHash, randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type pg from 'pg';
import { ApiError } from '../../api/errors/api-error';
import type { PushAnswer } from '../../api/schemas/filings';
import type { SubmissionResult } from '../../api/endpoints/filings';
import type { CallContext } from '../../api/http/call';
import { startStopwatch } from '../../api/http/transport';
import { type MappingRow, pushMessageOf } from '../../domain/filing/mapping';
import { answerInShort, partsOfAttemptId, type StoredAnswer, type SubmissionKey } from '../../domain/filing/attempt';
import { sameId } from '../../domain/identity';
import { readBulkTemplate } from '../../ledger/service/bulk-templates';
import { storeAnswer } from '../../ledger/submissions/answers';
import { noteUnknown } from '../../ledger/submissions/attempts';
import { type FilingRow, readToSend } from '../../ledger/rows/filing-rows';
import type { CredentialVersion } from '../../ledger/vault/credentials';
import { anyConnection, withTransaction } from '../../ledger/pool';
import { judgeRefused, judgeUnsent } from '../../ledger/gates/release';
import { markSending } from '../../ledger/gates/send';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { closeFiled, countSend } from '../../ledger/sends/conclusion';
import { saveSubmissionDocument } from '../../ledger/submissions/submissions';
import { LedgerUnavailableError } from '../../ledger/unavailable';
import { refusal } from '../application-failure';
import { withHeartbeat, keepTryingFor } from '../call-context';
import { withCredentials } from '../exporters/credential-guard';
import type { Deps } from '../dependencies';
import { senderOf } from '../../ledger/sends/send-record';
import { acceptedAnswer, attemptClosed, causeOf, nothingSent } from './submit-outcome';
import { takeOverAnswer, type AdoptedAnswer } from './answers';
import { ledgerFailure } from './moves';

export interface SubmitArgs extends SubmissionKey {
  exporterId: string;
  attemptId: string;
}

export interface Submitted {
  answer: StoredAnswer;
  /** The secret of the execution, which proves that the answer is to its send. */
  sentBy: string;
  /** What the ledger took over; null: the answer could not be stored yet, or was stored alone. */
  adopted: AdoptedAnswer | null;
}

/** How much of the activity's time, besides one HTTP time-out, must be left to set a mark. */
const SEND_MARGIN_MS = 15_000;
/** The signal that tells a filing's run that an answer came after the run had given up its call. */
const ANSWER_STORED = 'answerStored';
/** How long an activity tries to store an answer before it returns it anyway. */
const STORE_WITHIN_MS = 20_000;
const CLOSE_WITHIN_MS = 2_000;

/** POST /genebrc/push-irm for one submission. `outcome_unknown` is settled, not retried. */
async function submitPush(deps: Deps, args: SubmitArgs): Promise<Submitted> {
  const { api } = deps;
  const elapsedMs = startStopwatch();
  const { rows, credentials, ...filing } = await toSend(deps, args);
  const message = pushMessageOf(filing, rows);
  const payloadHash = sha256(JSON.stringify(message));
  return submit(deps, { ...args, payloadHash, credentials, elapsedMs }, (context) => api.pushIrm(message, context));
}

/** POST /genebrc/bulk-upload for one submission, whose workbook is written and stored first. */
async function submitBulk(deps: Deps, args: SubmitArgs): Promise<Submitted> {
  const elapsedMs = startStopwatch();
  const { workbooks, pool, documents, api } = deps;
  const { rows, credentials, ...filing } = await toSend(deps, args);
  const template = (await readBulkTemplate(pool, deps.mode)) ?? undefined;
  const workbook = await workbooks.write(rows.map(mappingRowOf), template);
  const document = await documents.put({ name: args.attemptId, kind: 'xlsx', buffer: workbook });
  await saveSubmissionDocument(pool, { ...args, document: document.name });
  return submit(deps, { ...args, payloadHash: document.sha256, credentials, elapsedMs }, (context) => {
    const upload = {
      platformCustomerId: args.exporterId,
      uploadType: String(filing.uploadType) as '101' | '102' | '103' | '104',
      decalarationFlag: filing.declaration,
      file: workbook,
      fileName: `${args.attemptId}.xlsx`,
    };
    return api.bulkUpload(upload, context);
  });
}

interface Sending {
  payloadHash: string;
  credentials: CredentialVersion | null;
  /** Since the activity began, without the time that its task waited in a queue. */
  elapsedMs: () => number;
}

/** Commits the mark and counts the send outside of the database. If it throws, nothing may be written. */
async function mark(
  { settings, clock, pool, documents }: Deps,
  args: SubmitArgs & Sending,
  sender: string,
): Promise<void> {
  const { startToCloseTimeoutMs } = Context.current().info;
  if (startToCloseTimeoutMs - args.elapsedMs() < settings.httpTimeoutMs + SEND_MARGIN_MS) {
    throw attemptClosed(args, 'too little of the activity’s time is left');
  }
  const { attemptId, payloadHash } = args;
  const at = new Date(clock());
  const { httpTimeoutMs: timeoutMs, settleAfterMs: settleMs } = settings;
  const by = { attemptId, sender, settleMs, timeoutMs, at };
  const mark = await withTransaction(pool, (client) => markSending(client, { ...by, payloadHash })).catch(nothingSent);
  if (!mark.marked) throw attemptClosed(args, mark.reason);
  const send = { ...by, number: mark.sendNumber };
  const refused = await countSend(pool, documents, send).catch((error: unknown) => {
    const failure = ledgerFailure(error);
    if (failure === null) return nothingSent(error);
    throw new ApiError({ kind: failure.kind, operation: 'pushIrm', message: failure.message, cause: error });
  });
  if (refused !== null) throw attemptClosed(args, refused);
}

async function submit<A extends PushAnswer>(
  deps: Deps,
  args: SubmitArgs & Sending,
  send: (context: CallContext & { beforeWrite: () => Promise<void> }) => Promise<SubmissionResult<A>>,
): Promise<Submitted> {
  // After the mark nothing cancels the request, because an interrupted request has an unknown outcome.
  const beforeMark = new AbortController();
  // Only the holder of the secret can say what became of the mark; ledger and store have its hash.
  const secret = randomUUID();
  const sender = senderOf(secret);
  let marked = false;
  try {
    const call = () =>
      withHeartbeat(args.exporterId, (context) => {
        context.signal?.addEventListener('abort', () => marked || beforeMark.abort(context.signal?.reason));
        if (context.signal?.aborted) beforeMark.abort(context.signal.reason);
        const beforeWrite = async () => {
          await mark(deps, args, sender);
          marked = true;
        };
        return send({ ...context, signal: beforeMark.signal, beforeWrite });
      });
    const result = await withCredentials(deps, args.exporterId, call, args.credentials);
    const answer = acceptedAnswer(result);
    return { answer: answerInShort(answer), sentBy: secret, adopted: await keepAnswer(deps, args, answer) };
  } catch (error) {
    throw await recordFailure(deps, args, { secret, counted: marked }, error);
  }
}

/** Stores the answer, with retries while the process lives; returns after a while, because the result has it too. */
async function keepAnswer(deps: Deps, args: SubmitArgs, answer: StoredAnswer) {
  const { pool, clock, logger } = deps;
  const { attemptId } = args;
  let adopted: AdoptedAnswer | null = null;
  const store = async () => {
    const taken = await withTransaction(pool, (client) =>
      takeOverAnswer(client, deps, { attemptId, answer, at: new Date(clock()) }),
    ).catch((error: unknown) => storeAlone(deps, attemptId, answer, error));
    adopted = taken?.adopted ?? null;
    if (taken?.late) await wakeRun(deps, args);
  };
  await keepTryingFor(STORE_WITHIN_MS, store, (error) =>
    logger.warn({ attemptId, err: error }, 'the answer could not be stored yet'),
  );
  return adopted;
}

/** Stores the answer alone if a defect prevents taking it over, because it must not be lost. */
async function storeAlone(
  { pool, clock, logger }: Deps,
  attemptId: string,
  answer: StoredAnswer,
  error: unknown,
): Promise<{ late: boolean; adopted: null }> {
  if (error instanceof LedgerUnavailableError) throw error;
  const stored = await withTransaction(pool, (client) =>
    storeAnswer(client, { attemptId, answer, at: new Date(clock()) }),
  );
  logger.error({ attemptId, err: error }, 'the answer is stored, but it could not be taken over');
  return { late: stored?.late ?? false, adopted: null };
}

/** Wakes the run, whose own next look may be an hour away. */
async function wakeRun(deps: Deps, { attemptId }: SubmitArgs): Promise<void> {
  const { logger } = deps;
  const { workflowId } = Context.current().info.workflowExecution ?? {};
  if (!workflowId) return;
  await deps
    .client()
    .workflow.getHandle(workflowId)
    .signal(ANSWER_STORED, { attemptId })
    .catch((error: unknown) => logger.info({ attemptId, err: error }, 'a late answer waits for its run to look'));
}

/** Records what a failed exchange proves. @returns the failure that the workflow reads */
async function recordFailure(
  { clock, pool, documents, logger }: Deps,
  { filingId, attemptId }: SubmitArgs,
  { secret, counted }: { secret: string; counted: boolean },
  error: unknown,
): Promise<unknown> {
  const failure = causeOf(error, secret);
  const sender = senderOf(secret);
  const at = new Date(clock());
  const { answer, kind: reason } = failure;
  // With an HTTP status the service itself refused the send; without one nothing was written.
  const close = async (client: pg.PoolClient): Promise<void> => {
    await lockFiling(client, filingId);
    if (answer.status === undefined) await judgeUnsent(client, { attemptId, proof: { sender }, reason, at });
    else await judgeRefused(client, { attemptId, sender, reason, answer, at });
  };
  const unknown = reason === 'outcome_unknown' || reason === 'unexpected';
  const write = async (): Promise<void> => {
    // A send that was not counted was not written: if it has no record, it gets a void one.
    if (!counted) await closeFiled(anyConnection(pool), documents, { filingId, attemptId, at }, close);
    else if (unknown) await noteUnknown(pool, { attemptId, sender, reason: answer.message ?? reason });
    else await withTransaction(pool, close);
  };
  // Retried like the storing of an answer, because an attempt that stays marked looks sent and a person would be asked.
  await keepTryingFor(CLOSE_WITHIN_MS, write, (writeError) =>
    logger.warn({ attemptId, err: writeError }, 'attempt not closed yet'),
  );
  return failure.thrown;
}

/** What an attempt sends. @throws if the step names another filing, submission or client than the attempt's */
async function toSend({ pool }: Deps, { attemptId, filingId, submission, exporterId }: SubmitArgs) {
  const key = partsOfAttemptId(attemptId);
  const found = await readToSend(pool, key);
  const same = key.filingId === filingId && key.submission === submission && sameId(found.exporterId, exporterId);
  if (!same) throw refusal('unexpected', `Attempt ${attemptId} does not belong to the submission that was to be sent.`);
  return found;
}

const mappingRowOf = ({ sourceRow, serialNo, mapping, extra }: FilingRow): MappingRow => ({
  row: sourceRow,
  mapping: { ...mapping, serialNo },
  ...(extra ? { extra } : {}),
});

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** One attempt each, never retried here: slot → connection → mark → record in the store → write → store the answer. */
export const submitActivities = { submitPush, submitBulk };
