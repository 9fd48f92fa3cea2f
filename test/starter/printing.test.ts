import stringWidth from 'string-width';
import type { FilingResult } from '../../src/domain/contracts';
import { LedgerUnavailableError } from '../../src/ledger/unavailable';
import { printOutcome } from '../../src/starter/cli/commands/options';
import type { Cli } from '../../src/starter/cli/context';
import type { Finding } from '../../src/domain/rules/finding';
import type { EventView, FilingSummary, FilingView } from '../../src/domain/filing/view';
import { RefusedError } from '../../src/starter/errors';
import { doubtsOf } from '../../src/starter/cli/terminal';
import { irmsTable } from '../../src/starter/cli/commands/exporters/exporters';
import { historyTable } from '../../src/starter/cli/commands/filings/list';
import { filingPage, filingsPage, progressText } from '../../src/starter/cli/filing-text';
import { fields, localTime, optional, right, table, toned, type Page } from '../../src/starter/cli/page';
import { reportError } from '../../src/starter/cli/report-error';
import { describeProblems } from '../../src/starter/cli/texts';
import type { Terminal } from '../../src/starter/cli/terminal';
import { keptTerminal } from '../support/terminals';

const HOSTILE = 'Asha\u001b[2J\u009b31m \u202egpj\u202c\r\nExports\u0000';

const STEERS = /[^\P{Cc}\n]|[\u202a-\u202e\u2066-\u2069]/u;

/** What a page looks like on a terminal of so many columns, or in a pipe. */
function printed(page: Page, terminal: { columns?: number; colours?: boolean } = {}): string {
  const kept = keptTerminal(terminal);
  kept.terminal.result({}, () => page);
  return kept.written.stdout;
}

test('purpose and status, which decide what a remittance may pay, are shown at 100 columns', () => {
  const irm = {
    ...{ irmNumber: 'IRM2026000001', irmAdCode: '0510001', irmIfscCode: 'HDFC0000001', irmIssueDate: '05012026' },
    ...{ remittanceDate: null, currency: 'USD', purposeCode: 'P0102', amount: '1234567.89', available: '1234567.89' },
    ...{ held: '0', free: '1234567.89', heldBy: [], status: 'Fresh', remitterName: 'Northwind Trading Company GmbH' },
    ...{ missing: false, readAt: '2026-01-05T00:00:00Z' },
  };
  const [head = '', row = ''] = printed(irmsTable([irm]), { columns: 100 }).split('\n');
  for (const title of ['IRM', 'Free', 'Purpose', 'Status']) expect(head).toContain(title);
  for (const value of ['IRM2026000001', 'P0102', 'Fresh']) expect(row).toContain(value);
  expect(Math.max(head.length, row.length)).toBeLessThanOrEqual(100);
});

test.each([undefined, 80])('nothing that a service or a person wrote steers a terminal of %s columns', (columns) => {
  const { terminal: people, written } = keptTerminal({ columns });
  people.result({}, () => [HOSTILE, table([HOSTILE], [[HOSTILE, { note: HOSTILE }]]), fields([['Name', HOSTILE]])]);
  people.note(`${HOSTILE}\nsecond line`);
  expect(written.stdout).toContain('Asha[2J');
  expect(written.stderr).toContain('second line');
  expect((written.stdout + written.stderr).replaceAll('\t', '')).not.toMatch(STEERS);
  const { terminal: piped, written: lines } = keptTerminal();
  const progress = piped.progress();
  progress.say(HOSTILE);
  progress.stop();
  expect(lines.stderr).not.toMatch(STEERS);
});

test('JSON keeps the value and escapes what steers', () => {
  const { terminal: program, written } = keptTerminal({ json: true });
  program.result({ name: HOSTILE }, () => '');
  expect(written.stdout).not.toMatch(STEERS);
  expect(JSON.parse(written.stdout)).toEqual({ name: HOSTILE });
});

