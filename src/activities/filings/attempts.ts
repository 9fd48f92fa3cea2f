import type pg from 'pg';
import { addEvent, holdFiling, holdStep } from '../../ledger/filings/filing-progress';
import { answerInShort, partsOfAttemptId, type AttemptReading } from '../../domain/filing/attempt';
import { markRowsUnknown, readAttempt } from '../../ledger/submissions/attempts';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/open-attempt';
import {
  adoptRequestId,
  closeByPerson,
  type NotFiledOutcome,
  type NotFiledAnswer,
} from '../../ledger/submissions/person-answers';
import { deleteOperatorRequest } from '../../ledger/filings/operator-requests';
import { withTransaction, type Queryable } from '../../ledger/pool';
import { needSubmission } from '../../ledger/submissions/submissions';
import { voidUnsent } from '../../ledger/sends/sends';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import {
  MOVED_ELSEWHERE,
  moveOnSettled,
  NOT_MOVED,
  recordMove,
  type Moved,
  type MovedOn,
  type MoveArgs,
} from './moves';
import { takeOverAnswer, type AdoptedAnswer, type AnswerArgs } from './take-over-answer';
import { onWholeLedger } from './whole-ledger';

/** A request that a person found at the service. */
export interface NamedRequest {
  attemptId: string;
  requestId: string;
}

export interface AdoptedRequest {
  /** Why it cannot be taken over; null where it was. */
  doubt: string | null;
  /** ms since the epoch. */
  submittedAt: number;
}

