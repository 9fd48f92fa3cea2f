import type pg from 'pg';
import { readNow } from '../../ledger/filings/filing-now';
import { addEvent } from '../../ledger/filings/filing-notes';
import type { Held } from '../../ledger/filings/filing-progress';
import { answerInShort, NOT_FILED, partsOfAttemptId, sentAs } from '../../domain/filing/attempt';
import type { AttemptReading, StoredAnswer } from '../../domain/filing/attempt';
import {
  markRowsUnknown as markInLedger,
  readAttempt as readInLedger,
  openAttempt as openInLedger,
  type OpenedAttempt,
} from '../../ledger/submissions/attempts';
import type { Carried } from '../../domain/filing/questions';
import { carryOutWord as carryOutInLedger } from '../../ledger/gates/persons';
import { lockFiling, type LockedFiling } from '../../ledger/filings/filing-lock';
import { detachFreed } from '../../ledger/questions/questions';
import { updateQuestionsOfEnded } from '../../ledger/rows/row-takeover';
import { judgeWord } from '../../ledger/submissions/words';
import { mergeKnownSends } from '../../ledger/submissions/known-sends';
import { withTransaction } from '../../ledger/pool';
import { now, type Deps } from '../dependencies';
import { senderOf } from '../../ledger/sends/send-record';
import { stepId } from '../call-context';
import { DIFFERS, hold, moveOf, moveOnSettled, onHeldWhole, onWholeLedger, recordMove, settledStep } from './moves';
import type { Decided, Differs, Left, MoveArgs } from './moves';
import { takeOverAnswer, type AdoptedAnswer } from './answers';

export type { OpenedAttempt };

/** Opens a submission's next attempt, or says why not: there is one, or nothing is to be sent any more. */
function openAttempt(
  deps: Deps,
  { submission, ...decided }: Decided & { submission: number },
): Promise<OpenedAttempt | { outcome: 'differs' }> {
  return onWholeLedger(deps, decided.filingId, async (client, filing) => {
    const held = await hold(client, decided, filing);
    const opened = typeof held === 'string' ? null : await openInLedger(client, held, { submission, at: now(deps) });
    return opened ?? { outcome: 'differs' };
  });
}

/** Reads the outcome of an attempt. `unsent`: the filing's move in the same transaction if nothing was filed. */
function readAttempt(
  deps: Deps,
  args: { attemptId: string; refusal?: { reason: string; sentBy: string }; seq: number; unsent?: MoveArgs },
): Promise<AttemptReading & (Left | Differs)> {
  const { attemptId, refusal, seq, unsent } = args;
  const { filingId } = partsOfAttemptId(attemptId);
  const refused = refusal && { reason: refusal.reason, sender: senderOf(refusal.sentBy) };
  const readAndMove = async (client: pg.PoolClient, filing: LockedFiling | null) => {
    const read = await readInLedger(client, filing, { attemptId, ...(refused && { refused }), at: now(deps) });
    // The answer is abridged, because it may be large.
    const reading = { ...read, answer: read.answer && answerInShort(read.answer) };
    const held = await hold(client, { filingId, seq }, filing);
    if (held === 'differs') return { ...reading, ...DIFFERS };
    const { verdict, reason } = reading;
    if (!unsent || !verdict || !NOT_FILED.includes(verdict)) return { ...reading, filing: null };
    const event = { ...unsent.event, text: `${unsent.event.text} (${reason ?? 'the attempt is closed'})` };
    return { ...reading, filing: await moveOf(client, held, { ...unsent, event }, now(deps)) };
  };
  return onWholeLedger(deps, filingId, readAndMove, { attemptId });
}

/** Takes over an answer that the run read. Without its execution's secret (`sentBy`) only a stored answer counts. */
function adoptAnswer(
  deps: Deps,
  { attemptId, answer, sentBy = '' }: { attemptId: string; answer: StoredAnswer; sentBy?: string },
): Promise<Omit<AdoptedAnswer, 'filing'> & (Left | Differs)> {
  const { filingId } = partsOfAttemptId(attemptId);
  return onWholeLedger(deps, filingId, async (client) => {
    const at = now(deps);
    const taken = await takeOverAnswer(client, deps, { attemptId, answer, sentBy, at });
    if (taken) return taken.adopted;
    const { requestId = null } = answer;
    await mergeKnownSends(client, { filingId, sends: [sentAs(attemptId, { requestId, sentBy, sentAt: null })], at });
    return { requestId, ...DIFFERS };
  });
}

export interface WordToCarryOut {
  wordId: string;
  /** The attempt that the word is about; it is closed first if its send was never counted. */
  attemptId: string | null;
}

