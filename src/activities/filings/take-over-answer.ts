/** An answer of the service, taken over in one transaction with what follows of it. */
import type pg from 'pg';
import { partsOfAttemptId, type StoredAnswer } from '../../domain/filing/attempt';
import { uploadMismatch } from '../../domain/filing/upload-mismatch';
import { stateLimitMs } from '../../domain/filing/state-limits';
import { errorsInShort } from '../../domain/service/request-status';
import { addEvent } from '../../ledger/filings/filing-progress';
import { countRows, readRows } from '../../ledger/rows/filing-rows';
import { acknowledge } from '../../ledger/submissions/acknowledgement';
import { readStandingAttention, storeAnswer, storedAnswer } from '../../ledger/submissions/answers';
import { needSubmission } from '../../ledger/submissions/submissions';
import type { ActivityDependencies } from '../dependencies';
import type { MovedOn } from './moves';

export interface AdoptedAnswer {
  requestId: string | null;
  dgftAckId: string | null;
  ackStatus: string | null;
  /** ms since the epoch. */
  submittedAt: number;
  /** What the acknowledgement complained of. */
  errors: string[];
  /** What a person should look at: the service read other rows than were sent, or accepted two attempts. */
  standing: string | null;
  /** The filing's move to its processing; null where something else of it is still to be sent or settled. */
  moved: MovedOn | null;
}

export interface AnswerArgs {
  attemptId: string;
  /** The whole answer, or the sample of it that travelled. */
  answer: StoredAnswer;
  at: Date;
}

/**
 * Stores an answer, applies it to its submission, and moves the filing on where the ledger's state allows it. What is
 * stored already counts before `answer`. Repeating it changes nothing. Must run in a transaction.
 */
export async function takeOverAnswer(
  client: pg.PoolClient,
  { logger, settings }: Pick<ActivityDependencies, 'logger' | 'settings'>,
  { attemptId, answer: travelled, at }: AnswerArgs,
): Promise<{ late: boolean; adopted: AdoptedAnswer }> {
  const { filingId, submission } = partsOfAttemptId(attemptId);
  const { late } = await storeAnswer(client, { attemptId, answer: travelled, at });
  const answer = (await storedAnswer(client, attemptId)) ?? travelled;
  const sent = (await readRows(client, filingId, submission)).map(({ mapping }) => mapping);
  const mismatch = uploadMismatch(sent, answer);
  if (mismatch) {
    logger.warn({ filingId, submission }, 'the service read other rows than were sent');
    const step = `upload_mismatch/${attemptId}`;
    const text = `The service read other rows than were sent: ${mismatch}. Compare the filing with the service.`;
    await addEvent(client, { filingId, step, at, kind: 'upload_mismatch', text });
  }
  const standing = await readStandingAttention(client, filingId);
  const dueInMs = stateLimitMs('processing', settings, 0) ?? 0;
  const move = await acknowledge(client, { attemptId, answer, standing, dueInMs, at });
  const { requestId, submittedAt } = await needSubmission(client, filingId, submission);
  const adopted = {
    requestId,
    dgftAckId: answer.dgftAckId ?? null,
    ackStatus: answer.ackStatus ?? null,
    submittedAt: (submittedAt ?? at).getTime(),
    errors: errorsInShort(answer.errorDetails ?? []),
    standing,
    moved: move && {
      seq: move.seq,
      dueAt: move.at.getTime() + dueInMs,
      counts: await countRows(client, filingId),
    },
  };
  return { late, adopted };
}
