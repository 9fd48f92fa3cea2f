import { addEvent, holdFiling } from '../../ledger/filings/filing-progress';
import { answerInShort, partsOfAttemptId, type AttemptReading } from '../../domain/filing/attempt';
import { markRowsUnknown, readAttempt } from '../../ledger/submissions/attempts';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/open-attempt';
import {
  adoptRequestId,
  closeByPerson,
  type NotFiledOutcome,
  type NotFiledAnswer,
} from '../../ledger/submissions/person-answers';
import { withTransaction } from '../../ledger/pool';
import { needSubmission } from '../../ledger/submissions/submissions';
import { voidUnsent } from '../../ledger/sends/sends';
import type { ActivityDependencies } from '../dependencies';
import { stepId } from '../step-id';
import { moveOnSettled, NOT_MOVED, recordMove, type Moved, type MovedOn, type MoveArgs } from './moves';
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
    async readAttempt(args: { attemptId: string; refusal?: string }): Promise<AttemptReading> {
      const reading = await onWholeLedger(deps, filingOf(args), (client, { seen }) => {
        const unsent = () => voidUnsent(client, documents, { attemptId: args.attemptId, at: now(), seen });
        return readAttempt(client, { ...args, at: now(), unsent });
      });
      return { ...reading, answer: reading.answer && answerInShort(reading.answer) };
    },

    /**
     * Takes an answer over that the run read, or that came back while PostgreSQL could not store it. Repeating it, or
     * what its own activity recorded of it, changes nothing.
     */
    adoptAnswer: (args: Omit<AnswerArgs, 'at'>): Promise<AdoptedAnswer> =>
      withTransaction(pool, (client) => takeOverAnswer(client, deps, { ...args, at: now() })).then(
        ({ adopted }) => adopted,
      ),

    /** A person found the request of an attempt at the service. `doubt`: why it cannot be taken over. */
    async adoptRequestId({ move, ...named }: NamedRequest & { move: MoveArgs }): Promise<AdoptedRequest & Moved> {
      const at = now();
      const { filingId, submission } = partsOfAttemptId(named.attemptId);
      return withTransaction(pool, async (client) => {
        const doubt = await adoptRequestId(client, { ...named, at });
        if (doubt !== null) return { doubt, submittedAt: at.getTime(), ...NOT_MOVED };
        const { submittedAt } = await needSubmission(client, filingId, submission);
        const moved = await recordMove(client, move, at);
        return { doubt, submittedAt: (submittedAt ?? at).getTime(), ...moved };
      });
    },

    /**
     * A person states that nothing of an attempt was filed. The filing goes on to its next attempt (`move`), or its
     * rows without a certificate are to be corrected, which stands in an event.
     */
    closeByPerson: ({
      move,
      ...word
    }: Omit<NotFiledAnswer, 'at' | 'settleAfterMs'> & { move: MoveArgs }): Promise<
      NotFiledOutcome & Moved & { collecting?: MovedOn | null }
    > =>
      onWholeLedger(deps, filingOf(word), async (client) => {
        const at = now();
        const said = await closeByPerson(client, { ...word, settleAfterMs: settings.settleAfterMs, at });
        if (said.outcome === 'resend') return { ...said, ...(await recordMove(client, move, at)) };
        if (said.outcome === 'freed') {
          const { filingId, event } = move;
          const data = { ...(event.data as object), freed: said.freed };
          await addEvent(client, { ...event, filingId, step: stepId(), at, data });
          return { ...said, ...NOT_MOVED, collecting: await moveOnSettled(client, settings, { filingId, at }) };
        }
        return { ...said, ...NOT_MOVED };
      }),

    /** The rows of an attempt of unknown outcome are shown as such. */
    markRowsUnknown: ({ attemptId, move }: { attemptId: string; move: MoveArgs }): Promise<Moved> =>
      withTransaction(pool, (client) => recordMove(client, move, now(), () => markRowsUnknown(client, attemptId))),
  };
}

const filingOf = ({ attemptId }: { attemptId: string }): string => partsOfAttemptId(attemptId).filingId;
