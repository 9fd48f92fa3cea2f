/** Steps on a filing: under its lock, on a whole ledger where they rely on the past, with the moves that they cause. */
import { ApplicationFailure } from '@temporalio/activity';
import { COLLECTING_NOTE, endNote } from '../../domain/filing/move-texts';
import { phaseOf } from '../../domain/filing/run-judgement';
import { type FilingState, stateLimitMs, type StateLimitSettings } from '../../domain/filing/states';
import type { ErrorKind } from '../../domain/service/error-kinds';
import { readFacts, type LockedFiling } from '../../ledger/filings/filing-lock';
import { readNow, type FilingNow } from '../../ledger/filings/filing-now';
import { holdStep, moveHeld, type Held, type ProgressNote } from '../../ledger/filings/filing-progress';
import { withTransaction, type Queryable } from '../../ledger/pool';
import type pg from 'pg';
import { concludeOnWholeLedger } from '../../ledger/sends/conclusion';
import { importSends } from '../../ledger/sends/send-import';
import { LedgerPutBack, readSend, SendStoreError } from '../../ledger/sends/sends';
import { refusal } from '../application-failure';
import { stepId } from '../call-context';
import { now, type Deps } from '../dependencies';

export type { FilingNow };

/** What a step on a filing left of it; every step that may move one returns it, or that nothing was written. */
export interface Left {
  /** Null: the step made no move. */
  filing: FilingNow | null;
}

/** The ledger holds other moves than the run, and nothing was written that the run decided. */
export interface Differs {
  filing: 'differs';
}

export interface Decided {
  filingId: string;
  seq: number;
}

/** A move of a filing; `dueAt` in ms since the epoch. */
export type MoveArgs = Omit<ProgressNote, 'at' | 'dueAt'> & { dueAt?: number | null };

export const DIFFERS: Differs = { filing: 'differs' };

/** Locks a filing for the step under way, as {@link holdStep} does. */
export const hold = (
  client: Queryable,
  { filingId, seq }: Decided,
  filing?: LockedFiling | null,
  move?: Pick<FilingNow, 'state' | 'kind'>,
): Promise<Held | 'differs'> => holdStep(client, { filingId, seq, step: stepId(), move }, filing);

/** Runs a step in one transaction under the filing's lock, unless the ledger holds other moves. */
export const onHeld = <T>(
  pool: pg.Pool,
  decided: Decided,
  work: (client: pg.PoolClient, held: Held) => Promise<T>,
): Promise<T | Differs> =>
  withTransaction(pool, async (client) => {
    const held = await hold(client, decided);
    return held === 'differs' ? DIFFERS : work(client, held);
  });

/** Records a move in one transaction with what `writeCause` writes: neither is seen, or repeated, without the other. */
export async function recordMove(
  client: Queryable,
  move: MoveArgs,
  at: Date,
  writeCause?: () => Promise<void>,
): Promise<Left | Differs> {
  const { filingId, state, event } = move;
  const held = await hold(client, { filingId, seq: move.seq - 1 }, undefined, { state, kind: event.kind });
  if (held === 'differs') return DIFFERS;
  if (held !== 'repeated') await writeCause?.();
  return { filing: await moveOf(client, held, move, at) };
}

/** The move of a filing that is held for it, or what an earlier try of the step made of it. */
export async function moveOf(
  client: Queryable,
  held: Held,
  { filingId, dueAt, ...move }: MoveArgs,
  at: Date,
): Promise<FilingNow> {
  if (held === 'repeated') return readNow(client, filingId, stepId());
  const due = typeof dueAt === 'number' ? new Date(dueAt) : null;
  return moveHeld(client, held, { step: stepId(), ...move, dueAt: due, at }).catch((error: unknown) => {
    throw error instanceof RangeError ? refusal('unexpected', error.message) : error;
  });
}

/** The states from which a filing goes on to its certificates once all rows have their outcome. */
const UNSETTLED: readonly FilingState[] = ['processing', 'overdue', 'outcome_unknown'];

/** Names the move of {@link moveOnSettled}, which may be made beside one of the step's own. */
export const settledStep = (): string => `${stepId()}/settled`;

