/** A copy of the project in which one change at a time is tested; several run beside one another. */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const JEST = join(dirname(createRequire(__filename).resolve('jest/package.json')), 'bin', 'jest.js');
/** For a change that makes a loop endless: how much longer than all tests without a change its tests may take. */
const PATIENCE = { factor: 4, ms: 60_000 };

export interface Lane {
  /** @throws Error if a test fails without a change: it would seem to notice each. @returns how long they take in ms */
  needGreen(tests: readonly string[]): Promise<number>;
  /** What fails with this source: a test file, or `no end in time`; null: nothing. The first tests are asked first. */
  noticedBy(path: string, source: string, tests: readonly string[], usualMs: number): Promise<string | null>;
  remove(): void;
}

export async function makeLane(root: string, databaseUrl: string): Promise<Lane> {
  const tree = await mkdtemp(join(tmpdir(), 'ebrc-mutant-'));
  const git = ['ls-files', '-co', '--exclude-standard', '-z'];
  for (const name of execFileSync('git', git, { cwd: root, encoding: 'utf8' }).split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(tree, name)), { recursive: true });
    copyFileSync(join(root, name), join(tree, name));
  }
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));

  const failureOf = (tests: readonly string[], withinMs?: number): Promise<string | null> => {
    const order = join(tree, 'dev', 'mutants', 'in-order.cjs');
    const args = [JEST, '-i', '--bail', '--silent', '--testSequencer', order, '--runTestsByPath', ...tests];
    const env = { ...process.env, TZ: 'Asia/Kolkata', DATABASE_URL: databaseUrl, EBRC_TEST_ORDER: tests.join('\n') };
    const stdio = ['ignore', 'ignore', 'pipe'] as const;
    const child = spawn(process.execPath, args, {
      cwd: tree,
      env,
      stdio: [...stdio],
      timeout: withinMs,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        if (code === 0) return resolve(null);
        resolve(code === null ? 'no end in time' : (/^FAIL (\S+)/mu.exec(said)?.[1] ?? said.slice(-300)));
      });
    });
  };
  return {
    async needGreen(tests) {
      const began = performance.now();
      const failed = await failureOf(tests);
      if (failed !== null) throw new Error(`A test fails without a change: ${failed}`);
      return Math.ceil(performance.now() - began);
    },
    async noticedBy(path, source, tests, usualMs) {
      const before = readFileSync(join(tree, path), 'utf8');
      writeFileSync(join(tree, path), source);
      return failureOf(tests, usualMs * PATIENCE.factor + PATIENCE.ms).finally(() =>
        writeFileSync(join(tree, path), before),
      );
    },
    remove: () => rmSync(tree, { recursive: true, force: true }),
  };
}
