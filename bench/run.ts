/**
 * Runs the benches of this folder, one after the other, each in a process of its own; fails when one misses its target.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const TYPESCRIPT = join(__dirname, '..', 'scripts', 'typescript.cjs');
const BENCHES = readdirSync(__dirname)
  .filter((name) => name.endsWith('.ts') && name !== 'run.ts')
  .map((name) => basename(name, '.ts'))
  .sort();

const HELP = `Usage: npm run bench -- [bench…] [options of a bench]

Runs all benches (about half an hour) or the named ones: ${BENCHES.join(', ')}.
Exits with 1 when one misses its target.

Examples:
  $ npm run bench
  $ npm run bench -- workbook fairness
  $ npm run bench -- scale --rows 20000,200000`;

async function main(args: readonly string[]): Promise<number> {
  const first = args.findIndex((arg) => arg.startsWith('--') && arg !== '--help');
  const named = first < 0 ? args : args.slice(0, first);
  const options = first < 0 ? [] : args.slice(first);
  if (named.includes('--help') || named.includes('-h')) {
    console.log(HELP);
    return 0;
  }
  const unknown = named.filter((name) => !BENCHES.includes(name));
  if (unknown.length > 0) {
    console.error(`There is no bench ${unknown.join(', ')}.\n\n${HELP}`);
    return 2;
  }
  const missed: string[] = [];
  for (const name of named.length > 0 ? named : BENCHES) {
    console.log(`== ${name}`);
    const bench = spawn(process.execPath, ['-r', TYPESCRIPT, join(__dirname, `${name}.ts`), ...options], {
      stdio: 'inherit',
    });
    const [code] = (await once(bench, 'exit')) as [number | null];
    if (code !== 0) missed.push(name);
  }
  if (missed.length === 0) return 0;
  console.log(`Missed: ${missed.join(', ')}`);
  return 1;
}

void main(process.argv.slice(2)).then((code) => (process.exitCode = code));
