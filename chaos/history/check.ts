/** Whether the protocol's model has every step of the ledger's history: from the code to the model. */
import type { Change } from './recorder';
import { nameOf, type KnownSteps, type Step } from './model-steps';
import {
  attemptState,
  filingState,
  lostAttempt,
  NOTHING,
  rowState,
  type LedgerAttempt,
  type LedgerFiling,
  type LedgerRow,
  type View,
} from './abstraction';

export interface HistoryCheck {
  /** Transactions that changed something of a filing which the model has. */
  steps: number;
  /** The first step of each filing that the model does not have. */
  refused: string[];
}

/** A filing as its transactions have left it. */
interface Filing {
  state: string;
  rows: Map<number, LedgerRow>;
  attempts: Map<number, LedgerAttempt>;
}

/** What one transaction did to a filing. */
interface Moment {
  before: Filing;
  after: Filing;
  sent: number[];
}

/** @returns the first step of each filing that the model does not have, of all that was recorded */
export function checkHistory(changes: readonly Change[], known: KnownSteps): HistoryCheck {
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

/** One step of the model, or why the model cannot have it. */
function stepOf(moments: readonly Moment[]): Step | string {
  const [first, last] = [moments[0]?.before, moments.at(-1)?.after];
  if (!first || !last) return 'nothing';
  const sent = moments.flatMap((moment) => moment.sent);
  const numbers = [...new Set([first, last].flatMap(numbersOf))].sort((a, b) => a - b);
  const marked = numbers.filter((number) => {
    const sender = last.attempts.get(number)?.sender ?? null;
    return sender !== null && sender !== (first.attempts.get(number)?.sender ?? null);
  });
  const stands = (filing: Filing, number: number) =>
    !['none', 'unsent', 'refused', 'absent'].includes(stateOf(filing, number));
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

const stateOf = (filing: Filing, number: number) => attemptState(ledgerOf(filing), number);

const numbersOf = (filing: Filing): number[] => [
  ...filing.attempts.keys(),
  ...[lostAttempt(ledgerOf(filing)) ?? []].flat(),
];

const ledgerOf = ({ state, rows, attempts }: Filing): LedgerFiling => ({
  state,
  rows: [...rows.values()],
  attempts: [...attempts.values()],
});

const viewOf = (filing: Filing, [one, two]: readonly [number, number]): View => ({
  filing: filing.state,
  row: rowState([...filing.rows.values()]),
  attempts: [stateOf(filing, one), stateOf(filing, two)],
});

function momentsOf(changes: readonly Change[]): Moment[] {
  let filing: Filing = { ...NOTHING, rows: new Map(), attempts: new Map() };
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
      const state = filingState(typeof row?.['state'] === 'string' ? row['state'] : 'none');
      return state === null ? filing : { ...filing, state };
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
      if (row) attempts.set(Number(row['number']), row as unknown as LedgerAttempt);
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