describe('a table', () => {
  const PATH = '/var/lib/ebrc/documents/2026/07/some-very-long-name-of-a-certificate.pdf';
  const page = table(
    ['Document', right('Amount'), 'State', optional('Why'), optional('PDF')],
    [
      ['KVR/2026/117', '9.50 USD', toned('certified', 'good'), 'the authority certified this row at once', PATH],
      ['KVR/2026/118', '120000.00 USD', toned('rejected', 'bad'), '', ''],
    ],
  );

  it.each([40, 80, 120, 160])('fits a terminal of %d columns, breaks at words, and loses no word', (columns) => {
    const text = printed(page, { columns });
    for (const line of text.split('\n')) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
    for (const word of ['KVR/2026/117', '120000.00 USD', 'certified', 'rejected']) expect(text).toContain(word);
    expect(text).toContain('     9.50 USD');
    expect(text).not.toContain('…');
    if (columns >= 120) expect(text.replaceAll(/\s/gu, '')).toContain('atonce');
  });

  it('leaves optional columns out where they have no room', () => {
    const narrow = printed(page, { columns: 40 });
    expect(narrow).toMatch(/Document.*Amount.*State/u);
    expect(narrow).not.toMatch(/Why|PDF/u);
  });

  it('is one line per row, separated by tabs, where no terminal reads it', () => {
    const [head, first] = printed(page).split('\n');
    expect(head).toBe('Document\tAmount\tState\tWhy\tPDF');
    expect(first).toBe(`KVR/2026/117\t9.50 USD\tcertified\tthe authority certified this row at once\t${PATH}`);
  });

  it('has colours only where the terminal has them', () => {
    expect(printed(page, { columns: 120, colours: true })).toContain('\u001b[32mcertified');
    expect(printed(page, { columns: 120 })).not.toContain('\u001b');
    expect(printed(page)).not.toContain('\u001b');
  });
});

test('text breaks at words where the terminal ends; commands in backquotes and long paths stay whole', () => {
  const path = `/var/lib/${'x'.repeat(50)}.xlsx`;
  const text = `KVR-LOST: look at the portal, then \`ebrc resolve F1 --as filed\`. The workbook is ${path}, with its errors.`;
  const { terminal, written } = keptTerminal({ columns: 40 });
  terminal.note(text);
  expect(written.stderr).toBe(`${printed(text, { columns: 40 })}`);
  const lines = written.stderr.trimEnd().split('\n');
  for (const line of lines) if (!line.includes(path)) expect(stringWidth(line)).toBeLessThanOrEqual(40);
  expect(lines.map((line) => line.trim()).join(' ')).toBe(text);
  expect(lines).toContain('  `ebrc resolve F1 --as filed`. The');
  expect(printed(text)).toBe(`${text}\n`);
});

test('a terminal that does not tell its width gets 80 columns, and its spinner ends', () => {
  const { terminal, written } = keptTerminal({ columns: 0 });
  const progress = terminal.progress();
  progress.say('started');
  progress.say('certified');
  progress.stop();
  expect(written.stderr.length).toBeLessThan(1_000);
  expect(printed('word '.repeat(30), { columns: 0 }).split('\n')[0]).toHaveLength(79);
});

test('times are local, with their zone', () => {
  const offset = -new Date('2026-07-31T08:35:00Z').getTimezoneOffset() * 60_000;
  const local = new Date(Date.parse('2026-07-31T08:35:00Z') + offset).toISOString().slice(0, 16).replace('T', ' ');
  expect(localTime('2026-07-31T08:35:00Z')).toMatch(new RegExp(`^${local} \\S+$`, 'u'));
});

test('a near end of a wait is given to the second', () => {
  expect(localTime(new Date(Date.now() + 60_000))).toMatch(/ \d\d:\d\d:\d\d \S+$/u);
  expect(localTime(new Date(Date.now() + 3_600_000))).toMatch(/ \d\d:\d\d \S+$/u);
});

test('a list tells a forecast from a limit', () => {
  const waiting = { for: 'its turn', since: '2026-07-31T08:35:00Z', expectedBy: null };
  const printedWith = (more: object) => {
    const summary = { reference: 'R', n: 1, exporterId: 'E', state: 'submitting', counts: {} };
    const listed = { ...summary, waiting: { ...waiting, ...more } } as unknown as FilingSummary;
    return printed(filingsPage([listed]));
  };
  expect(printedWith({ until: '2026-07-31T11:35:00Z' })).toMatch(/its turn, at the latest 2026-07-31/u);
  const both = { expectedBy: '2026-07-31T08:40:00Z', until: '2026-07-31T11:35:00Z' };
  expect(printedWith(both)).toMatch(/its turn, expected by 2026-07-31/u);
});

test('a list on a narrow terminal says what a filing waits for rather than its counts', () => {
  const summary = {
    ...{ filingId: 'F8C06B99459B214A', reference: 'KVR-LOST', n: 1, exporterName: 'Kaveri Softworks' },
    ...{ state: 'outcome_unknown', counts: { rows: 1, certified: 0, errored: 0, archived: 0 } },
    ...{ madeAt: '2026-07-31T08:35:00Z', waiting: { for: 'evidence', since: '2026-07-31T08:35:00Z', until: null } },
  } as unknown as FilingSummary;
  const narrow = printed(filingsPage([summary]), { columns: 80 });
  expect(narrow).toMatch(/Waits for/u);
  expect(narrow).not.toMatch(/Errored/u);
  expect(printed(filingsPage([summary]), { columns: 160 })).toMatch(/Errored.*Filing/u);
});

