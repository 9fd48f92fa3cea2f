/** Whether the protocol's model has every step of the ledger's story: from the code to the model. */
import type { Change } from './recorder';
import { nameOf, type KnownSteps, type Step } from './steps';
import { NOTHING, type View } from './view';

export interface StoryCheck {
  /** Transactions that changed something of a filing which the model has. */
  steps: number;
  /** The first step of each filing that the model does not have. */
  refused: string[];
}

interface Attempt {
  state: string;
  sender: string | null;
}

/** A filing as its transactions have left it. */
interface Filing {
  state: string;
  rows: Map<number, { state: string; live: boolean }>;
  attempts: Map<number, Attempt>;
}

/** What one transaction did to a filing. */
interface Moment {
  before: Filing;
  after: Filing;
  sent: number[];
}

/** @returns the first step of each filing that the model does not have, of all that the changes tell */
export function checkStory(changes: readonly Change[], known: KnownSteps): StoryCheck {
  const refused: string[] = [];
  let steps = 0;
  for (const [filingId, own] of byFiling(changes)) {
    const moments = momentsOf(own);
    steps += moments.length;
    const problem = firstUnknown(moments, known);
    if (problem !== null) refused.push(`${filingId}: the model has no step ${problem}`);
  }
  return { steps, refused };
}

/**
 * A filing's move may follow its fact in a transaction of its own; to the model the two are one step.
 * @returns the step behind the last one that could be followed, null where all could
 */
function firstUnknown(moments: readonly Moment[], known: KnownSteps): string | null {
  const has = (step: Step | string) => typeof step !== 'string' && known.has(step);
  const reached = [true];
  for (const [at, moment] of moments.entries()) {
    const alone = (reached[at] ?? false) && has(stepOf([moment]));
    const previous = moments[at - 1];
    const together =
      previous !== undefined && (reached[at - 1] ?? false) && isMove(moment) && has(stepOf([previous, moment]));
    reached.push(alone || together);
    // One that cannot be followed may still be half of a step.
    if (!reached[at] && !reached[at + 1]) return describe(moments, at - 1);
  }
  return reached.at(-1) ? null : describe(moments, moments.length - 1);
}

function describe(moments: readonly Moment[], at: number): string {
  const moment = moments[Math.max(0, at)];
  if (!moment) return 'nothing';
  const step = stepOf([moment]);
  return `${at + 1}: ${typeof step === 'string' ? step : nameOf(step)}`;
}

/** Only the filing's state changes. */
function isMove({ before, after, sent }: Moment): boolean {
  return sent.length === 0 && after.rows === before.rows && after.attempts === before.attempts;
}

/** One step of the model, or why it cannot be told in the model's words. */
function stepOf(moments: readonly Moment[]): Step | string {
  const [first, last] = [moments[0]?.before, moments.at(-1)?.after];
  if (!first || !last) return 'nothing';
  const sent = moments.flatMap((moment) => moment.sent);
  const numbers = [...new Set([first, last].flatMap(numbersOf))].sort((a, b) => a - b);
  const marked = numbers.filter((number) => {
    const sender = last.attempts.get(number)?.sender ?? null;
    return sender !== null && sender !== (first.attempts.get(number)?.sender ?? null);
  });
  const stands = (filing: Filing, number: number) => !['none', 'not_sent'].includes(stateOf(filing, number));
  const involved = numbers.filter(
    (number) =>
      stands(first, number) ||
      stands(last, number) ||
      stateOf(first, number) !== stateOf(last, number) ||
      marked.includes(number) ||
      sent.includes(number),
  );
  if (involved.length > 2) return `in which attempts ${involved.join(', ')} stand at once`;
  const pair = pairOf(involved, numbers);
  const which = (of: readonly number[]) => [...new Set(of)].map((number) => pair.indexOf(number) + 1);
  return { from: viewOf(first, pair), to: viewOf(last, pair), marked: which(marked), sent: which(sent) };
}

/** The model has two attempts of a filing: those that a step is about, or the one before it. */
function pairOf(involved: readonly number[], numbers: readonly number[]): [number, number] {
  const highest = numbers.at(-1) ?? 1;
  const [one = Math.max(1, highest - 1), two] = involved;
  if (two !== undefined) return [one, two];
  if (involved.length === 1 && one > 1) return [one - 1, one];
  return [one, one + 1];
}

