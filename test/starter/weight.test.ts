/**
 * What commands load: a command that loads what it does not use is slow for everybody. Counted in packages, because
 * times differ.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { cleanEnvironment, programArguments } from '../support/command-line';
import { useTestDatabase } from '../support/postgres';

const REPORT = join(__dirname, '..', 'support', 'report-packages.cjs');

/** The packages that a command line has loaded when it ends. */
async function packagesOf(args: string[], env: Record<string, string> = {}): Promise<string[]> {
  const start = ['-r', REPORT, ...programArguments('src/starter/cli.ts'), ...args];
  const child = spawn(process.execPath, start, {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  return JSON.parse(await text(child.stdio[3] as NodeJS.ReadableStream)) as string[];
}

/** Each of them takes longer to load than most commands take. */
const HEAVY = ['@temporalio/client', '@temporalio/worker', 'exceljs', 'undici', 'fastify', 'node-pg-migrate', 'pdfkit'];

const database = useTestDatabase();

it('loads hardly anything for the help', async () => {
  const loaded = await packagesOf(['--help']);
  expect(loaded).toContain('commander');
  expect(loaded.filter((name) => [...HEAVY, 'zod', 'pg', '@temporalio/common'].includes(name))).toEqual([]);
});

it('loads the database driver, and nothing heavier, for a list', async () => {
  const loaded = await packagesOf(['list', '--json'], { EBRC_MODE: 'test', DATABASE_URL: database.url });
  expect(loaded).toContain('pg');
  expect(loaded.filter((name) => HEAVY.includes(name))).toEqual([]);
});
