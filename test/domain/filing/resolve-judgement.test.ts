import type { ResolveArgs } from '../../../src/domain/update-contracts';
import { refusalOfResolve, type InQuestion } from '../../../src/domain/filing/resolve-judgement';
import type { FilingState } from '../../../src/domain/filing/states';

type Said = Partial<ResolveArgs> & Pick<ResolveArgs, 'as'>;

const ATTEMPT: InQuestion = { attemptId: 'F-1-1', requestId: null };
const REQUEST: InQuestion = { attemptId: 'F-1-1', requestId: 'R1' };
const FOLLOWED: InQuestion = { ...REQUEST, following: true };
const GATE: InQuestion = { attemptId: null, requestId: null };
const CERTIFICATES = [{ row: 1, eBRCNumber: 'E1' }];

const judged = (state: FilingState, inQuestion: InQuestion | null, said: Said): string | null =>
  refusalOfResolve({ state, inQuestion, requestId: 'R1' }, { by: 'ravi', note: 'looked', ...said });

it.each<[FilingState, InQuestion | null, Said]>([
  ['outcome_unknown', ATTEMPT, { as: 'not-filed', attemptId: 'F-1-1' }],
  ['outcome_unknown', ATTEMPT, { as: 'filed', attemptId: 'F-1-1', requestId: 'R2' }],
  ['outcome_unknown', REQUEST, { as: 'not-filed', requestId: 'R1' }],
  ['outcome_unknown', REQUEST, { as: 'filed', attemptId: 'F-1-1', certificates: CERTIFICATES }],
  // That a named request is not ours is said of the attempt.
  ['outcome_unknown', REQUEST, { as: 'not-filed', attemptId: 'F-1-1', notOurs: ['R1'] }],
  ['overdue', FOLLOWED, { as: 'filed', attemptId: 'F-1-1', requestId: 'R2' }],
  ['overdue', FOLLOWED, { as: 'not-filed', requestId: 'R1' }],
  ['overdue', FOLLOWED, { as: 'not-filed', attemptId: 'F-1-1', notOurs: ['R1'] }],
  ['submitting', GATE, { as: 'not-filed', notOurs: ['E1'] }],
  ['submitting', GATE, { as: 'filed', certificates: CERTIFICATES }],
])('%s, about %j: takes %j', (state, inQuestion, said) => {
  expect(judged(state, inQuestion, said)).toBeNull();
});

it.each<[FilingState, InQuestion | null, Said, RegExp]>([
  ['processing', FOLLOWED, { as: 'filed', attemptId: 'F-1-1', requestId: 'R2' }, /^The filing is processing/],
  ['submitting', null, { as: 'not-filed' }, /^The filing is submitting/],
  ['submitting', GATE, { as: 'filed', requestId: 'R2' }, /^The filing is submitting/],
  ['submitting', GATE, { as: 'not-filed', attemptId: 'F-1-1' }, /^F-1-1 is not in question \(in question: none yet\)/],
  ['overdue', null, { as: 'filed', attemptId: 'F-1-1', requestId: 'R2' }, /only certificates are missing/],
  ['overdue', REQUEST, { as: 'not-filed', requestId: 'R1' }, /only certificates are missing/],
  ['overdue', FOLLOWED, { as: 'not-filed', attemptId: 'F-1-1' }, /\(request R1\), so it was filed/],
  [
    'outcome_unknown',
    null,
    { as: 'not-filed', attemptId: 'F-1-1' },
    /^F-1-1 is not in question \(in question: none yet\)/,
  ],
  ['outcome_unknown', null, { as: 'not-filed' }, /^Name the attempt or request that you answer for \(none yet\)/],
  ['outcome_unknown', ATTEMPT, { as: 'not-filed' }, /^Name the attempt or request that you answer for \(F-1-1\)/],
  [
    'outcome_unknown',
    ATTEMPT,
    { as: 'not-filed', attemptId: 'F-1-2' },
    /^F-1-2 is not in question \(in question: F-1-1\)/,
  ],
  [
    'outcome_unknown',
    REQUEST,
    { as: 'not-filed', attemptId: 'F-1-1' },
    /^Name the attempt or request that you answer for \(R1\)/,
  ],
  ['outcome_unknown', REQUEST, { as: 'not-filed', requestId: 'R2' }, /^R2 is not in question \(in question: R1\)/],
])('%s, about %j: refuses %j', (state, inQuestion, said, why) => {
  expect(judged(state, inQuestion, said)).toMatch(why);
});
