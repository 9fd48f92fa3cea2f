import { personKey } from '../../src/domain/principal';

it.each([
  'asha',
  'Asha',
  ' asha ',
  'as\u00adha',
  'asha\u200b',
  'asha.',
  '"asha"',
  'ＡＳＨＡ',
  '(asha)!',
  '\u2060asha\u3164',
  '…a s h a…',
  'as\u2800ha',
])('%j is the person asha', (name) => {
  expect(personKey(name)).toBe(personKey('asha'));
});

it.each(['', '   ', '...', '\u200b', '-', null, 7])('%j is not a name', (name) => {
  expect(personKey(name)).toBe('');
});

it.each(['ashia', 'ashá', 'asha2', 'a.s.ha'])('%j is somebody else', (name) => {
  expect(personKey(name)).not.toBe(personKey('asha'));
});

it('reads a name of a million dots', () => {
  expect(personKey(`a${'.'.repeat(1_000_000)}b`)).toContain('B');
});
