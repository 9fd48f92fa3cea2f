import { errorTexts, isAbout, isDone } from '../../../src/domain/service/request-status';

it('is done when it says Processed or Errored, in any case', () => {
  expect([' processed', 'ERRORED', 'Pending', null].map((processingStatus) => isDone({ processingStatus }))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

it('is about the polled request, by either of its ids', () => {
  const asked = { requestId: 'r-1', dgftAckId: 'D1' };
  expect(isAbout({ requestId: ' R-1', dgftAckId: null }, asked)).toBe(true);
  expect(isAbout({ requestId: null, dgftAckId: null }, asked)).toBe(true);
  expect(isAbout({ requestId: 'D1', dgftAckId: 'd1' }, asked)).toBe(true);
  expect(isAbout({ requestId: 'r-2', dgftAckId: null }, asked)).toBe(false);
});

it.each<[unknown, string]>([
  ['too late', 'too late'],
  [{ errorCode: 'ERR38', errorMessage: 'more than available' }, 'ERR38: more than available'],
  [{ code: 16, field: 'irmAdCode', text: 'wrong' }, '16: irmAdCode, wrong'],
  [{ anything: { nested: true } }, 'anything: nested: true'],
  [null, 'null'],
])('the text of %j is %s', (detail, text) => expect(errorTexts([detail])).toEqual([text]));
