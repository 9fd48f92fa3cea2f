import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import { ApiError } from '../../api/errors/api-error';
import type { RequestStatus } from '../../api/schemas/filings';
import { agreedIec } from '../../domain/identity';
import { nextPollDelayMs } from '../../domain/filing/poll-cadence';
import { errorsInShort, isAbout, judgeStatus, type StatusVerdict } from '../../domain/service/request-status';
import { decide } from '../../domain/service/retry-table';
import type { KnownSend } from '../../domain/filing/known-send';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { takeUpFiling } from '../../ledger/filings/filing-takeup';
import { learnIec } from '../../ledger/exporters/exporters';
import { readRows, settleRows } from '../../ledger/rows/filing-rows';
import { withTransaction } from '../../ledger/pool';
import { readOpenRequests, readSeenAnswers, recordSeenAnswer } from '../../ledger/submissions/answer-times';
import { mergeKnownSends } from '../../ledger/submissions/known-sends';
import {
  moveSubmission,
  needSubmission,
  savePollState,
  type PollState,
  type SubmissionRecord,
} from '../../ledger/submissions/submissions';
import { otherAttemptInDoubt, switchToOtherAttempt } from '../../ledger/submissions/other-attempts';
import { failureOf, notYet } from '../application-failure';
import { withHeartbeat, withStepHeartbeat } from '../call-context';
import { withCredentials } from '../exporters/credential-guard';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { moveOnSettled, type MovedOn } from './moves';

export interface PollArgs {
  filingId: string;
  submission: number;
  exporterId: string;
  requestId: string;
  /** ms since the epoch; the age of a request counts from here, whatever happens to the workers. */
  submittedAt: number;
  /** The acknowledgement's status is Failed: a request that the service does not know, twice, was never filed. */
  failedAck: boolean;
  /** What the acknowledgement complained of; it stands in where the status gives no reason. */
  ackErrors: string[];
  /** The submission's sends by the run's history; a ledger that was put back may hold fewer. */
  sends?: readonly KnownSend[];
}

export interface PollResult {
  /**
   * `terminal`: every row has its outcome. `incomplete`: the authority is done but did not list every row:
   * fetch-details fills them. `unknown_request`: the service still does not know it at the end of the settle window,
   * after an acknowledgement as Failed. `other_attempt`: rejected, but another attempt of the submission was
   * sent too, whose outcome is looked into now. `superseded`: the ledger does not follow the submission under this
   * request any more.
   */
  outcome: 'terminal' | 'incomplete' | 'unknown_request' | 'other_attempt' | 'superseded';
  /** The move that was recorded with it; null or left out: none. */
  moved?: MovedOn | null;
  processingStatus: string | null;
  errors: string[];
}

/** The cadence bounds a "done, but not for every record" answer by this many of its longest intervals. */
const INCOMPLETE_INTERVALS = 2;

/**
 * Looks after which a request that the service does not know is taken for mistyped; a new one may appear a little late.
 */
const LOOKS_FOR_A_REQUEST = 3;
const LOOK_FOR_A_REQUEST_MS = 5_000;

/**
 * One look at a request. The activity's retry is the poll: every failure carries the delay until the next look, because
 * after some BENIGN failures one plain failure would wait the policy's longest interval.
 */
