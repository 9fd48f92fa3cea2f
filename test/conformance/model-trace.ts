/**
 * Traces of the submit protocol's model (`npm run model -- --sample`), in the form in which they are checked in: each
 * step has its actor, its action and the state that it leads to, one base-36 digit for each variable in the order that
 * `SHOW` of model/guards.pml prints.
 */
import names from '../../model/state-names.json';

const { filing: FILING, row: ROW, attempt: ATTEMPT, request: REQUEST, execution: EXECUTION } = names;
/** The states of an execution between its mark and its first byte. */
const BEFORE_WRITE = ['marked', 'counted', 'listed', 'ready'];
const RETURNED_ANSWER = 'returned_answer';

/** Who took a send number or made a file: an execution, nobody (`void`), or not known (null). */
export type Sender = number | 'void' | null;

export interface ModelState {
  filings: { state: string; row: string }[];
  attempts: { state: string; sender: Sender; markCounts: boolean }[];
  sends: Sender[];
  files: Sender[];
}

interface Execution {
  attempt: number;
  request: string;
  beforeWrite: boolean;
  returnedAnswer: boolean;
}

export interface Step {
  actor: string;
  action: string;
  repeatedLater: boolean;
  state: ModelState;
  executions: Execution[];
}

export interface Trace {
  name: string;
  /** The guard that the model lacked when it found this trace; left out: a random walk of the whole model. */
  without?: string;
  executions: number;
  attempts: [number, number];
  /**
   * Of a trace without a guard: the step (from 0) that the code does not follow; null: the guard stands above the
   * ledger.
   */
  refusedAt?: number | null;
  steps: [actor: string, action: string, state: string, repeatedLater?: 1][];
}

/** The steps of a trace; those of a violated property are left out. */
export function stepsOf({ steps, executions }: Trace): Step[] {
  return steps
    .filter(([actor, , state]) => actor !== 'broken' && state !== '')
    .map(([actor, action, state, repeated]) => ({
      actor,
      action,
      repeatedLater: repeated === 1,
      ...decode(state, executions),
    }));
}

function decode(digits: string, executions: number): { state: ModelState; executions: Execution[] } {
  const numbers = [...digits].map((digit) => parseInt(digit, 36));
  const take = (count: number): number[] => numbers.splice(0, count);
  const [fst, row, att, snd, armed, sends, file] = [take(2), take(2), take(4), take(4), take(4), take(4), take(4)];
  const [ex, xa, , net] = [take(4), take(4), take(4), take(4)];
  const sender = (value: number): Sender => (value === 0 ? null : value === executions + 1 ? 'void' : value - 1);
  return {
    state: {
      filings: fst.map((state, f) => ({ state: FILING[state] ?? 'none', row: ROW[row[f] ?? 0] ?? 'none' })),
      attempts: att.map((state, a) => ({
        state: ATTEMPT[state] ?? 'none',
        sender: sender(snd[a] ?? 0),
        markCounts: armed[a] === 1,
      })),
      sends: sends.slice(0, executions).map(sender),
      files: file.slice(0, executions).map(sender),
    },
    executions: ex.slice(0, executions).map((state, e) => ({
      attempt: xa[e] ?? 0,
      request: REQUEST[net[e] ?? 0] ?? 'none',
      beforeWrite: BEFORE_WRITE.includes(EXECUTION[state] ?? ''),
      returnedAnswer: EXECUTION[state] === RETURNED_ANSWER,
    })),
  };
}