/** Opening attempts, reading what became of them, and taking their answers over. Local work on the ledger. */
export function createAttemptActivities(deps: ActivityDependencies) {
  const { pool, documents, clock, settings } = deps;
  const now = () => new Date(clock());

  /** @param moveOn made in the transaction that reads; what it returns is added to the reading */
  async function read<T extends object>(
    { attemptId, refusal }: { attemptId: string; refusal?: string },
    moveOn?: (client: pg.PoolClient, reading: AttemptReading) => Promise<T>,
  ): Promise<AttemptReading & T> {
    return onWholeLedger(deps, filingOf({ attemptId }), async (client, { seen }) => {
      const unsent = () => voidUnsent(client, documents, { attemptId, at: now(), seen });
      const reading = await readAttempt(client, { attemptId, ...(refusal && { refusal }), at: now(), unsent });
      const moved = (await moveOn?.(client, reading)) ?? ({} as T);
      return { ...reading, answer: reading.answer && answerInShort(reading.answer), ...moved };
    });
  }

  return {
    /**
     * Opens a submission's next attempt, or returns why there is none: one stands, or nothing is to be sent any more.
     */
    openAttempt: ({
      seq,
      ...args
    }: {
      filingId: string;
      seq: number;
      submission: number;
    }): Promise<OpenedAttempt | { outcome: 'differs' }> =>
      onWholeLedger(deps, args.filingId, async (client) =>
        (await holdFiling(client, { filingId: args.filingId, seq }))
          ? openAttempt(client, args)
          : { outcome: 'differs' },
      ),

    /** Reads what became of an attempt after its activity failed, was lost or was cut off. */
    readAttempt: (args: { attemptId: string; refusal?: string }): Promise<AttemptReading> => read(args),

    /**
     * As `readAttempt`, of an attempt of unknown outcome. Where nothing of it was sent after all, the filing goes on to
     * its next attempt (`move`) in the same transaction.
     */
    readUnknownAttempt: ({ attemptId, move }: { attemptId: string; move: MoveArgs }): Promise<AttemptReading & Moved> =>
      read({ attemptId }, async (client, { verdict, reason, filingSeq }) => {
        if (verdict !== 'not_sent') return { differs: filingSeq !== move.seq - 1, counts: null };
        const text = `${move.event.text} (${reason ?? 'the attempt is closed'})`;
        const moved = await recordMove(client, { ...move, event: { ...move.event, text } }, now());
        return { ...moved, filingSeq: moved.differs ? filingSeq : move.seq };
      }),

    /**
     * Takes an answer over that the run read, or that came back while PostgreSQL could not store it. Repeating it, or
     * what its own activity recorded of it, changes nothing.
     */
    adoptAnswer: (args: Omit<AnswerArgs, 'at'>): Promise<AdoptedAnswer> =>
      withTransaction(pool, (client) => takeOverAnswer(client, deps, { ...args, at: now() })).then(
        ({ adopted }) => adopted,
      ),

    /**
     * A person found the request of an attempt at the service. `doubt`: why it cannot be taken over. Nothing is written
     * where the filing has moved since the person answered; otherwise the request to resolve is deleted with it.
     */
    async adoptRequestId({ move, ...named }: NamedRequest & { move: MoveArgs }): Promise<AdoptedRequest & Moved> {
      const at = now();
      const { filingId, submission } = partsOfAttemptId(named.attemptId);
      return withTransaction(pool, async (client) => {
        if (!(await mayAnswer(client, move))) return { doubt: null, submittedAt: at.getTime(), ...MOVED_ELSEWHERE };
        const doubt = await adoptRequestId(client, { ...named, at });
        if (doubt !== null) return { doubt, submittedAt: at.getTime(), ...NOT_MOVED };
        const { submittedAt } = await needSubmission(client, filingId, submission);
        await deleteOperatorRequest(client, { filingId, kind: 'resolve' });
        const moved = await recordMove(client, move, at);
        return { doubt, submittedAt: (submittedAt ?? at).getTime(), ...moved };
      });
    },

    /**
     * A person states that nothing of an attempt was filed. The filing goes on to its next attempt (`move`), or its
     * rows without a certificate are to be corrected, which stands in an event. As `adoptRequestId` otherwise.
     */
    closeByPerson: ({
      move,
      ...answer
    }: Omit<NotFiledAnswer, 'at' | 'settleAfterMs'> & { move: MoveArgs }): Promise<
      NotFiledOutcome & Moved & { collecting?: MovedOn | null }
    > =>
      onWholeLedger(deps, filingOf(answer), async (client) => {
        const at = now();
        const { filingId } = move;
        if (!(await mayAnswer(client, move))) return { outcome: 'resend', ...MOVED_ELSEWHERE };
        const closed = await closeByPerson(client, { ...answer, settleAfterMs: settings.settleAfterMs, at });
        if (closed.outcome === 'contradicted') return { ...closed, ...NOT_MOVED };
        await deleteOperatorRequest(client, { filingId, kind: 'resolve' });
        if (closed.outcome === 'resend') return { ...closed, ...(await recordMove(client, move, at)) };
        const { event } = move;
        const data = { ...(event.data as object), freed: closed.freed };
        await addEvent(client, { ...event, filingId, step: stepId(), at, data });
        return { ...closed, ...NOT_MOVED, collecting: await moveOnSettled(client, settings, { filingId, at }) };
      }),

    /** What a person answered is contradicted: the request to resolve is deleted, and an event says why. */
    refuseResolve: ({ filingId, event }: { filingId: string; event: MoveArgs['event'] }): Promise<void> =>
      withTransaction(pool, async (client) => {
        await addEvent(client, { ...event, filingId, step: stepId(), at: now() });
        await deleteOperatorRequest(client, { filingId, kind: 'resolve' });
      }),

    /** The rows of an attempt of unknown outcome are shown as such. */
    markRowsUnknown: ({ attemptId, move }: { attemptId: string; move: MoveArgs }): Promise<Moved> =>
      withTransaction(pool, (client) => recordMove(client, move, now(), () => markRowsUnknown(client, attemptId))),
  };
}

/** Whether a person's answer is about the filing as it stands, or was recorded by an earlier try of the same step. */
const mayAnswer = async (client: Queryable, { filingId, seq }: MoveArgs): Promise<boolean> =>
  (await holdStep(client, { filingId, seq: seq - 1, step: stepId() })) !== 'differs';

const filingOf = ({ attemptId }: { attemptId: string }): string => partsOfAttemptId(attemptId).filingId;
