import type pg from 'pg';
import { addEvent, holdFiling, holdStep } from '../../ledger/filings/filing-progress';
import { answerInShort, partsOfAttemptId, type AttemptReading } from '../../domain/filing/attempt';
import { markRowsUnknown, readAttempt } from '../../ledger/submissions/attempts';
import { openAttempt, type OpenedAttempt } from '../../ledger/submissions/open-attempt';
import type { Carried } from '../../domain/filing/carried';
import { carryOutWord } from '../../ledger/gates/persons';
import { lockFiling } from '../../ledger/filings/filing-lock';
import { updateCorrectionAttention } from '../../ledger/rows/row-takeover';
import { judgeWord } from '../../ledger/submissions/words';
import { withTransaction, type Queryable } from '../../ledger/pool';
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

/** Opening attempts, reading what became of them, and taking their answers over. Local work on the ledger. */
export function createAttemptActivities(deps: ActivityDependencies) {
  const { pool, clock, settings } = deps;
  const now = () => new Date(clock());

  /** @param moveOn made in the transaction that reads; what it returns is added to the reading */
  async function read<T extends object>(
    { attemptId, refusal }: { attemptId: string; refusal?: string },
    moveOn?: (client: pg.PoolClient, reading: AttemptReading) => Promise<T>,
  ): Promise<AttemptReading & T> {
    const judgeAndRead = async (client: pg.PoolClient) => {
      const reading = await readAttempt(client, { attemptId, ...(refusal && { refusal }), at: now() });
      const moved = (await moveOn?.(client, reading)) ?? ({} as T);
      return { ...reading, answer: reading.answer && answerInShort(reading.answer), ...moved };
    };
    return onWholeLedger(deps, filingOf({ attemptId }), judgeAndRead, { attemptId });
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
          ? openAttempt(client, { ...args, at: now() })
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
        if (!verdict || !['unsent', 'refused', 'absent'].includes(verdict))
          return { differs: filingSeq !== move.seq - 1, counts: null };
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
     * Carries out what a person said of a send. The filing goes on as `move` says where it may be sent again (`again`),
     * or to its processing (`filed`); rows that are freed are recorded in an event, and with the last one the filing
     * goes on to its certificates. Nothing is written where the filing has moved since the person answered.
     */
    carryOutWord: ({
      wordId,
      attemptId,
      moves,
    }: {
      wordId: string;
      /** The attempt that it is about: a mark whose send was never counted is judged by that alone. */
      attemptId: string | null;
      moves: { again: MoveArgs; filed: MoveArgs };
    }): Promise<Carried & Moved & { collecting?: MovedOn | null }> => {
      const carryOut = async (client: pg.PoolClient): Promise<Carried & Moved & { collecting?: MovedOn | null }> => {
        const at = now();
        const { filingId } = moves.again;
        if (!(await mayAnswer(client, moves.again)))
          return { outcome: 'refused', why: 'the filing has moved', ...MOVED_ELSEWHERE };
        const { settleAfterMs: settleMs, singlePerson } = settings;
        const carried = await carryOutWord(client, { wordId, settleMs, singlePerson, at });
        const { event } = carried.outcome === 'filed' ? moves.filed : moves.again;
        if (carried.outcome === 'refused' || carried.outcome === 'stands') {
          const refused = { ...event, kind: 'resolve_refused', text: carried.why };
          await addEvent(client, { ...refused, filingId, step: stepId(), at });
          return { ...carried, ...NOT_MOVED };
        }
        if (carried.outcome === 'again') return { ...carried, ...(await recordMove(client, moves.again, at)) };
        const data = { ...(event.data as object), ...('freed' in carried && { freed: carried.freed }) };
        const settled = await moveOnSettled(client, settings, { filingId, at });
        if (carried.outcome === 'filed' && !settled)
          return { ...carried, ...(await recordMove(client, moves.filed, at)) };
        await addEvent(client, { ...event, data, filingId, step: stepId(), at });
        return { ...carried, ...NOT_MOVED, collecting: settled };
      };
      return onWholeLedger(deps, moves.again.filingId, carryOut, attemptId === null ? undefined : { attemptId });
    },

    /**
     * As `carryOutWord`, of a filing that has ended: it moves no more, and rows that were abandoned are freed or
     * certified, or the request that was named is followed.
     */
    carryOutAfterEnd: ({
      filingId,
      wordId,
      attemptId,
      event,
    }: {
      filingId: string;
      wordId: string;
      attemptId: string | null;
      event: MoveArgs['event'];
    }): Promise<Carried> =>
      onWholeLedger(
        deps,
        filingId,
        async (client) => {
          const at = now();
          const { settleAfterMs: settleMs, singlePerson } = settings;
          const filing = await lockFiling(client, filingId);
          if (!filing?.ended) return { outcome: 'refused', why: 'the filing has not ended' };
          const carried = await carryOutWord(client, { wordId, settleMs, singlePerson, at });
          const said = 'why' in carried ? { ...event, kind: 'resolve_refused', text: carried.why } : event;
          await addEvent(client, { ...said, filingId, step: stepId(), at });
          await updateCorrectionAttention(client, filingId);
          return carried;
        },
        attemptId === null ? undefined : { attemptId },
      ),

    /** What became of a request after its filing's end; rows that it freed wait for a correction. */
    noteAfterEnd: ({ filingId, text }: { filingId: string; text: string }): Promise<void> =>
      withTransaction(pool, async (client) => {
        await lockFiling(client, filingId);
        await addEvent(client, { filingId, kind: 'followed_after_end', text, step: stepId(), at: now() });
        await updateCorrectionAttention(client, filingId);
      }),

    /** What a person said cannot be carried out: it counts for nothing, and an event says why. */
    refuseWord: ({
      filingId,
      wordId,
      event,
    }: {
      filingId: string;
      wordId: string;
      event: MoveArgs['event'];
    }): Promise<void> =>
      withTransaction(pool, async (client) => {
        const at = now();
        await addEvent(client, { ...event, filingId, step: stepId(), at });
        await judgeWord(client, { wordId, outcome: 'refused', why: event.text, at });
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