const FILING = {
  ...{
    filingId: 'F1',
    reference: 'R',
    n: 1,
    state: 'processing',
    correctedBy: [],
    rows: [],
    attempts: [],
    rateLimited: [],
    changedIrms: [],
  },
  ...{ evidence: null, decisions: [], actions: [], waiting: null, errors: [], warnings: [] },
};

test('a filing that no worker has recorded yet is no error, and why is said once', () => {
  const { terminal: people, written } = keptTerminal();
  people.note('No worker polls the queue.');
  const filing = { ...FILING, filingId: null, state: 'started' } as unknown as FilingView;
  const outcome = { filing, waitsForPerson: false, notice: 'No worker polls the queue.' };
  expect(printOutcome({ terminal: people } as Cli, outcome)).toBe(0);
  expect(written.stderr).toBe('No worker polls the queue.\n');
});

test('a line of progress says what it counts', () => {
  const said = (errored: number, corrected: number) =>
    progressText({ state: 'rejected', counts: { rows: 3, certified: 1, errored, corrected } } as FilingResult);
  expect(said(2, 0)).toBe('rejected, 1 of 3 certified, 2 errored');
  expect(said(2, 1)).toBe('rejected, 1 of 3 certified, 2 errored (1 corrected)');
});

test.each([
  ['the result', undefined, (terminal: Terminal) => terminal.result({}, () => 'done')],
  ['the result, on a terminal', 80, (terminal: Terminal) => terminal.result({}, () => 'done')],
  ['an error', 80, (terminal: Terminal) => terminal.end()],
])('what is learnt after %s is no progress any more', (_what, columns, end) => {
  const { terminal, written } = keptTerminal({ columns });
  const progress = terminal.progress();
  progress.say('awaiting_approval');
  end(terminal);
  const before = written.stderr;
  // On a terminal it would start a spinner that nobody stops, and the command would not end.
  progress.say('waits for approval');
  progress.stop();
  expect(written.stderr).toBe(before);
});

test('the history of a filing tells when what happened, and who did it', () => {
  const event = { at: '2026-07-31T09:00:00Z', state: 'submitting', who: 'ravi', text: 'approved: seen' };
  expect(printed(historyTable([event as EventView]))).toMatch(/2026-07-31.*\tsubmitting\travi\tapproved: seen\n/u);
});

test('a filing shows the warnings of its check and the observations of the service beside its errors', () => {
  const warning = { severity: 'warning', code: 'unknown_column', row: 1, field: null, message: 'Remarks stays here.' };
  const filing = {
    ...FILING,
    warnings: [warning, 'The held amount differs.', { row: 2, message: 'No IRM is held.' }],
  } as unknown as FilingView;
  expect(printed(filingPage(filing))).toMatch(
    /Remarks stays here\.[^]*The held amount differs\.[^]*row: 2; message: No IRM is held\./u,
  );
});

test('a filing names what can be done next', () => {
  const step = (actions: string[]) =>
    printed(filingPage({ ...FILING, state: 'rejected', actions } as unknown as FilingView));
  expect(step(['correct'])).toContain('Next: correct');
  expect(step([])).not.toContain('Next:');
});

test('a filing of unknown outcome shows its attempts, the evidence by name, and what persons decided', () => {
  const filing = {
    ...FILING,
    state: 'outcome_unknown',
    actions: ['resolve'],
    waiting: { for: 'evidence whether it was filed', since: '2026-07-31T08:35:00Z' },
    attempts: [{ number: 1, verdict: 'unknown', reason: 'no_answer', markedAt: '2026-07-31T08:30:00Z' }],
    evidence: {
      ...{ readAt: '2026-07-31T09:00:00Z', settledAt: '2026-07-31T12:30:00Z', names: ['certificate:EB7'] },
      entries: [{ name: 'certificate:EB7', text: 'EB7 names its document 9900001' }],
      balances: [{ irmNumber: 'I1', before: '500', now: '400' }],
    },
    decisions: [
      { kind: 'not_filed', by: 'ravi', principal: true, at: '2026-07-31T12:40:00Z', outcome: null, why: 'one more' },
      { kind: 'abandon', by: 'asha', principal: false, at: '2026-07-31T12:50:00Z', outcome: 'refused', note: 'no' },
    ],
  } as unknown as FilingView;
  const lines = printed(filingPage(filing)).split('\n');
  const row = (what: string) => lines.find((line) => line.startsWith(what));
  expect(row('Waits for')).toContain('evidence whether it was filed, since 2026-07-31');
  expect(row('Attempts')).toContain('1: unknown (no_answer), 2026-07-31');
  expect(lines.join('\n')).toContain('nobody can say "not filed" before 2026-07-31');
  expect(row('certificate:EB7')).toContain('EB7 names its document 9900001');
  expect(row('Balance of IRM I1')).toContain('500.00 before, 400.00 now');
  expect(row('not filed')).toMatch(/ravi\t.*\twaits: one more/u);
  expect(row('abandon')).toMatch(/asha \(a claimed name\)\t.*\trefused/u);
  expect(lines.join('\n')).toContain('Next: look at the portal');
});

