import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** The variable with which jest's global set-up tells the test processes where to record what they have open. */
export const OPEN_FOLDER_VARIABLE = 'EBRC_TEST_OPEN';

const ROOT = join(__dirname, '..', '..', '..');

/**
 * Records that the current test file has something open, and returns a function that removes the record. Records left
 * at the end of a run fail it: a server, worker or pool that is not closed slows down later tests.
 */
export function noteOpen(what: string): () => void {
  const folder = process.env[OPEN_FOLDER_VARIABLE];
  // Outside jest, as where histories are recorded, it is not checked.
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
