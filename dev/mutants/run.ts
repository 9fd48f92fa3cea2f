/** `npm run mutants -- PATH…`: changes sources one small step at a time, and tells which changes no test notices. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startEmbeddedPostgres } from '../postgres';
import { changesOf } from './changes';
import { makeLane, type Lane } from './lane';
import { namedBy, nearestTests } from './nearest';
import type { Change } from './sql-changes';

const ROOT = join(__dirname, '..', '..');
const HELP = `Changes sources one small step at a time, and tells which changes no test notices.

  npm run mutants -- src/domain/filing                 a folder or files
  npm run mutants -- src --since origin/main           only the lines that changed since a commit
  npm run mutants -- src/ledger --sample 100 --seed 7  some of many, the same ones for a seed

Options:
  --tests N      how many test files may notice a change, the nearest by imports first (default 12)
  --minutes N    begins no change after this time; says how many were not tried
  --at-least N   exit code 1 when fewer than N % were noticed (default 90)
  --json         one line of JSON for each change, and none of the table

A change is noticed when a test fails, or does not end. Programs that tests start from dist/ are not changed.`;

interface Mutant extends Change {
  path: string;
  line: number;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      ...{
        help: { type: 'boolean' },
        json: { type: 'boolean' },
        since: { type: 'string' },
        sample: { type: 'string' },
      },
      ...{ seed: { type: 'string', default: '1' }, tests: { type: 'string', default: '12' } },
      ...{ minutes: { type: 'string' }, 'at-least': { type: 'string', default: '90' } },
    },
  });
  if (values.help || positionals.length === 0) return void process.stdout.write(`${HELP}\n`);
  const all = mutantsOf(positionals, values.since);
  const mutants = shuffled(all, Number(values.seed)).slice(0, Number(values.sample ?? all.length));
  const named = namedBy(ROOT);
  const testsOf = (path: string) => nearestTests(named, path).slice(0, Number(values.tests));
  const log = (text: string) => process.stderr.write(`${text}\n`);
  log(`${mutants.length} of ${all.length} changes of ${new Set(all.map(({ path }) => path)).size} files`);
  const postgres = await startEmbeddedPostgres({
    folder: await mkdtemp(join(tmpdir(), 'ebrc-mutants-')),
    temporary: true,
  });
  const lanes: Lane[] = [];
  const results: (Mutant & { by: string | null })[] = [];
  const until = Date.now() + Number(values.minutes ?? Infinity) * 60_000;
  try {
    while (lanes.length < Math.min(availableParallelism(), mutants.length))
      lanes.push(await makeLane(ROOT, postgres.urlOf('postgres')));
    const usualMs = (await lanes[0]?.needGreen([...new Set(mutants.flatMap(({ path }) => testsOf(path)))])) ?? 0;
    await Promise.all(
      lanes.map(async (lane) => {
        for (let next: Mutant | undefined; Date.now() < until && (next = mutants.shift());) {
          const source = readFileSync(join(ROOT, next.path), 'utf8');
          const changed = source.slice(0, next.start) + next.text + source.slice(next.end);
          const by = await lane.noticedBy(next.path, changed, testsOf(next.path), usualMs);
          results.push({ ...next, by });
          const { path, line, what } = next;
          if (values.json) process.stdout.write(`${JSON.stringify({ path, line, what, noticedBy: by })}\n`);
          else if (by === null) process.stdout.write(`not noticed  ${path}:${line}  ${what}\n`);
        }
      }),
    );
  } finally {
    for (const lane of lanes) lane.remove();
    await postgres.stop();
  }
  const noticed = results.filter(({ by }) => by !== null).length;
  const percent = results.length === 0 ? 100 : Math.floor((noticed / results.length) * 100);
  log(`${noticed} of ${results.length} changes noticed (${percent} %); not tried: ${mutants.length}`);
  if (percent < Number(values['at-least'])) process.exitCode = 1;
}

function mutantsOf(paths: readonly string[], since: string | undefined): Mutant[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  const files = git('ls-files', '--', ...paths)
    .split('\n')
    .filter((path) => /^src\/.*\.tsx?$/u.test(path));
  return files.flatMap((path) => {
    const source = readFileSync(join(ROOT, path), 'utf8');
    const lines = since === undefined ? null : changedLines(git('diff', '-U0', since, '--', path));
    return changesOf(path, source)
      .map((change) => ({ ...change, path, line: source.slice(0, change.start).split('\n').length }))
      .filter(({ line }) => lines?.has(line) ?? true);
  });
}

/** The new lines of a unified diff without context. */
function changedLines(diff: string): Set<number> {
  const lines = new Set<number>();
  for (const { 1: first, 2: count = '1' } of diff.matchAll(/^@@ -\S+ \+(\d+)(?:,(\d+))? @@/gmu))
    for (let at = 0; at < Number(count); at += 1) lines.add(Number(first) + at);
  return lines;
}

/** The same order for the same seed (mulberry32). */
function shuffled<T>(values: readonly T[], seed: number): T[] {
  let state = seed;
  const random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return values
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

void main();
