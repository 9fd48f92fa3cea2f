import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApiError } from '../../api/errors/api-error';
import type { RequestStatus } from '../../api/schemas/filings';
import { agreedIec } from '../../domain/identity';
import { nextPollDelayMs, type PollLoad } from '../../domain/filing/poll-cadence';
import {
  entriesOf,
  errorsInShort,
  isAbout,
  isDone,
  judgeStatus,
  type StatusVerdict,
  withoutNameless,
} from '../../domain/service/request-status';
import { decide } from '../../domain/service/retry-table';
import type { KnownSend, SubmissionKey } from '../../domain/filing/attempt';
import { takeUpFiling } from '../../ledger/filings/open-filings';
import { learnIec, tellsIec } from '../../ledger/exporters/exporters';
import { readRows } from '../../ledger/rows/filing-rows';
import { withTransaction } from '../../ledger/pool';
import { mergeKnownSends } from '../../ledger/submissions/known-sends';
import { isDenial, notePoll, readNextPoll, readRequests } from '../../ledger/submissions/requests';
import type { RequestRecord, RequestToPoll, Statement } from '../../ledger/submissions/requests';
import { needSubmission } from '../../ledger/submissions/submissions';
import { failureOf, notYet } from '../application-failure';
import { withHeartbeat, withStepHeartbeat, stepId } from '../call-context';
import { withCredentials } from '../exporters/credential-guard';
import { cadenceOf, type Deps } from '../dependencies';
import type { FilingNow } from './moves';
import { settleRequest } from './answers';

export interface PollArgs extends SubmissionKey {
  /** The error details of the acknowledgement, used if the status gives no reason. */
  ackErrors: string[];
  /** Returns `not_yet` instead of waiting for the next poll. */
  once?: boolean;
  /** The submission's sends by the run's history; a ledger that was put back may hold fewer. */
  sends?: readonly KnownSend[];
}

export interface PollResult {
  /**
   * `incomplete`: overdue, or done without listing every row, so that fetch-details may fill them. `statement`: the
   * service says that nothing was filed. `doubt`: no request is left, but rows have no outcome. `not_yet`: only with
   * `once`.
   */
  outcome: 'settled' | 'incomplete' | 'statement' | 'doubt' | 'not_yet';
  requestId: string | null;
  /** The filing after the move that was recorded; null or absent: none. */
  filing?: FilingNow | null;
  processingStatus: string | null;
  errors: string[];
}

/** How many of the longest poll intervals a "done" answer may stay incomplete before fetch-details is asked. */
const INCOMPLETE_INTERVALS = 2;

/** Looks after which an unknown request id counts as mistyped; a new request may appear late. */
const LOOKS_FOR_A_REQUEST = 3;
const LOOK_FOR_A_REQUEST_MS = 5_000;

/** Whether the service has a request with this id, which a person gave (POST /genebrc/status). */
async function knowsRequest(deps: Deps, args: { exporterId: string; requestId: string }): Promise<{ known: boolean }> {
  const found = await readStatus(deps, args).catch((error: unknown) => {
    // An id that is not well-formed is refused, unlike one that does not exist.
    if (error instanceof ApiError && decide(error.operation, error.kind).action === 'refuse') return null;
    throw error;
  });
  const about = found !== null && found !== 'unknown_request' && isAbout(found, { ...args, dgftAckId: null });
  if (about) return { known: true };
  if (Context.current().info.attempt >= LOOKS_FOR_A_REQUEST) return { known: false };
  throw notYet(`The service does not know request ${args.requestId} yet.`, LOOK_FOR_A_REQUEST_MS);
}

