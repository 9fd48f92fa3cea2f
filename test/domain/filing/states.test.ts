import ts from 'typescript';
import {
  judgeRun,
  LATE_MS,
  phaseOf,
  PHASES,
  resumesIn,
  type FilingFacts,
} from '../../../src/domain/filing/run-judgement';
import {
  endOf,
  FILING_STATES,
  FILING_TRANSITIONS,
  isEnd,
  isPause,
  mayFollow,
  needsAttention,
  stateLimitMs,
  type FilingState,
} from '../../../src/domain/filing/states';
import { queuePlaces } from '../../../src/domain/filing/view';
import { sourceFiles } from '../../boundary/project';

const ENDS: FilingState[] = ['certified', 'partly_certified', 'rejected', 'needs_correction', 'abandoned'];
/** Something of the filing is, or may be, at the service. */
const AT_THE_SERVICE: FilingState[] = ['processing', 'collecting', 'outcome_unknown', 'overdue'];

/** States from which `goal` can be reached. */
function leadingTo(goal: (state: FilingState) => boolean): Set<FilingState> {
  const found = new Set(FILING_STATES.filter(goal));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const state of FILING_STATES) if (FILING_TRANSITIONS[state].some((next) => found.has(next))) found.add(state);
  }
  return found;
}

describe('the transition table', () => {
  it('names every state, and leads nowhere from an end', () => {
    expect(Object.keys(FILING_TRANSITIONS).sort()).toEqual([...FILING_STATES].sort());
    expect(FILING_STATES.filter(isEnd)).toEqual(ENDS);
    for (const end of ENDS) expect(FILING_TRANSITIONS[end]).toEqual([]);
    expect(FILING_STATES.filter((state) => !mayFollow(state, state))).toEqual([]);
  });

  it('leaves no filing without a way to an end, and none without a way to be given up', () => {
    expect(leadingTo(isEnd).size).toBe(FILING_STATES.length);
    for (const state of FILING_STATES) if (!isEnd(state)) expect(mayFollow(state, 'abandoned')).toBe(true);
  });

  it('pauses from wherever a call can be refused, and goes back to where it was', () => {
    for (const state of FILING_STATES.filter((each) => !isEnd(each) && !each.startsWith('needs_'))) {
      for (const pause of ['needs_credentials', 'needs_access'] as const) {
        expect(mayFollow(state, pause)).toBe(true);
        expect(mayFollow(pause, state)).toBe(true);
      }
    }
  });

  it('never goes from the service back to before the submission', () => {
    for (const state of AT_THE_SERVICE) {
      expect(mayFollow(state, 'checking')).toBe(false);
      expect(mayFollow(state, 'awaiting_approval')).toBe(false);
    }
  });

  it('certifies what was collected, in time or not', () => {
    const before = FILING_STATES.filter((state) => state !== 'certified' && mayFollow(state, 'certified'));
    expect(before).toEqual(['collecting', 'overdue']);
  });

  it('asks for somebody in every state that waits for a person, and in no other', () => {
    const waiting = ['awaiting_approval', 'outcome_unknown', 'overdue', 'partly_certified', 'rejected'];
    const needs = ['needs_access', 'needs_correction', 'needs_credentials'];
    expect(FILING_STATES.filter(needsAttention).sort()).toEqual([...waiting, ...needs].sort());
  });
});

describe('rows', () => {
  it.each([
    [{ rows: 2, certified: 2, open: 0 }, 'certified'],
    [{ rows: 2, certified: 1, open: 0 }, 'partly_certified'],
    [{ rows: 2, certified: 0, open: 0 }, 'rejected'],
    [{ rows: 2, certified: 1, open: 1 }, null],
    [{ rows: 1, certified: 0, open: 1 }, null],
  ])('%p end a filing as %s', (counts, end) => expect(endOf(counts)).toBe(end));
});

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

const NOW = new Date('2026-02-10T06:00:00Z');
const before = (ms: number) => new Date(NOW.getTime() - ms);
const running: Parameters<typeof judgeRun>[1] = { status: 'running', taskAttempt: 1 };
const ENDED = ['gone', 'completed', 'failed', 'cancelled', 'terminated', 'timed out'] as const;

describe('the run of an open filing', () => {
  it.each(ENDED)(
    'that is %s is followed where something was sent, and waits for somebody where nothing was',
    (status) => {
      const run = { status, taskAttempt: 0 };
      expect(judgeRun({ sent: true, dueAt: null }, run, NOW)).toMatchObject({ action: 'resume' });
      const waiting = judgeRun({ sent: false, dueAt: null }, run, NOW);
      expect(waiting).toMatchObject({ action: 'report', problem: expect.stringContaining('ebrc resume') as string });
    },
  );

  it('that runs needs nobody while it is in time, and while it waits for a person', () => {
    for (const dueAt of [null, NOW, before(LATE_MS)]) {
      expect(judgeRun({ sent: true, dueAt }, running, NOW)).toEqual({ action: 'report', problem: null });
    }
  });

  it('that runs and does not move, or cannot, is reported with the same text each time', () => {
    const dueAt = before(LATE_MS + 1);
    const late = judgeRun({ sent: true, dueAt }, running, NOW);
    expect(late).toMatchObject({ problem: expect.stringContaining(dueAt.toISOString()) as string });
    expect(judgeRun({ sent: true, dueAt }, running, new Date(NOW.getTime() + LATE_MS))).toEqual(late);
    const failing = judgeRun({ sent: false, dueAt: null }, { status: 'running', taskAttempt: 4 }, NOW);
    expect(failing).toMatchObject({ problem: expect.stringContaining('tasks keep failing') as string });
  });
});

it('explains for how long a filing does not move, in every state that no person has to end', () => {
  const settings = { overdueAfterMs: 4 * 3_600_000, rateWindowMs: 60_000 };
  for (const state of FILING_STATES) {
    const explained = stateLimitMs(state, settings, 0);
    expect([state, explained === null]).toEqual([state, isEnd(state) || needsAttention(state)]);
  }
  expect(stateLimitMs('submitting', settings, 0)).toBe(3 * 3_600_000);
  // 999 PDFs, five a minute.
  expect(stateLimitMs('collecting', settings, 999)).toBeGreaterThan(8 * 3_600_000);
});

describe('the place in the line of calls', () => {
  const queued = (filingId: string, exporterId: string, calls = 1) => ({ filingId, exporterId, calls });

  it('lets exporters take turns, so that one with many calls does not hold up another', () => {
    const places = queuePlaces([queued('many', 'asha', 900), queued('few', 'ravi', 3)], 5);
    // Three of its own and three of the other exporter.
    expect(places.get('few')).toEqual({ place: 1, of: 2, windows: 1 });
    expect(places.get('many')).toEqual({ place: 2, of: 2, windows: 180 });
  });
  it('is one after the other for filings of one exporter, and the first calls of a window go at once', () => {
    const twelve = Array.from({ length: 12 }, (_, index) => queued(`f${index}`, 'asha'));
    const places = queuePlaces(twelve, 10);
    const at = [1, 10, 12].map((place) => places.get(`f${place - 1}`));
    expect(at).toEqual([
      { place: 1, of: 12, windows: 0 },
      { place: 10, of: 12, windows: 0 },
      { place: 12, of: 12, windows: 1 },
    ]);
  });
});