test('what is said of several rows is said once, with their places', () => {
  const date = { code: 'document_before_advance', message: 'Check the date.', field: 'sbCumInvoiceDate' };
  const dates = [2, 3, 4, 9].map((row) => ({ ...date, severity: 'warning' as const, row }));
  const amount = { code: 'over_remittance', message: 'Lower them.', field: 'mappedIRMAmountFCC', row: 3 };
  expect(describeProblems([...dates.map((each) => ({ ...each, column: 'L' })), amount])).toBe(
    'Warning in cells L2-L4 and L9: Check the date.\nError in row 3, Mapped IRM Amount FCC: Lower them.',
  );
  const from = { code: 'invalid_input', field: 'from', message: 'from: is after `to`', row: null };
  expect(describeProblems([from])).toBe('Error: from: is after `to`');
  const key = { code: 'configuration', field: 'EBRC_API_KEY', message: 'EBRC_API_KEY is missing', row: null };
  expect(describeProblems([key])).toBe('Error: EBRC_API_KEY is missing');
  expect(describeProblems(dates)).toBe('Warning in rows 2-4 and 9, SB Cum Invoice Date: Check the date.');
});

test('a refusal of a file begins with what was filed, and says once what would let its rows pass', () => {
  const { terminal: people, written } = keptTerminal();
  const live = { code: 'mapping_live', message: 'It has its certificate.', field: null, allowDuplicate: '2-3=REASON' };
  const refused = new RefusedError([2, 3].map((row) => ({ ...live, row })));
  expect(reportError(refused, people, 'ebrc file')).toBe(3);
  expect(written.stderr).toBe(
    'Nothing was filed: 2 errors in 2 rows.\nError in rows 2 and 3: It has its certificate.\n' +
      'Only where a second certificate is meant: --allow-duplicate 2-3=REASON.\n',
  );
  const told = { ...live, row: 2, message: 'Held. --allow-duplicate 2-3=REASON asks a second person.' };
  expect(describeProblems([told, { ...live, row: 3 }])).not.toMatch(/2-3=REASON[^]*2-3=REASON/u);
});

test('a refusal names the other faults of its rows', () => {
  const { terminal: people, written } = keptTerminal();
  const at = (row: number, severity: 'error' | 'warning', message: string) => {
    return { severity, code: 'x', row, field: null, message };
  };
  const warnings = [at(2, 'warning', 'The IRM is in USD.'), at(3, 'warning', 'Another row.')];
  reportError(new RefusedError([at(2, 'error', 'Too much.')], { warnings }), people, 'ebrc file');
  expect(written.stderr).toContain('Error in row 2: Too much.\nWarning in row 2: The IRM is in USD.\n');
  expect(written.stderr).not.toContain('Another row');
});

describe('rows that are usually rejected, or certified twice,', () => {
  const doubtful: Finding[] = [
    { severity: 'warning', code: 'irm_unknown', row: 3, field: 'irmNumber', message: 'No such IRM is held.' },
  ];

  it('are filed from a terminal only after a yes, and elsewhere without a question', async () => {
    const yes = keptTerminal({ columns: 100, answer: 'y\n' });
    await doubtsOf(yes.terminal, false)?.(doubtful);
    expect(yes.written.stderr).toMatch(
      /No such IRM is held\.[^]*usually rejected, or certified twice\. File them anyway\? \[y\/N\]/u,
    );
    const no = doubtsOf(keptTerminal({ columns: 100, answer: '\n' }).terminal, false);
    await expect(no?.(doubtful)).rejects.toThrow('You did not confirm');
    expect(doubtsOf(keptTerminal().terminal, false)).toBeUndefined();
  });

  it('are refused by --strict', async () => {
    await expect(doubtsOf(keptTerminal().terminal, true)?.(doubtful)).rejects.toThrow('No such IRM is held.');
  });
});

test('a command that Temporal does not carry out is told why', () => {
  const { terminal: people, written } = keptTerminal();
  const cause = new Error('9 FAILED_PRECONDITION: Unable to perform workflow execution update');
  const refused = Object.assign(new Error('Workflow Update failed', { cause }), { name: 'ServiceError' });
  expect(reportError(refused, people)).toBe(1);
  expect(written.stderr).toMatch(/Unable to perform workflow execution update.*files nothing twice/u);
});

test('a command that loses PostgreSQL is advised to be repeated', () => {
  const { terminal: people, written } = keptTerminal();
  const lost = new LedgerUnavailableError('57P01', false, new Error('terminating connection'));
  expect(reportError(lost, people)).toBe(1);
  expect(written.stderr).toContain('Repeat the command when it is available; that files nothing twice.');
});
