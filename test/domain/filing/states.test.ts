import {
  endOf,
  FILING_STATES,
  FILING_TRANSITIONS,
  isEnd,
  mayFollow,
  needsAttention,
  type FilingState,
} from '../../../src/domain/filing/states';

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
  });

  it('lets every state follow itself', () => {
    for (const state of FILING_STATES) expect(mayFollow(state, state)).toBe(true);
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
    expect(FILING_STATES.filter(needsAttention).sort()).toEqual(
      [
        'awaiting_approval',
        'needs_access',
        'needs_correction',
        'needs_credentials',
        'outcome_unknown',
        'overdue',
        'partly_certified',
        'rejected',
      ].sort(),
    );
  });
});

describe('rows', () => {
  it.each([
    [{ rows: 2, certified: 2, open: 0 }, 'certified'],
    [{ rows: 2, certified: 1, open: 0 }, 'partly_certified'],
    [{ rows: 2, certified: 0, open: 0 }, 'rejected'],
    [{ rows: 2, certified: 1, open: 1 }, null],
    [{ rows: 1, certified: 0, open: 1 }, null],
  ])('%p end a filing as %s', (counts, end) => {
    expect(endOf(counts)).toBe(end);
  });
});