/** POST /genebrc/status, until every record is accounted for (spec: "Request status record"). */
async function pollStatus(deps: Deps, args: PollArgs): Promise<PollResult> {
  const { clock, pool, logger, settings } = deps;
  const { once = false } = args;
  const { request, load } = await requestToAsk(deps, args);
  if (request === null) return withoutRequest(deps, args);
  const { filingId, submission, requestId, customerId: exporterId } = request;
  const nothing = { requestId, processingStatus: null, errors: [] };
  const later = (text: string): PollResult => {
    if (once) return { outcome: 'not_yet', ...nothing };
    throw notYet(text, nextDelay(deps, request, load));
  };
  const age = Math.max(0, clock() - request.since.getTime());
  // The status of an overdue request may never change, so its certificates are looked for from time to time.
  const times = (ms: number) => Math.floor(ms / settings.overdueAfterMs);
  const looksForCertificates = !once && times(age) > times(request.polledAtAgeMs ?? 0);
  const open = (text: string) => (looksForCertificates ? { outcome: 'incomplete' as const, ...nothing } : later(text));
  const failedAck = request.ackStatus?.trim().toLowerCase() === 'failed';
  // The first poll comes when an answer can be expected, not right after the submission.
  if (age < settings.pollFirstMs && !failedAck && !once && Context.current().info.attempt === 1) {
    return later('An acknowledgement is not expected yet.');
  }
  const record = await ask(deps, request, load);
  const at = new Date(clock());
  const note = (statement: Statement | null) => notePoll(pool, request, { statement, ageMs: age, at });
  if (record === 'unknown_request') {
    // The first poll only records this, because the request may appear a little late.
    const seenBefore = request.statement !== null;
    const statedSince = await note('unknown_request');
    // After a Failed acknowledgement this is expected, so it is concluded soon. An accepted request may appear late: it
    // becomes overdue, and a person can then say that it was not filed.
    if (failedAck && (seenBefore || windowOver(deps, request, statedSince)))
      return { outcome: 'statement', ...nothing };
    return open(`The service does not know request ${requestId} yet.`);
  }
  if (!isAbout(record, { requestId, dgftAckId: request.dgftAckId })) {
    logger.warn({ filingId, submission, requestId }, 'the status is about another request');
    return later(`The service answered about another request than ${requestId}.`);
  }
  const errorDetails = record.errorDetails?.length ? record.errorDetails : args.ackErrors;
  const done = isDone(record);
  // Without an IEC certificates cannot be looked for, and the first record may name it.
  const rows =
    done || (request.iec === null && request.polledAtAgeMs === null) ? await readRows(pool, filingId, submission) : [];
  await learnIecFrom(deps, entriesOf(rows, record), request);
  const considered = request.source === 'named' ? withoutNameless(record) : record;
  const verdict = judgeStatus(rows, { ...considered, errorDetails });
  const { statement, final } = conclude(request, verdict);
  const errors = errorsInShort(record.errorDetails ?? []);
  const { processingStatus } = record;
  const statedSince = final ? null : await note(statement);
  if (isDenial(statement) && windowOver(deps, request, statedSince))
    return { outcome: 'statement', requestId, processingStatus, errors };
  const lastedMs = at.getTime() - (statedSince ?? at).getTime();
  if (!final && (statement !== 'incomplete' || lastedMs < INCOMPLETE_INTERVALS * settings.pollMaxMs)) {
    logger.debug({ filingId, submission, reason: verdict.reason }, 'not final yet');
    return open(`${verdict.reason}; looked after ${Math.round(age / 60_000)} minutes.`);
  }
  const { outcome, filing } = await withStepHeartbeat(() =>
    withTransaction(pool, (client) =>
      settleRequest(client, deps, { request, verdict, final, processingStatus, age, at, exporterId }),
    ),
  );
  // Another request of the submission is polled next.
  if (outcome === 'not_yet') return later('Another request of the submission is being processed.');
  return { outcome, requestId, filing, processingStatus, errors };
}

function nextDelay(
  { clock, settings }: Deps,
  { requestId, since }: Pick<RequestRecord, 'requestId' | 'since'>,
  load: PollLoad,
): number {
  return nextPollDelayMs(
    {
      ageMs: Math.max(0, clock() - since.getTime()),
      ...load,
      rateWindowMs: settings.rateWindowMs,
      spread: (createHash('sha256').update(requestId).digest()[0] ?? 0) / 256,
    },
    cadenceOf(settings).poll,
  );
}

