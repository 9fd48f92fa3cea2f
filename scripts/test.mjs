// Runs the suite in Asia/Kolkata, then the tests about dates again in America/Los_Angeles: a filing date that passes
// through a time zone is wrong in one of them. The longest files run with `--all` alone (`npm run test:all`, every
// night). With arguments (`npm test -- test/api`) only those tests run, once. With COVERAGE=1 the first run measures the
// coverage of src/, into coverage/. The last line on standard output is the sum of both runs: `N passed, N failed`.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const JEST = join(dirname(createRequire(import.meta.url).resolve('jest/package.json')), 'bin', 'jest.js');

/** Tests that read, compare, store or write dates. */
const ABOUT_DATES = [
  'test/domain/dates.test.ts',
  'test/domain/filing/settle.test.ts',
  'test/domain/identity.test.ts',
  'test/domain/rules',
  'test/domain/service/request-status.test.ts',
  'test/workbook/annotate.test.ts',
  'test/workbook/bulk-template.test.ts',
  'test/workbook/read.test.ts',
  'test/workbook/template.test.ts',
  'test/workbook/write.test.ts',
  'test/ledger/exporters/exporters.test.ts',
  'test/ledger/filings/follow.test.ts',
  'test/ledger/filings/record.test.ts',
  'test/ledger/filings/settle.test.ts',
  'test/reports/ageing.test.ts',
  'test/reports/daily.test.ts',
  'test/sandbox/bulk.test.ts',
  'test/sandbox/filing.test.ts',
];
/** A quarter of the suite's time, for what other tests tell in part: programs that are built, days that pass. */
const LONG = [
  'test/assistant/extract.test.ts',
  'test/boundary/package.test.ts',
  'test/dev/private-checkout.test.ts',
  'test/scenes/clocks.test.ts',
  'test/scenes/credentials.test.ts',
  'test/scenes/operators.test.ts',
  'test/scenes/races.test.ts',
  'test/scenes/status-lists.test.ts',
  'test/server/examples.test.ts',
  'test/server/pages/again.test.ts',
  'test/server/pages/file.test.ts',
  'test/server/pages/outcome.test.ts',
  'test/server/pages/provider.test.ts',
  'test/starter/doctor.test.ts',
  'test/temporal/comparison.test.ts',
  'test/workbook/hostile.test.ts',
  'test/worker/deployment.test.ts',
];
// Jest ignores a path that matches no file.
const moved = [...ABOUT_DATES, ...LONG].filter((path) => !existsSync(join(ROOT, path)));
if (moved.length > 0) throw new Error(`scripts/test.mjs names files that do not exist: ${moved.join(', ')}.`);

const ALL = process.argv.includes('--all');
const named = process.argv.slice(2).filter((each) => each !== '--all');
const without = named.length > 0 || ALL ? [] : [`--testPathIgnorePatterns=/node_modules/|/(${LONG.join('|')})$`];
const runs = [{ zone: 'Asia/Kolkata', args: [...named, ...without] }];
const COVERAGE = process.env.COVERAGE === '1';
const SUMMARY = join(ROOT, 'coverage', 'coverage-summary.json');
if (COVERAGE) {
  // V8's own counters: no code is instrumented, so the suite takes little longer.
  const measure = ['--coverage', '--coverageProvider=v8', '--coverageReporters=json-summary'];
  runs[0].args.push(...measure, '--collectCoverageFrom=src/**/*.{ts,tsx}');
}
if (named.length === 0) runs.push({ zone: 'America/Los_Angeles', args: ABOUT_DATES });

// What many test files need is made before the first begins: otherwise each would make it at the same time.
if (named.length === 0) {
  for (const args of [
    ['scripts/build.mjs', '--when-changed'],
    ['-r', './scripts/typescript.cjs', 'test/support/workflow-bundle.ts'],
  ]) {
    const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 2, 2] });
    if (status !== 0) process.exit(1);
  }
}

/** Runs jest and counts; a run without a result, or a file that does not load, counts as one failed test. */
async function runJest({ zone, args }, folder) {
  const outputFile = join(folder, `${zone.replace('/', '-')}.json`);
  process.stderr.write(`\n== TZ=${zone} ${args.join(' ')}\n`);
  const child = spawn(process.execPath, [JEST, ...args, '--json', '--outputFile', outputFile], {
    cwd: ROOT,
    env: { ...process.env, TZ: zone },
    // Jest also prints the JSON on standard output; its readable output goes to standard error.
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  const code = await new Promise((resolve) => {
    child.once('error', () => resolve(1));
    child.once('close', (ended) => resolve(ended ?? 1));
  });
  const result = await readFile(outputFile, 'utf8').then(JSON.parse, () => null);
  if (!result) return { passed: 0, failed: 1, code, files: [] };
  const files = result.testResults.map(({ name, startTime, endTime }) => ({
    name: relative(ROOT, name),
    seconds: (endTime - startTime) / 1000,
  }));
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  return { passed: result.numPassedTests, failed, code, files };
}

const folder = await mkdtemp(join(tmpdir(), 'ebrc-test-results-'));
const results = [];
for (const run of runs) results.push(await runJest(run, folder));
await rm(folder, { recursive: true, force: true });

if (COVERAGE) {
  const { total } = JSON.parse(await readFile(SUMMARY, 'utf8'));
  const figures = ['lines', 'branches', 'functions'].map((name) => `${name} ${total[name].pct} %`);
  process.stderr.write(`Covered of src/ by tests in process: ${figures.join(', ')}\n`);
}

const slowest = results.flatMap(({ files }) => files).sort((a, b) => b.seconds - a.seconds);
process.stderr.write('\nThe slowest files, in seconds:\n');
for (const { name, seconds } of slowest.slice(0, 15))
  process.stderr.write(`${seconds.toFixed(1).padStart(7)}  ${name}\n`);

const sum = (key) => results.reduce((total, result) => total + result[key], 0);
// Jest also fails for reasons outside the tests, such as a failed set-up.
const otherwise = sum('failed') === 0 && results.some(({ code }) => code !== 0) ? 1 : 0;
process.stdout.write(`${sum('passed')} passed, ${sum('failed') + otherwise} failed\n`);
process.exitCode = sum('failed') + otherwise > 0 ? 1 : 0;
