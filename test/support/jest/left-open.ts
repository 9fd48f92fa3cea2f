import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** How jest's global set-up tells the test processes where they note what they have open. */
export const OPEN_FOLDER_VARIABLE = 'EBRC_TEST_OPEN';

const ROOT = join(__dirname, '..', '..', '..');

/**
 * Notes that the current test file has something open, and answers what takes the note back. What is left at the end of
 * a run fails it: a server, worker or pool that nobody closed slows down whatever runs after it.
 */
export function noteOpen(what: string): () => void {
  const folder = process.env[OPEN_FOLDER_VARIABLE];
  // Outside jest, as where histories are recorded, nobody looks.
  if (folder === undefined || typeof expect === 'undefined') return () => undefined;
  const { testPath = '' } = expect.getState();
  const note = join(folder, randomUUID());
  writeFileSync(note, `${what}, in ${relative(ROOT, testPath)}`);
  return () => rmSync(note, { force: true });
}

/** What test files have left open, each with its file. */
export function leftOpen(folder: string): string[] {
  return readdirSync(folder).map((note) => readFileSync(join(folder, note), 'utf8'));
}
