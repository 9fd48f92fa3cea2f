/** An answer of the service, taken over in one transaction with what follows of it. */
import type pg from 'pg';
import { partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { uploadMismatch } from '../../domain/filing/upload-mismatch';
import { stateLimitMs } from '../../domain/filing/states';
import { requestOf } from '../../ledger/gates/attempts';
import { acknowledge, reportContradiction, storeAnswer } from '../../ledger/submissions/answers';
import { readRequests } from '../../ledger/submissions/requests';
import { readSentRows } from '../../ledger/submissions/answer-times';
import { cadenceOf, type Deps } from '../dependencies';
import type { FilingNow } from './moves';

export interface AdoptedAnswer {
  /** The request of its own to ask about; null: it named none. */
  requestId: string | null;
  filing: FilingNow;
}

/**
 * Stores and applies an answer, and moves the filing on where its state allows it; repeating changes nothing. Must run
 * in a transaction.
 * @returns null where it is not stored, and not proven to be one
 */
export async function takeOverAnswer(
  client: pg.PoolClient,
  { logger, mode, settings }: Pick<Deps, 'logger' | 'mode' | 'settings'>,
  args: {
    attemptId: string;
    /** The whole answer, or the sample of it that travelled. */
    answer: StoredAnswer;
    /** The secret of whoever read it, where a run hands it in; left out by the execution itself. */
    sentBy?: string;
    at: Date;
  },
): Promise<{ late: boolean; adopted: AdoptedAnswer } | null> {
  const { attemptId, answer: travelled, sentBy, at } = args;
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const stored = await storeAnswer(client, { attemptId, answer: travelled, sentBy, at });
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
  // Under the request id of another filing, the outcome of that filing would be taken for this one's.
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
