import { PassThrough } from 'node:stream';
import type { FilingView } from '../../src/domain/filing/view';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { filingText } from '../../src/starter/cli/filing-text';
import { reportError } from '../../src/starter/cli/report-error';
import { createTerminal, fields, table } from '../../src/starter/cli/terminal';

const HOSTILE = 'Asha\u001b[2J\u009b31m \u202egpj\u202c\r\nExports\u0000';

function terminal(json: boolean) {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') =>
    new PassThrough().on('data', (piece: Buffer) => void (written[name] += piece.toString()));
  const made = createTerminal({ stdin: new PassThrough(), stdout: stream('stdout'), stderr: stream('stderr') }, json);
  return { terminal: made, written };
}

const STEERS = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;

test('nothing that a service or a person wrote steers the terminal: results, tables, notes and progress', () => {
  const { terminal: people, written } = terminal(false);
  people.result({}, () =>
    [HOSTILE, table([HOSTILE], [[HOSTILE, { note: HOSTILE }]]), fields([['Name', HOSTILE]])].join('\n'),
  );
  people.note(`${HOSTILE}\nsecond line`);
  const progress = people.progress();
  progress.say(HOSTILE);
  progress.stop();
  expect(written.stdout).toContain('Asha[2J');
  expect(written.stderr).toContain('second line');
  expect(written.stdout + written.stderr).not.toMatch(STEERS);
});

test('JSON keeps the value and escapes what steers', () => {
  const { terminal: program, written } = terminal(true);
  program.result({ name: HOSTILE }, () => '');
  expect(written.stdout).not.toMatch(STEERS);
  expect(JSON.parse(written.stdout)).toEqual({ name: HOSTILE });
});

test('a filing shows the warnings of its check and the observations of the service beside its errors', () => {
  const warning = { severity: 'warning', code: 'unknown_column', row: 1, field: null, message: 'Remarks stays here.' };
  const filing = {
    filingId: 'F1',
    reference: 'R',
    state: 'processing',
    correctedBy: [],
    rows: [],
    errors: [],
    warnings: [warning, 'The held amount differs.'],
  } as unknown as FilingView;
  expect(filingText(filing)).toMatch(/Remarks stays here\.[^]*The held amount differs\./u);
});

test('a command that loses PostgreSQL is advised to be repeated', () => {
  const { terminal: people, written } = terminal(false);
  const lost = new LedgerUnavailableError('57P01', false, new Error('terminating connection'));
  expect(reportError(lost, people)).toBe(1);
  expect(written.stderr).toContain('Repeat the command when it is available; that files nothing twice.');
});
