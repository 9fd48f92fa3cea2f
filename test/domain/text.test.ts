import fc from 'fast-check';
import {
  asSentence,
  cleanText,
  cutText,
  isAsItLooks,
  markdownText,
  printable,
  printableJson,
  printableLines,
  summaryText,
} from '../../src/domain/text';

/** Any text at all: control characters, halves of surrogate pairs and everything beyond the first plane among them. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  fc.constantFrom('\u001b[2J', '\u009b31m', '\u202eevil\u202c', 'a\nb', '\ud800', '[x](https://evil.example)'),
);

const STEERS = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/u;

describe('texts of others', () => {
  test('are cleaned of what PostgreSQL and Temporal do not take, and of nothing else', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const cleaned = cleanText(text);
        expect(cleaned).not.toMatch(/[\p{Cc}\p{Cs}]/u);
        expect(Buffer.from(cleaned).toString()).toBe(cleaned);
        expect(cleanText(cleaned)).toBe(cleaned);
      }),
    );
    expect(cleanText('a\u0000b\ud800\r\n\tc 😀 मूल्य‍')).toBe('ab c 😀 मूल्य‍');
  });

  test('are cut to bytes, never in the middle of a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 3, max: 40 }), (text, bytes) => {
        const cut = cutText(text, bytes);
        expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(bytes);
        expect(cut).not.toMatch(/\p{Cs}/u);
        if (Buffer.byteLength(text) <= bytes) expect(cut).toBe(text);
        else expect(text.startsWith(cut.slice(0, -1)) && cut.endsWith('…')).toBe(true);
      }),
    );
  });

  test('steer no terminal, on one line or on several', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(printable(one)).not.toMatch(STEERS);
        const lines = printableLines(`${one}\n${other}`);
        expect(lines.replaceAll('\n', '')).not.toMatch(STEERS);
      }),
    );
    expect(printableLines('first\r\nsecond\u001b[2J')).toBe('first \nsecond[2J');
    expect(printable('invoice\u202egpj.exe')).toBe('invoicegpj.exe');
  });

  test('keep their value in JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(anyText, anyText), (document) => {
        const printed = printableJson(document);
        expect(printed.replaceAll('\n', '')).not.toMatch(STEERS);
        expect(JSON.parse(printed)).toEqual(JSON.parse(JSON.stringify(document)));
      }),
    );
  });

  test('are no Markdown', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const shown = markdownText(text);
        expect(shown).not.toMatch(STEERS);
        // Every sign that could begin mark-up stands behind a backslash of its own.
        expect(shown.replace(/\\[\\`*_[\]<>|~#&!:.+)-]/gu, '')).not.toMatch(/[\\`*_[\]<>|~#&!]|:\/\/|^\s*[-+]\s/u);
        expect(Buffer.byteLength(summaryText(text))).toBeLessThanOrEqual(200);
      }),
    );
    expect(markdownText('**bold** [a](https://x.example) <b>&amp;</b>')).toBe(
      '\\*\\*bold\\*\\* \\[a\\](https\\://x.example) \\<b\\>\\&amp;\\</b\\>',
    );
    expect(markdownText('1. first')).toBe('1\\. first');
    expect(markdownText('- item')).toBe('\\- item');
    expect(markdownText('Request 4f2-1, 10.50 USD.')).toBe('Request 4f2-1, 10.50 USD.');
  });
});

it('ends a text with one full stop, whatever stood there', () => {
  expect(['Invalid API key', 'Try again later. ', 'Wait…'].map(asSentence)).toEqual([
    'Invalid API key.',
    'Try again later.',
    'Wait….',
  ]);
  const blanks = ' '.repeat(200_000);
  expect(asSentence(`a${blanks}b${blanks}. `)).toBe(`a${blanks}b.`);
});

/** Texts that look like JULY-7, and are not. */
const LOOKALIKES = [
  'JULY\u200b-7',
  'JULY\u2060-7',
  'JULY-7\u3164',
  'JULY-7\u2800',
  '\u202eJULY-7',
  'JULY\u2066-7',
  'JU\u00adLY-7',
  'JULY\u200d-7',
  'JULY-7\ufe0f',
  'JULY-7\u{e0041}',
  'JULY-\uff17',
  'JUL\u{1d418}-7',
  'J\u0405LY-7',
];

test.each(LOOKALIKES)('%j is not what it looks like, and is shown without what is hidden', (text) => {
  expect(isAsItLooks(text)).toBe(false);
  expect(printable(text)).not.toMatch(/[\u200b\u2060\u3164\u2800\u202e\u2066\u00ad\u200d\ufe0f\u{e0041}]/u);
});

test.each(['JULY-7', 'जुलाई/७', 'क्\u200dष', 'Müller & Söhne', 'Иван Smith', 'ü', 'मूल्य', '50 % … “seen”', '₹ 1,000'])(
  '%j is what it looks like',
  (text) => {
    expect(isAsItLooks(text)).toBe(true);
    expect(printable(text)).toBe(text);
  },
);