async function readStatus(
  deps: Deps,
  args: { exporterId: string; requestId: string; credentials?: RequestToPoll['credentials'] },
): Promise<RequestStatus | 'unknown_request'> {
  const { api } = deps;
  const call = () =>
    withHeartbeat(args.exporterId, (context) =>
      api.status({ platformCustomerId: args.exporterId, requestId: args.requestId }, context),
    );
  try {
    return await withCredentials(deps, args.exporterId, call, args.credentials);
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'request_not_found') return 'unknown_request';
    throw error;
  }
}

async function ask(deps: Deps, request: RequestToPoll, load: PollLoad): Promise<RequestStatus | 'unknown_request'> {
  const { logger, settings } = deps;
  const { requestId, customerId: exporterId, credentials } = request;
  try {
    return await readStatus(deps, { exporterId, requestId, credentials });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { action } = decide(error.operation, error.kind);
    if (action === 'pause' || error.kind === 'cancelled') throw error;
    // A refusal is retried too: what was filed stays filed, and becomes overdue in the end.
    if (action === 'refuse') logger.warn({ requestId, err: error }, 'the status is refused');
    const nextDelayMs = Math.max(error.retryAfterMs ?? 0, Math.min(nextDelay(deps, request, load), settings.pollMaxMs));
    throw failureOf(error, { retry: true, nextDelayMs, benign: action === 'wait' });
  }
}

/** What a status record says about a request: an outcome of its rows, a statement, or nothing yet. */
function conclude(
  request: RequestRecord,
  { verdict, rows, strangersOnly }: StatusVerdict,
): { statement: Statement | null; final: boolean } {
  const named = request.source === 'named';
  if (named && strangersOnly) return { statement: null, final: true };
  // Errored rows of a request that a person named prove nothing, because it may be another filing's.
  const allErrored = rows.length > 0 && rows.every(({ outcome }) => outcome === 'errored');
  if (verdict === 'terminal' && named && allErrored) return { statement: 'errored', final: false };
  if (verdict === 'terminal') return { statement: null, final: true };
  return { statement: verdict === 'not_yet' ? null : verdict, final: false };
}

/** A statement counts once the settle window, from the later of the send and its first sighting, is over. */
function windowOver({ clock, settings }: Deps, { since }: RequestRecord, statedSince: Date | null) {
  const from = Math.max(since.getTime(), statedSince?.getTime() ?? clock());
  return clock() - from >= settings.settleAfterMs;
}

async function withoutRequest({ pool }: Deps, { filingId, submission }: PollArgs): Promise<PollResult> {
  const { state } = await needSubmission(pool, filingId, submission);
  const outcome = state === 'settled' || state === 'released' ? 'settled' : 'doubt';
  return { outcome, requestId: null, processingStatus: null, errors: [] };
}

/** Learns the IEC that entries were filed for, which the exporter may lack (spec: "Per-record entry"). */
async function learnIecFrom(
  { pool, clock }: Deps,
  entries: RequestStatus['ebrcBulkGenStatusLst'],
  request: RequestToPoll,
): Promise<void> {
  const { customerId: exporterId } = request;
  const iec = agreedIec(entries.map(({ iecNumber }) => iecNumber));
  if (!tellsIec(request, iec, 'status')) return;
  await learnIec(pool, { exporterId, iec, source: 'status', at: new Date(clock()) });
}

/** The request to poll. If the ledger has none, it may have been put back, and the run's sends are added first. */
async function requestToAsk({ pool, clock, mode }: Deps, { filingId, submission, sends = [] }: PollArgs) {
  const at = new Date(clock());
  const key = { filingId, submission, mode, at };
  const next = await readNextPoll(pool, key);
  if (next.request || sends.length === 0) return next;
  return withTransaction(pool, async (client) => {
    if ((await readRequests(client, filingId, submission)).length > 0) return next;
    await mergeKnownSends(client, { filingId, sends, at });
    await takeUpFiling(client, { filingId, step: `${stepId()}/merged`, at });
    return readNextPoll(client, key);
  });
}

/** One status call per attempt: Temporal's retry is the poll. Every failure sets its delay; else it waits longest. */
export const pollActivities = { knowsRequest, pollStatus };
