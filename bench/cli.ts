/**
 * How long the command line takes to start: the help, and a list of filings from a PostgreSQL that runs, beside a bare
 * `node -e 0`. The best of several starts each: what a busy machine adds is not the command's. Needs `npm run build`.
 * Run through `npm run bench`.
 *
 * Target: at most 0.17 s beyond the bare start for the help, and 0.52 s for the list.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../dev/postgres';
import { migrate } from '../src/ledger/migrate';

const COMMAND_LINE = join(__dirname, '..', 'dist', 'starter', 'cli.js');
const STARTS = 9;

/** The shortest of several runs, in milliseconds. */
function bestOf(args: readonly string[], env: Record<string, string>): number {
  const times = Array.from({ length: STARTS }, () => {
    const began = performance.now();
    const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`);
    return performance.now() - began;
  });
  return Math.min(...times);
}

async function main(): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'ebrc-bench-cli-'));
  const postgres = await startEmbeddedPostgres({ folder, temporary: true });
  try {
    const databaseUrl = await postgres.createDatabase('ebrc');
    await migrate(databaseUrl);
    const { PATH = '', HOME = '' } = process.env;
    const env = { PATH, HOME, EBRC_MODE: 'test', DATABASE_URL: databaseUrl };
    const bareMs = bestOf(['-e', '0'], env);
    const rows = [
      { command: 'ebrc --help', ms: bestOf([COMMAND_LINE, '--help'], env), limitMs: 170 },
      { command: 'ebrc list', ms: bestOf([COMMAND_LINE, 'list'], env), limitMs: 520 },
    ].map(({ command, ms, limitMs }) => ({ command, ms, beyondMs: ms - bareMs, limitMs }));
    console.log(`node -e 0: ${bareMs.toFixed(0)} ms`);
    console.table(rows.map((row) => ({ ...row, ms: Math.round(row.ms), beyondMs: Math.round(row.beyondMs) })));
    return rows.every(({ beyondMs, limitMs }) => beyondMs <= limitMs) ? 0 : 1;
  } finally {
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

void main().then((code) => (process.exitCode = code));
