import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const FIND = join(__dirname, '..', 'scripts', 'find-servers.mjs');

export interface TemporalServers {
  /** Temporal's command line, with its development server. */
  temporal: string;
  /** The time-skipping test server. */
  testServer: string;
}

/**
 * The path of a Temporal server that the bootstrap installed (TEMPORAL_CLI, PATH or the cache, in this order). Throws
 * an error that says how to get it if it is missing.
 */
export async function findServer(name: keyof TemporalServers): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [FIND], { timeout: 60_000 });
  const path = (JSON.parse(stdout) as Record<keyof TemporalServers, string | null>)[name];
  if (path === null)
    throw new Error(`The Temporal server "${name}" is not installed: run \`npm run setup\`, which fetches it.`);
  return path;
}