/** Carries out a person's word about a send. The filing moves as `moves` says, or on with its last settled row. */
function carryOutWord(
  deps: Deps,
  { moves, ...word }: WordToCarryOut & { moves: { again: MoveArgs; filed: MoveArgs } },
): Promise<(Carried & Left) | Differs> {
  const { filingId, seq } = moves.again;
  const carryOut = async (client: pg.PoolClient, held: Held, at: Date): Promise<Carried & Left> => {
    const carried = await carry(deps, client, { filingId, ...word, at });
    const { event } = carried.outcome === 'filed' ? moves.filed : moves.again;
    const note = (noted: MoveArgs['event']) => addEvent(client, { ...noted, filingId, step: stepId(), at });
    if ('why' in carried) {
      await note(eventOf(event, carried));
      return { ...carried, filing: null };
    }
    if (carried.outcome === 'again') return { ...carried, filing: await moveOf(client, held, moves.again, at) };
    if (held === 'repeated') return { ...carried, filing: await readNow(client, filingId, settledStep()) };
    const filing = await moveOnSettled(client, deps.settings, held, at);
    if (carried.outcome === 'filed' && filing.state !== 'collecting')
      return { ...carried, filing: await moveOf(client, held, moves.filed, at) };
    await note({ ...event, data: { ...(event.data as object), ...('freed' in carried && { freed: carried.freed }) } });
    return { ...carried, filing };
  };
  return onHeldWhole(deps, { filingId, seq: seq - 1 }, carryOut, markOf(word));
}

/** `carryOutWord` for an ended filing, which no longer moves. */
function carryOutAfterEnd(
  deps: Deps,
  { filingId, event, ...word }: WordToCarryOut & { filingId: string; event: MoveArgs['event'] },
): Promise<Carried> {
  const carryOut = async (client: pg.PoolClient, filing: LockedFiling | null): Promise<Carried> => {
    const at = now(deps);
    if (!filing?.ended) return { outcome: 'refused', why: 'the filing has not ended' };
    const carried = await carry(deps, client, { filingId, ...word, at });
    await addEvent(client, { ...eventOf(event, carried), filingId, step: stepId(), at });
    await updateQuestionsOfEnded(client, filingId);
    await detachFreed(client, filingId);
    return carried;
  };
  return onWholeLedger(deps, filingId, carryOut, markOf(word));
}

const markOf = ({ attemptId }: WordToCarryOut) => (attemptId === null ? undefined : { attemptId });

const carry = (
  { settings: { settleAfterMs: settleMs, singlePerson } }: Deps,
  client: pg.PoolClient,
  { filingId, wordId, at }: WordToCarryOut & { filingId: string; at: Date },
) => carryOutInLedger(client, { filingId, wordId, settleMs, singlePerson, at });

/** The event for the outcome of a word: carried out, waiting for a second person, or refused. */
const eventOf = (event: MoveArgs['event'], carried: Carried): MoveArgs['event'] =>
  'why' in carried
    ? { ...event, kind: carried.outcome === 'stands' ? 'resolve_stands' : 'resolve_refused', text: carried.why }
    : event;

/** Records the outcome of a request after its filing's end; rows that it freed wait for a correction. */
function noteAfterEnd(deps: Deps, { filingId, text }: { filingId: string; text: string }) {
  return withTransaction(deps.pool, async (client) => {
    await lockFiling(client, filingId);
    await addEvent(client, { filingId, kind: 'followed_after_end', text, step: stepId(), at: now(deps) });
    await updateQuestionsOfEnded(client, filingId);
    await detachFreed(client, filingId);
  });
}

/** Refuses a word that cannot be carried out, with an event that says why. */
function refuseWord(
  deps: Deps,
  { filingId, wordId, event }: { filingId: string; wordId: string; event: MoveArgs['event'] },
): Promise<void> {
  return withTransaction(deps.pool, async (client) => {
    const at = now(deps);
    await addEvent(client, { ...event, filingId, step: stepId(), at });
    await judgeWord(client, { filingId, wordId, outcome: 'refused', why: event.text, at });
  });
}

const markRowsUnknown = (deps: Deps, { attemptId, move }: { attemptId: string; move: MoveArgs }) =>
  withTransaction(deps.pool, (client) => recordMove(client, move, now(deps), () => markInLedger(client, attemptId)));

export const attemptActivities = {
  openAttempt,
  readAttempt,
  adoptAnswer,
  carryOutWord,
  carryOutAfterEnd,
  noteAfterEnd,
  refuseWord,
  markRowsUnknown,
};