export function createPollActivities(deps: ActivityDependencies) {
  const { pool, api, clock, settings, mode, logger } = deps;
  const bounds = { firstMs: settings.pollFirstMs, minMs: settings.pollMinMs, maxMs: settings.pollMaxMs };

  async function nextDelay({ requestId, submittedAt }: PollArgs): Promise<number> {
    const now = clock();
    const { count, agesMs } = await readOpenRequests(pool, mode, new Date(now));
    return nextPollDelayMs(
      {
        ageMs: Math.max(0, now - submittedAt),
        seen: await readSeenAnswers(pool, mode),
        openAgesMs: agesMs,
        openRequests: count,
        rateWindowMs: settings.rateWindowMs,
        spread: (createHash('sha256').update(requestId).digest()[0] ?? 0) / 256,
      },
      bounds,
    );
  }

  async function readStatus(
    args: Pick<PollArgs, 'exporterId' | 'requestId'>,
  ): Promise<RequestStatus | 'unknown_request'> {
    try {
      return await withCredentials(deps, args.exporterId, () =>
        withHeartbeat(args.exporterId, (context) =>
          api.status({ platformCustomerId: args.exporterId, requestId: args.requestId }, context),
        ),
      );
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'request_not_found') return 'unknown_request';
      throw error;
    }
  }

  async function ask(args: PollArgs): Promise<RequestStatus | 'unknown_request'> {
    try {
      return await readStatus(args);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const { action } = decide(error.operation, error.kind);
      if (action === 'pause' || error.kind === 'cancelled') throw error;
      // A refusal too: what was filed stays filed, however oddly the service answers, and past its time it is overdue.
      if (action === 'refuse') logger.warn({ requestId: args.requestId, err: error }, 'the status is refused');
      const nextDelayMs = Math.max(error.retryAfterMs ?? 0, Math.min(await nextDelay(args), bounds.maxMs));
      throw failureOf(error, { retry: true, nextDelayMs, benign: action === 'wait' });
    }
  }

  /** The verdict, after the rules that need an earlier look as well; null is "not yet". */
  function conclude(
    verdict: StatusVerdict,
    before: PollState,
  ): { result: StatusVerdict['verdict'] | null; state: PollState } {
    const at = clock();
    if (verdict.verdict === 'terminal') return { result: 'terminal', state: {} };
    if (verdict.verdict === 'errored_empty') {
      const seen = before.erroredEmptySince !== undefined;
      return { result: seen ? 'errored_empty' : null, state: { erroredEmptySince: before.erroredEmptySince ?? at } };
    }
    if (verdict.verdict === 'incomplete') {
      const since = before.incompleteSince ?? at;
      const patient = at - since < INCOMPLETE_INTERVALS * bounds.maxMs;
      return { result: patient ? null : 'incomplete', state: { incompleteSince: since } };
    }
    return { result: null, state: {} };
  }

  return {
    /** Whether the service has a request of this id, which a person gave (POST /genebrc/status). */
    async knowsRequest(args: { exporterId: string; requestId: string }): Promise<{ known: boolean }> {
      const found = await readStatus(args).catch((error: unknown) => {
        // An id of no known form is refused otherwise than one that nobody has.
        if (error instanceof ApiError && decide(error.operation, error.kind).action === 'refuse') return null;
        throw error;
      });
      const about = found !== null && found !== 'unknown_request' && isAbout(found, { ...args, dgftAckId: null });
      if (about) return { known: true };
      if (Context.current().info.attempt >= LOOKS_FOR_A_REQUEST) return { known: false };
      throw notYet(`The service does not know request ${args.requestId} yet.`, LOOK_FOR_A_REQUEST_MS);
    },

    /** POST /genebrc/status, until every record is accounted for (spec: "Request status record"). */
    async pollStatus(args: PollArgs): Promise<PollResult> {
      const { filingId, submission, exporterId } = args;
      const age = Math.max(0, clock() - args.submittedAt);
      // The first look comes when an answer can be expected, not when the submission was made.
      if (age < bounds.firstMs && !args.failedAck && Context.current().info.attempt === 1) {
        throw notYet('An acknowledgement is not expected yet.', await nextDelay(args));
      }
      const record = await ask(args);
      const { pollState, dgftAckId } = await submissionOf(args);
      if (record !== 'unknown_request' && !isAbout(record, { requestId: args.requestId, dgftAckId })) {
        logger.warn({ filingId, submission, requestId: args.requestId }, 'the status is about another request');
        throw notYet(`The service answered about another request than ${args.requestId}.`, await nextDelay(args));
      }
      if (record !== 'unknown_request') await learnIecFrom(record, exporterId);
      if (record === 'unknown_request') {
        const seen = pollState.unknownRequestSeen ?? 0;
        if (args.failedAck && seen > 0) return { outcome: 'unknown_request', processingStatus: null, errors: [] };
        const state = { unknownRequestSeen: seen + 1, polledAtAgeMs: age };
        await savePollState(pool, { filingId, submission, pollState: state });
        throw notYet(`The service does not know request ${args.requestId} yet.`, await nextDelay(args));
      }
      const errorDetails = record.errorDetails?.length ? record.errorDetails : args.ackErrors;
      const verdict = judgeStatus(await sentRows(filingId, submission), { ...record, errorDetails });
      const { result, state } = conclude(verdict, pollState);
      if (result === null) {
        await savePollState(pool, { filingId, submission, pollState: { ...state, polledAtAgeMs: age } });
        logger.debug({ filingId, submission, reason: verdict.reason }, 'not final yet');
        throw notYet(`${verdict.reason}; looked after ${Math.round(age / 60_000)} minutes.`, await nextDelay(args));
      }
      const at = new Date(clock());
      const { requestId } = args;
      let moved: PollResult['moved'] = null;
      const turned = await withStepHeartbeat(() =>
        withTransaction(pool, async (client): Promise<'other_attempt' | 'superseded' | null> => {
          await lockFiling(client, filingId);
          if ((await needSubmission(client, filingId, submission)).requestId !== requestId) return 'superseded';
          const errored = verdict.rows.some((row) => row.outcome === 'errored');
          if (errored && (await otherAttemptInDoubt(client, { filingId, submission, requestId })) !== null) {
            const verdicts = verdict.rows.filter((row) => row.outcome === 'certified');
            await settleRows(client, { filingId, exporterId, verdicts, at });
            await switchToOtherAttempt(client, { filingId, submission, requestId, at });
            return 'other_attempt';
          }
          await settleRows(client, { filingId, exporterId, verdicts: verdict.rows, at });
          const state = result === 'incomplete' ? 'acknowledged' : 'terminal';
          await moveSubmission(client, { filingId, submission, state, processingStatus: record.processingStatus, at });
          const answer = { afterMs: pollState.polledAtAgeMs ?? 0, byMs: age };
          await recordSeenAnswer(client, { filingId, submission, mode, answer, at });
          if (result !== 'incomplete') moved = await moveOnSettled(client, settings, { filingId, at });
          return null;
        }),
      );
      if (turned) return { outcome: turned, processingStatus: record.processingStatus, errors: [] };
      return {
        outcome: result === 'incomplete' ? 'incomplete' : 'terminal',
        moved,
        processingStatus: record.processingStatus,
        errors: errorsInShort(record.errorDetails ?? []),
      };
    },
  };

  /** A record names the IEC that it was filed for, which an exporter may lack (spec: "Per-record entry"). */
  async function learnIecFrom(record: RequestStatus, exporterId: string): Promise<void> {
    const iec = agreedIec(record.ebrcBulkGenStatusLst.map(({ iecNumber }) => iecNumber));
    const collisions = await learnIec(pool, { exporterId, iec, source: 'status', at: new Date(clock()) });
    for (const collision of collisions)
      logger.warn({ exporterId, ...collision }, 'two clients turned out to be one exporter');
  }

  /**
   * The submission as it stands. Where the ledger does not know that it is followed under the request, it may be an
   * older one than the run's: then the run's sends are handed in.
   */
  async function submissionOf({ filingId, submission, requestId, sends = [] }: PollArgs): Promise<SubmissionRecord> {
    const known = await needSubmission(pool, filingId, submission);
    if (known.requestId === requestId || sends.length === 0) return known;
    const at = new Date(clock());
    return withTransaction(pool, async (client) => {
      await mergeKnownSends(client, { filingId, sends, at });
      await takeUpFiling(client, { filingId, step: `${stepId()}/merged`, at });
      return needSubmission(client, filingId, submission);
    });
  }

  async function sentRows(filingId: string, submission: number) {
    const rows = await readRows(pool, filingId, submission);
    return rows.map(({ position, serialNo, mapping, eBRCNumber, eBRCDate }) => ({
      position,
      serialNo,
      irmNumber: mapping.irmNumber,
      irmDt: mapping.irmDt,
      sbCumInvoiceNumber: mapping.sbCumInvoiceNumber,
      sbCumInvoiceDate: mapping.sbCumInvoiceDate,
      ...(eBRCNumber === null ? {} : { certificate: { eBRCNumber, eBRCDate } }),
    }));
  }
}