const stateOf = (filing: Filing, number: number) =>
  filing.attempts.get(number)?.state ?? (number === lostAttempt(filing) ? 'sending' : 'none');

const numbersOf = (filing: Filing): number[] => [...filing.attempts.keys(), lostAttempt(filing) ?? []].flat();

/**
 * An attempt that a ledger which was put back does not hold: its rows are of unknown outcome, and no other of them is
 * under way. @returns its number, null where there is none
 */
function lostAttempt({ rows, attempts }: Filing): number | null {
  const doubted = [...rows.values()].some(({ state, live }) => live && state === 'unknown');
  if (!doubted || [...attempts.values()].some(({ state }) => state !== 'not_sent')) return null;
  return Math.max(0, ...attempts.keys()) + 1;
}

function viewOf(filing: Filing, pair: readonly [number, number]): View {
  const row = rowOf([...filing.rows.values()]);
  const shown = (number: number) => {
    const state = stateOf(filing, number);
    // What the authority rejected was accepted before, and its rows are free again.
    return state === 'accepted' && row === 'freed' ? 'errored' : state;
  };
  return { filing: filing.state, row, attempts: [shown(pair[0]), shown(pair[1])] };
}

/** To the model a submission has one row: it is open as long as one of its rows is. */
function rowOf(rows: readonly { state: string; live: boolean }[]): string {
  if (rows.length === 0) return 'none';
  const states = new Set(rows.map(({ state, live }) => (!live ? 'freed' : state === 'unknown' ? 'submitted' : state)));
  const [only] = states;
  if (states.size === 1 && only !== undefined) return only;
  if (states.has('planned')) return [...states].sort().join(' and ');
  return ['submitted', 'abandoned_after_send', 'certified'].find((state) => states.has(state)) ?? 'freed';
}

const FILING_WORDS: Readonly<Record<string, string>> = {
  awaiting_approval: 'checking',
  overdue: 'processing',
  partly_certified: 'certified',
};
/** What interrupts a filing; to the model it stays where it was. */
const PAUSES: ReadonlySet<string> = new Set(['needs_credentials', 'needs_access']);

function attemptOf(row: Record<string, unknown>): Attempt {
  const { state, kind, reason, sender } = row as Record<string, string | null>;
  const word = () => {
    if (state === 'sending') return reason === null ? 'sending!' : 'sending';
    if (state === 'answered') return kind === 'accepted' ? 'accepted' : 'refused';
    return state === 'not_sent' && kind === 'accepted' ? 'errored' : (state ?? 'none');
  };
  return { state: word(), sender: sender ?? null };
}

function momentsOf(changes: readonly Change[]): Moment[] {
  let filing: Filing = { state: NOTHING.filing, rows: new Map(), attempts: new Map() };
  const moments: Moment[] = [];
  for (const [, together] of groups(changes, ({ tx }) => tx)) {
    const before = filing;
    const sent: number[] = [];
    for (const change of together) filing = changed(filing, change, sent);
    moments.push({ before, after: filing, sent });
  }
  return moments;
}

function changed(filing: Filing, { table, row, before }: Change, sent: number[]): Filing {
  const about = row ?? before ?? {};
  switch (table) {
    case 'filings': {
      const state = typeof row?.['state'] === 'string' ? row['state'] : 'none';
      return PAUSES.has(state) ? filing : { ...filing, state: FILING_WORDS[state] ?? state };
    }
    case 'filing_rows': {
      const rows = new Map(filing.rows);
      rows.delete(Number(about['position']));
      if (row) rows.set(Number(row['position']), { state: String(row['state']), live: row['live'] === true });
      return { ...filing, rows };
    }
    case 'attempts': {
      const attempts = new Map(filing.attempts);
      attempts.delete(Number(about['number']));
      if (row) attempts.set(Number(row['number']), attemptOf(row));
      return { ...filing, attempts };
    }
    case 'sends':
      if (row) sent.push(Number(/-(\d+)$/u.exec(String(row['attempt_id']))?.[1]));
      return filing;
  }
}

const byFiling = (changes: readonly Change[]) => groups(changes, ({ filingId }) => filingId);

function groups<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    found.set(key, [...(found.get(key) ?? []), item]);
  }
  return found;
}
