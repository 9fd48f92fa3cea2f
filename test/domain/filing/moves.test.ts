import ts from 'typescript';
import { phaseOf, PHASES, resumesIn, type FilingFacts } from '../../../src/domain/filing/run-judgement';
import { FILING_STATES, isEnd, isPause, mayFollow, type FilingState } from '../../../src/domain/filing/states';
import { sourceFiles } from '../../boundary/project';

type Phase = (typeof PHASES)[number];

const OPEN = FILING_STATES.filter((state) => !isEnd(state));
const FACTS: (keyof FilingFacts)[] = ['planned', 'doubtful', 'followed', 'settled', 'unapproved'];
const ALL_FACTS: FilingFacts[] = Array.from({ length: 2 ** FACTS.length }, (_, bits) => {
  const facts = FACTS.map((fact, index) => [fact, Boolean(bits & (1 << index))]);
  return Object.fromEntries(facts);
});

/** States in which something is, or is about to be, at the service. */
const SENDING: readonly FilingState[] = ['submitting', 'processing', 'outcome_unknown', 'overdue'];

/** A workflow's moves, with their states where these are not all phases. `same`: an event without a new state. */
const FILING_MOVES: readonly {
  to: FilingState | 'same';
  phases: readonly Phase[];
  from?: readonly FilingState[];
}[] = [
  { to: 'checking', phases: ['prepare'], from: ['checking', 'awaiting_approval'] },
  // A filing is approved before anything of it is sent.
  { to: 'awaiting_approval', phases: ['prepare'], from: ['checking', 'awaiting_approval'] },
  { to: 'submitting', phases: ['send'] },
  { to: 'outcome_unknown', phases: ['send', 'follow'], from: SENDING },
  { to: 'processing', phases: ['send'], from: ['outcome_unknown'] },
  { to: 'processing', phases: ['follow'] },
  { to: 'overdue', phases: ['follow'], from: ['processing', 'overdue'] },
  { to: 'collecting', phases: ['collect'] },
  { to: 'overdue', phases: ['collect'], from: ['collecting', 'overdue'] },
  { to: 'needs_correction', phases: ['prepare', 'send', 'follow'] },
  { to: 'certified', phases: ['collect'], from: ['collecting', 'overdue'] },
  { to: 'partly_certified', phases: ['collect'], from: ['collecting', 'overdue'] },
  { to: 'rejected', phases: ['collect'], from: ['collecting', 'overdue'] },
  { to: 'abandoned', phases: PHASES },
  { to: 'needs_credentials', phases: PHASES },
  { to: 'needs_access', phases: PHASES },
  { to: 'same', phases: PHASES },
];

/** Where a run is: its phase, the recorded state, and the state that a pause leads back to. */
interface Place {
  phase: Phase;
  state: FilingState;
  before: FilingState;
}

/**
 * Every place that a run can come to from a start, by all the moves that the workflow makes. @throws on a forbidden one
 */
function walk(start: Place): Set<string> {
  const seen = new Set<string>();
  const open = [start];
  for (let place = open.pop(); place; place = open.pop()) {
    const { phase, state, before } = place;
    const key = `${phase} ${state} ${before}`;
    if (seen.has(key) || isEnd(state)) continue;
    seen.add(key);
    const go = (next: FilingState) => {
      if (!mayFollow(state, next)) throw new Error(`${phase}: ${state} → ${next} is forbidden`);
      open.push({ phase, state: next, before: isPause(next) ? before : next });
    };
    if (isPause(state)) {
      // A paused run waits, and then goes back; it may be given up, or meet the other pause meanwhile.
      for (const next of [before, 'abandoned', 'needs_credentials', 'needs_access'] as const) go(next);
      continue;
    }
    for (const move of FILING_MOVES) {
      if (!move.phases.includes(phase) || (move.from && !move.from.includes(state))) continue;
      go(move.to === 'same' ? state : move.to);
    }
    const later = PHASES[PHASES.indexOf(phase) + 1];
    // A run passes the sending by it: only what moved to `submitting` once is followed.
    if (later && (phase === 'prepare' || !['checking', 'awaiting_approval'].includes(state)))
      open.push({ ...place, phase: later });
  }
  return seen;
}

it.each(OPEN)('from %s, as a ledger may say, a resumed run makes no move that is forbidden', (recorded) => {
  for (const facts of ALL_FACTS) {
    const state = resumesIn(recorded, facts);
    expect(isPause(state) || isEnd(state)).toBe(false);
    expect(() => walk({ phase: phaseOf(facts), state, before: state })).not.toThrow();
  }
});

it('continues in a state that agrees with what is at the service', () => {
  for (const facts of ALL_FACTS) {
    const sent = facts.doubtful || facts.followed || facts.settled;
    for (const recorded of OPEN) {
      const state = resumesIn(recorded, facts);
      if (sent) expect(['checking', 'awaiting_approval']).not.toContain(state);
      if (!sent && facts.planned) expect(['checking', 'awaiting_approval', 'submitting']).toContain(state);
      if (!sent && facts.planned && facts.unapproved) expect(state).not.toBe('submitting');
      if (state === 'outcome_unknown') expect(facts.doubtful || !(facts.planned || sent)).toBe(true);
    }
  }
});

it('has every state that the workflow moves a filing to', async () => {
  const known = new Set<string>(FILING_MOVES.map((move) => move.to));
  const moves: string[] = [];
  for (const { path, text } of await sourceFiles('src/workflows')) {
    const visit = (node: ts.Node): void => {
      const target =
        ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) ? node.arguments[0] : null;
      if (target && /\.move$/.test((node as ts.CallExpression).expression.getText())) {
        if (ts.isStringLiteral(target)) moves.push(target.text);
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  }
  expect(moves.length).toBeGreaterThan(8);
  expect(moves.filter((state) => !known.has(state))).toEqual([]);
});
