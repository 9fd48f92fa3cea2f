/** Runs every bench of this folder, one after the other, each in a process of its own; fails when one misses its target. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const TYPESCRIPT = join(__dirname, 'support', 'typescript.cjs');

async function main(): Promise<void> {
  const benches = readdirSync(__dirname)
    .filter((name) => name.endsWith('.ts') && name !== 'run.ts')
    .sort();
  const missed: string[] = [];
  for (const name of benches) {
    console.log(`== ${name}`);
    const bench = spawn(process.execPath, ['-r', TYPESCRIPT, join(__dirname, name)], { stdio: 'inherit' });
    const [code] = (await once(bench, 'exit')) as [number | null];
    if (code !== 0) missed.push(name);
  }
  if (missed.length > 0) {
    console.log(`Missed: ${missed.join(', ')}`);
    process.exitCode = 1;
  }
}

void main();
