/** Stores what the service says about a send and its requests, in one transaction with the consequences. */
import type pg from 'pg';
import { partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { stateLimitMs } from '../../domain/filing/states';
import { uploadMismatch } from '../../domain/filing/upload-mismatch';
import type { StatusVerdict } from '../../domain/service/request-status';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { FilingMissing } from '../../ledger/filings/filings';
import { requestOf } from '../../ledger/gates/attempts';
import { certifyByRecord, fitsOfNamed } from '../../ledger/gates/certify';
import { releaseRejected } from '../../ledger/gates/release';
import { readRows } from '../../ledger/rows/filing-rows';
import { readSentRows, recordSeenAnswer } from '../../ledger/submissions/answer-times';
import { acknowledge, reportContradiction, storeAnswer } from '../../ledger/submissions/answers';
import {
  endRequest,
  notePoll,
  readRequests,
  settleIfDone,
  type RequestRecord,
} from '../../ledger/submissions/requests';
import { cadenceOf, type Deps } from '../dependencies';
import { moveOnSettled, type FilingNow } from './moves';

export interface AdoptedAnswer {
  /** The attempt's own request to poll; null: the answer named none. */
  requestId: string | null;
  filing: FilingNow;
}

/** Stores an answer and moves the filing on. Requires a transaction. @returns null if the answer is not proven */
export async function takeOverAnswer(
  client: pg.PoolClient,
  { logger, mode, settings }: Pick<Deps, 'logger' | 'mode' | 'settings'>,
  args: {
    attemptId: string;
    /** The answer, complete or abridged. */
    answer: StoredAnswer;
    /** The secret of the execution that read the answer, if a run hands it in. */
    sentBy?: string;
    at: Date;
  },
): Promise<{ late: boolean; adopted: AdoptedAnswer } | null> {
  const { attemptId, answer: given, sentBy, at } = args;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const stored = await storeAnswer(client, { attemptId, answer: given, sentBy, at });
  if (!stored) return null;
  const { late, fresh, answer } = stored;
  const { sent, expectedMs } = await readSentRows(client, { filingId, submission, mode }, cadenceOf(settings));
  const mismatch = uploadMismatch(sent, answer);
  if (mismatch) {
    logger.warn({ filingId, submission }, 'the service read other rows than were sent');
    const text = `The service read other rows than were sent: ${mismatch}. Compare the filing with the service.`;
    await reportContradiction(client, { filingId, kind: 'upload_mismatch', key: attemptId, text, at });
  }
  const requests = await readRequests(client, filingId, submission);
  const own = requestOf({ attemptId, answer }, requests);
  // A request id of another filing is not followed, because that filing's outcome would be taken for this one's.
  if (!own && answer.requestId) {
    const { requestId } = answer;
    const text = `The service answered attempt ${attemptId} with request ${requestId}, which is another filing’s. It is settled by evidence.`;
    const taken = { kind: 'request_taken', key: attemptId, text, data: { requestId } } as const;
    await reportContradiction(client, { filingId, ...taken, at });
  }
  const dueInMs = stateLimitMs('processing', settings, 0) ?? 0;
  const filing = await acknowledge(client, stored.filing, { attemptId, answer, fresh, dueInMs, at });
  const expectedAt = Math.round((own?.since ?? at).getTime() + expectedMs);
  const adopted = {
    requestId: own?.requestId ?? null,
    filing: filing.state === 'processing' ? { ...filing, expectedAt } : filing,
  };
  return { late, adopted };
}

/** Records the outcome of a request's rows and its consequences. Requires a transaction. */
export async function settleRequest(
  client: pg.PoolClient,
  { settings, mode }: Pick<Deps, 'settings' | 'mode'>,
  args: {
    request: RequestRecord;
    verdict: StatusVerdict;
    final: boolean;
    processingStatus: string | null;
    age: number;
    exporterId: string;
    at: Date;
  },
): Promise<{ outcome: 'settled' | 'incomplete' | 'doubt' | 'not_yet'; filing: FilingNow | null }> {
  const { request, verdict, processingStatus, age, exporterId, at } = args;
  const { filingId, submission } = request;
  const filing = await lockFiling(client, filingId);
  if (!filing) throw new FilingMissing(filingId);
  const settled = async () => {
    if (await settleIfDone(client, { filingId, submission, at }))
      return { outcome: 'settled' as const, filing: await moveOnSettled(client, settings, filing, at) };
    const followed = (await readRequests(client, filingId, submission)).some(({ state }) => state === 'followed');
    return { outcome: followed ? ('not_yet' as const) : ('doubt' as const), filing: null };
  };
  const named = request.source === 'named';
  if (named) {
    // If it became another filing's or our own during the call, the record was judged as what it no longer is.
    const requests = await readRequests(client, filingId, submission);
    const known = requests.find(({ requestId }) => requestId === request.requestId);
    if (known?.state === 'not_ours' || known?.source !== 'named') return settled();
  }
  const { rows } = verdict;
  const records = rows.flatMap((row) => (row.outcome === 'certified' && !row.kept ? [row] : []));
  const fits = named ? await fitsOfNamed(client, { filingId, submission, records }) : undefined;
  const contradictions = await certifyByRecord(client, { filingId, submission, exporterId, records, fits, at });
  for (const { position, eBRCNumber, why } of contradictions) {
    const text = `Request ${request.requestId} names certificate ${eBRCNumber} for row ${position + 1}, but ${why}. Compare it with the portal.`;
    const key = `${request.requestId}/${position}/${eBRCNumber}`;
    await reportContradiction(client, { filingId, kind: 'certificate_contradicted', key, text, at });
  }
  const errored = rows.flatMap((row) =>
    row.outcome === 'errored' ? [{ position: row.position, errors: row.errors }] : [],
  );
  await reportErroredAfterCertificate(client, request, errored, at);
  const answered = { filingId, submission, mode, answer: { afterMs: request.polledAtAgeMs ?? 0, byMs: age }, at };
  // The details of certificates that a named request shows must be read first.
  const final = args.final && (!fits || records.every(({ position }) => fits.has(position)));
  if (!final) {
    await recordSeenAnswer(client, answered);
    // Another request of the submission is polled next.
    await notePoll(client, request, { statement: args.final ? null : 'incomplete', ageMs: age, at });
    return { outcome: 'incomplete', filing: null };
  }
  const contradicted = contradictions.map(({ position }) => position);
  const state = verdict.strangersOnly ? 'not_ours' : 'ended';
  await endRequest(client, request, { state, processingStatus, errored, contradicted, answered, at });
  await releaseRejected(client, { filingId, submission, at });
  return settled();
}

/** Reports rows that the authority rejects although they have certificates: one of the two must be wrong. */
async function reportErroredAfterCertificate(
  client: pg.PoolClient,
  { filingId, submission, requestId }: RequestRecord,
  errored: readonly { position: number; errors: string[] }[],
  at: Date,
): Promise<void> {
  const rows = errored.length === 0 ? [] : await readRows(client, filingId, submission);
  for (const { position } of errored) {
    const row = rows.find((each) => each.position === position);
    if (row?.state !== 'certified') continue;
    const text = `Request ${requestId} reports row ${row.sourceRow} as Errored, but it is certified as ${row.eBRCNumber}. Compare it with the portal.`;
    const key = `${requestId}/${position}/errored`;
    await reportContradiction(client, { filingId, kind: 'certificate_contradicted', key, text, at });
  }
}