/** Moves a locked filing on to its certificates with its last submission. @returns the filing, moved or not */
export async function moveOnSettled(
  client: Queryable,
  settings: StateLimitSettings,
  filing: LockedFiling,
  at: Date,
): Promise<FilingNow> {
  const { filingId, state } = filing;
  const step = settledStep();
  if (!UNSETTLED.includes(state)) return readNow(client, filingId, step);
  const facts = await readFacts(client, filingId);
  if (phaseOf(facts) !== 'collect') return readNow(client, filingId);
  const limitMs = stateLimitMs('collecting', settings, facts.rows) ?? 0;
  return moveHeld(client, filing, {
    step,
    state: 'collecting',
    attention: null,
    dueAt: new Date(at.getTime() + limitMs),
    at,
    event: COLLECTING_NOTE,
  });
}

/** Records the end of a filing that is held for it; with `state` null it goes on. */
export async function recordEnd(
  client: Queryable,
  held: Held,
  args: {
    filingId: string;
    state: FilingState | null;
    event?: MoveArgs['event'];
    /** The filing as it is before, where that was read. */
    now?: FilingNow;
  },
  at: Date,
): Promise<FilingNow> {
  const { filingId, state, event: own } = args;
  const before = args.now ?? (await readNow(client, filingId, stepId()));
  if (held === 'repeated' || state === null) return before;
  const { event, attention } = endNote(filingId, state, before.counts);
  return moveOf(client, held, { filingId, seq: held.seq + 1, state, attention, event: own ?? event }, at);
}

/** What was lost in a failover was sent moments ago; anything older is a restore, of which a person must know. */
const FAILOVER_GAP_MS = 10 * 60_000;

type Needs = Pick<Deps, 'pool' | 'documents' | 'clock' | 'logger'>;

/**
 * Runs a step under the filing's lock on a whole ledger; a failover's few lost sends are brought back.
 * @param judged the marked attempt (null: all) that is closed first where nothing was written under it
 */
export async function onWholeLedger<T>(
  deps: Needs,
  filingId: string,
  work: (client: pg.PoolClient, filing: LockedFiling | null) => Promise<T>,
  judged?: { attemptId: string | null },
): Promise<T> {
  const { pool, documents } = deps;
  const about = { filingId, ...(judged && { judged: { ...judged, at: now(deps) } }) };
  const step = () => concludeOnWholeLedger(pool, documents, about, work);
  try {
    return await step().catch(async (error: unknown) => {
      if (!(error instanceof LedgerPutBack) || !(await bringFailoverGapBack(deps, error))) throw error;
      return step();
    });
  } catch (error) {
    throw ledgerFailure(error)?.thrown ?? error;
  }
}

/** As {@link onWholeLedger}, of a step that a run decided on, unless the ledger holds other moves by now. */
export function onHeldWhole<T>(
  deps: Needs,
  { filingId, seq }: Decided,
  work: (client: pg.PoolClient, held: Held, at: Date) => Promise<T>,
  judged?: { attemptId: string | null },
): Promise<T | Differs> {
  const unlessMoved = async (client: pg.PoolClient, filing: LockedFiling | null) => {
    const held = await hold(client, { filingId, seq }, filing);
    return held === 'differs' ? DIFFERS : work(client, held, now(deps));
  };
  return onWholeLedger(deps, filingId, unlessMoved, judged);
}

/** What a step that found the ledger put back, or its store in trouble, fails with; null for any other error. */
export function ledgerFailure(error: unknown): { kind: ErrorKind; message: string; thrown: Error } | null {
  const kind =
    error instanceof LedgerPutBack
      ? 'ledger_put_back'
      : error instanceof SendStoreError
        ? 'documents_unavailable'
        : null;
  if (kind === null || !(error instanceof Error)) return null;
  return { kind, message: error.message, thrown: refusal(kind, error.message) };
}

/** Whether a step of {@link onWholeLedger} failed with what its workflow waits out. */
export const isWaitForLedger = (error: unknown): boolean =>
  error instanceof ApplicationFailure && (error.type === 'ledger_put_back' || error.type === 'documents_unavailable');

/** @returns whether it was a failover's gap, and was brought back. */
async function bringFailoverGapBack({ pool, documents, clock, logger }: Needs, error: LedgerPutBack): Promise<boolean> {
  const at = clock();
  for (const number of error.unknown) {
    const record = await readSend(documents, error.ledgerId, number);
    if (!record || !(at - Date.parse(record.at) < FAILOVER_GAP_MS)) return false;
  }
  const imported = await importSends(pool, documents, { at: new Date(at), by: 'worker' });
  logger.warn(
    { imported: imported.sends, filings: imported.filings.length },
    'the database lost sends in a failover; they were brought back from the document store',
  );
  return true;
}
