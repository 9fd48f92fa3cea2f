import { FILING_STATES, isEnd, needsAttention, stateLimitMs } from '../../../src/domain/filing/states';
import { judgeRun, LATE_MS } from '../../../src/domain/filing/run-judgement';

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
