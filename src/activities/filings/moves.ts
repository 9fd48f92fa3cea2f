/** Steps on a filing, under its lock and with the moves that they cause; on a whole ledger if they rely on the past. */
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

/** The filing after a step. Every step that may move a filing returns this or {@link Differs}. */
export interface Left {
  /** Null: the step made no move. */
  filing: FilingNow | null;
}

/** The ledger has other moves than the run, so nothing was written that the run decided. */
export interface Differs {
  filing: 'differs';
}

export interface Decided {
  filingId: string;
  seq: number;
}

/** A move of a filing; `dueAt` in epoch ms. */
export type MoveArgs = Omit<ProgressNote, 'at' | 'dueAt'> & { dueAt?: number | null };

export const DIFFERS: Differs = { filing: 'differs' };

/** {@link holdStep} for the running activity. */
export const hold = (
  client: Queryable,
  { filingId, seq }: Decided,
  filing?: LockedFiling | null,
  move?: Pick<FilingNow, 'state' | 'kind'>,
): Promise<Held | 'differs'> => holdStep(client, { filingId, seq, step: stepId(), move }, filing);

/** Runs a step in one transaction under the filing's lock, unless the ledger has other moves. */
export const onHeld = <T>(
  pool: pg.Pool,
  decided: Decided,
  work: (client: pg.PoolClient, held: Held) => Promise<T>,
): Promise<T | Differs> =>
  withTransaction(pool, async (client) => {
    const held = await hold(client, decided);
    return held === 'differs' ? DIFFERS : work(client, held);
  });

/** Records a move together with what `writeCause` writes, so that neither is seen or repeated alone. */
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

/** Moves a filing that is held for a step; on a repeat it returns what the earlier try did. */
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

/** States from which a filing moves to `collecting` once all rows have their outcome. */
const UNSETTLED: readonly FilingState[] = ['processing', 'overdue', 'outcome_unknown'];

/** The step id of {@link moveOnSettled}, whose move a step can make besides its own. */
export const settledStep = (): string => `${stepId()}/settled`;

/** Moves a locked filing to `collecting` once its last submission is settled. @returns the filing, moved or not */
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

/** Ends a filing that is held for a step; with `state` null the filing goes on. */
export async function recordEnd(
  client: Queryable,
  held: Held,
  args: {
    filingId: string;
    state: FilingState | null;
    event?: MoveArgs['event'];
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

/** A failover loses only the last moments; older lost sends mean a restore, which a person must confirm. */
const FAILOVER_GAP_MS = 10 * 60_000;

type Needs = Pick<Deps, 'pool' | 'documents' | 'clock' | 'logger'>;

/**
 * Runs a step under the filing's lock on a whole ledger, after importing the few sends that a failover lost.
 * @param judged the marked attempt (null: all) to close first if nothing was written under its mark
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
      if (!(error instanceof LedgerPutBack) || !(await importFailoverGap(deps, error))) throw error;
      return step();
    });
  } catch (error) {
    throw ledgerFailure(error)?.thrown ?? error;
  }
}

/** {@link onWholeLedger} for a step that a run decided, unless the ledger has other moves by now. */
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

/** The failure of a step whose ledger was put back, or whose store is in trouble; null for any other error. */
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

/** Whether {@link onWholeLedger} failed for a reason that its workflow waits out. */
export const isWaitForLedger = (error: unknown): boolean =>
  error instanceof ApplicationFailure && (error.type === 'ledger_put_back' || error.type === 'documents_unavailable');

/** Imports lost sends if a failover lost them. @returns whether it did */
async function importFailoverGap({ pool, documents, clock, logger }: Needs, error: LedgerPutBack): Promise<boolean> {
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
