/**
 * One statement for each column that decides on a filing: whoever adds a second one has a notion of his own of what is
 * free, filed or certified.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writingStatements } from './sql-statements';

const STATEMENTS = writingStatements();
const SOURCES = join(__dirname, '..', '..', '..', 'src');

/** The statements that write a column, as `KIND file`. */
const writersOf = (table: string, column: string) =>
  STATEMENTS.filter((each) => each.table === table && each.columns.includes(column)).map(
    ({ kind, file }) => `${kind} ${file}`,
  );
const statementsOn = (table: string) =>
  STATEMENTS.filter((each) => each.table === table).map(({ kind, file }) => `${kind} ${file}`);

it('reads the statements of the whole project', () => {
  expect(STATEMENTS.length).toBeGreaterThan(150);
  // A statement whose table or columns are put together at run time would be seen by nobody.
  expect(STATEMENTS.filter(({ table }) => table === '(')).toEqual([]);
  // Whole records: what was sent comes back, and the temporary tables of a comparison.
  const whole = STATEMENTS.filter(({ kind, columns }) => kind !== 'DELETE' && columns.length === 0)
    .filter(({ file }) => !file.startsWith('ledger/reconciliation/'))
    .map(({ table, file }) => `${table} ${file}`);
  expect(whole).toEqual(
    ['submissions', 'filing_rows', 'exporters', 'filings'].map((table) => `${table} ledger/sends/send-rebuild.ts`),
  );
});

describe('is written by one statement', () => {
  it.each<[string, string, string[]]>([
    ['attempts', 'verdict', ['UPDATE ledger/gates/verdict.ts']],
    ['attempts', 'answer', ['UPDATE ledger/gates/verdict.ts']],
    ['attempts', 'sender', ['UPDATE ledger/gates/verdict.ts']],
    ['filing_rows', 'live', []],
    ['filing_rows', 'adoption', ['UPDATE ledger/gates/certify.ts']],
    ['filing_rows', 'ebrc_number', ['UPDATE ledger/gates/certify.ts']],
    ['filing_rows', 'taken_over_by', ['UPDATE ledger/rows/row-takeover.ts', 'UPDATE ledger/rows/row-takeover.ts']],
    // Freed, and held again where the release is withdrawn.
    ['filing_rows', 'release_id', ['UPDATE ledger/gates/held-rows.ts', 'UPDATE ledger/gates/held-rows.ts']],
    ['releases', 'ground', ['INSERT ledger/gates/held-rows.ts']],
    ['releases', 'withdrawn_at', ['UPDATE ledger/gates/held-rows.ts']],
    ['requests', 'request_id', ['INSERT ledger/submissions/requests.ts']],
    // Ended, and followed again where an answer of ours names a request that a person had named.
    [
      'requests',
      'state',
      [
        'UPDATE ledger/gates/release.ts',
        'UPDATE ledger/submissions/requests.ts',
        'UPDATE ledger/submissions/requests.ts',
      ],
    ],
    ['requests', 'errored', ['UPDATE ledger/submissions/requests.ts']],
    ['requests', 'statement', ['UPDATE ledger/submissions/requests.ts']],
    ['words', 'person_key', ['INSERT ledger/submissions/words.ts']],
    ['looks', 'complete', ['INSERT ledger/submissions/lost-time.ts']],
    ['ledger_identity', 'marks_lapsed_to', ['UPDATE ledger/sends/send-import.ts']],
  ])('%s.%s', (table, column, writers) => {
    expect(writersOf(table, column)).toEqual(writers);
  });
});

it('appends words and their judgements, and changes or deletes none', () => {
  expect(statementsOn('words')).toEqual(['INSERT ledger/submissions/words.ts']);
  expect(new Set(statementsOn('word_judgements'))).toEqual(new Set(['INSERT ledger/submissions/words.ts']));
});

it('deletes no attempt, row, request, release or look', () => {
  const kept = ['attempts', 'filing_rows', 'requests', 'releases', 'looks', 'filings', 'submissions', 'permits'];
  expect(STATEMENTS.filter(({ kind, table }) => kind === 'DELETE' && kept.includes(table))).toEqual([]);
});

it('opens every attempt as open: no statement inserts one with a verdict or a mark', () => {
  const inserted = STATEMENTS.filter(({ kind, table }) => kind === 'INSERT' && table === 'attempts');
  expect(inserted.length).toBeGreaterThan(1);
  for (const { columns } of inserted)
    expect(columns.filter((name) => name !== 'snapshot_id')).toEqual([
      'attempt_id',
      'filing_id',
      'submission',
      'number',
    ]);
});

it('puts nothing but doubt on an attempt outside of the gates', () => {
  const outside = ['sends/documents-restored', 'sends/send-import', 'submissions/lost-time'];
  for (const file of outside) {
    const source = readFileSync(join(SOURCES, 'ledger', `${file}.ts`), 'utf8');
    const verdicts = [...source.matchAll(/verdict: '(\w+)'/gu)].map(([, verdict]) => verdict);
    expect([file, [...new Set(verdicts)]]).toEqual([file, ['marked']]);
  }
  const importers = STATEMENTS.map(({ file }) => file).filter((file) =>
    readFileSync(join(SOURCES, file), 'utf8').includes('gates/verdict'),
  );
  expect([...new Set(importers)]).toEqual(outside.map((file) => `ledger/${file}.ts`));
});

it('rebuilds rows from a send’s record without what became of them', () => {
  const source = readFileSync(join(SOURCES, 'ledger', 'sends', 'send-rebuild.ts'), 'utf8');
  expect(/const ROW_COLUMNS = `[^`]*`/u.exec(source)?.[0]).not.toMatch(/release_id|adoption|ebrc|state|live/u);
});
