import fc from 'fast-check';
import {
  addDays,
  compareFilingDates,
  filingDateFromAnything,
  filingDateFromIso,
  filingDateInKolkata,
  formatDuration,
  isFilingDate,
  isoFromFilingDate,
  parseDuration,
  parseFilingDate,
  splitWindow,
  WINDOW_DAYS,
} from '../../src/domain/dates';
import { isoDate } from '../../src/domain/report-contracts';

const anyDate = fc
  .date({ min: new Date('1970-01-01T00:00:00Z'), max: new Date('2099-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => filingDateFromIso(date.toISOString().slice(0, 10)));

describe('reading a date', () => {
  test.each(['05/01/2026', '05-01-2026', '05012026', '2026-01-05', '  05/01/2026 '])('%s is 5 January', (text) =>
    expect(parseFilingDate(text)).toEqual({ ok: true, date: '05012026' }),
  );
  test.each(['31/02/2026', '29/02/2026', '00/01/2026', '01/13/2026', '20260105', '31/04/2026', '01/01/0226'])(
    '%s is no day of the calendar',
    (text) => expect(parseFilingDate(text)).toEqual({ ok: false, reason: 'impossible' }),
  );
  test.each(['5/1/2026', '05/01-2026', '05.01.2026', '05/01/26', '2026/01/05', '46027', '', 'today', '05 01 2026'])(
    '%j is none of the forms',
    (text) => expect(parseFilingDate(text)).toEqual({ ok: false, reason: 'form' }),
  );
  test('only DDMMYYYY goes over the wire', () => {
    const given = ['05012026', '29022028', '05/01/2026', '31022026', 5012026];
    expect(given.map(isFilingDate)).toEqual([true, true, false, false, false]);
  });
  test.each([
    ...['05012026', '2026-01-05', '2026-01-05T00:00:00.000Z', '2026-01-04T18:30:00.000Z', '2026-01-05T00:00:00'],
    ...['05.01.2026', '5-Jan-2026', '05-JAN-2026', '5 January 2026', '20260105', ' 20260105 '],
  ])('a saved record may show 5 January as %s', (value) => expect(filingDateFromAnything(value)).toBe('05012026'));
  // A day that no calendar has is not the day after, and a placeholder is not a date that breaks what compares it.
  test.each([
    ...['31.02.2026', '5-Jan-26', '5-Jänner-2026', '5-xxx-2026', '20261305', '5.1.2026', null, undefined, 5012026, ''],
    ...['soon', '2026-13-01T00:00:00Z', '2026-02-31T00:00:00Z', '9999-12-31T00:00:00Z', '0001-01-01T00:00:00Z'],
    '2999-12-31T20:00:00Z',
  ])('a saved record shows no date with %s', (value) => expect(filingDateFromAnything(value)).toBeNull());
  test('an input names a day that a filing can have', () => {
    const given = ['2026-02-28', '1900-01-01', '2026-02-30', '0001-01-01', '9999-12-31', '05012026'];
    expect(given.filter((day) => isoDate.safeParse(day).success)).toEqual(given.slice(0, 2));
  });
  test('an ISO reader refuses other forms, naming what it got', () => {
    expect(() => filingDateFromIso('05012026')).toThrow('"05012026" is not a calendar date as YYYY-MM-DD');
    expect(() => addDays('31022026', 1)).toThrow('not a calendar date as DDMMYYYY');
  });
});

describe('arithmetic', () => {
  test('the day in Kolkata turns at 18:30 UTC', () => {
    expect(filingDateInKolkata(Date.parse('2026-01-04T18:29:59.999Z'))).toBe('04012026');
    expect(filingDateInKolkata(Date.parse('2026-01-04T18:30:00.000Z'))).toBe('05012026');
  });

  test('ISO and filing date are two spellings of one day; order is that of days', () => {
    fc.assert(
      fc.property(anyDate, fc.integer({ min: -4000, max: 4000 }), (date, days) => {
        expect(filingDateFromIso(isoFromFilingDate(date))).toBe(date);
        const other = addDays(date, days);
        expect(compareFilingDates(date, other)).toBe(Math.sign(-days) + 0);
        expect(addDays(other, -days)).toBe(date);
      }),
    );
  });
});

describe('windows of fetch-details', () => {
  test('a window ends before three months do, and before 90 days do', () => {
    const windows = splitWindow('01022027', '31122027');
    expect(windows.slice(0, 2)).toEqual([
      { from: '01022027', to: '30042027' },
      { from: '01052027', to: '28072027' },
    ]);
    expect(WINDOW_DAYS).toBeLessThan(90);
  });

  test('one day is one window, a span turned round is none', () => {
    expect(splitWindow('05012026', '05012026')).toEqual([{ from: '05012026', to: '05012026' }]);
    expect(splitWindow('06012026', '05012026')).toEqual([]);
  });

  test('windows cover the span without gap or overlap and never exceed their length', () => {
    fc.assert(
      fc.property(anyDate, fc.integer({ min: 0, max: 2000 }), (from, days) => {
        const to = addDays(from, days);
        const windows = splitWindow(from, to);
        expect(windows[0]?.from).toBe(from);
        expect(windows.at(-1)?.to).toBe(to);
        windows.forEach((window, index) => {
          expect(compareFilingDates(window.to, addDays(window.from, WINDOW_DAYS))).toBeLessThan(0);
          const next = windows[index + 1];
          if (next) expect(next.from).toBe(addDays(window.to, 1));
        });
      }),
    );
  });
});

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['90s', 90_000],
    ['10m', 600_000],
    ['1.5h', 5_400_000],
    ['2d', 172_800_000],
    [' 5 m ', 300_000],
    ['0s', 0],
  ])('%s is %d ms', (text, ms) => expect(parseDuration(text)).toBe(ms));
  it.each(['', '10', 'm', '-5s', '1e3s', '5 min', '5M', '1h30m', '1.s', '36501d'])('%j is none', (text) =>
    expect(parseDuration(text)).toBeNull(),
  );
  it('are read back as they are written', () =>
    fc.assert(fc.property(fc.nat(), (ms) => expect(parseDuration(formatDuration(ms))).toBe(ms))));
});
