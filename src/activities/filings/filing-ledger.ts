import { createHash } from 'node:crypto';
import { addEvent, saveBalanceFindings, saveOfFiling } from '../../ledger/filings/filing-notes';
import { judgeByGrant } from '../../ledger/principals/granted-words';
import { judgeWord, readWord, recordWord as recordInLedger } from '../../ledger/submissions/words';
import type { NewWord, OpenWords, WordOf } from '../../ledger/submissions/words';
import { needFiling } from '../../ledger/filings/filings';
import { readReadiness } from '../../ledger/filings/first-move';
import { recordRunProblem } from '../../ledger/filings/open-filings';
import { withTransaction } from '../../ledger/pool';
import { registerWaiter, removeWaiter } from '../../ledger/vault/credentials';
import type { FilingState } from '../../domain/filing/states';
import { refusal } from '../application-failure';
import { now, type Deps } from '../dependencies';
import { stepId } from '../call-context';
import { DIFFERS, type Differs, hold, type Left, type MoveArgs, moveOf, onHeld, recordMove } from './moves';
import type { Finding } from '../../domain/rules/finding';
import { reserveBalances as reserveInLedger } from '../../ledger/rows/balance-reservation';
import { errorsOf } from './filing-request';

export type { OpenWords };

/** Ends that are determined by the rows alone. */
const OUTCOMES: readonly FilingState[] = ['certified', 'partly_certified', 'rejected'];

/** A person's word as a run records it. */
export type WordInput = Omit<NewWord, 'step' | 'at'> & {
  /** The id of the update, or of the workflow that was started to carry the word out. */
  saidBy: string;
};

/** Moves the filing, with an event. `differs`: the ledger has other moves than the run, and nothing was written. */
async function recordProgress(deps: Deps, move: MoveArgs): Promise<Left | Differs> {
  const { pool, logger } = deps;
  const { filingId, state, event } = move;
  // Such an end must be recorded together with reading the rows: see endFiling.
  if (OUTCOMES.includes(state)) throw refusal('unexpected', `A filing does not enter ${state} in a move of its own.`);
  const recorded = await withTransaction(pool, (client) => recordMove(client, move, now(deps)));
  if (recorded.filing !== 'differs') logger.info({ filingId, state, event: event.kind }, 'a filing moved');
  return recorded;
}

/** Records an approval with the hash of exactly what is filed. A word whose grant does not hold now is refused. */
function recordApproval(
  deps: Deps,
  { note, wordId, move }: { note?: string; wordId: string; move: MoveArgs },
): Promise<(Left & { refused?: string }) | Differs> {
  const { filingId } = move;
  const at = now(deps);
  return onHeld(deps.pool, { filingId, seq: move.seq - 1 }, async (client, held) => {
    if (held === 'repeated') return { filing: await moveOf(client, held, move, at) };
    const { by, refused } = await judgeByGrant(client, { wordId, filingId, action: 'approve', at });
    if (refused !== null) return { filing: null, refused };
    const { contentHash, declaration } = await needFiling(client, filingId);
    const text = note ?? `approved by ${by}`;
    const event = { ...move.event, text, who: by, data: { contentHash, declaration } };
    await saveOfFiling(client, filingId, { approved: { by, at } });
    return { filing: await moveOf(client, held, { ...move, event }, at) };
  });
}

/** Records a person's word, to be carried out or refused later; a repeated update finds its word. @returns its id */
function recordWord(deps: Deps, { saidBy, ...word }: WordInput): Promise<string> {
  const content = createHash('sha256').update(JSON.stringify(word)).digest('hex');
  return withTransaction(deps.pool, (client) =>
    recordInLedger(client, { ...word, step: `${saidBy}/${content}`, at: now(deps) }),
  );
}

export interface ReserveArgs {
  filingId: string;
  /** The last move that the run knew, for a step that may be late: nothing is recorded if there are others. */
  seq?: number;
  move?: MoveArgs;
}

/** `errors`: what is wrong with the balances; if there are any, none were reserved. */
export type Reserved = (Left | Differs) & { errors: Finding[] };

/** Checks and reserves the balances under the IRMs' locks. `move`: the filing's move if they suffice. */
export function reserveBalances(
  deps: Pick<Deps, 'pool' | 'clock'>,
  { filingId, seq, move }: ReserveArgs,
): Promise<Reserved> {
  const at = now(deps);
  return reserveInLedger(deps.pool, { filingId, at }, async (client, findings) => {
    const errors = errorsOf(findings);
    const save = () => saveBalanceFindings(client, filingId, findings);
    if (move && errors.length === 0) return { ...(await recordMove(client, move, at, save)), errors };
    if (seq !== undefined && (await hold(client, { filingId, seq })) === 'differs') return { ...DIFFERS, errors };
    await save();
    return { filing: null, errors };
  });
}

export const filingLedgerActivities = {
  recordProgress,
  reserveBalances,
  recordApproval,
  recordWord,

  readReadiness: ({ pool }: Deps, filing: Parameters<typeof readReadiness>[1]) => readReadiness(pool, filing),

  /** Refuses a word. `carriedOut`: a step whose answer was lost had carried it out already. */
  closeWord: (deps: Deps, { why, ...word }: WordOf & { why: string }) =>
    withTransaction(deps.pool, async (client) => {
      await judgeWord(client, { ...word, outcome: 'refused', why, at: now(deps) });
      const { judged = null } = (await readWord(client, word)) ?? {};
      return { carriedOut: judged !== null && !('why' in judged) };
    }),

  recordRunProblem: (deps: Deps, args: { filingId: string; problem: string }) =>
    recordRunProblem(deps.pool, { ...args, at: now(deps) }),

  noteEvent: (deps: Deps, args: { filingId: string; kind: string; text: string; who?: string; data?: unknown }) =>
    withTransaction(deps.pool, (client) => addEvent(client, { ...args, step: stepId(), at: now(deps) })),

  /** Registers a filing that waits for newer credentials; `retryNow` if they have come in the meantime. */
  awaitCredentials: ({ pool }: Deps, args: Parameters<typeof registerWaiter>[1]) => registerWaiter(pool, args),

  stopAwaitingCredentials: ({ pool }: Deps, { workflowId }: { workflowId: string }) =>
    withTransaction(pool, (client) => removeWaiter(client, workflowId)),
};
